// SPDX-License-Identifier: Apache-2.0
// What an address belongs to: see names.h; and spark_emu_name_memory, by which callers say it.
#include "emu/driver/names.h"

#include "emu/driver/call.h"
#include "emu/include/spark_emu.h"

using namespace emu::driver;

namespace emu::driver {
namespace {

constexpr uint64_t NEAR = 1 << 20; // farther from every range, an address belongs to none

std::string bytes(uint64_t count) { return std::to_string(count) + (count == 1 ? " byte" : " bytes"); }

// How far the address lies outside of the range; 0: in it.
uint64_t distance(const NamedRange& range, uint64_t address) {
    if (address < range.address) return range.address - address;
    const uint64_t at = address - range.address;
    return at < range.bytes ? 0 : at - range.bytes + 1;
}

std::string sentence(const NamedRange& range, uint64_t address) {
    const std::string named = range.name + ", which has " + bytes(range.bytes);
    const uint64_t at = address - range.address;
    if (address < range.address) return bytes(range.address - address) + " before " + named;
    if (at < range.bytes) return "byte " + std::to_string(at) + " of " + named;
    return bytes(at - range.bytes) + " past the end of " + named;
}

} // namespace

std::string with_names(std::string text, const Names& names) {
    const std::string before = "global 0x";
    const size_t found = text.find(before);
    const size_t line_end = text.find('\n', found);
    if (names.empty() || found == std::string::npos || line_end == std::string::npos) return text;
    const uint64_t address = std::strtoull(text.c_str() + found + before.size(), nullptr, 16);
    const NamedRange* nearest = &names.front();
    for (const NamedRange& range : names)
        if (distance(range, address) < distance(*nearest, address)) nearest = &range;
    if (distance(*nearest, address) <= NEAR) text.insert(line_end + 1, "  " + sentence(*nearest, address) + "\n");
    return text;
}

} // namespace emu::driver

extern "C" void spark_emu_name_memory(const spark_emu_range* ranges, size_t count) {
    if (count == 0) {
        this_thread().names.reset();
        return;
    }
    auto names = std::make_shared<Names>();
    for (size_t i = 0; i < count; i++) names->push_back({ranges[i].name, ranges[i].address, ranges[i].bytes});
    this_thread().names = std::move(names);
}
