// SPDX-License-Identifier: Apache-2.0
// Records of what histories hold.
#include "shadow.h"

namespace emu {

void Shadow::add_reads(Record& r, Reads now) {
    if (!r.reads.warps) {
        r.reads = now;
        return;
    }
    for (Reads* q = &r.reads; q; q = q->next ? &more_[q->next] : nullptr) {
        if (!q->like(now) || (q->lanes != now.lanes && q->warps != now.warps)) continue;
        q->lanes |= now.lanes;
        q->warps |= now.warps;
        q->pc = now.pc;
        return;
    }
    const uint32_t index = new_more();
    now.next = r.reads.next;
    more_[index] = now;
    r.reads.next = index;
}

void Shadow::tell_history(Histories::Id id, uint32_t address, Record& r) {
    r = Record{};
    recent.each(id, address, [&](Histories::Access& a, uint32_t lanes) {
        if (!a.write) {
            add_reads(r, {a.moment, 1u << a.warp, lanes, a.pc, 0, false, false, 0});
            return;
        }
        const bool in_flight = a.in_flight & lanes;
        a.told |= in_flight;
        r.write_moment = a.moment;
        r.write_lanes = lanes;
        r.write_pc = a.pc;
        r.write_warp = a.warp;
        r.flags = uint8_t((in_flight ? Record::in_flight : 0) | (a.copied ? Record::copied : 0) | a.strength);
    });
}

void Shadow::tell(uint32_t chunk) {
    Histories::Id ids[4];
    for (unsigned i = 0; i < 4; ++i) ids[i] = recent.take(chunk * 4 + i);
    told_.push_back(chunk);
    const bool alike = ids[0] == ids[1] && ids[0] == ids[2] && ids[0] == ids[3];
    if (alike && recent.is_in_sixteens(ids[0])) return tell_history(ids[0], chunk * 16, coarse_[chunk]);
    coarse_[chunk] = Record{};
    coarse_[chunk].flags = Record::split;
    for (unsigned i = 0; i < 4; ++i) tell_word(ids[i], chunk * 4 + i);
}

void Shadow::tell_word(Histories::Id id, uint32_t word) {
    if (recent.is_in_words(id)) return tell_history(id, word * 4, words_[word]);
    words_[word] = Record{};
    words_[word].flags = Record::split;
    make_bytes();
    for (uint32_t byte = word * 4; byte < word * 4 + 4; ++byte) tell_history(id, byte, bytes_[byte]);
}

template <class F> void Shadow::each_part(uint32_t chunk, F f) {
    if (!(coarse_[chunk].flags & Record::split)) return f(coarse_[chunk]);
    for (uint32_t word = chunk * 4; word < chunk * 4 + 4; ++word) {
        if (!(words_[word].flags & Record::split)) f(words_[word]);
        else
            for (uint32_t byte = word * 4; byte < word * 4 + 4; ++byte) f(bytes_[byte]);
    }
}

// Where something was released, records stay; and until it has landed, where a copy is in flight.
void Shadow::forget_known() {
    recent.forget_known();
    std::erase_if(told_, [&](uint32_t chunk) {
        if (is_line_[chunk * 16 / LINE] || recent.has(chunk * 16)) return true;
        bool object = coarse_[chunk].object, in_flight = false;
        each_part(chunk, [&](const Record& r) { object |= r.object, in_flight |= (r.flags & Record::in_flight) != 0; });
        if (object || in_flight) return object;
        each_part(chunk, [&](Record& r) { forget_reads(r); });
        recent.give_back(chunk);
        return true;
    });
}

void Shadow::tell_all() {
    const std::vector<Histories::Id>& words = recent.words();
    for (uint32_t i = 0; i < words.size(); i += 4) {
        const bool none = !(words[i] | words[i + 1] | words[i + 2] | words[i + 3]);
        if (!none && words[i] != Histories::TOLD) tell(i / 4);
    }
    recent.forget_all();
}

} // namespace emu
