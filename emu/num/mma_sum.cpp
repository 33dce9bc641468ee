// SPDX-License-Identifier: Apache-2.0
// The tensor-core sum of mma.h over the eight columns of a row at a time, for any kind of floats, in doubles that are
// exact throughout. Compiled once for each instruction-set level, called through the tables of mma_tile.h with values
// that are finite.
#include "mma_tile.h"

namespace emu::num::EMU_LEVEL {
namespace {

void sum_each(MmaSum& m) {
    for (int i = 0; i < m.rows; ++i) {
        int16_t top[8];
        for (int j = 0; j < 8; ++j) top[j] = 2 * NO_EXPONENT;
        for (int k = 0; k < m.k; ++k) {
            const int16_t e = m.a_exp[i][k];
            for (int j = 0; j < 8; ++j) {
                const int16_t both = int16_t(e + m.b_exp[k][j]);
                top[j] = both > top[j] ? both : top[j];
            }
        }
        double unit[8], sum[8];
        for (int j = 0; j < 8; ++j) {
            const int scale = m.a_scale_exp[i][0] + m.b_scale_exp[0][j], products = top[j] + scale, c = m.c_exp[i][j];
            const int largest = products > c ? products : c;
            m.top[i][j] = largest;
            unit[j] = power_of_two(m.fraction - largest + scale);
            sum[j] = double(int32_t(m.c[i][j] * power_of_two(m.fraction - largest)));
        }
        for (int k = 0; k < m.k; ++k) {
            const double a = m.a[i][k];
            for (int j = 0; j < 8; ++j) sum[j] += double(int32_t(a * m.b[k][j] * unit[j]));
        }
        for (int j = 0; j < 8; ++j) m.sum[i][j] = sum[j];
    }
}

// Groups of products, each a term with scales of its own.
void sum_groups(MmaSum& m) {
    const int length = m.k / m.groups;
    for (int i = 0; i < m.rows; ++i) {
        double term[4][8] = {};
        int exponent[4][8], top[8];
        for (int j = 0; j < 8; ++j) top[j] = m.c_exp[i][j];
        for (int g = 0; g < m.groups; ++g) {
            for (int k = g * length; k < (g + 1) * length; ++k)
                for (int j = 0; j < 8; ++j) term[g][j] += m.a[i][k] * m.b[k][j];
            for (int j = 0; j < 8; ++j) {
                term[g][j] *= m.a_scale[i][g] * m.b_scale[g][j];
                exponent[g][j] = m.a_scale_exp[i][g] + m.b_scale_exp[g][j];
                top[j] = exponent[g][j] > top[j] ? exponent[g][j] : top[j];
            }
        }
        for (int j = 0; j < 8; ++j) {
            double sum = double(int64_t(m.c[i][j] * power_of_two(m.fraction - top[j])));
            for (int g = 0; g < m.groups; ++g)
                sum += double(int64_t(term[g][j] * power_of_two(m.fraction - top[j] + exponent[g][j])));
            m.sum[i][j] = sum;
            m.top[i][j] = top[j];
        }
    }
}

} // namespace

void sum_products(MmaSum& m) { m.groups ? sum_groups(m) : sum_each(m); }

} // namespace emu::num::EMU_LEVEL
