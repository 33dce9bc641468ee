// SPDX-License-Identifier: Apache-2.0
// The formula, and the rates that it takes from chips.inc.
#include "dispatch/cost.h"

#include <algorithm>

#include "core/divide.h"

namespace spark {
namespace {

constexpr uint32_t PRODUCT_FLOPS = 2 * 16 * 8 * 16, SHARED_BYTES_A_TICK = 128 / 16, ISSUE_TICKS = 16 / 4;
constexpr int64_t TICKS_A_CLOCK = 16;
constexpr unsigned MIB_BITS = 20, PRODUCT_BITS = 6;
constexpr uint64_t MIB = uint64_t{1} << MIB_BITS;

// Saturating arithmetic on what is never negative.
int64_t times(int64_t a, int64_t b) {
    int64_t product;
    return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}
int64_t plus(int64_t a, int64_t b) {
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}
// a * b / 2^bits.
int64_t scaled(uint64_t a, uint64_t b, unsigned bits) {
    unsigned __int128 product = static_cast<unsigned __int128>(a) * b >> bits;
    return product > INT64_MAX ? INT64_MAX : static_cast<int64_t>(product);
}
// bytes * ticks a MiB.
int64_t ticks_of(uint64_t bytes, uint32_t rate) { return scaled(bytes, rate, MIB_BITS); }
int64_t part(int64_t ticks, uint32_t in_64) { return scaled(static_cast<uint64_t>(ticks), in_64, 6); }

// The same of a step, whose counts have 32 bits: nothing overflows, since rates and factors are far below them.
uint64_t ticks_of_step(uint32_t bytes, uint32_t rate) { return uint64_t{bytes} * rate >> MIB_BITS; }
uint64_t part_of_step(uint64_t ticks, uint32_t in_64) { return ticks * in_64 >> 6; }

// Ticks that an SM needs to issue a step.
struct Issue {
    uint64_t products, others;
};
Issue issue(const Target& target, const Fit& fit, const Step& step) {
    const uint32_t product = step.full_rate ? target.full_product : target.product;
    return {part_of_step(uint64_t{step.products} * product, fit.products) >> PRODUCT_BITS,
            part_of_step(uint64_t{step.issued} * ISSUE_TICKS, fit.issued)};
}

// The same of the only block, whose warps have other work beside their products as far as it does not wait for them.
uint64_t in_turn(const Fit& fit, const Issue& issued) {
    return std::max(issued.products, issued.others) +
           part_of_step(std::min(issued.products, issued.others), fit.serial);
}

// Ticks that an SM needs for a step, if its units work beside each other, without what comes through L2.
uint64_t busy(const Fit& fit, const Step& step, const Issue& issued) {
    return std::max({issued.products, issued.others, part_of_step(step.shared / SHARED_BYTES_A_TICK, fit.shared)});
}

int64_t memory_ticks(const Target& target, const Fit& fit, uint64_t bytes) {
    return part(ticks_of(bytes, target.memory), fit.memory);
}

int64_t in_ps(const Target& target, int64_t ticks) { return scaled(static_cast<uint64_t>(ticks), target.tick, 10); }

} // namespace

Target find_target(uint32_t capability, std::string_view device, uint32_t sms) {
    const Chip* chip = std::find_if(std::begin(CHIPS), std::end(CHIPS), [&](const Chip& c) {
        return c.capability == capability && device.find(c.name) != device.npos;
    });
    if (chip == std::end(CHIPS)) --chip; // no such capability is supported
    Target target{};
    target.chip = chip;
    target.fits = FITS[TABLE_OF_FITS[static_cast<size_t>(chip - CHIPS)]].data();
    target.sms = sms != 0 ? sms : chip->sms;
    const bool hopper = capability == 90;
    constexpr uint32_t LATENCY_NS = 800; // of memory that is busy
    target.flight = hopper ? 0 : chip->memory_gbps * LATENCY_NS / chip->sms;
    target.resident_limit[0] = (hopper ? 228u : 100u) << 10;
    target.resident_limit[1] = 65536;
    target.resident_limit[2] = hopper ? 64 : 48;
    target.resident_limit[3] = hopper ? 32 : 24;
    target.tick = 1024 * 62500 / chip->mhz;
    target.product = (16 * PRODUCT_FLOPS << PRODUCT_BITS) / chip->flops;
    target.full_product = (16 * PRODUCT_FLOPS << PRODUCT_BITS) / chip->f16_flops;
    const uint64_t ticks_a_ms = uint64_t{chip->mhz} * 16000;
    target.memory = static_cast<uint32_t>(ticks_a_ms * MIB / (uint64_t{chip->memory_gbps} * 1'000'000));
    // Of L2 each SM has a share of what the chip as listed has.
    target.fetched = static_cast<uint32_t>(ticks_a_ms * MIB / (uint64_t{chip->l2_gbps} * 1'000'000 / chip->sms));
    target.launch = chip->launch_ns * 1000;
    target.l2_bytes = chip->l2_mib * MIB;
    return target;
}

bool has_code(const Target& target, std::span<const Image> images) {
    return images.empty() || std::ranges::any_of(images, [&](const Image& image) {
               return image.arch / 10 == target.chip->capability / 10;
           });
}

uint32_t resident_blocks(const Target& target, const Kernel& kernel, std::span<const Image> images) {
    constexpr uint32_t RESERVED = 1024, WARP_REGS_GRAIN = 256;
    // Those of the chip's own code; where the library has PTX alone, those of the other chip's.
    uint32_t regs = kernel.regs;
    for (const Image& image : images) {
        const bool own = image.arch / 10 == target.chip->capability / 10;
        if (image.kind == ImageKind::cubin && image.regs != 0 && (own || regs == kernel.regs)) regs = image.regs;
    }
    const uint32_t warps = (kernel.block + 31) / 32;
    const uint32_t warp_regs = (regs * 32 + WARP_REGS_GRAIN - 1) / WARP_REGS_GRAIN * WARP_REGS_GRAIN;
    const uint32_t fit = std::min({target.resident_limit[0] / ((kernel.smem + 127) / 128 * 128 + RESERVED),
                                   target.resident_limit[1] / (warps * std::max(warp_regs, 1u)),
                                   target.resident_limit[2] / warps, target.resident_limit[3]});
    return std::max(fit, 1u);
}

Pace find_pace(const Target& target, const Fit& fit, const Load& load) {
    const Issue issued = issue(target, fit, load.step);
    const uint64_t own = busy(fit, load.step, issued);
    const uint64_t work = std::max(own, part_of_step(ticks_of_step(load.step.fetched, target.fetched), fit.fetched));
    const uint64_t waits = uint64_t{load.step.turns} * fit.step, behind = uint64_t{load.step.behind} * fit.step;
    const uint64_t fresh = in_turn(fit, issued) + waits;
    const uint64_t alone =
        load.stages == 0 ? work + waits + fit.latency : std::max<uint64_t>(fresh, fit.latency / load.stages + behind);
    const uint64_t start = fit.block + uint64_t{load.syncs} * fit.step + uint64_t{load.rounds} * fit.round;
    const auto end = [&](uint32_t bytes) {
        return static_cast<int64_t>(part_of_step(ticks_of_step(bytes, target.fetched), fit.written));
    };
    return {static_cast<int64_t>(work),
            static_cast<int64_t>(own),
            static_cast<int64_t>(alone),
            static_cast<int64_t>(fresh),
            fit.beside,
            fit.apart,
            load.step.turns == 0,
            load.step.fetched * std::max(load.stages, 1u),
            static_cast<int64_t>(start),
            end(load.written),
            end(load.late)};
}

int64_t cost(const Target& target, const Fit& fit, uint32_t resident, const Pace& pace, const Load& load) {
    const int64_t slots = int64_t{target.sms} * resident;
    const int64_t full = load.blocks < slots ? 0 : quotient(load.blocks, slots), rest = load.blocks - full * slots;
    // Of so many blocks on an SM, which all together keep its units busy for `work`; while one waits, the others work,
    // though not quite.
    const auto step = [&](int64_t beside, int64_t work, int64_t alone) {
        const int64_t hidden = beside > 1 ? std::min(work, alone) : 0;
        return std::max(work, alone) + part(hidden, pace.beside);
    };
    const int64_t filled = std::min<int64_t>(load.filled, load.steps);
    const auto block = [&](int64_t beside, int64_t work) {
        const int64_t first = filled == 0 ? 0 : filled * step(beside, work, pace.fresh);
        return plus(pace.start + beside * pace.end + first, times(load.steps - filled, step(beside, work, pace.alone)));
    };
    const int64_t fullest = ceil_div(rest, target.sms);
    int64_t last_work = fullest * pace.work;
    if (pace.evens && full == 0 && fullest > 1) {
        last_work = std::max(fullest * pace.own, quotient(rest * pace.work, int64_t{target.sms}));
    }
    // After the first wave a block begins where another has ended, while those beside it work.
    const int64_t apart = full != 0 ? quotient(part(pace.start, pace.apart) * (resident - 1), int64_t{resident}) : 0;
    const int64_t waves = full != 0 ? plus(times(full, block(resident, resident * pace.work) - apart), apart) : 0;
    const int64_t last = rest != 0 ? block(fullest, last_work) - apart : 0;
    int64_t ticks = plus(waves, last);
    // The longest blocks, and those with most to write, stand anywhere in the order, so that one of them begins last.
    ticks = plus(ticks, pace.late);
    const int64_t beside = full != 0 ? resident : fullest;
    if (load.longest > load.steps) {
        ticks = plus(ticks, times(load.longest - load.steps, step(beside, beside * pace.work, pace.alone)));
    }
    const int64_t memory = memory_ticks(target, fit, load.bytes);
    const int64_t flight = beside * pace.loaded;
    const uint32_t enough = target.flight != 0 ? target.flight : fit.flight;
    const int64_t exposed =
        enough == 0 || flight <= enough ? fit.exposed : quotient(int64_t{fit.exposed} * enough, flight);
    ticks = plus(std::max(ticks, memory), part(std::min(ticks, memory), static_cast<uint32_t>(exposed)));
    // Where memory has kept full waves waiting, the few blocks of a last one begin late, and do not keep it busy.
    if (full != 0 && rest != 0 && memory > waves) {
        const int64_t share = times(quotient(memory, load.blocks), rest); // of memory's time
        ticks = plus(ticks, std::max<int64_t>(std::min(memory - share - waves, last - share), 0));
    }
    if (load.merged != 0) ticks = plus(ticks, part(ticks_of(load.merged, target.memory), fit.merged));
    if (load.later != 0) ticks = plus(ticks, quotient(times(load.later, TICKS_A_CLOCK), int64_t{target.sms}));
    ticks = plus(ticks, int64_t{fit.block} * (load.launches - 1)); // of blocks that only begin when others have ended
    return plus(in_ps(target, ticks), int64_t{target.launch} * load.launches);
}

int64_t cost(const Target& target, const Fit& fit, uint32_t resident, const Load& load) {
    return cost(target, fit, resident, find_pace(target, fit, load), load);
}

} // namespace spark
