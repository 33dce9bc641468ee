// SPDX-License-Identifier: Apache-2.0
// What the cases of quantize and of its inverse share: forms of a tensor with scales beside it, where the scales stand,
// and the inverse's own cases.
#pragma once

#include "check/random.h"
#include "ops/families.h"
#include "ref/quantize.h"

namespace check {

enum Forms : unsigned {
    TENSOR = 1,
    ROW = 2,
    B128 = 4,
    MXFP8 = 8,
    NVFP4 = 16,
    MXFP4 = 32,
    MXFP6 = 1024,
    OTHERS = ~0u << 13, // OCP's formats that no case names: rows of a table of scaled.cpp
    MX = MXFP8 | MXFP6 | MXFP4 | OTHERS,
    ALL_FORMS = 63 | MXFP6 | OTHERS,
    B128X128 = 64,
    INT4_32 = 128,
    INT4_64 = 256,
    INT4_128 = 512,
    INT4 = INT4_32 | INT4_64 | INT4_128,
    NF4 = 2048,
    B32X32 = 4096,
    FOURS = INT4 | NF4 // whose scales may be of several types
};
bool in_halves(Forms form); // two codes a byte
int code_bits(Forms form);

// Scales and what their codes are; of INT4 I8 stands for I4 and U8 for U4, of NF4 I8, of MXFP6 E4M3 for E2M3 and E5M2
// for E3M2.
struct Form {
    Forms scales;
    ref::Type codes;
    operator Forms() const { return scales; }
};
std::vector<Form> forms_of(unsigned mask, unsigned codes); // those of `codes` where scales are F32
ref::MxElement element_of(const Form& form);               // of MXFP8 to NVFP4
double of_code(const Form& form, uint8_t code);            // but INT4's
std::string name_of(const Form& form);
Form worded_form(Words& words); // "I8_1X128", "NVFP4"

// Elements of a row that share a scale, and rows that do.
int64_t block_of(Forms form, int64_t n);
int64_t block_rows(Forms form);

// rows1 x rows0 rows of scales of n elements; columns: those of a column are neighbours; pad: scales between rows.
// tiled: in tiles of 128 x 4, of forms that have such; pad: scales between matrices.
struct Scales {
    int64_t rows1 = 1, rows0 = 1, n = 1;
    bool columns = false;
    int64_t pad = 0;
    bool tiled = false;
    ref::Type type = ref::Type::f32; // of FOURS
};
bool in_tiles(const Scales& s, Forms form);
View view_of(const Scales& s, Forms form);

// The number of the scale that element `index`, row-major, of such rows has, row-major in that view.
int64_t scale_number(const Scales& s, Forms form, int64_t index);

// The number that a scale, as it is stored, stands for.
double number_of(Forms form, double stored);

// Bytes between rows, at least `pad`, so that each begins on a whole byte.
int64_t pad_of(Forms form, int64_t n, int64_t pad);

// Bytes of n codes, and where code i of them stands: its byte, and its lowest bit there.
int64_t code_bytes(Forms form, int64_t n);
uint8_t code_at(Forms form, const uint8_t* row, int64_t i);
void put_code(Forms form, uint8_t* row, int64_t i, uint8_t code);

// What `tensor`, until now of bytes, says of its codes, n in a row, and their scales, but for the scales' address.
void describe(spark_tensor& tensor, const Form& form, int64_t n, const View& scales, bool tiled = false);
void describe(spark_tensor& tensor, const Form& form, const Scales& s);
// The type of scales as they are stored.
ref::Type scale_type(const Scales& s, Forms form);

} // namespace check

// The cases of dequantize whose numbers have scales.
namespace check::dequantize_scaled {

void named(std::vector<Entry>& out);
Entry random(Random& r, const std::string& name);
Entry worded(Words& words, int64_t rows, int64_t n); // behind "rows=3 n=64"

} // namespace check::dequantize_scaled
