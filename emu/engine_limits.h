// SPDX-License-Identifier: Apache-2.0
// The most that the emulator takes of a text and of a launch. Any bytes may be handed to it, so everything that a few
// of them can ask for much of is bounded: what lies beyond is refused with its place, what was found and the limit.
// docs/emulator.md has the same list. Sizes of a card (memory, shared memory, threads) are its profile's.
#pragma once

#include <cstddef>
#include <cstdint>

namespace emu::limits {

// --- the text ---
constexpr size_t TEXT_BYTES = 32u << 20;    // a large library's PTX; what is kept of a text is some 30 times as long
constexpr size_t NAME_BYTES = 16384;        // a name, a number or a string: mangled names have thousands of bytes
constexpr size_t OPCODE_BYTES = 256;        // an instruction with its modifiers
constexpr unsigned NESTING = 64;            // calls, braces, parentheses, operators before a constant: recursion here
constexpr size_t STATEMENTS = 1u << 20;     // instructions, labels, declarations and braces of a text: about 1 KiB each
                                            // that calls add: as many
constexpr size_t OPERANDS = 160;            // of an instruction, or parts of a {}: more than any has
constexpr size_t FILES = 4096;              // that line markers name
constexpr size_t ERRORS = 20;               // that are listed; then reading stops
constexpr size_t KERNELS = 4096;            // of a text, and as many functions
constexpr size_t REGISTERS = 65000;         // of a kernel, immediates included: their numbers have 16 bits
constexpr size_t TEXT_REGISTERS = 1u << 21; // of a text, and as many that calls add: each has a name for messages
constexpr size_t REGISTER_BYTES = 128;      // the name in name<n>, which is kept n times
constexpr uint64_t LIVE_BLOCKS = 1u << 24;  // basic blocks through which registers live, summed: seconds of analysis

// --- what it declares ---
constexpr size_t VARIABLES = 4096;            // at module scope: each takes three pages of the host at least
constexpr uint64_t GLOBAL_BYTES = 256u << 20; // .global of a text, which is filled with zeros when it is loaded
constexpr uint64_t CONST_BYTES = 64u << 10;   // .const of a text, as on a card
constexpr uint64_t SHARED_BYTES = 1u << 20;   // .shared of a block: more than any card has; a launch asks the profile
constexpr uint64_t LOCAL_BYTES = 512u << 10;  // .local of a thread, as on a card
constexpr uint64_t STACK_BYTES = 32u << 10;   // of them what recursion and alloca take of a thread that has any
constexpr uint64_t PARAMETER_BYTES = 32764;   // of a kernel, as on a card
constexpr uint64_t ALIGNMENT = 65536;         // of a variable
constexpr uint64_t BLOCK_THREADS = 1024;      // of .maxntid and .reqntid in each direction, and of a block
constexpr uint64_t CLUSTER_BLOCKS = 16;       // of .reqnctapercluster: what the largest card has

// --- a launch ---
constexpr uint64_t LAUNCH_BYTES = 2ull << 30; // registers, shared and local memory of the blocks that run at once

} // namespace emu::limits
