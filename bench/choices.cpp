// SPDX-License-Identifier: Apache-2.0
// Shape i of a seed is the same whatever the others are and whichever kernels there are: it has a generator of its own,
// and is drawn again until three kernels are legal.
#include "choices.h"

#include "check/words.h"
#include "problems.h"
#include "report.h"
#include "timer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <unistd.h>

namespace bench {
namespace {

constexpr size_t LEAST_LEGAL = 3;
constexpr int MOST_ATTEMPTS = 100, KINDS = 3; // of shapes: gemm, attention, row operators
constexpr uint64_t POOL = uint64_t{3} << 30, SMALL_POOL = uint64_t{1} << 24;

// Numbers that are the same with every standard library, which distributions are not.
class Dice {
public:
    explicit Dice(uint64_t seed) : generator_(seed) {}
    int64_t below(int64_t end) { return static_cast<int64_t>(generator_() % static_cast<uint64_t>(end)); }
    bool one_in(int64_t n) { return below(n) == 0; }
    // From first to last, each power of two as likely as another; one in three is a power of two.
    int64_t size(int64_t first, int64_t last) {
        if (one_in(3)) {
            const int64_t bits = static_cast<int64_t>(std::log2(double(last) / double(first)) + 1e-9);
            return first << below(bits + 1);
        }
        const double part = double(below(1 << 20)) / (1 << 20);
        return static_cast<int64_t>(double(first) * std::pow(double(last) / double(first), part));
    }
    template <class T, size_t N> T of(const T (&values)[N]) { return values[below(N)]; }

private:
    std::mt19937_64 generator_;
};

constexpr const char* HALVES[] = {"BF16", "BF16", "F16"};
// Half of the products are of 16 bits, in all layouts; the others multiply along k: of 8 bits, or weights in records.
constexpr const char* PRODUCTS[] = {"BF16",    "BF16",  "BF16",  "BF16",    "F16",       "F16",      "E4M3 tn",
                                    "E4M3 tn", "I8 tn", "I8 tn", "E5M2 tn", "BF16 Q8_0", "F16 Q8_0", "BF16 Q4_1"};
constexpr const char* FLOATS[] = {"BF16", "BF16", "F16", "F32"};

// " n=64" and the like.
std::string size_word(const char* name, int64_t size) { return std::string(" ") + name + "=" + std::to_string(size); }

// A row in the words of the table. Empty: too large, to be drawn again.
std::string draw_gemm(Dice& dice, bool small) {
    const char* const layouts[] = {"tn", "tn", "tn", "nn", "nt", "tt"};
    const int64_t m = dice.size(1, small ? 64 : 8192), most = small ? 128 : 28672;
    const int64_t n = dice.size(64, most) / 8 * 8, k = dice.size(64, most) / 8 * 8;
    std::string kind = dice.of(PRODUCTS);
    const bool of_16_bits = kind.find(' ') == kind.npos;
    const std::string layout = of_16_bits ? dice.of(layouts) : "tn";
    const bool a_along_m = layout == "nt" || layout == "tt";
    if (double(m) * n * k > 1e11 || double(n) * k > double(1 << 28) || double(m) * n > double(1 << 28)) return "";
    if (of_16_bits) kind += " " + layout;
    return "gemm" + size_word("m", a_along_m ? (m + 7) / 8 * 8 : m) + size_word("n", n) +
           size_word("k", of_16_bits ? k : (k + 31) / 32 * 32) + " " + kind;
}

std::string draw_attention(Dice& dice, bool small) {
    const int64_t widths[] = {64, 64, 128, 128, 128, 80, 96, 40, 192, 256};
    const int64_t shapes[][2] = {{32, 8}, {32, 32}, {16, 2}, {64, 8}, {9, 3}, {8, 1}, {40, 8}, {12, 12}};
    const int64_t d = dice.of(widths), (&heads)[2] = shapes[dice.below(std::size(shapes))];
    const int64_t kind = dice.below(3); // decoding, a chunk after a prefix, a whole prompt
    const int64_t keys = dice.size(32, small ? 64 : kind == 0 ? 65536 : 16384);
    const int64_t queries = kind == 0   ? 1 + dice.below(dice.one_in(2) ? 1 : 8)
                            : kind == 1 ? std::min(dice.size(9, 2048), keys)
                                        : keys;
    const int64_t batch = dice.size(1, small ? 2 : 32);
    const bool causal = dice.one_in(2);
    const std::string dtype = dice.of(HALVES);
    const double pairs = double(batch) * heads[0] * queries * keys;
    if (pairs * d > (small ? 1e6 : 5e10) || double(batch) * keys * heads[1] * d > double(1 << 28)) return "";
    if (queries > keys) return "";
    return "attention" + size_word("b", batch) + size_word("q", queries) + size_word("k", keys) +
           size_word("h", heads[0]) + "/" + std::to_string(heads[1]) + size_word("d", d) + " " + dtype +
           (causal ? " causal" : "");
}

std::string draw_row_operator(Dice& dice, bool small) {
    const int64_t kind = dice.below(6), any = dice.size(16, small ? 1024 : 16384);
    const int64_t n = dice.one_in(8) ? any : (any + 7) / 8 * 8, count = dice.size(1, small ? 8 : 262144);
    const std::string dtype = dice.of(FLOATS);
    const int64_t widths[] = {32, 64, 128, 256}, d = dice.of(widths), heads = 1 + dice.below(64);
    if (double(count) * (kind == 5 ? heads * d : n) > double(small ? 1 << 13 : 1 << 27)) return "";
    if (kind == 5)
        return "rope" + size_word("tokens", count) + size_word("heads", heads) + size_word("d", d) + " " + dtype;
    const char* const names[] = {"rmsnorm", "rmsnorm", "layernorm", "l2norm", "softmax"};
    return names[kind] + size_word("rows", count) + size_word("n", n) + " " + dtype + (kind == 1 ? " +residual" : "");
}

// Shape number `index` of a seed: a third of them each gemm, attention, row operators. None where `only` names others.
std::optional<Item> draw_item(Buffers& buffers, uint64_t seed, int index, const std::string& only, bool small) {
    Dice dice(seed * 1'000'003 + static_cast<uint64_t>(index));
    for (int attempt = 0; attempt < MOST_ATTEMPTS; ++attempt) {
        Rows rows{buffers, only, true, {}};
        const std::string text = index % 3 == 0       ? draw_gemm(dice, small)
                                 : index % KINDS == 1 ? draw_attention(dice, small)
                                                      : draw_row_operator(dice, small);
        if (!text.empty()) add_row(rows, check::worded_entry(text));
        if (!rows.items.empty() && rows.items[0].ways.size() >= LEAST_LEGAL) return std::move(rows.items[0]);
    }
    return std::nullopt;
}

void write_shape(FILE* file, int index, const Item& item, bool explain) {
    std::fprintf(file, "{\"index\": %d, \"name\": \"%s\", \"shape\": \"%s\", ", index, item.name.c_str(),
                 item.shape.c_str());
    if (explain) {
        std::string text = item.explain(); // of plain characters and line ends
        for (size_t at = 0; (at = text.find('\n', at)) != text.npos; at += 2) text.replace(at, 1, "\\n");
        std::fprintf(file, "\"explain\": \"%s\"}\n", text.c_str());
        return;
    }
    std::fprintf(file, "\"kernels\": [");
    for (const Way& way : item.ways)
        std::fprintf(file,
                     "%s{\"kernel\": \"%s\", \"median_us\": %.4f, \"least_us\": %.4f, \"samples\": %zu, "
                     "\"launches\": %u, \"workspace\": %llu}",
                     &way == &item.ways[0] ? "" : ", ", way.kernel.c_str(), way.median() * 1e3,
                     way.milliseconds.front() * 1e3, way.milliseconds.size(), way.launches,
                     static_cast<unsigned long long>(way.workspace));
    std::fprintf(file, "]}\n");
    std::fflush(file);
}

// Shapes one after the other, as they are drawn, or those rows of the bench that there is a choice for.
class Shapes {
public:
    Shapes(Buffers& buffers, const Draw& draw, const std::string& only, bool small)
        : buffers_(buffers), draw_(draw), only_(only), small_(small) {
        if (!draw.rows) return;
        rows_ = operator_items(buffers, small, only, true, draw.given);
        std::erase_if(rows_, [](const Item& item) { return item.ways.size() < 2; });
    }
    // None: there are no more.
    std::optional<Item> next() {
        if (draw_.rows) return at_ < rows_.size() ? std::optional(std::move(rows_[at_++])) : std::nullopt;
        for (int missed = 0; missed < KINDS; ++missed)
            if (std::optional<Item> item = draw_item(buffers_, draw_.seed, static_cast<int>(at_++), only_, small_))
                return item;
        throw std::runtime_error("no shape has three legal kernels, or --only names none");
    }
    int index() const { return static_cast<int>(at_) - 1; } // of the shape that next() gave

private:
    Buffers& buffers_;
    const Draw& draw_;
    const std::string& only_;
    const bool small_;
    std::vector<Item> rows_;
    size_t at_ = 0;
};

} // namespace

int measure_choices(spark_context* ctx, const spark_device_info& device, const Draw& draw, const std::string& only,
                    bool small, const std::string& path) {
    FILE* file = std::fopen(path.c_str(), "w");
    if (!file) {
        std::fprintf(stderr, "spark-bench: %s cannot be written\n", path.c_str());
        return 2;
    }
    std::fprintf(file, "{%s, \"seed\": %llu, \"library\": %s}\n", identity(device).c_str(),
                 static_cast<unsigned long long>(draw.seed), spark_build_info());
    const Buffers::Source source = draw.explain ? Buffers::Source::none
                                   : draw.rows  ? Buffers::Source::shared
                                                : Buffers::Source::pool;
    Buffers buffers(ctx, source, small ? SMALL_POOL : POOL);
    Timer timer(ctx);
    const Sampling how = {small ? 1 : 15, small ? 0 : 0.4, 1e9, small ? 1e9 : 6, false};
    const auto begin = std::chrono::steady_clock::now();
    Shapes shapes(buffers, draw, only, small);
    int done = 0;
    for (; done < draw.count; ++done) {
        const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
        if (spent.count() > draw.seconds) break;
        std::optional<Item> item = shapes.next();
        if (!item) break;
        std::vector<Item> items;
        items.push_back(std::move(*item));
        if (!draw.explain) measure(timer, items, how);
        write_shape(file, shapes.index(), items[0], draw.explain);
        if (isatty(STDERR_FILENO)) std::fprintf(stderr, "\r%d of %d shapes", done + 1, draw.count);
    }
    std::fclose(file);
    if (done < draw.count && !draw.rows) std::fprintf(stderr, "spark-bench: the time is up after %d shapes\n", done);
    return 0;
}

} // namespace bench
