// SPDX-License-Identifier: Apache-2.0
// libFuzzer target: the tokenizer of examples/generate. The bytes are three parts with a byte 1e between: the tokens,
// one on each line, behind a digit that is the type; the merges, one on each line; the text that is encoded.
// Holds for every vocabulary: no crash, a refusal has a sentence, and what is encoded are tokens of it.
extern "C" {
#include "tokenizer.h"
}

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace {

enum : uint32_t { I32 = 5, TEXT = 8 }; // value types, as the file numbers them

std::string_view cut(std::string_view& rest, char at) {
    const size_t n = std::min(rest.find(at), rest.size());
    const std::string_view part = rest.substr(0, n);
    rest.remove_prefix(std::min(n + 1, rest.size()));
    return part;
}

// Values of a file, each in a block of its own.
class File {
public:
    void text(const char* key, std::string_view value) { add(key, TEXT, false, 1, spelled(value)); }
    void texts(const char* key, const std::vector<std::string_view>& values) {
        std::string all;
        for (std::string_view value : values) all += spelled(value);
        add(key, TEXT, true, values.size(), all);
    }
    void integers(const char* key, bool is_array, const std::vector<int32_t>& values) {
        add(key, I32, is_array, values.size(),
            std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof values[0]));
    }
    Gguf gguf() {
        Gguf g{};
        g.values = values_.data();
        g.value_count = values_.size();
        return g;
    }

private:
    static std::string spelled(std::string_view text) {
        const uint64_t size = text.size();
        return std::string(reinterpret_cast<const char*>(&size), sizeof size) + std::string(text);
    }
    void add(const char* key, uint32_t type, bool is_array, uint64_t count, const std::string& bytes) {
        blocks_.emplace_back(bytes.begin(), bytes.end());
        blocks_.back().shrink_to_fit();
        values_.push_back({{key, std::strlen(key)}, type, is_array, count, blocks_.back().data()});
    }
    std::vector<std::vector<uint8_t>> blocks_;
    std::vector<GgufValue> values_;
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    std::string_view rest(reinterpret_cast<const char*>(data), size);
    std::string_view tokens = cut(rest, '\x1e'), merges = cut(rest, '\x1e');
    std::vector<std::string_view> names, pairs;
    std::vector<int32_t> types;
    while (!tokens.empty()) {
        const std::string_view line = cut(tokens, '\n');
        types.push_back(line.empty() ? 1 : line[0] - '0');
        names.push_back(line.substr(std::min<size_t>(1, line.size())));
    }
    while (!merges.empty()) pairs.push_back(cut(merges, '\n'));
    File file;
    file.text("tokenizer.ggml.model", "gpt2");
    file.text("tokenizer.ggml.pre", "smollm");
    file.texts("tokenizer.ggml.tokens", names);
    file.texts("tokenizer.ggml.merges", pairs);
    file.integers("tokenizer.ggml.token_type", true, types);
    file.integers("tokenizer.ggml.eos_token_id", false, {0});
    const Gguf gguf = file.gguf();
    Failure failure{};
    Tokenizer* const tokenizer = tokenizer_create(&gguf, &failure);
    if (!tokenizer) {
        if (failure.text[0] == 0) std::abort();
        return 0;
    }
    const std::vector<char> text(rest.begin(), rest.end());
    const Part parts[] = {{{text.data(), text.size() / 2}, true},
                          {{text.data() + text.size() / 2, (text.size() + 1) / 2}, false}};
    std::vector<int32_t> ids(text.size()); // no token stands for less than a byte
    int64_t count = 0;
    if (!tokenizer_encode(tokenizer, parts, 2, ids.data(), &count, int64_t(ids.size()))) std::abort();
    uint64_t bytes = 0;
    for (int64_t i = 0; i < count; ++i) {
        if (ids[i] < 0 || ids[i] >= tokenizer_size(tokenizer)) std::abort();
        bytes += tokenizer_decode(tokenizer, ids[i]).size;
    }
    if (bytes > text.size()) std::abort();
    tokenizer_destroy(tokenizer);
    return 0;
}
