// SPDX-License-Identifier: Apache-2.0
// A block's life: its state is laid out once and refilled for each block; warps take turns by the chosen schedule;
// when none can go on, what each of them waits for is reported.
#include "block.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "../ir/special.h"
#include "../report/report.h"
#include "run.h"
#include "waiting.h"

namespace emu {
namespace {
size_t round_up(size_t v, size_t to) { return (v + to - 1) / to * to; }
// Registers, predicates and undefined masks.
size_t words_of_warp(const Kernel& k) { return round_up(size_t(k.slots) * 32 + k.preds + k.slots + k.preds, 32); }
bool is_register(const SpecialReg& s) { return Special(s.which) != Special::is_explicit_cluster; }
uint32_t warps_of(const Launch& l) { return (l.block.x * l.block.y * l.block.z + 31) / 32; }
} // namespace

uint64_t Block::bytes(const Launch& l) {
    const Kernel& k = *l.kernel;
    const uint64_t shared = uint64_t(k.shared_end) + l.dynamic_smem;
    return (words_of_warp(k) * 4 + uint64_t(k.local_bytes) * 64) * warps_of(l) + shared + shared / 4 +
           k.code.size() * 12;
}

Block::Block(Launch& l, Cluster& cluster, Observer* first) : launch(&l) {
    const Kernel& k = *l.kernel;
    cta.launch = &l;
    cta.kernel = &k;
    cta.cluster = &cluster;
    cta.threads = l.block.x * l.block.y * l.block.z;
    cta.nwarps = warps_of(l);
    cta.counters = &scalar_;
    cta.shared_end = k.shared_end + l.dynamic_smem;
    shared_.resize(round_up(cta.shared_end, 128) + 128);
    shared_defined_.resize(shared_.size() / 32 + 4);
    cta.shared = shared_.data();
    cta.shared_defined = shared_defined_.data();
    mark_places();
    words_per_warp_ = words_of_warp(k);
    size_t words = words_per_warp_ * cta.nwarps;
    registers_.reset(static_cast<uint32_t*>(std::aligned_alloc(128, round_up(words * 4 + 128, 128))));
    if (!registers_) throw std::bad_alloc();
    memset(registers_.get(), 0, words * 4);
    local_.resize(size_t(k.local_bytes) * 32 * cta.nwarps);
    local_undefined_.resize(local_.size());
    warps_ = std::vector<Warp>(cta.nwarps);
    cta.warps = warps_.data();
    for (uint32_t i = 0; i < cta.nwarps; i++) {
        Warp& w = warps_[i];
        w.regs = registers_.get() + words_per_warp_ * i;
        w.preds = w.regs + size_t(k.slots) * 32;
        w.undef = w.preds + k.preds;
        w.local = local_.data() + size_t(k.local_bytes) * 32 * i;
        w.local_undefined = local_undefined_.data() + size_t(k.local_bytes) * 32 * i;
        w.frags.reserve(96); // never moves while a handler holds one
        w.index = i;
        w.own = w.cta = &cta;
        w.launch = &l;
        w.kernel = &k;
        for (const Const& c : k.consts)
            for (int lane = 0; lane < 32; lane++) {
                if (c.wide == 1) w.reg<uint32_t>(c.slot)[lane] = uint32_t(c.bits);
                else w.reg<uint64_t>(c.slot)[lane] = c.bits;
            }
        for (const SpecialReg& s : k.specials)
            if (is_register(s) && !differs_by_block(Special(s.which))) fill_special(w, s.slot, s.which);
    }
    blocked_.resize(cta.nwarps);
    counts.resize(k.code.size());
    total_counts_.resize(k.code.size());
    bool copies = false;
    for (const InstInfo& info : k.infos) copies |= row_of(info).is(trait::copies);
    cta.observer = make_checker(l, first);
    if (copies) cta.async = make_async(cta);
}

Block::~Block() {
    if (cta.async) destroy_async(cta.async);
    delete cta.observer;
}

// With one place alone, its ends are those of shared memory.
void Block::mark_places() {
    const std::vector<StoragePlace>& places = cta.kernel->shared_places;
    if (places.size() < 2) return;
    shared_inside_.resize(shared_defined_.size());
    for (const StoragePlace& p : places) {
        const uint32_t end = p.bytes ? p.from + p.bytes : cta.shared_end;
        for (uint32_t a = p.from, next; a < end; a = next) {
            next = std::min(end, (a | 31) + 1);
            shared_inside_[a >> 5] |= uint32_t(((1ull << (next - a)) - 1) << (a & 31));
        }
    }
    cta.shared_inside = shared_inside_.data();
}

void Block::fill_special(Warp& w, uint16_t slot, uint8_t which) {
    const Dim3 &b = launch->block, &g = launch->grid, &c = launch->cluster;
    const Kernel& k = *launch->kernel;
    const Cluster& cluster = *cta.cluster;
    if (is_clock(Special(which))) return; // mov reads it
    uint32_t* out = w.reg<uint32_t>(slot);
    const uint32_t lanes = differs_by_lane(Special(which)) ? 32 : 1;
    for (uint32_t l = 0; l < lanes; l++) {
        uint32_t t = w.index * 32 + l, v = 0;
        switch (Special(which)) {
        case Special::tid_x: v = t < b.x ? t : t % b.x; break;
        case Special::tid_y: v = t < b.x ? 0 : t / b.x % b.y; break;
        case Special::tid_z: v = t < b.x ? 0 : t / b.x / b.y; break;
        case Special::ntid_x: v = b.x; break;
        case Special::ntid_y: v = b.y; break;
        case Special::ntid_z: v = b.z; break;
        case Special::ctaid_x: v = cta.id.x; break;
        case Special::ctaid_y: v = cta.id.y; break;
        case Special::ctaid_z: v = cta.id.z; break;
        case Special::nctaid_x: v = g.x; break;
        case Special::nctaid_y: v = g.y; break;
        case Special::nctaid_z: v = g.z; break;
        case Special::laneid: v = l; break;
        case Special::warpid: v = w.index; break;
        case Special::nwarpid: v = launch->device->max_warps_per_sm; break;
        case Special::smid: v = uint32_t(cta.linear % launch->device->sm_count); break;
        case Special::nsmid: v = launch->device->sm_count; break;
        case Special::lanemask_eq: v = 1u << l; break;
        case Special::lanemask_le: v = (2u << l) - 1; break;
        case Special::lanemask_lt: v = (1u << l) - 1; break;
        case Special::lanemask_ge: v = ~((1u << l) - 1); break;
        case Special::lanemask_gt: v = ~((2u << l) - 1); break;
        case Special::total_smem_size: v = k.static_smem + launch->dynamic_smem; break;
        case Special::aggr_smem_size: v = k.static_smem + launch->dynamic_smem + launch->device->smem_reserved; break;
        case Special::grid_barrier_high: v = uint32_t(launch->grid_barrier >> 32); break;
        case Special::grid_barrier_low: v = uint32_t(launch->grid_barrier); break;
        case Special::dynamic_smem_size: v = launch->dynamic_smem; break;
        case Special::clusterid_x: v = cluster.id.x; break;
        case Special::clusterid_y: v = cluster.id.y; break;
        case Special::clusterid_z: v = cluster.id.z; break;
        case Special::nclusterid_x: v = g.x / c.x; break;
        case Special::nclusterid_y: v = g.y / c.y; break;
        case Special::nclusterid_z: v = g.z / c.z; break;
        case Special::cluster_ctaid_x: v = cta.id.x % c.x; break;
        case Special::cluster_ctaid_y: v = cta.id.y % c.y; break;
        case Special::cluster_ctaid_z: v = cta.id.z % c.z; break;
        case Special::cluster_nctaid_x: v = c.x; break;
        case Special::cluster_nctaid_y: v = c.y; break;
        case Special::cluster_nctaid_z: v = c.z; break;
        case Special::cluster_ctarank: v = cta.rank; break;
        case Special::cluster_nctarank: v = c.x * c.y * c.z; break;
        case Special::gridid: std::fill_n(w.reg<uint64_t>(slot), 32, 1); return;
        default: break;
        }
        out[l] = v;
    }
    std::fill(out + lanes, out + 32, out[0]);
}

void Block::start_warp(Warp& w) {
    const Kernel& k = *launch->kernel;
    uint32_t first = w.index * 32, lanes = std::min(32u, cta.threads - first);
    w.existing = w.live = lanes == 32 ? FULL : (1u << lanes) - 1;
    w.frags.clear();
    w.frags.push_back({WarpSplit::ready, 0, w.live, -1, 0});
    w.joins.clear();
    w.pending.clear();
    w.pending_among = 0;
    w.current = 0;
    w.turn = 0;
    w.carry = 0;
    w.cluster_came = w.cluster_passed = 0;
    w.executed = 0;
    w.has_origin = false;
    w.loops.changes = UINT64_MAX;
    w.loops.rounds = 0;
    w.rng = launch->options.seed * 0x9e3779b97f4a7c15ull + cta.linear * 64 + w.index;
    memset(w.preds, 0, k.preds * 4);
    w.preds[0] = FULL;
    memset(w.undef, 0, (k.slots + k.preds) * 4);
    w.tainted = 0;
    w.tainted_among = 0;
    memset(w.tainted_each, 0, sizeof w.tainted_each);
    w.partly.clear();
    w.copied.clear();
    if (launch->options.check_undefined)
        for (uint16_t n : k.maybe_undefined) w.set_undefined(n, FULL);
    for (const SpecialReg& s : k.specials) {
        if (!is_register(s)) w.preds[s.slot] = launch->explicit_cluster ? FULL : 0;
        else if (differs_by_block(Special(s.which))) fill_special(w, s.slot, s.which);
    }
}

void Block::begin(Dim3 id, uint32_t rank) {
    const Dim3& g = launch->grid;
    const uint64_t linear = id.x + uint64_t(g.x) * (id.y + uint64_t(g.y) * id.z);
    cta.linear = linear;
    cta.id = id;
    cta.rank = rank;
    cta.live_threads = cta.threads;
    cta.barrier_epoch = 0;
    cta.executed = 0;
    cta.changes = 0;
    cta.rng = launch->options.seed + linear * 0x2545f4914f6cdd1dull;
    for (BarrierState& b : cta.barriers) b = {};
    cta.mbarriers.clear();
    cta.partly.clear();
    std::fill(shared_defined_.begin(), shared_defined_.end(), launch->options.check_undefined ? 0 : FULL);
    std::fill(shared_.begin(), shared_.end(), 0xcb); // what nobody wrote is not zero
    std::fill(local_.begin(), local_.end(), 0xcb);
    std::fill(local_undefined_.begin(), local_undefined_.end(), launch->options.check_undefined ? 0xff : 0);
    for (Warp& w : warps_) {
        w.agent = rank * 32 + w.index;
        start_warp(w);
    }
    std::fill(blocked_.begin(), blocked_.end(), false);
    next_warp_ = 0;
    starved_ = 0;
    if (cta.async) async_reset(cta.async);
    if (cta.observer) cta.observer->cta_begin(cta);
}

uint64_t Block::quantum() { return launch->options.schedule == Schedule::random ? 1 + next_random(cta.rng) % 64 : 256; }

// A warp that can go on, or -1.
int Block::choose_warp() {
    uint32_t n = cta.nwarps;
    auto can = [&](uint32_t i) { return can_go_on(warps_[i]); };
    uint32_t from = next_warp_;
    Schedule s = launch->options.schedule;
    if (s == Schedule::random) from = next_random(cta.rng) % n;
    bool low = s == Schedule::starve_high, high = s == Schedule::starve_low;
    if ((low || high) && ++starved_ % 64 != 0) { // once in a while the others, or a wait for them would never end
        for (uint32_t i = 0; i < n; i++) {       // a spin that nothing can end yet takes no turns from them
            const uint32_t k = low ? i : n - 1 - i;
            if (can(k) && !waits(warps_[k])) return int(k);
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t k = (from + i) % n;
        if (!can(k)) continue;
        next_warp_ = k + 1;
        return int(k);
    }
    return -1;
}

void Block::report_deadlock() {
    std::string text;
    uint32_t pc = 0;
    const char* kind = "deadlock";
    for (Warp& w : warps_) {
        text += describe_waits(w);
        for (const WarpSplit& f : w.frags) {
            if (f.state == WarpSplit::at_barrier || f.state == WarpSplit::at_cluster) {
                if (kind[1] == 'e') pc = f.pc - 1;
            } else {
                const InstInfo& info = w.kernel->infos[f.pc];
                kind = row_of(info).is(trait::barrier) && info.mask_at < 0 ? "barrier" : "divergence";
                pc = f.pc;
            }
        }
    }
    report_raw(cta, kind, pc, "  no warp can go on\n" + text + replay(*launch));
}

uint32_t Block::describe(std::string& text) {
    uint32_t pc = 0;
    for (Warp& w : warps_) {
        text += describe_waits(w);
        for (const WarpSplit& f : w.frags)
            if (f.state == WarpSplit::at_cluster) pc = f.pc - 1;
        if (const uint32_t at = watching_pc(w); at < w.kernel->code.size()) pc = at;
    }
    return pc;
}

bool Block::waits_for_cluster() const {
    for (const Warp& w : warps_)
        for (const WarpSplit& f : w.frags)
            if (f.state == WarpSplit::at_cluster) return true;
    return false;
}

// Whether lanes wait at griddepcontrol.wait; where all that it waits for has ended, they go on.
bool Block::waits_for_grids() {
    bool found = false;
    for (Warp& w : warps_)
        for (WarpSplit& f : w.frags) {
            if (f.state != WarpSplit::at_grids) continue;
            found = true;
            if (!launch->before) f.state = WarpSplit::ready;
        }
    return found;
}

bool Block::all_wait() const { return std::all_of(warps_.begin(), warps_.end(), waits); }

void Block::report_limit(Warp& w, const std::string& which) {
    if (w.current >= 0 || choose_fragment(w)) w.pc = w.frags[size_t(w.current)].pc;
    const bool spins = spins_long(w);
    report(w, spins ? "livelock" : "limit", -1,
           "the kernel does not end: it has reached " + which +
               (spins ? "\n  a warp goes round for long without changing anything\n" + describe_waits(w) : ""));
}

void Block::report_launch_limit() {
    Warp* most = nullptr;
    for (Warp& w : warps_)
        if (can_go_on(w) && (!most || w.executed > most->executed)) most = &w;
    report_limit(most ? *most : warps_[0],
                 "the limit of " + std::to_string(launch->options.limit) + " instructions of the launch (limit)");
}

void Block::fold_counts() {
    for (size_t i = 0; i < counts.size(); i++) total_counts_[i] += counts[i];
    std::fill(counts.begin(), counts.end(), 0);
}

Stop Block::run(uint64_t budget) {
    const uint64_t end = cta.executed + budget, warp_limit = launch->options.warp_limit;
    Stop stop = Stop::turn_over;
    for (Warp& w : warps_) w.loops.laps = 0;
    while (stop == Stop::turn_over) {
        int i = choose_warp();
        if (i < 0 && waits_for_grids()) {
            if (!launch->before) continue;
            stop = Stop::waiting;
            break;
        }
        if (i < 0) {
            stop = Stop::finished;
            for (const Warp& w : warps_)
                if (!w.finished()) stop = Stop::failed;
            if (stop == Stop::failed && cta.cluster->blocks.size() > 1 && waits_for_cluster()) stop = Stop::blocked;
            if (stop == Stop::failed) report_deadlock();
            break;
        }
        if (cta.executed >= end) break; // asked after choose_warp(): a block that has ended is no longer in its turn
        Warp& w = warps_[size_t(i)];
        uint64_t steps = std::min(quantum(), end - cta.executed);
        if (warp_limit) steps = std::min(steps, warp_limit - w.executed);
        if (!steps) {
            report_limit(w, "the limit of " + std::to_string(warp_limit) + " instructions of one warp (warp_limit)");
            stop = Stop::failed;
            break;
        }
        const uint64_t before = cta.executed;
        if (run_warp(w, steps) == Stop::failed) stop = Stop::failed;
        if (__builtin_expect(launch->alone != 0, 0)) launch->ran_alone(cta.executed - before);
        if (cta.async) async_tick(cta.async, cta);
        if (launch->state->stop.load(std::memory_order_relaxed)) stop = Stop::failed;
        else if (stop == Stop::turn_over && w.loops.laps && can_go_on(w) && all_wait()) stop = Stop::waiting;
    }
    fold_counts();
    if (stop == Stop::finished) {
        if (cta.async && !async_cta_end(cta.async, cta)) stop = Stop::failed;
        if (cta.observer && !cta.observer->cta_end(cta)) stop = Stop::failed;
    }
    return stop;
}

void Block::add_to(Counters& total) const {
    Counters c = scalar_;
    const Kernel& k = *launch->kernel;
    std::vector<uint64_t> by_form(k.forms.size());
    for (size_t pc = 0; pc < total_counts_.size(); pc++) by_form[k.form_of[pc]] += total_counts_[pc];
    for (size_t i = 0; i < by_form.size(); i++) {
        if (!by_form[i]) continue;
        const InstInfo& info = k.infos[k.forms[i]];
        c.warp_instructions += by_form[i];
        if (row_of(info).pipe == "tensor") c.mma += by_form[i];
        c.by_opcode.emplace_back(info.text, by_form[i]);
    }
    c.lane_instructions = lane_instructions;
    total.add(c);
}

} // namespace emu
