// SPDX-License-Identifier: Apache-2.0
// Each operator takes the words that it knows; what is missing, or left at the end, is refused.
#include "shapes.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace bench {
namespace {

class Words {
public:
    explicit Words(const std::string& text) : text_(text) {
        std::istringstream in(text);
        for (std::string word; in >> word;) words_.push_back(word);
    }
    [[noreturn]] void refuse(const std::string& why) const {
        throw std::runtime_error("shape \"" + text_ + "\": " + why);
    }
    void end() const {
        if (!words_.empty()) refuse(words_[0] + " is not a word of this operator's rows, or is there twice");
    }
    // Whether the word is there.
    bool take(const std::string& word) {
        const auto found = std::find(words_.begin(), words_.end(), word);
        if (found == words_.end()) return false;
        words_.erase(found);
        return true;
    }
    // The first word that is still there; `what` is wanted.
    std::string next(const char* what) {
        if (words_.empty()) refuse(std::string(what) + " is missing");
        const std::string word = words_[0];
        words_.erase(words_.begin());
        return word;
    }
    // One of these words.
    std::string one_of(std::initializer_list<const char*> names) {
        std::string all;
        for (const char* name : names) {
            if (take(name)) return name;
            all += (all.empty() ? "" : " or ") + std::string(name);
        }
        refuse(all + " is missing");
    }
    // What stands behind "name=", or "" if that is not there.
    std::string value(const std::string& name) {
        const auto found = std::find_if(words_.begin(), words_.end(),
                                        [&](const std::string& word) { return word.starts_with(name + "="); });
        if (found == words_.end()) return "";
        const std::string text = found->substr(name.size() + 1);
        words_.erase(found);
        return text;
    }
    int64_t number(const std::string& name) {
        const std::string text = value(name);
        if (text.empty()) refuse(name + "=NUMBER is missing");
        return count(text, name);
    }
    int64_t count(const std::string& text, const std::string& name) const {
        long long number = 0;
        char end = 0;
        if (std::sscanf(text.c_str(), "%18lld%c", &number, &end) != 1 || number < 1)
            refuse(name + "=" + text + " is not a number from 1");
        return number;
    }
    spark_dtype dtype() {
        const std::string name = one_of({"BF16", "F16", "F32"});
        return name == "BF16" ? SPARK_DTYPE_BF16 : name == "F16" ? SPARK_DTYPE_F16 : SPARK_DTYPE_F32;
    }

private:
    std::string text_;
    std::vector<std::string> words_;
};

void add_gemm(Rows& rows, Words& words) {
    const int64_t m = words.number("m"), n = words.number("n"), k = words.number("k");
    const spark_dtype dtype = words.dtype();
    const std::string layout = words.one_of({"tn", "nn", "nt", "tt"});
    words.end();
    gemm(rows, m, n, k, dtype, layout);
}

void add_attention(Rows& rows, Words& words) {
    const int64_t batch = words.number("b"), queries = words.number("q"), keys = words.number("k");
    const std::string heads = words.value("h");
    const size_t slash = heads.find('/');
    if (slash == heads.npos) words.refuse("h=HEADS/KV_HEADS is missing");
    const int64_t h = words.count(heads.substr(0, slash), "h"), kv = words.count(heads.substr(slash + 1), "h"),
                  d = words.number("d");
    const spark_dtype dtype = words.dtype();
    const bool causal = words.take("causal"), invariant = words.take("batch-invariant");
    words.end();
    attention(rows, batch, queries, keys, h, kv, d, causal, invariant, dtype);
}

void add_norm(Rows& rows, Words& words, const std::string& op) {
    const int64_t count = words.number("rows"), n = words.number("n");
    const spark_dtype dtype = words.dtype();
    const bool residual = op != "l2norm" && op != "softmax" && words.take("+residual");
    words.end();
    if (op == "rmsnorm") rmsnorm(rows, count, n, dtype, residual);
    else if (op == "layernorm") layernorm(rows, count, n, residual, dtype);
    else if (op == "l2norm") l2norm(rows, count, n, dtype);
    else softmax(rows, count, n, dtype);
}

void add_pointwise(Rows& rows, Words& words, const std::string& op) {
    const int64_t count = words.number("rows"), n = words.number("n");
    spark_activation_kind kind = SPARK_ACTIVATION_NONE;
    words.one_of({"BF16"});
    if (op == "add") words.one_of({"in"}), words.one_of({"place"});
    else {
        const std::string name = words.one_of({"silu", "gelu", "gelu_tanh"});
        kind = name == "silu"   ? SPARK_ACTIVATION_SILU
               : name == "gelu" ? SPARK_ACTIVATION_GELU_ERF
                                : SPARK_ACTIVATION_GELU_TANH;
    }
    const bool packed = op == "glu" && words.take("packed");
    words.end();
    pointwise(rows, count, n, kind, op == "activation" ? 1 : 2, packed);
}

void add_embedding(Rows& rows, Words& words) {
    const int64_t tokens = words.number("tokens"), vocabulary = words.number("vocabulary"),
                  width = words.number("width");
    words.one_of({"BF16"});
    words.end();
    embedding(rows, tokens, vocabulary, width);
}

void add_rope(Rows& rows, Words& words) {
    const int64_t tokens = words.number("tokens"), heads = words.number("heads"), d = words.number("d");
    const spark_dtype dtype = words.dtype();
    words.end();
    rope(rows, tokens, heads, d, dtype);
}

// "BF16 to F32": the dtypes in their order.
spark_dtype next_dtype(Words& words) {
    const std::string name = words.next("a dtype");
    for (spark_dtype dtype : {SPARK_DTYPE_BF16, SPARK_DTYPE_F16, SPARK_DTYPE_F32})
        if (name == spark_dtype_name(dtype)) return dtype;
    words.refuse(name + " is not BF16, F16 or F32");
}

// "NVFP4 tiled"; "" if there is no such word.
std::string scaled_form(Words& words) {
    for (const char* form : {"E4M3_TENSOR", "E4M3_ROW", "E4M3_1X128", "MXFP8", "NVFP4"})
        if (words.take(form)) return std::string(form) + (words.take("tiled") ? " tiled" : "");
    return "";
}

void add_quantize(Rows& rows, Words& words) {
    const int64_t count = words.number("rows"), n = words.number("n");
    const std::string form = scaled_form(words);
    if (form.empty()) words.refuse("a form of scales, such as NVFP4, is missing");
    const spark_dtype dtype = words.dtype();
    const bool own_amax = words.take("own-amax");
    words.end();
    quantize(rows, count, n, dtype, form, own_amax);
}

void add_conversion(Rows& rows, Words& words, const std::string& op) {
    const int64_t count = words.number("rows"), n = words.number("n");
    const bool transpose = op == "cast" && words.take("transposed");
    words.one_of({"to"});
    if (op == "cast") {
        const spark_dtype from = next_dtype(words), to = next_dtype(words);
        words.end();
        return cast(rows, count, n, from, to, transpose);
    }
    if (const std::string form = scaled_form(words); !form.empty()) {
        const spark_dtype dtype = words.dtype();
        words.end();
        return dequantize_scaled(rows, count, n, dtype, form);
    }
    const std::string format = words.one_of({"Q8_0", "Q4_1"});
    const spark_dtype dtype = words.dtype();
    words.end();
    dequantize(rows, count, n, format == "Q8_0" ? SPARK_RECORD_Q8_0 : SPARK_RECORD_Q4_1, dtype);
}

void add_sample(Rows& rows, Words& words) {
    const int64_t count = words.number("rows"), vocabulary = words.number("v");
    const spark_dtype dtype = words.dtype();
    const std::string k = words.value("k"), p = words.value("p");
    if (!p.empty() && p != "0.9") words.refuse("p=" + p + ": rows have 0.9");
    if (k.empty() && p.empty()) words.one_of({"greedy"});
    words.end();
    sample(rows, count, vocabulary, dtype, k.empty() ? 0 : static_cast<int32_t>(words.count(k, "k")),
           p.empty() ? 0 : 0.9f);
}

} // namespace

void add_shape(Rows& rows, const std::string& text) {
    Words words(text);
    const std::string op = words.next("an operator");
    const auto is = [&](std::initializer_list<const char*> names) {
        return std::any_of(names.begin(), names.end(), [&](const char* name) { return op == name; });
    };
    if (op == "gemm") add_gemm(rows, words);
    else if (op == "attention") add_attention(rows, words);
    else if (is({"rmsnorm", "layernorm", "l2norm", "softmax"})) add_norm(rows, words, op);
    else if (is({"activation", "glu", "add"})) add_pointwise(rows, words, op);
    else if (op == "embedding") add_embedding(rows, words);
    else if (op == "rope") add_rope(rows, words);
    else if (is({"cast", "dequantize"})) add_conversion(rows, words, op);
    else if (op == "quantize") add_quantize(rows, words);
    else if (op == "sample") add_sample(rows, words);
    else words.refuse("there are no rows of " + op);
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
