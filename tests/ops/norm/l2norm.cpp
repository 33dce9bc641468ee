// SPDX-License-Identifier: Apache-2.0
// Cases of l2norm: from a row of l2norm.inc (or a random one) to arguments, memory and right results.
// Called by spark-check through families.cpp; results come from tests/ref.
#include "ref/l2norm.h"
#include "ops/norm/rows.h"

#include <cfloat>
#include <cstddef>

namespace check {
namespace {

struct Shape {
    const char* name = "";
    int64_t rows1 = 1, rows0 = 1, n = 1;
    int64_t pad = 0, pad1 = 0; // elements between rows, and after each group of rows0 rows
    int64_t y_pad = -1;        // pad of y; -1: as x
    int64_t misalign = 0;      // elements off the 16-byte boundary
    unsigned types = ALL;
    bool in_place = false;
    Special special = Special::none;
    float eps = 1e-6f;
    double scale = 2; // of the values
    Tier tier = Tier::quick;
};

const Shape SHAPES[] = {
#include "ops/norm/l2norm.inc"
};

// Allowed results of one row, appended to `out`. The two ends are the oracle itself, erring down and up.
void allow_row(ref::L2norm op, std::span<const double> x, std::vector<Allowed>& out) {
    std::vector<double> low(x.size()), high(x.size());
    const double square = ref::l2norm_square(x), terms = static_cast<double>(x.size());
    const double error = error_of_r(square, op.eps, static_cast<int64_t>(x.size()), terms * 0x1p-149);
    op.error_of_r = -error;
    ref::l2norm_row(op, x, low);
    op.error_of_r = error;
    ref::l2norm_row(op, x, high);
    for (size_t i = 0; i < x.size(); ++i) {
        const bool overflows = std::isfinite(square) && square > FLT_MAX / 2; // the FP32 sum is part of the definition
        out.push_back(overflows ? Allowed{Allowed::any} : allow_between(op.type, low[i], high[i], 0x1p-149));
    }
}

Case build(const Shape& s, ref::Type type, const std::string& name, uint64_t seed) {
    using Args = spark_l2norm_args;
    Case c = make_case<Args>("l2norm", name, SPARK_OP_L2NORM);
    Random random(seed, name);
    const size_t base = 16 + static_cast<size_t>(s.misalign) * ref::size_of(type);
    c.add("x", offsetof(Args, x), rows_view(type, s.rows1, s.rows0, s.n, s.pad, s.pad1), base, false);
    fill(c, c.operands[0], random, s.scale);
    make_special(c, c.operands[0], s.special, s.rows1 * s.rows0 / 2, s.n, random);
    if (s.in_place) {
        c.add_in_place("y", offsetof(Args, y), 0);
    } else {
        const int64_t pad = s.y_pad < 0 ? s.pad : s.y_pad;
        c.add("y", offsetof(Args, y), rows_view(type, s.rows1, s.rows0, s.n, pad, s.pad1), base, true);
    }
    c.as<Args>().eps = s.eps;
    c.large = s.tier == Tier::card;
    c.note = "rows " + std::to_string(s.rows1) + "x" + std::to_string(s.rows0) + ", N " + std::to_string(s.n);
    c.expect = [x = c.values(c.operands[0]), op = ref::L2norm{.type = type, .eps = s.eps},
                n = static_cast<size_t>(s.n)](size_t, const std::string&) {
        std::vector<Allowed> out;
        for (size_t first = 0; first + n <= x.size() && n > 0; first += n) {
            allow_row(op, std::span(x).subspan(first, n), out);
        }
        return out;
    };
    return c;
}

Entry entry(const Shape& s, ref::Type type, const std::string& name) {
    return {"l2norm", name, s.tier, [s, type, name](uint64_t seed) { return build(s, type, name, seed); }};
}

void named(std::vector<Entry>& out) {
    for (const Shape& s : SHAPES) {
        for (ref::Type type : types_of(s.types)) {
            out.push_back(entry(s, type, std::string(s.name) + "." + ref::name_of(type)));
        }
    }
}

Entry random(uint64_t seed, int64_t index) {
    const std::string name = "random_" + std::to_string(index);
    Random r(seed, "l2norm." + name);
    Shape s;
    s.rows1 = r.chance(0.3) ? r.between(2, 5) : 1;
    s.rows0 = r.between(1, 12);
    s.n = r.chance(0.5) ? r.between(1, 600) : r.pick<int64_t>({8, 16, 64, 128, 256, 1024, 2048});
    s.pad = r.chance(0.4) ? r.pick<int64_t>({1, 2, 4, 8, 16, 24}) : 0;
    s.pad1 = r.chance(0.4) ? r.pick<int64_t>({1, 8, 64}) : 0;
    s.y_pad = r.chance(0.3) ? r.pick<int64_t>({0, 1, 8}) : -1;
    s.misalign = r.chance(0.2) ? r.between(1, 7) : 0;
    s.in_place = r.chance(0.4);
    s.special = r.chance(0.3)
                    ? r.pick<Special>({Special::nan_row, Special::inf_row, Special::denormal_row, Special::zero_row})
                    : Special::none;
    s.eps = r.pick<float>({1e-6f, 1e-5f, 1e-12f, 1});
    s.scale = r.pick<double>({2, 0x1p-6, 0x1p-11});
    return entry(s, r.pick(types_of(ALL)), name);
}

void sized(const std::vector<int64_t>& dims, std::vector<Entry>& out) {
    if (dims.size() == 2) {
        const Shape s{.rows0 = dims[0], .n = dims[1]};
        for (ref::Type type : types_of(ALL)) {
            out.push_back(entry(s, type, dims_name(dims) + "." + ref::name_of(type)));
        }
    }
}

} // namespace

extern const Family L2NORM{"l2norm", named, random, sized, "rows,N"};

} // namespace check
