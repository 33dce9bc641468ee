// SPDX-License-Identifier: Apache-2.0
#include "histories.h"

#include <algorithm>
#include <cstring>

namespace emu {
namespace {
typedef int32_t Four __attribute__((vector_size(16)));

template <class F> inline __attribute__((always_inline)) void each_lane(uint32_t lanes, F f) {
    if (lanes == 0xffffffffu)
        for (unsigned l = 0; l < 32; ++l) f(l);
    else
        for (uint32_t m = lanes; m; m &= m - 1) f(unsigned(__builtin_ctz(m)));
}
inline Four four(const void* from) {
    Four v;
    std::memcpy(&v, from, sizeof v);
    return v;
}
inline bool any_of(const Four& v) {
    uint64_t halves[2];
    std::memcpy(halves, &v, sizeof v);
    return halves[0] | halves[1];
}
// Does lane l of all 32 name element l of a run?
inline bool is_run(const Histories::Doing& d) {
    if (d.rows != 0xffffffffu) return false;
    const int32_t bytes = d.bytes;
    Four differs = {}, want = Four{0, 1, 2, 3} * bytes + int32_t(d.addr[0]);
    for (unsigned l = 0; l < 32; l += 4, want += 4 * bytes) differs |= four(d.addr + l) ^ want;
    return !any_of(differs);
}
} // namespace

bool Histories::fills_words(const Doing& d) { return d.bytes >= 4 || (d.addr[0] % 4 == 0 && is_run(d)); }

void Histories::reset(uint32_t end, bool on) {
    on_ = on;
    words_.assign((end + 127) / 128 * 32, on ? NOTHING : TOLD);
    for (Pool* pool : {&accesses_, &copies_}) {
        pool->start(pool == &copies_ ? FIRST_COPY : 1);
        pool->first_access = pool->next_access;
        if (on && !pool->accesses) {
            pool->accesses = std::make_unique_for_overwrite<Access[]>(Pool::ACCESSES);
            pool->histories = std::make_unique_for_overwrite<History[]>(Pool::HISTORIES);
        }
    }
    last_.fill(0);
}

bool Histories::is_own(const Access& a, const Doing& d) {
    if (a.warp != d.warp || a.in_flight || a.collective || d.collective) return false;
    if (a.rows != d.rows || a.bytes != d.bytes) return false;
    Four differs = {};
    for (unsigned l = 0; l < 32; l += 4) differs |= four(a.addr + l) ^ four(d.addr + l);
    return !any_of(differs);
}

// Have all words the same? What everybody knows counts as nothing.
template <unsigned N> bool Histories::same(const Doing& d, Id& id) const {
    const Id over = accesses_.over, over_copies = copies_.over, *const words = words_.data();
    const auto known = [&](const auto& v) { return (v < over) | ((v > FIRST_COPY - 1) & (v < over_copies)); };
    const auto seen = [&](Id v) { return known(v) ? NOTHING : v; };
    const Id first = id = seen(words[d.addr[__builtin_ctz(d.rows)] / 4]);
    Four differs = {};
    if (N == 1 && (d.bytes < 4 || is_run(d))) {
        const Id* const at = words + d.addr[0] / 4;
        for (unsigned l = 0; l < 8u * d.bytes; l += 4) {
            const Four v = four(at + l);
            differs |= (v & ~known(v)) ^ first;
        }
        return !any_of(differs);
    }
    if constexpr (N < 4) {
        const Id any = words[d.addr[__builtin_ctz(d.rows)] / 4];
        const auto differ = [&](Id want, auto what) {
            Id bits = 0;
            each_lane(d.rows, [&](unsigned l) { // an Id has as many bytes as its word, to which addresses are aligned
                Id at[N];
                std::memcpy(at, reinterpret_cast<const uint8_t*>(words) + d.addr[l], sizeof at);
                for (unsigned i = 0; i < N; ++i) bits |= what(at[i]) ^ want;
            });
            return bits != 0;
        };
        return !differ(any, [](Id v) { return v; }) || !differ(first, seen);
    }
    each_lane(d.rows, [&](unsigned l) {
        const Four v = four(words + d.addr[l] / 4);
        differs |= (v & ~known(v)) ^ first;
    });
    return !any_of(differs);
}
bool Histories::same(const Doing& d, Id& id) const {
    return d.bytes == 16 ? same<4>(d, id) : d.bytes == 8 ? same<2>(d, id) : same<1>(d, id);
}

// TOLD also where its words differ.
Histories::Id Histories::id_at(const Doing& d, unsigned lane) const {
    const Id* const at = words_.data() + d.addr[lane] / 4;
    const auto seen = [&](Id v) { return is_live(v) ? v : NOTHING; };
    const Id id = seen(at[0]);
    for (unsigned i = 1; i < d.bytes / 4u; ++i)
        if (seen(at[i]) != id) return TOLD;
    return id;
}

template <unsigned N> void Histories::put(const Doing& d, Id id) {
    Id* const words = words_.data();
    const Four all = Four{} + id;
    if (N == 1 && (d.bytes < 4 || is_run(d))) {
        for (unsigned l = 0; l < 8u * d.bytes; l += 4) std::memcpy(words + d.addr[0] / 4 + l, &all, sizeof all);
        return;
    }
    each_lane(d.rows, [&](unsigned l) { std::memcpy(words + d.addr[l] / 4, &all, 4 * N); });
}
void Histories::put(const Doing& d, Id id) {
    d.bytes == 16 ? put<4>(d, id) : d.bytes == 8 ? put<2>(d, id) : put<1>(d, id);
}

Histories::Access& Histories::make_access(Pool& pool, const Doing& d, bool write) {
    Access& a = pool.newest();
    a.moment = last_[d.warp] = d.now;
    a.lanes = d.lanes;
    a.rows = d.rows;
    a.pc = d.pc;
    a.in_flight = 0;
    a.warp = d.warp;
    a.bytes = d.bytes;
    a.write = write;
    a.collective = d.collective;
    a.copied = a.told = false;
    a.strength = d.strength;
    std::memcpy(a.addr, d.addr, sizeof a.addr);
    ++pool.next_access;
    return a;
}

// Is it what the same lanes did to the same words before, with nothing in between?
bool Histories::repeats(Id id, const Doing& d, bool write) {
    if (id == NOTHING) return false;
    Access& a = access_of(id);
    if (a.write != write || a.copied || a.strength != d.strength || a.moment != d.now || !is_own(a, d)) return false;
    a.pc = d.pc;
    return true;
}

// What a word has after this read, which is the next access if it makes a history. TOLD: not everyday.
Histories::Id Histories::after_read(Id id, const Doing& d) {
    if (id == NOTHING) return make_history(accesses_, NOTHING, NOTHING, 0);
    const History h = history(id);
    if (is_live(h.write) && !d.knows(access_of(h.write)) && !is_own(access_of(h.write), d)) return TOLD;
    for (Id i = id; is_live(i); i = history(i).before) {
        const Access& a = access_of(i);
        if (a.write || a.warp != d.warp || a.moment != d.now || a.collective != d.collective) continue;
        if (d.collective ? a.lanes == d.lanes : is_own(a, d)) return id; // it is said already
    }
    return h.depth == DEEPEST ? TOLD : make_history(accesses_, h.write, id, h.depth + 1);
}

bool Histories::read(const Doing& d) {
    Id id = NOTHING;
    if (!same(d, id)) return read_apart(d);
    if (id == TOLD) return false;
    if (repeats(id, d, false)) return true;
    const Id to = after_read(id, d);
    if (to == TOLD) return false;
    if (to == id) return true;
    make_access(accesses_, d, false);
    put(d, to);
    return true;
}

// Words of several histories.
bool Histories::read_apart(const Doing& d) {
    const Id first = accesses_.next;
    Id from[4], to[4], ids[32];
    unsigned count = 0;
    for (uint32_t m = d.rows; m; m &= m - 1) {
        const unsigned lane = unsigned(__builtin_ctz(m));
        const Id id = id_at(d, lane);
        unsigned i = 0;
        while (i < count && from[i] != id) ++i;
        if (i == count) {
            i = count < 4 ? count++ : lane % 4;
            from[i] = id;
            to[i] = id == TOLD ? TOLD : after_read(id, d);
            if (to[i] == TOLD) return accesses_.next = first, false;
        }
        ids[lane] = to[i];
    }
    if (accesses_.next == first) return true;
    make_access(accesses_, d, false);
    for (uint32_t m = d.rows; m; m &= m - 1) {
        const unsigned lane = unsigned(__builtin_ctz(m));
        for (unsigned i = 0; i < std::max(1u, d.bytes / 4u); ++i) words_[d.addr[lane] / 4 + i] = ids[lane];
    }
    return true;
}

bool Histories::may_write(Id id, const Doing& d) const {
    for (; is_live(id); id = history(id).before) {
        const Access& a = access_of(id);
        if (!d.knows(a) && !is_own(a, d)) return false;
    }
    return true;
}

void Histories::make_write(const Doing& d) {
    const Id id = make_history(accesses_, accesses_.next, NOTHING, 0);
    make_access(accesses_, d, true);
    put(d, id);
}

Histories::Id Histories::make_copy(const Doing& d) {
    const Id id = make_history(copies_, copies_.next, NOTHING, 0);
    make_access(copies_, d, true).in_flight = d.rows;
    put(d, id);
    return id;
}

bool Histories::land(Id copy, uint32_t lanes, Moment now, bool waited) {
    if (copy < copies_.over || copy >= copies_.next) return false;
    Access& a = access_of(copy);
    a.in_flight &= ~lanes;
    if (a.told || a.rows != lanes) return false;
    a.copied = true;
    if (waited) a.moment = last_[a.warp] = now;
    return true;
}

bool Histories::is_known_by(const Past::Warps& known) const {
    uint32_t behind = 0;
    for (unsigned w = 0; w < WARPS; ++w) behind |= known[w] < last_[w];
    return !behind;
}

void Histories::forget_known() {
    accesses_.over = accesses_.next;
    while (copies_.over < copies_.next && !access_of(copies_.over).in_flight) ++copies_.over;
}

bool Histories::make_room() {
    const Id over = accesses_.over, over_copies = copies_.over;
    for (Id& word : words_) word = ((word >= over) & (word < FIRST_COPY)) | (word >= over_copies) ? word : NOTHING;
    accesses_.forget();
    copies_.forget();
    return accesses_.has_much_room() && copies_.has_much_room() && are_numbers_left();
}

void Histories::forget_all() {
    for (Pool* pool : {&accesses_, &copies_}) {
        pool->over = pool->next;
        pool->forget();
    }
    if (are_numbers_left()) return;
    accesses_.start(1);
    copies_.start(FIRST_COPY);
}

bool Histories::is_in_words(Id id) const {
    for (; is_live(id); id = history(id).before)
        if (access_of(id).bytes < 4) return false;
    return true;
}

bool Histories::is_in_sixteens(Id id) const {
    for (; is_live(id); id = history(id).before)
        if (access_of(id).bytes != 16) return false;
    return true;
}

} // namespace emu
