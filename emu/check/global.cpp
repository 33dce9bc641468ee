// SPDX-License-Identifier: Apache-2.0
// Races in global memory, between blocks of a launch and between threads of a block. See README.md.
#include <cstring>

#include "../exec/async.h"
#include "../report/report.h"
#include "checker.h"
#include "global_races.h"

namespace emu {

std::shared_ptr<GlobalRaces> make_global_races(const Options& options) {
    return options.check_race && options.global_races ? std::make_shared<GlobalRaces>() : nullptr;
}

namespace {
// Does a store of this lane bring these bytes, from the place `first` of its own on?
bool stores_bytes(const Warp& w, const Inst& in, unsigned lane, unsigned first, unsigned bytes, const void* there) {
    if (!row_of(w.info()).is(trait::stores)) return false;
    const size_t lane_bytes = in.bytes == 16 ? 16 : store_register_bytes(in) == 8 ? 8 : 4;
    const auto* want = static_cast<const uint8_t*>(there);
    for (unsigned at = first; at < first + bytes;) {
        const unsigned within = at % in.bytes, part = std::min(in.bytes - within, first + bytes - at);
        const uint8_t* const lanes = w.reg<uint8_t>(in.r[1 + at / in.bytes]);
        if (std::memcmp(lanes + lane * lane_bytes + within, want, part)) return false;
        at += part, want += part;
    }
    return true;
}
// Does a store of this lane leave memory as it is?
bool stores_what_is(const Warp& w, const Inst& in, unsigned lane, uint64_t address) {
    return stores_bytes(w, in, lane, 0, in.bytes * in.vec, reinterpret_cast<const void*>(address));
}
// In the place of what was kept, or with it: lanes of one instruction that touch the same bytes.
void keep(GlobalAccess& kept, const GlobalAccess& now) {
    const uint32_t others = kept.together(now) && kept.bytes == now.bytes ? kept.lanes : 0;
    kept = now;
    kept.lanes |= others;
}
} // namespace

Footprint GlobalRaces::footprint(const Kernel& kernel) const {
    Footprint out;
    std::unordered_map<uint32_t, uint32_t> places; // by pc
    const auto add = [&](std::vector<Touch>& to, const GlobalAccess& a, uint64_t word) {
        if (!a.bytes) return;
        const auto [place, fresh] = places.try_emplace(a.pc, uint32_t(out.places.size()));
        if (fresh) out.places.push_back(where(kernel, a.pc));
        const uint64_t from = word + unsigned(__builtin_ctz(a.bytes)),
                       end = word + 32 - unsigned(__builtin_clz(a.bytes));
        const Touch touch{from, end, place->second, a.wide, released(a.block, a.when, UINT64_MAX), a.acquired};
        const auto alike = [&](const Touch& o) {
            return o.place == touch.place && o.strong == touch.strong && o.released == touch.released &&
                   o.acquired == touch.acquired;
        };
        if (!to.empty() && to.back().end == from && alike(to.back())) to.back().end = end;
        else to.push_back(touch);
    };
    std::vector<uint64_t> pages;
    for (const auto& page : pages_) pages.push_back(page.first);
    std::sort(pages.begin(), pages.end());
    for (const uint64_t page : pages)
        for (uint64_t i = 0; i < PAGE / 4; ++i) {
            const GlobalWord& word = (*pages_.at(page))[i];
            const uint64_t address = page * PAGE + i * 4;
            add(out.writes, word.write, address);
            for (int slot = 0; slot < 2; ++slot) add(out.reads[slot], word.reads[slot], address);
        }
    return out;
}

Footprint footprint_of(const Launch& launch) {
    Footprint out = launch.races->footprint(*launch.kernel);
    out.replay = replay(launch);
    return out;
}

void Checker::fence(Warp& w, uint32_t mask) {
    order_.fence(w.agent, mask, w.live, is_wide(w.kernel->code[w.pc].order));
    global_fence();
}

void Checker::global_fence() {
    if (!launch_.races) return;
    if (touched_) launch_.races->release(cta_->linear); // else it has released all
    touched_ = false;
    acquired_ = launch_.races->acquire();
}

bool Checker::is_ordered(const GlobalAccess& then, const GlobalAccess& now) const {
    if (then.block == now.block) {
        if (then.copy || now.copy) return true; // the asynchronous engine's affair
        const unsigned lane = unsigned(__builtin_ctz(now.lanes));
        if (order_.before({then.moment, then.lanes, then.warp}, now.warp, lane)) return true;
    }
    return launch_.races->released(then.block, then.when, acquired_);
}

bool Checker::conflicts(const GlobalAccess& then, const GlobalAccess& now) const {
    if (!(then.bytes & now.bytes)) return false;
    if (now.unseeing) return true;
    if (then.block == now.block ? then.strong && now.strong : then.wide && now.wide) return false;
    return !is_ordered(then, now);
}

bool Checker::report_global_race(const GlobalAccess& now, bool write, const GlobalAccess& then, bool wrote,
                                 uint64_t address, const char* why) {
    auto side = [&](const char* what, const GlobalAccess& a) {
        return std::string("  ") + what + "  " + where(*cta_->kernel, a.pc) + "   block " + std::to_string(a.block) +
               " warp " + std::to_string(a.warp % WARPS) + " lane " + std::to_string(__builtin_ctz(a.lanes)) +
               "   global 0x" + hex(address) + "\n";
    };
    std::string body = side(write ? "write" : "read ", now) + side(wrote ? "write" : "read ", then);
    report_raw(*cta_, "race", now.pc, body + why + "  " + launch_.memory->describe(address) + "\n" + replay(launch_));
    return false;
}

bool Checker::global_race(const GlobalAccess& now, bool write, const GlobalAccess& then, bool wrote, uint64_t address) {
    const char* const why =
        now.unseeing ? "  what ld.global.nc reads must not be written during the launch, in whatever order\n"
        : now.block == then.block
            ? "  nothing orders these threads of one block\n"
            : "  the blocks are not ordered: the earlier one has released nothing since, or the later one has "
              "acquired nothing after that\n";
    return report_global_race(now, write, then, wrote, address, why);
}

bool Checker::global_word(const GlobalAccess& now, Effect effect, GlobalWord& word, uint64_t address) {
    const bool write = effect != Effect::read, harmless = effect == Effect::alike || effect == Effect::same;
    if (!harmless && conflicts(word.write, now)) return global_race(now, write, word.write, true, address);
    if (effect == Effect::same) return true;
    if (!write) {
        keep(word.reads[word.reads[0].bytes && word.reads[0].block != now.block], now);
        return true;
    }
    for (GlobalAccess& then : word.reads) {
        if (conflicts(then, now)) return global_race(now, write, then, false, address);
        if (!now.strong) then = {};
    }
    keep(word.write, now);
    return true;
}

// What is the same of all bytes of an access.
GlobalAccess Checker::global_now(uint32_t pc, unsigned agent) {
    touched_ = true;
    GlobalAccess now;
    now.acquired = acquired_;
    now.when = launch_.races->now();
    now.block = cta_->linear;
    now.moment = order_.now(agent);
    now.pc = pc;
    now.warp = uint16_t(agent);
    return now;
}

// What a bulk copy stores may be read, or written over, once its thread has waited for more than its reading, by other
// blocks also: until then nobody can know that it has written. `copies`: by another bulk copy.
bool Checker::stored_before(Warp& w, uint32_t mask, const uint64_t* addr, unsigned bytes, bool write, bool copies) {
    const Inst& in = w.kernel->code[w.pc];
    const bool atomic = in.access & Inst::atomic, strong = in.order.strong();
    const auto conflicts = [&](const BulkCopy& c, unsigned lane, uint64_t from, uint64_t end, const uint8_t* data) {
        if (atomic || copies || !write) return !(atomic && c.reduce);
        const void* const there = data ? data : reinterpret_cast<const void*>(from);
        return c.reduce || !stores_bytes(w, in, lane, unsigned(from - addr[lane]), unsigned(end - from), there);
    };
    const auto look = [&](const Cta& cta, auto found) {
        return cta.async && cta.async->bulk.storing(mask, addr, bytes, [&](auto& c, unsigned lane, auto... rest) {
            return conflicts(c, lane, rest...) && (found(c, lane), true);
        });
    };
    const bool flag = strong && !write && !atomic && !copies; // read by its own block until it changes
    const bool own = !flag && look(*w.own, [&](const BulkCopy& c, unsigned lane) {
        report_access(w, "async", int(lane), Space::global, addr[lane], bytes, write,
                      "the bulk copy of warp " + std::to_string(c.warp) + " lane " + std::to_string(c.lane) + " at " +
                          where(*w.kernel, c.pc) + " may still write there: its thread has not waited by wait_group; " +
                          "wait_group.read is the end of its reading alone");
    });
    if (own || !launch_.races) return !own;
    for (const Cta* other : launch_.races->running) {
        if (other == w.own) continue;
        const bool found = look(*other, [&](const BulkCopy& c, unsigned lane) {
            GlobalAccess now = global_now(w.pc, w.agent), then;
            now.lanes = 1u << lane;
            then.block = other->linear, then.warp = uint16_t(c.warp), then.lanes = 1u << c.lane, then.pc = c.pc;
            const char* const why = "  the bulk copy may still write there: its thread has not waited by wait_group\n";
            report_global_race(now, write || atomic, then, true, addr[lane], why);
        });
        if (found) return false;
    }
    return true;
}

bool Checker::global_access(Warp& w, uint32_t mask, const uint64_t* addr, unsigned bytes, bool write) {
    const Inst& in = w.kernel->code[w.pc];
    const bool atomic = in.access & Inst::atomic;
    announced_ += (write || atomic) && in.order.strong();
    const bool bulk = is_bulk(w.info());
    if (!(bulk && write) && !stored_before(w, mask, addr, bytes, write, bulk)) return false;
    if (!launch_.races || bulk) return true; // a bulk copy is told when its bytes move
    const bool strong = in.order.strong();
    if (strong && in.order.releases()) launch_.races->release(cta_->linear);
    if (strong && (atomic || !write)) acquired_ = launch_.races->acquire();
    GlobalAccess now = global_now(w.pc, w.agent);
    now.strong = strong;
    now.wide = strong && in.order.scope != Scope::cta;
    now.copy = row_of(w.info()).is(trait::copies);
    now.unseeing = row_of(w.info()).is(trait::unseeing);
    for (uint32_t m = mask; m; m &= m - 1) {
        const unsigned lane = unsigned(__builtin_ctz(m));
        const bool same = write && stores_what_is(w, in, lane, addr[lane]);
        now.lanes = now.copy ? w.mask : 1u << lane;
        now.bytes = bytes < 4 ? uint8_t(((1u << bytes) - 1) << (addr[lane] & 3)) : 15;
        const auto alike = [&](const GlobalAccess& then) { // lanes of one instruction that write the same
            if (!then.together(now) || !row_of(w.info()).is(trait::stores)) return false;
            for (uint32_t others = then.lanes; others; others &= others - 1)
                if (!stores_equal(w, in, unsigned(__builtin_ctz(others)), lane)) return false;
            return true;
        };
        for (uint64_t a = addr[lane] & ~3ull; a < addr[lane] + bytes; a += 4) {
            GlobalWord& word = launch_.races->at(a);
            const Effect effect = same                ? Effect::same
                                  : !write && !atomic ? Effect::read
                                  : alike(word.write) ? Effect::alike
                                                      : Effect::write;
            if (!global_word(now, effect, word, a)) return false;
        }
    }
    return true;
}

// A reduction is one of relaxed atomics of the card's scope. The copy counts as made when its bytes move: what was
// released before is not that, and what was acquired until then is.
void Checker::bulk_move(const BulkMove& move) {
    GlobalAccess now = global_now(move.pc, cta_->rank * WARPS + move.warp);
    now.strong = now.wide = move.reduces;
    now.copy = true;
    now.lanes = 1u << move.lane;
    const uint64_t end = move.global + move.bytes;
    for (uint64_t a = move.global & ~3ull; a < end; a += 4) {
        const uint64_t from = std::max(a, move.global), bytes = std::min(a + 4, end) - from;
        now.bytes = uint8_t(((1u << bytes) - 1) << (from & 3));
        const bool same =
            move.stored && !std::memcmp(move.stored + (from - move.global), reinterpret_cast<const void*>(from), bytes);
        const Effect effect = same ? Effect::same : move.stored || move.reduces ? Effect::write : Effect::read;
        if (!global_word(now, effect, launch_.races->at(a), a)) return;
    }
}

} // namespace emu
