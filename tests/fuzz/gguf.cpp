// SPDX-License-Identifier: Apache-2.0
// libFuzzer target: a GGUF file for examples/generate, alone in memory, so that a read past its end is a report. What
// can be read is asked for everything it names. Holds for every file: no crash, and a refusal has a sentence.
extern "C" {
#include "gguf.h"
#include "shape.h"
}

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

namespace {

void check(bool good, const Failure& failure) {
    if (!good && failure.text[0] == 0) std::abort();
}

// Reads every byte, so that the address sanitizer sees where they are.
void touch(const void* data, uint64_t bytes) {
    static volatile uint8_t sum;
    for (uint64_t i = 0; i < bytes; ++i) sum = sum + static_cast<const uint8_t*>(data)[i];
}

void ask_value(const Gguf& gguf, const GgufValue& value) {
    const std::string key(value.key.data, value.key.size);
    Failure failure{};
    int64_t integer;
    float real;
    Text text;
    uint64_t count = 0;
    check(gguf_integer(&gguf, key.c_str(), 0, 1000, &integer, &failure), failure);
    check(gguf_real(&gguf, key.c_str(), &real, &failure), failure);
    const bool is_text = gguf_text(&gguf, key.c_str(), &text, &failure);
    check(is_text, failure);
    if (is_text) touch(text.data, text.size);
    Text* const texts = gguf_texts(&gguf, key.c_str(), &count, &failure);
    check(texts != nullptr, failure);
    for (uint64_t i = 0; texts && i < count; ++i) touch(texts[i].data, texts[i].size);
    std::free(texts);
}

void ask_tensor(const Gguf& gguf, const GgufTensor& tensor) {
    Failure failure{};
    const std::string name(tensor.name.data, tensor.name.size);
    const GgufTensor* found = gguf_tensor(&gguf, name.c_str(), tensor.shape[1], tensor.shape[0], &failure);
    check(found != nullptr, failure);
    if (found) touch(found->data, found->bytes);
    gguf_type_name(tensor.type);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::unique_ptr<uint8_t[]> exact(new uint8_t[size ? size : 1]);
    if (size) std::memcpy(exact.get(), data, size);
    Gguf gguf;
    Failure failure{};
    if (!gguf_parse(&gguf, exact.get(), size, &failure)) {
        check(false, failure);
        return 0;
    }
    for (uint64_t i = 0; i < gguf.value_count && i < 64; ++i) ask_value(gguf, gguf.values[i]);
    for (uint64_t i = 0; i < gguf.tensor_count && i < 64; ++i) ask_tensor(gguf, gguf.tensors[i]);
    Shape shape;
    check(shape_read(&shape, &gguf, &failure), failure);
    gguf_forget(&gguf);
    return 0;
}
