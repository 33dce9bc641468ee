// SPDX-License-Identifier: Apache-2.0
// The oracles of tests/ref reproduce the golden vectors: the float64 results within the file's tolerance (double
// arithmetic in another order), and the rounded results bit for bit. One argument: the folder of the vectors.
#include "golden/safetensors.h"
#include "ref/amax.h"
#include "ref/attention.h"
#include "ref/cast.h"
#include "ref/dequantize.h"
#include "ref/embedding.h"
#include "ref/gemm.h"
#include "ref/l2norm.h"
#include "ref/layernorm.h"
#include "ref/pointwise.h"
#include "ref/quantize.h"
#include "ref/rmsnorm.h"
#include "ref/sample.h"
#include "ref/softmax.h"

#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <stdexcept>

using golden::File;
using golden::Json;
using ref::Type;

namespace {

Type type_of(const golden::Tensor& tensor) {
    if (tensor.dtype == "BF16") {
        return Type::bf16;
    }
    if (tensor.dtype == "F16") {
        return Type::f16;
    }
    if (tensor.dtype == "F8_E4M3") {
        return Type::e4m3;
    }
    if (tensor.dtype == "I32") {
        return Type::i32;
    }
    return tensor.dtype == "I64" ? Type::i64 : Type::f32;
}

std::vector<double> values_of(const File& file, const std::string& name) {
    if (!file.has(name)) {
        return {};
    }
    const golden::Tensor& tensor = file.tensor(name);
    std::vector<double> out;
    if (tensor.dtype == "F64") {
        out.resize(tensor.bytes.size() / 8);
        std::memcpy(out.data(), tensor.bytes.data(), tensor.bytes.size());
        return out;
    }
    const Type type = type_of(tensor);
    for (size_t at = 0; at < tensor.bytes.size(); at += ref::size_of(type)) {
        out.push_back(ref::load(type, &tensor.bytes[at]));
    }
    return out;
}

struct Check {
    double worst = 0;
    int64_t elements = 0;

    // `exact` is ours before rounding (or ours rounded, if the oracle rounds), `want` the golden's rounded value.
    void same(double ours, double want, const char* what, size_t i) {
        ++elements;
        if (std::bit_cast<uint64_t>(ours) != std::bit_cast<uint64_t>(want)) {
            throw std::runtime_error(std::string(what) + "[" + std::to_string(i) + "]: oracle " + std::to_string(ours) +
                                     ", golden " + std::to_string(want));
        }
    }
    void close(double ours, double want, double tolerance, const char* what, size_t i) {
        const double error = std::fabs(ours - want);
        worst = std::max(worst, error);
        if (!(error <= tolerance)) {
            throw std::runtime_error(std::string(what) + "[" + std::to_string(i) + "]: off by " +
                                     std::to_string(error));
        }
    }
};

void check_rmsnorm(const File& file, Check& check) {
    const Json args = Json::parse(file.metadata("args"));
    const golden::Tensor& shape = file.tensor("x");
    const auto rows = static_cast<size_t>(shape.shape[0]), n = static_cast<size_t>(shape.shape[1]);
    const auto x = values_of(file, "x"), weight = values_of(file, "weight"), residual = values_of(file, "residual");
    const auto y = values_of(file, "y"), residual_out = values_of(file, "residual_out");
    ref::Rmsnorm op;
    op.type = type_of(shape);
    op.eps = args.at("eps").number;
    op.weight_plus_one = args.at("weight_plus_one").boolean;
    op.round_before_weight = args.at("round_before_weight").boolean;
    op.normalize_rounded = args.at("normalize_rounded").boolean;
    for (size_t row = 0; row < rows; ++row) {
        std::vector<double> got(n), got_residual(residual_out.empty() ? 0 : n);
        const auto slice = [&](const std::vector<double>& v) {
            return v.empty() ? std::span<const double>() : std::span<const double>(v).subspan(row * n, n);
        };
        ref::rmsnorm_row(op, slice(x), weight, slice(residual), got, got_residual);
        for (size_t i = 0; i < n; ++i) {
            check.same(got[i], y[row * n + i], "y", row * n + i);
            if (!got_residual.empty()) {
                check.same(got_residual[i], residual_out[row * n + i], "residual_out", row * n + i);
            }
        }
    }
}

void check_l2norm(const File& file, Check& check) {
    const golden::Tensor& shape = file.tensor("x");
    const auto n = static_cast<size_t>(shape.shape[1]);
    const auto x = values_of(file, "x"), y = values_of(file, "y");
    const ref::L2norm op{.type = type_of(shape), .eps = Json::parse(file.metadata("args")).at("eps").number};
    std::vector<double> got(n);
    for (size_t first = 0; first < x.size(); first += n) {
        ref::l2norm_row(op, std::span(x).subspan(first, n), got);
        for (size_t i = 0; i < n; ++i) {
            check.same(got[i], y[first + i], "y", first + i);
        }
    }
}

void check_layernorm(const File& file, Check& check) {
    const Json args = Json::parse(file.metadata("args"));
    ref::Layernorm op;
    op.type = type_of(file.tensor("x"));
    op.eps = static_cast<float>(args.at("eps").number);
    op.normalize_rounded = args.at("normalize_rounded").boolean;
    const auto n = static_cast<size_t>(file.tensor("x").shape[1]);
    const auto x = values_of(file, "x"), weight = values_of(file, "weight"), bias = values_of(file, "bias");
    const auto residual = values_of(file, "residual"), y = values_of(file, "y");
    const auto residual_out = values_of(file, "residual_out");
    std::vector<double> got(n), sums(n);
    for (size_t first = 0; first < x.size(); first += n) {
        const auto added = residual.empty() ? std::span<const double>() : std::span(residual).subspan(first, n);
        ref::layernorm_row(op, std::span(x).subspan(first, n), weight, bias, added, got, sums);
        for (size_t i = 0; i < n; ++i) {
            check.same(ref::rounded(op.type, got[i]), y[first + i], "y", first + i);
            if (!residual_out.empty()) {
                check.same(sums[i], residual_out[first + i], "residual_out", first + i);
            }
        }
    }
}

ref::Activation activation_of(const Json& args) {
    constexpr const char* NAMES[] = {"none", "silu", "gelu_erf", "gelu_tanh", "relu", "relu_squared"};
    for (size_t i = 0; i < std::size(NAMES); ++i) {
        if (args.at("activation").string == NAMES[i]) {
            return static_cast<ref::Activation>(i);
        }
    }
    throw std::runtime_error("no such activation");
}

void check_gemm(const File& file, Check& check) {
    const Json args = Json::parse(file.metadata("args"));
    const Type out = type_of(file.tensor("d"));
    const auto m = static_cast<size_t>(file.tensor("d").shape[0]), n = static_cast<size_t>(file.tensor("d").shape[1]);
    const bool a_t = args.at("a_transposed").boolean, b_t = args.at("b_transposed").boolean;
    const auto k = static_cast<size_t>(file.tensor("a").shape[a_t ? 0 : 1]);
    const auto a = values_of(file, "a"), b = values_of(file, "b"), c = values_of(file, "c");
    const auto bias = values_of(file, "bias"), d = values_of(file, "d"), d64 = values_of(file, "d64");
    const auto a_scale = values_of(file, "a_scale"), b_scale = values_of(file, "b_scale"); // none, one, or one a row
    const auto scale = [](const auto& all, size_t row) { return all.empty() ? 1 : all[all.size() == 1 ? 0 : row]; };
    const double tolerance = std::stod(file.metadata("tolerance"));
    ref::Gemm op;
    op.alpha = args.at("alpha").number;
    op.beta = args.at("beta").number;
    op.activation = activation_of(args);
    std::vector<double> a_row(k), b_row(k);
    for (size_t i = 0; i < m; ++i) {
        for (size_t j = 0; j < n; ++j) {
            for (size_t l = 0; l < k; ++l) {
                a_row[l] = a[a_t ? l * m + i : i * k + l];
                b_row[l] = b[b_t ? l * n + j : j * k + l];
            }
            const size_t at = i * n + j;
            op.scale = scale(a_scale, i) * scale(b_scale, j);
            const double value =
                ref::gemm_element(op, a_row, b_row, c.empty() ? 0 : c[at], bias.empty() ? 0 : bias[j]).value;
            check.close(value, d64[at], tolerance, "d64", at);
            check.same(ref::rounded(out, value), d[at], "d", at);
        }
    }
}

// y of one or two inputs, element by element. Zeros of either sign are the same, and so is every NaN.
template <class F>
void check_elements(const File& file, Check& check, const char* first, const char* second, F element) {
    const auto x = values_of(file, first), z = values_of(file, second), y = values_of(file, "y");
    const Type type = type_of(file.tensor(first));
    for (size_t i = 0; i < y.size(); ++i) {
        const double got = ref::rounded(type, element(type, x[i], z.empty() ? 0 : z[i]));
        if (got != y[i] && !(std::isnan(got) && std::isnan(y[i]))) {
            check.same(got, y[i], "y", i);
        }
        ++check.elements;
    }
}

void check_activation(const File& file, Check& check) {
    const ref::Activation kind = activation_of(Json::parse(file.metadata("args")));
    check_elements(file, check, "x", "", [=](Type, double x, double) { return ref::activate(kind, x); });
}

void check_glu(const File& file, Check& check) {
    const Json args = Json::parse(file.metadata("args"));
    const ref::Activation kind = activation_of(args);
    const bool round = args.at("round_activation").boolean;
    check_elements(file, check, "gate", "up",
                   [=](Type type, double gate, double up) { return ref::glu(kind, round, type, gate, up); });
}

void check_add(const File& file, Check& check) {
    check_elements(file, check, "a", "b", [](Type, double a, double b) { return ref::add(a, b); });
}

void check_embedding(const File& file, Check& check) {
    const golden::Tensor& table = file.tensor("table");
    const Type type = type_of(table);
    const auto width = static_cast<size_t>(table.shape[1]);
    const auto rows_of = [&](const golden::Tensor& tensor) {
        std::vector<ref::Row> rows(tensor.bytes.size() / (width * ref::size_of(type)), ref::Row(width));
        for (size_t i = 0; i < rows.size() * width; ++i) {
            rows[i / width][i % width] = ref::load_bits(type, &tensor.bytes[i * ref::size_of(type)]);
        }
        return rows;
    };
    std::vector<int64_t> ids;
    for (double id : values_of(file, "ids")) {
        ids.push_back(static_cast<int64_t>(id));
    }
    std::vector<ref::Row> got(ids.size());
    const auto want = rows_of(file.tensor("y"));
    if (ref::embedding(rows_of(table), ids, false, got) != 0 || got != want) {
        throw std::runtime_error("rows differ");
    }
    check.elements += static_cast<int64_t>(want.size() * width);
}

void check_attention(const File& file, Check& check) {
    const Json args = Json::parse(file.metadata("args"));
    const golden::Tensor &q_shape = file.tensor("q"), &k_shape = file.tensor("k");
    const Type type = type_of(q_shape);
    const int64_t queries = q_shape.shape[1], heads = q_shape.shape[2], most = k_shape.shape[1],
                  kv_heads = k_shape.shape[2];
    const auto d = static_cast<size_t>(q_shape.shape[3]);
    const auto q = values_of(file, "q"), k = values_of(file, "k"), v = values_of(file, "v"),
               lens = values_of(file, "seq_lens");
    const auto o = values_of(file, "o"), o64 = values_of(file, "o64"), lse64 = values_of(file, "lse64");
    const double tolerance = std::stod(file.metadata("tolerance"));
    for (size_t place = 0; place < lse64.size(); ++place) { // [sequence, query, head]
        const auto head = static_cast<int64_t>(place) % heads, i = static_cast<int64_t>(place) / heads % queries;
        const auto b = static_cast<int64_t>(place) / heads / queries,
                   keys = static_cast<int64_t>(lens[static_cast<size_t>(b)]);
        const int64_t g = ref::kv_head(head, heads, kv_heads);
        const auto row_of = [&](const std::vector<double>& x, int64_t j) {
            return &x[static_cast<size_t>((b * most + j) * kv_heads + g) * d];
        };
        const auto row = ref::attention_row(
            &q[place * d], d, [&](int64_t j) { return row_of(k, j); }, [&](int64_t j) { return row_of(v, j); },
            ref::visible_keys(i, queries, keys, args.at("causal").boolean), args.at("scale").number);
        if (std::isinf(lse64[place])) {
            check.same(row.lse, lse64[place], "lse64", place);
        } else {
            check.close(row.lse, lse64[place], tolerance, "lse64", place);
        }
        for (size_t e = 0; e < d; ++e) {
            check.close(row.o[e], o64[place * d + e], tolerance, "o64", place * d + e);
            check.same(ref::rounded(type, row.o[e]), o[place * d + e], "o", place * d + e);
        }
    }
}

void check_dequantize(const File& file, Check& check) {
    const auto format = static_cast<ref::Record>(Json::parse(file.metadata("args")).at("format").number);
    const auto records = file.tensor("x").bytes;
    const auto y = values_of(file, "y");
    for (size_t i = 0; i < y.size(); i += ref::RECORD_ELEMENTS) {
        const auto exact =
            ref::dequantize_record(format, &records[i / ref::RECORD_ELEMENTS * ref::record_bytes(format)]);
        for (size_t e = 0; e < exact.size(); ++e) {
            if (!(std::isnan(exact[e]) && std::isnan(y[i + e]))) {
                check.same(ref::rounded(type_of(file.tensor("y")), exact[e]), y[i + e], "y", i + e);
            }
        }
    }
}

void check_amax(const File& file, Check& check) {
    const auto n = static_cast<size_t>(file.tensor("x").shape[1]);
    const auto x = values_of(file, "x"), y = values_of(file, "y");
    for (size_t row = 0; row < y.size(); ++row) {
        const double got = ref::amax(std::span(x).subspan(row * n, n));
        if (!(std::isnan(got) && std::isnan(y[row]))) {
            check.same(got, y[row], "y", row);
        }
    }
}

// The scale of all, those of blocks and where they stand in tiles, codes, and the numbers that they stand for.
void check_nvfp4(const File& file, Check& check) {
    const auto x = values_of(file, "x");
    const auto scales = file.tensor("scales").bytes, tiles = file.tensor("tiles").bytes, y = file.tensor("y").bytes;
    const auto n = static_cast<size_t>(file.tensor("x").shape[1]);
    const int64_t columns = file.tensor("scales").shape[1], rows = file.tensor("scales").shape[0];
    const double whole = values_of(file, "whole")[0];
    if (!Json::parse(file.metadata("args")).at("given").boolean) {
        check.same(ref::nv_whole_of(ref::amax(x)), whole, "whole", 0);
    }
    std::vector<uint8_t> found(static_cast<size_t>(ref::size_of_tiles(rows, columns))), codes(x.size());
    for (size_t first = 0, i = 0; first < x.size(); ++i) {
        const size_t count = std::min<size_t>(16, n - first % n);
        const std::span<const double> part = std::span(x).subspan(first, count);
        const uint8_t scale = ref::nv_scale_of(ref::amax(part), whole);
        check.same(scale, scales[i], "scales", i);
        const auto block = static_cast<int64_t>(i);
        found[static_cast<size_t>(ref::place_in_tiles(block / columns, block % columns, columns))] = scale;
        ref::quantize_nv_block(std::span(x).subspan(first, count), scale, whole,
                               std::span(codes).subspan(first, count));
        for (size_t e = first; e < first + count; ++e) {
            check.same(codes[e], y[e / 2] >> e % 2 * 4 & 15, "y", e);
            const double back = ref::of_e2m1(codes[e]) * ref::of_ue4m3(scale) * whole;
            for (const char* name : {"back_f32", "back_f16", "back_bf16"}) {
                const double want = values_of(file, name)[e], got = ref::rounded(type_of(file.tensor(name)), back);
                if (!(std::isnan(got) && std::isnan(want))) {
                    check.same(got, want, name, e);
                }
            }
        }
        first += count;
    }
    for (size_t i = 0; i < found.size(); ++i) {
        check.same(found[i], tiles[i], "tiles", i);
    }
}

void check_quantize(const File& file, Check& check) {
    if (file.has("whole")) {
        return check_nvfp4(file, check);
    }
    const Json args = Json::parse(file.metadata("args"));
    const auto block = static_cast<size_t>(args.at("block").number), n = static_cast<size_t>(file.tensor("x").shape[1]);
    const bool mx = file.tensor("scales").dtype == "U8";
    const auto x = values_of(file, "x");
    const auto bytes = file.tensor("scales").bytes, y = file.tensor("y").bytes;
    const auto scales = mx ? std::vector<double>(bytes.begin(), bytes.end()) : values_of(file, "scales");
    for (size_t first = 0, i = 0; first < x.size(); ++i) {
        const size_t count = std::min(block, n - first % n);
        const std::span<const double> part = std::span(x).subspan(first, count);
        const double amax = ref::amax(part);
        const double scale = args.at("given").boolean ? scales[i]
                             : mx                     ? ref::mx_scale_of(amax)
                                                      : ref::scale_of(amax, 0);
        if (!(std::isnan(scale) && std::isnan(scales[i]))) {
            check.same(scale, scales[i], "scales", i);
        }
        std::vector<uint8_t> got(count);
        ref::quantize_block(part, mx ? ref::of_ue8m0(bytes[i]) : scale, got);
        for (size_t e = 0; e < count; ++e) {
            check.same(got[e], y[first + e], "y", first + e);
        }
        first += count;
    }
}

void check_softmax(const File& file, Check& check) {
    const Json args = Json::parse(file.metadata("args"));
    const auto n = static_cast<size_t>(file.tensor("x").shape[1]);
    const auto x = values_of(file, "x"), y = values_of(file, "y"), y64 = values_of(file, "y64");
    const double tolerance = std::stod(file.metadata("tolerance"));
    std::vector<double> got(n);
    for (size_t first = 0; first < x.size(); first += n) {
        ref::softmax_row(std::span(x).subspan(first, n), args.at("scale").number, args.at("log").boolean, got);
        for (size_t i = 0; i < n; ++i) {
            const double want = y64[first + i];
            if (std::isnan(want) != std::isnan(got[i]) || std::isinf(want) != std::isinf(got[i])) {
                throw std::runtime_error("NaN or infinity differs at " + std::to_string(first + i));
            }
            if (std::isfinite(want)) {
                check.close(got[i], want, tolerance * std::max(1.0, std::fabs(want)), "y64", first + i);
                check.same(ref::rounded(type_of(file.tensor("x")), got[i]), y[first + i], "y", first + i);
            }
        }
    }
}

void check_cast(const File& file, Check& check) {
    const golden::Tensor& x = file.tensor("x");
    const Type from = type_of(x);
    for (const char* name : {"y_f32", "y_f16", "y_bf16"}) {
        const golden::Tensor& y = file.tensor(name);
        const Type to = type_of(y);
        for (size_t i = 0; i < x.bytes.size() / ref::size_of(from); ++i) {
            const uint64_t got = ref::cast(from, to, ref::load_bits(from, &x.bytes[i * ref::size_of(from)]));
            const uint64_t want = ref::load_bits(to, &y.bytes[i * ref::size_of(to)]);
            const bool both_nan = std::isnan(ref::decode(to, got)) && std::isnan(ref::decode(to, want));
            if (got != want && !(from != to && both_nan)) {
                throw std::runtime_error(std::string(name) + "[" + std::to_string(i) + "]: bits differ");
            }
            ++check.elements;
        }
    }
}

void check_sample(const File& file, Check& check) {
    const Json args = Json::parse(file.metadata("args"));
    const ref::Sample op{args.at("temperature").number, args.at("top_p").number, args.at("min_p").number,
                         static_cast<int64_t>(args.at("top_k").number)};
    const uint64_t seed = std::stoull(args.at("seed").string), offset = std::stoull(args.at("offset").string);
    const auto width = static_cast<size_t>(file.tensor("logits").shape[1]);
    const auto logits = values_of(file, "logits"), ids = values_of(file, "ids");
    for (size_t row = 0; row < ids.size(); ++row) {
        const uint64_t x = ref::drawn_number(seed, offset, static_cast<uint32_t>(row));
        const auto right = ref::sample_row(op, std::span(logits).subspan(row * width, width), x, {});
        check.same(static_cast<double>(right[0]), ids[row], "ids", row);
    }
}

struct Operator {
    const char* name;
    void (*check)(const File& file, Check& check);
};
constexpr Operator OPERATORS[] = {
    {"rmsnorm", check_rmsnorm},
    {"l2norm", check_l2norm},
    {"gemm", check_gemm},
    {"embedding", check_embedding},
    {"attention", check_attention},
    {"dequantize", check_dequantize},
    {"cast", check_cast},
    {"amax", check_amax},
    {"quantize", check_quantize},
    {"sample", check_sample},
    {"activation", check_activation},
    {"glu", check_glu},
    {"add", check_add},
    {"layernorm", check_layernorm},
    {"softmax", check_softmax},
};

void check_operator(const File& file, Check& check) {
    for (const Operator& op : OPERATORS) {
        if (file.metadata("op") == op.name) {
            return op.check(file, check);
        }
    }
    throw std::runtime_error("no oracle for " + file.metadata("op"));
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
        return 2;
    }
    int passed = 0, failed = 0;
    for (const auto& entry : std::filesystem::directory_iterator(argv[1])) {
        if (entry.path().extension() != ".safetensors") {
            continue;
        }
        const std::string name = entry.path().stem().string();
        try {
            const File file(entry.path().string());
            Check check;
            check_operator(file, check);
            std::printf("pass  %-28s %6lld elements, worst float64 error %.1e\n", name.c_str(),
                        static_cast<long long>(check.elements), check.worst);
            ++passed;
        } catch (const std::exception& error) {
            std::printf("FAIL  %s: %s\n", name.c_str(), error.what());
            ++failed;
        }
    }
    std::printf("%d passed, %d failed\n", passed, failed);
    return failed != 0 || passed == 0;
}
