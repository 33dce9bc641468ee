// SPDX-License-Identifier: Apache-2.0
// Takes words away one by one.
#include "check/words.h"

#include "ops/families.h"

#include <algorithm>
#include <cstdio>
#include <sstream>
#include <stdexcept>

namespace check {
namespace {

// "BF16, F16 or F32"
std::string listed(const std::vector<std::string>& names, const char* between, const char* last) {
    std::string all;
    for (const std::string& name : names) {
        all += (all.empty() ? "" : &name == &names.back() ? last : between) + name;
    }
    return all;
}

std::vector<std::string> names_of(unsigned mask) {
    std::vector<std::string> names;
    for (ref::Type type : types_of(mask)) {
        names.emplace_back(spark_dtype_name(dtype_of(type)));
    }
    return names;
}

ref::Type type_named(const std::string& name, unsigned mask) {
    const std::vector<std::string> names = names_of(mask);
    return types_of(mask)[static_cast<size_t>(std::find(names.begin(), names.end(), name) - names.begin())];
}

} // namespace

Words::Words(const std::string& text) : text_(text) {
    std::istringstream in(text);
    for (std::string word; in >> word;) {
        name_.append(words_.size() < 2 ? "" : " ").append(words_.empty() ? "" : word);
        words_.push_back(word);
    }
}

void Words::refuse(const std::string& why) const { throw std::runtime_error("shape \"" + text_ + "\": " + why); }

void Words::end() const {
    if (!words_.empty()) {
        refuse(words_[0] + " is not a word of this operator's rows, or is there twice");
    }
}

bool Words::take(const std::string& word) {
    const auto found = std::find(words_.begin(), words_.end(), word);
    if (found == words_.end()) {
        return false;
    }
    words_.erase(found);
    return true;
}

std::string Words::next(const char* what) {
    if (words_.empty()) {
        refuse(std::string(what) + " is missing");
    }
    const std::string word = words_[0];
    words_.erase(words_.begin());
    return word;
}

std::string Words::one_of(const std::vector<std::string>& names) {
    const auto found = std::find_first_of(words_.begin(), words_.end(), names.begin(), names.end());
    if (found != words_.end()) {
        const std::string name = *found;
        words_.erase(found);
        return name;
    }
    refuse(listed(names, " or ", " or ") + " is missing");
}

std::string Words::value(const std::string& name) {
    const auto found = std::find_if(words_.begin(), words_.end(),
                                    [&](const std::string& word) { return word.starts_with(name + "="); });
    if (found == words_.end()) {
        return "";
    }
    const std::string text = found->substr(name.size() + 1);
    words_.erase(found);
    return text;
}

int64_t Words::number(const std::string& name) {
    const std::string text = value(name);
    if (text.empty()) {
        refuse(name + "=NUMBER is missing");
    }
    return count(text, name);
}

int64_t Words::count(const std::string& text, const std::string& name) const {
    long long number = 0;
    char end = 0;
    if (std::sscanf(text.c_str(), "%18lld%c", &number, &end) != 1 || number < 1) {
        refuse(name + "=" + text + " is not a number from 1");
    }
    return number;
}

std::pair<int64_t, int64_t> Words::pair(const std::string& name, const char* what) {
    const std::string text = value(name);
    const size_t slash = text.find('/');
    if (slash == text.npos) {
        refuse(name + "=" + what + " is missing");
    }
    return {count(text.substr(0, slash), name), count(text.substr(slash + 1), name)};
}

ref::Type Words::type(unsigned mask) { return type_named(one_of(names_of(mask)), mask); }

ref::Type Words::next_type(unsigned mask) {
    const std::vector<std::string> names = names_of(mask);
    const std::string name = next("a dtype");
    if (std::find(names.begin(), names.end(), name) == names.end()) {
        refuse(name + " is not " + listed(names, ", ", " or "));
    }
    return type_named(name, mask);
}

Entry worded_entry(const std::string& text) {
    Words words(text);
    const std::string op = words.next("an operator");
    for (const OpCases& family : families()) {
        if (op == family.op) {
            Entry entry = family.worded(words);
            words.end();
            entry.tier = Tier::bench;
            entry.build = [build = entry.build](const Seed& seed) {
                Case c = build(seed);
                c.large = true;
                return c;
            };
            return entry;
        }
    }
    words.refuse("there are no rows of " + op);
}

} // namespace check
