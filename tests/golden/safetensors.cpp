// SPDX-License-Identifier: Apache-2.0
// The safetensors reader and the small JSON parser under it.
#include "golden/safetensors.h"

#include <charconv>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace golden {

namespace {

class Parser {
public:
    explicit Parser(std::string_view text) : text_(text) {}

    Json document() {
        Json value = parse_value();
        skip_space();
        if (at_ != text_.size()) {
            fail("text after the value");
        }
        return value;
    }

private:
    std::string_view text_;
    size_t at_ = 0;

    [[noreturn]] void fail(const char* what) const {
        throw std::runtime_error("json: " + std::string(what) + " at byte " + std::to_string(at_));
    }
    void skip_space() {
        while (at_ < text_.size() &&
               (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r')) {
            ++at_;
        }
    }
    bool take(char c) {
        skip_space();
        if (at_ < text_.size() && text_[at_] == c) {
            ++at_;
            return true;
        }
        return false;
    }
    void need(char c) {
        if (!take(c)) {
            fail((std::string("expected ") + c).c_str());
        }
    }
    bool take_word(std::string_view word) {
        if (text_.substr(at_, word.size()) == word) {
            at_ += word.size();
            return true;
        }
        return false;
    }

    Json parse_value() {
        skip_space();
        Json value;
        if (at_ >= text_.size()) {
            fail("end of text");
        } else if (text_[at_] == '{') {
            parse_object(value);
        } else if (text_[at_] == '[') {
            parse_array(value);
        } else if (text_[at_] == '"') {
            value.kind = Json::Kind::string;
            value.string = parse_string();
        } else if (take_word("true")) {
            value.kind = Json::Kind::boolean;
            value.boolean = true;
        } else if (take_word("false")) {
            value.kind = Json::Kind::boolean;
        } else if (!take_word("null")) {
            parse_number(value);
        }
        return value;
    }
    void parse_object(Json& value) {
        value.kind = Json::Kind::object;
        need('{');
        if (take('}')) {
            return;
        }
        do {
            skip_space();
            std::string key = parse_string();
            need(':');
            value.members.emplace_back(std::move(key), parse_value());
        } while (take(','));
        need('}');
    }
    void parse_array(Json& value) {
        value.kind = Json::Kind::array;
        need('[');
        if (take(']')) {
            return;
        }
        do {
            value.items.push_back(parse_value());
        } while (take(','));
        need(']');
    }
    void parse_number(Json& value) {
        value.kind = Json::Kind::number;
        const char* begin = text_.data() + at_;
        const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value.number);
        if (error != std::errc()) {
            fail("not a value");
        }
        at_ += static_cast<size_t>(end - begin);
    }
    std::string parse_string() {
        need('"');
        std::string out;
        while (at_ < text_.size() && text_[at_] != '"') {
            char c = text_[at_++];
            if (c == '\\') {
                c = at_ < text_.size() ? text_[at_++] : '"';
                if (c != '"' && c != '\\' && c != '/') {
                    fail("escape that this reader does not know");
                }
            }
            out += c;
        }
        need('"');
        return out;
    }
};

size_t element_size(const std::string& dtype) {
    if (dtype == "BF16" || dtype == "F16") {
        return 2;
    }
    if (dtype == "F32" || dtype == "I32") {
        return 4;
    }
    if (dtype == "F64" || dtype == "I64") {
        return 8;
    }
    if (dtype == "U8" || dtype == "I8" || dtype == "F8_E4M3" || dtype == "F8_E5M2") {
        return 1;
    }
    throw std::runtime_error("safetensors: dtype " + dtype + " is not one this reader knows");
}

} // namespace

const Json& Json::at(std::string_view key) const {
    for (const auto& [name, value] : members) {
        if (name == key) {
            return value;
        }
    }
    throw std::runtime_error("json: no member " + std::string(key));
}

Json Json::parse(std::string_view text) { return Parser(text).document(); }

File::File(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    if (!in) {
        throw std::runtime_error("cannot open " + path);
    }
    content_.assign(std::istreambuf_iterator<char>(in), {});
    uint64_t header_size = 0;
    if (content_.size() < 8) {
        throw std::runtime_error(path + ": shorter than its header length");
    }
    std::memcpy(&header_size, content_.data(), 8);
    if (header_size > content_.size() - 8) {
        throw std::runtime_error(path + ": header longer than the file");
    }
    const Json header = Json::parse({reinterpret_cast<const char*>(content_.data()) + 8, header_size});
    const std::span<const uint8_t> data = std::span<const uint8_t>(content_).subspan(8 + header_size);
    for (const auto& [name, entry] : header.members) {
        if (name == "__metadata__") {
            for (const auto& [key, value] : entry.members) {
                metadata_[key] = value.string;
            }
            continue;
        }
        Tensor tensor{entry.at("dtype").string, {}, {}};
        size_t bytes = element_size(tensor.dtype);
        for (const Json& dim : entry.at("shape").items) {
            tensor.shape.push_back(static_cast<int64_t>(dim.number));
            bytes *= static_cast<size_t>(dim.number);
        }
        const auto& offsets = entry.at("data_offsets").items;
        const size_t begin = static_cast<size_t>(offsets.at(0).number), end = static_cast<size_t>(offsets.at(1).number);
        if (begin > end || end > data.size() || end - begin != bytes) {
            throw std::runtime_error(path + ": tensor " + name + " does not fit its shape or the file");
        }
        tensor.bytes = data.subspan(begin, bytes);
        tensors_.emplace(name, std::move(tensor));
    }
}

const Tensor& File::tensor(const std::string& name) const {
    const auto found = tensors_.find(name);
    if (found == tensors_.end()) {
        throw std::runtime_error("safetensors: no tensor " + name);
    }
    return found->second;
}

const std::string& File::metadata(const std::string& key) const {
    const auto found = metadata_.find(key);
    if (found == metadata_.end()) {
        throw std::runtime_error("safetensors: no metadata " + key);
    }
    return found->second;
}

} // namespace golden
