// SPDX-License-Identifier: Apache-2.0
// Planted faults; see the header. Each imitates a class of defect that kernels have had.
#include "check/plant.h"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstring>
#include <unistd.h>

namespace check {

static const Plant PLANTS[] = {
    {"off-by-one", "one row holds its neighbours' elements, each moved by one"},
    {"one-unit", "one element is the next value beyond what is allowed"},
    {"skip-last-row", "the last row was never written"},
    {"skip-last-column", "the last element of every row was never written"},
    {"swap-rows", "the first and the last row are exchanged"},
    {"nan-hidden", "a NaN that must be there is a number, or the other way round"},
    {"inf-hidden", "an element is the largest finite number where infinity belongs, or the other way round"},
    {"wrong-padding", "a byte between two rows of an output was written"},
    {"guard-before", "the byte before a tensor was written"},
    {"guard-after", "the byte behind a tensor was written"},
    {"input-changed", "one bit of an input was changed"},
    {"flaky", "the second run differs from the first in the last bit of one element"},
    {"crash", "the process dies"},
    {"hang", "the process never answers"},
};

std::span<const Plant> plants() { return PLANTS; }

namespace {

// One output of a case, and its elements in memory after the run.
struct Output {
    const Operand& operand;
    const std::vector<Allowed>& allowed;
    Image& image;
    size_t size;
    int64_t width, rows;

    uint8_t* at(int64_t index) { return image.data() + operand.at(index); }
    ref::Type type() const { return operand.view.type; }
    const Allowed& allowed_at(int64_t index) const { return allowed[static_cast<size_t>(index)]; }
    bool is_number(int64_t index) const { return allowed_at(index).kind == Allowed::range; }
};

void poison_element(Output& out, int64_t index, const Image& before) {
    const size_t offset = out.operand.at(index);
    std::memcpy(out.image.data() + offset, before.data() + offset, out.size);
}

bool off_by_one(Output& out) {
    const int64_t row = out.rows / 2;
    bool changed = false;
    for (int64_t i = 0; i + 1 < out.width; ++i) {
        uint8_t* to = out.at(row * out.width + i);
        const uint8_t* from = out.at(row * out.width + i + 1);
        const Allowed& allowed = out.allowed_at(row * out.width + i);
        const double value = ref::load(out.type(), from);
        changed |= allowed.kind == Allowed::bits
                       ? ref::load_bits(out.type(), from) != allowed.pattern
                       : allowed.kind == Allowed::range && !(value >= allowed.low && value <= allowed.high);
        std::memcpy(to, from, out.size);
    }
    return changed;
}

bool one_unit(Output& out) {
    for (int64_t i = out.width * out.rows; i-- > 0;) {
        const Allowed& allowed = out.allowed_at(i);
        if (allowed.kind == Allowed::bits) {
            ref::store_bits(out.type(), allowed.pattern ^ 1, out.at(i));
            return true;
        }
        if (allowed.kind == Allowed::range && std::isfinite(allowed.low) && std::isfinite(allowed.high)) {
            ref::store(out.type(), allowed.high + ref::ulp(out.type(), allowed.high), out.at(i));
            return true;
        }
    }
    return false;
}

bool skip(Output& out, const Image& before, bool last_row) {
    bool wanted = false;
    for (int64_t i = 0; i < out.width * out.rows; ++i) {
        if (last_row ? i / out.width == out.rows - 1 : i % out.width == out.width - 1) {
            const Allowed::Kind kind = out.allowed_at(i).kind;
            wanted |= kind == Allowed::range || kind == Allowed::bits;
            poison_element(out, i, before);
        }
    }
    return wanted && !out.operand.input; // what is updated in place may be right as it was
}

bool swap_rows(Output& out) {
    if (out.rows < 2) {
        return false;
    }
    bool seen = false;
    for (int64_t i = 0; i < out.width; ++i) {
        uint8_t *first = out.at(i), *last = out.at((out.rows - 1) * out.width + i);
        const Allowed& allowed = out.allowed_at(i);
        const double value = ref::load(out.type(), last);
        seen |= allowed.kind == Allowed::range
                    ? !(value >= allowed.low && value <= allowed.high)
                    : allowed.kind == Allowed::bits && ref::load_bits(out.type(), last) != allowed.pattern;
        std::swap_ranges(first, first + out.size, last);
    }
    return seen;
}

bool hide(Output& out, bool nan) {
    const double largest = std::ldexp(2 - std::ldexp(1.0, -ref::format_of(out.type()).fraction_bits),
                                      ref::format_of(out.type()).max_exponent());
    if (out.type() == ref::Type::i32) {
        return false;
    }
    for (int64_t i = 0; i < out.width * out.rows; ++i) {
        const Allowed& allowed = out.allowed_at(i);
        if (nan ? allowed.kind == Allowed::nan : allowed.kind == Allowed::range && std::isinf(allowed.low)) {
            ref::store(out.type(), nan ? 0 : std::copysign(largest, allowed.low), out.at(i));
            return true;
        }
    }
    for (int64_t i = 0; i < out.width * out.rows; ++i) {
        if (out.is_number(i) && std::isfinite(out.allowed_at(i).high)) {
            ref::store(out.type(), nan ? NAN : INFINITY, out.at(i));
            return true;
        }
    }
    return false;
}

bool write_padding(Output& out) {
    const View& view = out.operand.view;
    if (out.rows < 2 || view.stride[view.shape.size() - 2] <= out.width) {
        return false;
    }
    out.at(out.width - 1)[out.size] ^= 1; // just behind the first row
    return true;
}

bool flaky(Output& out) {
    for (int64_t i = out.width * out.rows; i-- > 0;) {
        const Allowed& allowed = out.allowed_at(i);
        if (out.is_number(i) && allowed.low < allowed.high) {
            const bool is_low = ref::load(out.type(), out.at(i)) == allowed.low;
            ref::store(out.type(), is_low ? allowed.high : allowed.low, out.at(i)); // right by itself
            return true;
        }
    }
    return false;
}

} // namespace

bool plant(std::string_view name, const Case& c, const Expectation& expected, const RunOptions& options, int run,
           std::vector<Image>& images) {
    if (name == "crash") {
        std::raise(SIGSEGV);
    }
    while (name == "hang") {
        pause();
    }
    if (name == "input-changed") {
        for (const Operand& operand : c.operands) {
            const bool in_place = std::any_of(c.operands.begin(), c.operands.end(), [&](const Operand& other) {
                return other.output && other.storage == operand.storage;
            });
            if (!operand.output && !in_place && operand.view.count() > 0) {
                images[operand.storage].data()[0] ^= 1;
                return true;
            }
        }
        return false;
    }
    for (const auto& [index, allowed] : expected) {
        const Operand& operand = c.operands[index];
        if (operand.view.count() == 0) {
            continue;
        }
        const int64_t width = operand.view.shape.back();
        Output out{operand,
                   allowed,
                   images[operand.storage],
                   ref::size_of(operand.view.type),
                   width,
                   operand.view.count() / width};
        if (name == "guard-before") {
            out.image.bytes[out.image.front - 1] ^= 1;
            return true;
        }
        if (name == "guard-after") {
            if (!options.tight) {
                out.image.bytes[out.image.front + out.image.size] ^= 1;
            }
            return true;
        }
        const bool done = name == "off-by-one"         ? off_by_one(out)
                          : name == "one-unit"         ? one_unit(out)
                          : name == "skip-last-row"    ? skip(out, initial_image(c, operand.storage, options), true)
                          : name == "skip-last-column" ? skip(out, initial_image(c, operand.storage, options), false)
                          : name == "swap-rows"        ? swap_rows(out)
                          : name == "nan-hidden"       ? hide(out, true)
                          : name == "inf-hidden"       ? hide(out, false)
                          : name == "wrong-padding"    ? write_padding(out)
                          : name == "flaky"            ? run == 1 && flaky(out)
                                                       : false;
        if (done) {
            return true;
        }
    }
    return false;
}

} // namespace check
