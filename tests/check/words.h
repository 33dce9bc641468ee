// SPDX-License-Identifier: Apache-2.0
// The words of a row of the bench, "m=16 n=4096 k=4096 BF16 tn": what it is called, and all that says its shape.
// Each operator takes the words that it knows (OpCases::worded); what is missing, or left at the end, is refused.
#pragma once

#include "check/case.h"

#include <initializer_list>

namespace check {

class Words {
public:
    explicit Words(const std::string& text);
    [[noreturn]] void refuse(const std::string& why) const; // throws std::runtime_error, which names the text
    void end() const;                                       // refuses what is left
    const std::string& name() const { return name_; }       // all of them but the operator's, with a blank between
    // Whether the word is there.
    bool take(const std::string& word);
    // The first word that is still there; `what` is wanted.
    std::string next(const char* what);
    // One of these words.
    std::string one_of(const std::vector<std::string>& names);
    // What stands behind "name=", or "" if that is not there.
    std::string value(const std::string& name);
    int64_t number(const std::string& name);
    int64_t count(const std::string& text, const std::string& name) const;
    // "h=32/8": two numbers behind a name.
    std::pair<int64_t, int64_t> pair(const std::string& name, const char* what);
    // An element type of a list as types_of() takes it, wherever it stands.
    ref::Type type(unsigned mask);
    // The same, as the next word: "BF16 to F32" says two in their order.
    ref::Type next_type(unsigned mask);

private:
    std::string text_, name_;
    std::vector<std::string> words_;
};

// The case of a text that begins with an operator's name.
Entry worded_entry(const std::string& text);

} // namespace check
