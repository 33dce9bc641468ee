// SPDX-License-Identifier: Apache-2.0
// Called by gemm.cpp and weights.cpp.
#include "ops/gemm/twins.h"

#include <algorithm>
#include <cstring>

namespace check::gemm {
namespace {

// Rows of the case from `from` on, `count` of them, are those of the twin's product `product` from `to` on.
struct Shared {
    int64_t from, to, count, product;
};

bool has_rows(const Operand& operand) {
    return operand.field == "a" || operand.field == "c" ||
           (operand.field == "a.scale" && operand.view.shape.back() != 1);
}

// Row of a, of c, or of scales of a: all that stands in it. Of the rest of the case all.
void copy(const Case& c, const Operand& from, Case& call, const Operand& to, const Shared& shared, int64_t m) {
    Case source = c; // whose elements may be asked for
    const auto copied = [&](int64_t put, int64_t get) {
        std::memcpy(call.element(to, put), source.element(from, get), ref::size_of(from.view.type));
    };
    const bool several = to.view.shape.size() > from.view.shape.size();
    if (from.view.count() == 0) {
        return;
    }
    if (!has_rows(from)) {
        const int64_t first = several ? shared.product * from.view.count() : 0;
        for (int64_t i = 0; i < from.view.count(); ++i) {
            copied(first + i, i);
        }
        return;
    }
    const int64_t width = from.view.count() / m, rows = to.view.count() / width;
    const int64_t first = several ? shared.product * (rows / to.view.shape[0]) : 0;
    for (int64_t i = 0; i < shared.count * width; ++i) {
        copied((first + shared.to) * width + i, shared.from * width + i);
    }
}

Twin make_twin(const Case& c, int64_t m, Case call, const std::string& change, const Shared& shared) {
    Twin twin{change, std::move(call), {}};
    int64_t each = 0; // elements of a product's d
    for (size_t i = 0; i < c.operands.size(); ++i) {
        const Operand &from = c.operands[i], &to = twin.call.operands[i];
        if (from.input && !(from.output && from.field == "d")) {
            copy(c, from, twin.call, to, shared, m);
        }
        if (from.field == "d") {
            const auto& shape = to.view.shape;
            each = shape[shape.size() - 2] * shape.back();
        }
    }
    twin.place = [=, outputs = c.operands](size_t index, int64_t element) -> int64_t {
        const int64_t n = outputs[index].view.shape.back(), row = element / n - shared.from;
        const bool there = outputs[index].field == "d" && row >= 0 && row < shared.count;
        return there ? shared.product * each + (row + shared.to) * n + element % n : -1;
    };
    return twin;
}

} // namespace

void add_twins(Case& c, int64_t m, bool several, const Rebuilt& rebuilt, const Seed& seed) {
    constexpr int64_t MOST = 600, PRODUCTS = 3;
    Random random(seed, c.name + " twins");
    const auto at = [&](int64_t rows, int64_t batch, const std::string& change) {
        const int64_t count = std::min(m, rows);
        const Shared shared{random.between(0, m - count), random.between(0, rows - count), count, batch - 1};
        c.twins.push_back(make_twin(c, m, rebuilt(rows, batch, change), change, shared));
    };
    at(1, 1, "a row alone");
    at(random.between(2, 20), 1, "few rows");
    at(random.between(m, MOST), 1, "more rows");
    if (several) {
        at(random.between(1, 70), PRODUCTS, "several products");
    }
    c.alike = [](const std::string& kernel) {
        const auto ends = [&](const char* way) { return kernel.ends_with(way); };
        constexpr const char* WAYS[] = {"tn__128x256x32_b4", "tn__128x128x64_b3", "tn__64x64x64_b6", "tn__32x64x64_b8",
                                        "tn__128x128x32_s6", "tn__64x64x64_s6",   "tn__32x64x64_s8", "tn__64x64x64_s3"};
        return std::ranges::any_of(WAYS, ends);
    };
}

} // namespace check::gemm
