// SPDX-License-Identifier: Apache-2.0
// Which rows there are, and what is to be said of a row that has been measured.
#include "items.h"

#include "ceilings.h"
#include "check/words.h"
#include "problems.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <stdexcept>

namespace bench {

static constexpr double LEAST_GAP = 0.3e-3; // milliseconds that two medians of one kernel may differ by

const Way& best(const Item& item) {
    return *std::min_element(item.ways.begin(), item.ways.end(),
                             [](const Way& a, const Way& b) { return a.median() < b.median(); });
}

bool beaten(const Item& item) {
    const double chosen = item.ways[0].median(), least = best(item).median();
    return least < 0.95 * chosen && chosen - least > LEAST_GAP;
}

std::vector<Item> ceiling_items(const Ceilings& ceilings, Buffers& buffers, bool small) {
    const uint64_t bytes = small ? uint64_t{1} << 20 : uint64_t{1} << 30;
    const uint64_t from = buffers.random(SPARK_DTYPE_F32, bytes), to = buffers.result(bytes);
    spark_context* ctx = buffers.context();
    const auto item = [](const char* name, Unit unit, double work, std::function<void(spark_stream)> run) {
        Item i;
        i.name = name, i.works = {{unit, work, ""}};
        i.ways.emplace_back().run = std::move(run);
        return i;
    };
    const auto native = [=](spark_stream s) { // the driver knows nothing of the library's handles
        uint64_t stream = 0;
        if (spark_stream_native(ctx, s, &stream, nullptr) != SPARK_OK) throw std::runtime_error("the stream is gone");
        return stream;
    };
    return {item("mma_bf16", Unit::flops, ceilings.mma_flops(2),
                 [&ceilings, native](spark_stream s) { ceilings.mma_bf16(native(s)); }),
            item("mma_s8", Unit::flops, ceilings.mma_flops(1),
                 [&ceilings, native](spark_stream s) { ceilings.mma_s8(native(s)); }),
            item("fma_f32", Unit::flops, ceilings.fma_flops(),
                 [&ceilings, native](spark_stream s) { ceilings.fma_f32(native(s)); }),
            item("copy", Unit::bytes, 2.0 * static_cast<double>(bytes), // read and written
                 [=](spark_stream s) { spark_mem_copy(ctx, to, from, bytes, s, nullptr); }),
            item("read", Unit::bytes, ceilings.read_bytes(),
                 [&ceilings, native](spark_stream s) { ceilings.read(native(s)); })};
}

// A look at the mechanism where a card is not at hand: the figures mean nothing there.
static constexpr const char* SMALL[] = {
    "gemm m=128 n=128 k=64 BF16 tn",
    "rmsnorm rows=16 n=1024 BF16",
    "attention b=1 q=64 k=64 h=2/1 d=64 BF16 causal",
    "attention b=1 q=1 k=1024 h=4/1 d=64 BF16",
    "embedding tokens=16 vocabulary=100 width=256 BF16",
    "glu rows=16 n=256 BF16 silu packed",
};

// The rows of tier bench of all operators.
static std::vector<check::Entry> listed_rows() {
    std::vector<check::Entry> all;
    for (const check::OpCases& op : check::families()) op.named(all);
    std::erase_if(all, [](const check::Entry& entry) { return entry.tier != check::Tier::bench; });
    return all;
}

std::vector<Item> operator_items(Buffers& buffers, bool small, const std::string& only, bool rivals,
                                 const std::vector<std::string>& shapes) {
    Rows rows{buffers, only, rivals, {}};
    std::vector<check::Entry> entries;
    for (const std::string& shape : shapes) entries.push_back(check::worded_entry(shape));
    if (shapes.empty() && small)
        for (const char* shape : SMALL) entries.push_back(check::worded_entry(shape));
    else if (shapes.empty()) entries = listed_rows();
    for (const check::Entry& entry : entries) {
        try {
            add_row(rows, entry);
        } catch (const NoMemory& failure) {
            std::fprintf(stderr, "%s %s: skipped, %s\n", entry.op.c_str(), entry.name.c_str(), failure.what());
        }
    }
    return std::move(rows.items);
}

std::vector<std::string> read_shapes(const std::string& path) {
    std::ifstream file(path);
    std::vector<std::string> texts;
    for (std::string line; std::getline(file, line);) {
        const size_t first = line.find_first_not_of(" \t\r");
        if (first != line.npos && line[first] != '#') texts.push_back(line.substr(first));
    }
    if (!file.eof()) throw std::runtime_error(path + " cannot be read");
    if (texts.empty()) throw std::runtime_error(path + " names no shape");
    return texts;
}

} // namespace bench
