// SPDX-License-Identifier: Apache-2.0
// The types of PTX: their names, sizes and kinds. Used by the opcode table, the builder and the handlers' choosers.
#include "module.h"

#include <array>

namespace emu {
namespace {
struct Row {
    Type type;
    std::string_view name;
    unsigned bytes;
    char kind; // p predicate, b bits, u s integer, f float
};
constexpr Row ROWS[] = {
    {Type::pred, "pred", 0, 'p'},     {Type::b8, "b8", 1, 'b'},         {Type::u8, "u8", 1, 'u'},
    {Type::s8, "s8", 1, 's'},         {Type::b16, "b16", 2, 'b'},       {Type::u16, "u16", 2, 'u'},
    {Type::s16, "s16", 2, 's'},       {Type::f16, "f16", 2, 'f'},       {Type::bf16, "bf16", 2, 'f'},
    {Type::b32, "b32", 4, 'b'},       {Type::u32, "u32", 4, 'u'},       {Type::s32, "s32", 4, 's'},
    {Type::f32, "f32", 4, 'f'},       {Type::f16x2, "f16x2", 4, 'f'},   {Type::bf16x2, "bf16x2", 4, 'f'},
    {Type::tf32, "tf32", 4, 'f'},     {Type::b64, "b64", 8, 'b'},       {Type::u64, "u64", 8, 'u'},
    {Type::s64, "s64", 8, 's'},       {Type::f64, "f64", 8, 'f'},       {Type::b128, "b128", 16, 'b'},
    {Type::e4m3, "e4m3", 1, 'f'},     {Type::e5m2, "e5m2", 1, 'f'},     {Type::e4m3x2, "e4m3x2", 2, 'f'},
    {Type::e5m2x2, "e5m2x2", 2, 'f'}, {Type::e2m1, "e2m1", 1, 'f'},     {Type::e2m1x2, "e2m1x2", 1, 'f'},
    {Type::e2m3, "e2m3", 1, 'f'},     {Type::e3m2, "e3m2", 1, 'f'},     {Type::ue8m0, "ue8m0", 1, 'f'},
    {Type::e2m3x2, "e2m3x2", 2, 'f'}, {Type::e3m2x2, "e3m2x2", 2, 'f'}, {Type::ue8m0x2, "ue8m0x2", 2, 'f'},
    {Type::s4, "s4", 1, 's'},         {Type::u4, "u4", 1, 'u'},         {Type::b1, "b1", 1, 'b'},
    {Type::s16x2, "s16x2", 4, 's'},   {Type::u16x2, "u16x2", 4, 'u'},   {Type::f32x2, "f32x2", 8, 'f'},
};
// By type: handlers of rare conversions ask for each lane.
constexpr auto BY_TYPE = [] {
    std::array<Row, 256> by_type{};
    for (Row& r : by_type) r = {Type::none, "none", 0, 'p'};
    for (const Row& r : ROWS) by_type[size_t(r.type)] = r;
    return by_type;
}();
static_assert(sizeof(Type) == 1);
constexpr const Row& row(Type type) { return BY_TYPE[size_t(type)]; }
} // namespace

unsigned bytes_of(Type type) { return row(type).bytes; }
bool is_float(Type type) { return row(type).kind == 'f'; }
bool is_signed(Type type) { return row(type).kind == 's'; }
std::string_view name_of(Type type) { return row(type).name; }
Type type_named(std::string_view name) {
    for (const Row& r : ROWS)
        if (r.name == name) return r.type;
    return Type::none;
}

} // namespace emu
