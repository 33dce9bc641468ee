// SPDX-License-Identifier: Apache-2.0
// The comparison of spark-check; see the header for its order.
#include "check/compare.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

namespace check {
namespace {

std::string number(double x) {
    char text[40];
    std::snprintf(text, sizeof text, "%.9g", x);
    return text;
}

std::string hex(uint64_t bits) {
    char text[24];
    std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(bits));
    return text;
}

// "[1,5,77]" of a row-major index.
std::string position(const View& view, int64_t index) {
    std::string text;
    for (size_t i = view.shape.size(); i-- > 0;) {
        text = std::to_string(index % view.shape[i]) + (text.empty() ? "" : ",") + text;
        index /= view.shape[i];
    }
    return "[" + text + "]";
}

// Where an element stands in the tiles of a kernel whose name says its tile (128x128x32): in which block, and where in
// it.
std::string tile_position(const std::string& kernel, const View& view, int64_t index) {
    const size_t way = kernel.find("__");
    int rows = 0, columns = 0;
    if (way == std::string::npos || view.shape.size() < 2 ||
        std::sscanf(kernel.c_str() + way, "__%dx%dx", &rows, &columns) != 2 || rows <= 0 || columns <= 0) {
        return {};
    }
    const int64_t column = index % view.shape.back(),
                  row = index / view.shape.back() % view.shape[view.shape.size() - 2];
    return ", tile (" + std::to_string(row / rows) + "," + std::to_string(column / columns) + ") at (" +
           std::to_string(row % rows) + "," + std::to_string(column % columns) + ")";
}

// First changed byte of [from, to), told as bytes before or after the storage.
void check_guard(const Storage& s, const Image& image, size_t from, size_t to, std::vector<std::string>& faults) {
    const auto begin = image.bytes.begin();
    const auto changed = std::find_if(begin + static_cast<long>(from), begin + static_cast<long>(to),
                                      [](uint8_t byte) { return byte != GUARD_BYTE; });
    const auto at = static_cast<size_t>(changed - begin);
    if (at == to) {
        return;
    }
    const bool before = at < image.front;
    const size_t distance = before ? image.front - at : at - (image.front + image.size);
    faults.push_back(s.name + ": a byte outside was written, " + std::to_string(distance) +
                     (before ? " bytes before its first" : " bytes after its last"));
}

// Bytes of a storage that outputs cover, as sorted and merged ranges.
using Range = std::pair<size_t, size_t>;
std::vector<Range> covered_ranges(const Case& c, size_t storage) {
    std::vector<Range> ranges;
    for (const Operand& operand : c.operands) {
        if (operand.storage != storage || !operand.output) {
            continue;
        }
        const size_t size = ref::size_of(operand.view.type);
        for (const auto [index, at] : operand.places()) {
            if (!ranges.empty() && ranges.back().second == at) {
                ranges.back().second += size;
            } else {
                ranges.emplace_back(at, at + size);
            }
        }
    }
    std::sort(ranges.begin(), ranges.end());
    return ranges;
}

// Bytes of a storage that no output covers must be as they were: inputs, and the padding between rows.
void check_untouched(const Case& c, size_t storage, const Image& before, const Image& after,
                     std::vector<std::string>& faults) {
    std::vector<Range> ranges = covered_ranges(c, storage);
    const char* what = ranges.empty() ? "an input was changed" : "padding of an output was written";
    ranges.emplace_back(after.size, after.size);
    size_t from = 0;
    for (const auto& [begin, end] : ranges) {
        if (from < begin && std::memcmp(before.data() + from, after.data() + from, begin - from) != 0) {
            const uint8_t* at = std::mismatch(before.data() + from, before.data() + begin, after.data() + from).first;
            faults.push_back(c.storages[storage].name + ": " + what + ", byte " + std::to_string(at - before.data()));
            return;
        }
        from = std::max(from, end);
    }
}

struct Tally {
    int64_t wrong = 0, first = -1, worst_index = -1, rows = 0, last_row = -1;
    double worst = 0;        // how far outside, in widths of the interval
    std::string class_fault; // the first NaN or infinity that is there and should not be, or the other way round
};

struct Element {
    uint64_t bits, before;
    double value;
};

bool is_right(const Allowed& allowed, const Element& got) {
    switch (allowed.kind) {
    case Allowed::range: return got.value >= allowed.low && got.value <= allowed.high;
    case Allowed::nan: return std::isnan(got.value);
    case Allowed::bits: return got.bits == allowed.pattern;
    case Allowed::unchanged: return got.bits == got.before;
    case Allowed::any: return true;
    }
    return false;
}

std::string wanted(const Allowed& allowed, const Element& got) {
    switch (allowed.kind) {
    case Allowed::range:
        return allowed.low == allowed.high ? number(allowed.low) : number(allowed.low) + " .. " + number(allowed.high);
    case Allowed::nan: return "NaN";
    case Allowed::bits: return hex(allowed.pattern);
    case Allowed::unchanged: return hex(got.before) + ", unchanged";
    case Allowed::any: return "anything";
    }
    return {};
}

// Distance outside the interval, in units of the interval's own size (at least one unit in the last place).
double distance(ref::Type type, const Allowed& allowed, const Element& got) {
    if (allowed.kind != Allowed::range || !std::isfinite(got.value) || !std::isfinite(allowed.low) ||
        !std::isfinite(allowed.high)) {
        return INFINITY;
    }
    const double outside = std::max(allowed.low - got.value, got.value - allowed.high);
    const double width = std::max<double>(allowed.high - allowed.low, ref::ulp(type, allowed.high));
    return outside / width;
}

void check_output(const Case& c, size_t index, const Choice& kernel, const Image& before, const Image& after,
                  const std::vector<Allowed>& expected, std::vector<std::string>& faults) {
    const Operand& operand = c.operands[index];
    const View& view = operand.view;
    const int64_t width = view.shape.empty() ? 1 : view.shape.back();
    if (static_cast<int64_t>(expected.size()) != view.count()) {
        faults.push_back(operand.field + ": the case gives " + std::to_string(expected.size()) + " expectations");
        return;
    }
    Tally tally;
    const auto element = [&](size_t at) {
        const uint64_t bits = ref::load_bits(view.type, after.data() + at);
        return Element{bits, ref::load_bits(view.type, before.data() + at), ref::decode(view.type, bits)};
    };
    const auto describe = [&](int64_t i) {
        const Element got = element(operand.at(i));
        const Allowed& allowed = expected[static_cast<size_t>(i)];
        const bool as_bits = allowed.kind == Allowed::bits || allowed.kind == Allowed::unchanged;
        const std::string unwritten = got.bits == got.before && !operand.input ? " (the poison: never written)" : "";
        return position(view, i) + " is " + (as_bits ? hex(got.bits) : number(got.value)) + unwritten + ", allowed " +
               wanted(allowed, got) + tile_position(kernel.name, view, i);
    };
    for (const auto [i, at] : operand.places()) {
        const Allowed& allowed = expected[static_cast<size_t>(i)];
        const Element got = element(at);
        if (is_right(allowed, got)) {
            continue;
        }
        if (tally.wrong++ == 0) {
            tally.first = i;
        }
        if (i / width != tally.last_row) {
            tally.last_row = i / width;
            ++tally.rows;
        }
        const bool strange = allowed.kind == Allowed::nan || !std::isfinite(allowed.low) || !std::isfinite(got.value);
        if (strange && tally.class_fault.empty()) {
            tally.class_fault = operand.field + describe(i);
        }
        const double d = distance(view.type, allowed, got);
        if (tally.worst_index < 0 || d > tally.worst) {
            tally.worst = d;
            tally.worst_index = i;
        }
    }
    if (tally.wrong == 0) {
        return;
    }
    if (!tally.class_fault.empty()) {
        faults.push_back("NaN or infinity out of place: " + tally.class_fault);
    }
    faults.push_back(operand.field + ": " + std::to_string(tally.wrong) + " of " + std::to_string(view.count()) +
                     " elements wrong, in " + std::to_string(tally.rows) + " of " +
                     std::to_string(view.count() / width) + " rows");
    faults.push_back("first " + operand.field + describe(tally.first));
    faults.push_back("worst " + operand.field + describe(tally.worst_index) +
                     (std::isfinite(tally.worst) ? ", outside by " + number(tally.worst) + " interval widths" : ""));
}

} // namespace

Verdict compare(const Case& c, const Choice& kernel, const RunOptions& options, const Expectation& expected,
                const std::vector<Image>& got) {
    Verdict verdict;
    std::vector<Image> before;
    for (size_t i = 0; i < c.storages.size(); ++i) {
        before.push_back(initial_image(c, i, options));
        check_guard(c.storages[i], got[i], 0, got[i].front, verdict.faults);
        check_guard(c.storages[i], got[i], got[i].front + got[i].size, got[i].bytes.size(), verdict.faults);
        check_untouched(c, i, before[i], got[i], verdict.faults);
    }
    for (const auto& [index, allowed] : expected) {
        const size_t storage = c.operands[index].storage;
        check_output(c, index, kernel, before[storage], got[storage], allowed, verdict.faults);
    }
    return verdict;
}

std::string differ(const Case& c, const Expectation& expected, const std::vector<Image>& first,
                   const std::vector<Image>& second) {
    for (const auto& [index, allowed] : expected) {
        const Operand& operand = c.operands[index];
        const size_t size = ref::size_of(operand.view.type);
        for (const auto [i, at] : operand.places()) {
            if (allowed[static_cast<size_t>(i)].kind == Allowed::unchanged) {
                continue; // the two runs had different poison
            }
            const uint8_t* a = first[operand.storage].data() + at;
            const uint8_t* b = second[operand.storage].data() + at;
            if (std::memcmp(a, b, size) != 0) {
                return operand.field + position(operand.view, i) + " is " + hex(ref::load_bits(operand.view.type, a)) +
                       " in one run and " + hex(ref::load_bits(operand.view.type, b)) + " in the other";
            }
        }
    }
    return {};
}

std::string differ(const Case& c, const std::vector<Image>& images, const Twin& twin, const std::vector<Image>& others,
                   int64_t& shared) {
    for (size_t index = 0; index < c.operands.size(); ++index) {
        const Operand &operand = c.operands[index], &other = twin.call.operands[index];
        if (!operand.output) {
            continue;
        }
        for (const auto [i, at] : operand.places()) {
            const int64_t place = twin.place(index, i);
            if (place < 0) {
                continue;
            }
            ++shared;
            const uint8_t* a = images[operand.storage].data() + at;
            const uint8_t* b = others[other.storage].data() + other.at(place);
            if (std::memcmp(a, b, ref::size_of(operand.view.type)) != 0) {
                return operand.field + position(operand.view, i) + " is " + hex(ref::load_bits(operand.view.type, a)) +
                       ", and " + hex(ref::load_bits(operand.view.type, b)) + " at" + position(other.view, place) +
                       " of the twin";
            }
        }
    }
    return {};
}

uint64_t hash_outputs(const Case& c, const std::vector<Image>& images) {
    uint64_t hash = 0xcbf29ce484222325u; // FNV-1a
    for (const Operand& operand : c.operands) {
        if (!operand.output) {
            continue;
        }
        const size_t size = ref::size_of(operand.view.type);
        for (const auto [index, at] : operand.places()) {
            const uint8_t* element = images[operand.storage].data() + at;
            for (size_t byte = 0; byte < size; ++byte) {
                hash = (hash ^ element[byte]) * 0x100000001b3u;
            }
        }
    }
    return hash;
}

} // namespace check
