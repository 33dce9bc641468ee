// SPDX-License-Identifier: Apache-2.0
// What the words of a modifier list mean to every instruction: types, spaces, vector lengths, the order of memory
// accesses. The only place that knows these words; what a family makes of its own words is its handlers' affair.
#include "optable.h"

namespace emu {
namespace {
template <class T> struct Word {
    std::string_view name;
    T meaning;
};
constexpr Word<Space> SPACES[] = {{"global", Space::global},      {"shared", Space::shared},
                                  {"shared::cta", Space::shared}, {"shared::cluster", Space::cluster},
                                  {"local", Space::local},        {"param", Space::param},
                                  {"param::entry", Space::param}, {"const", Space::constant}};
constexpr Word<Semantics> SEMANTICS[] = {{"weak", Semantics::weak},       {"relaxed", Semantics::relaxed},
                                         {"acquire", Semantics::acquire}, {"release", Semantics::release},
                                         {"acq_rel", Semantics::acq_rel}, {"sc", Semantics::sc},
                                         {"volatile", Semantics::vol},    {"mmio", Semantics::vol}};
constexpr Word<Scope> SCOPES[] = {
    {"cta", Scope::cta}, {"cluster", Scope::cluster}, {"gpu", Scope::gpu}, {"gl", Scope::gpu}, {"sys", Scope::sys}};
constexpr Word<Proxy> PROXIES[] = {
    {"alias", Proxy::alias}, {"async", Proxy::async}, {"async::generic", Proxy::async}}; // after .proxy
constexpr Word<unsigned> VECTORS[] = {{"v2", 2}, {"v4", 4}, {"v8", 8}};
constexpr Word<unsigned> COUNTS[] = {{"x2", 2}, {"x4", 4}, {"2d", 2}, {"3d", 3}, {"4d", 4}, {"5d", 5}};

template <class T, size_t N> const T* find(const Word<T> (&words)[N], std::string_view name) {
    for (const Word<T>& word : words)
        if (word.name == name) return &word.meaning;
    return nullptr;
}

Semantics default_semantics(const OpRow& row) {
    return row.is(trait::sc)        ? Semantics::sc
           : row.is(trait::acq_rel) ? Semantics::acq_rel
           : row.is(trait::release) ? Semantics::release
           : row.is(trait::acquire) ? Semantics::acquire
           : row.is(trait::relaxed) ? Semantics::relaxed
                                    : Semantics::weak;
}
} // namespace

bool is_space(std::string_view word) { return find(SPACES, word) != nullptr; }

void read_modifiers(const OpRow& row, Form& form) {
    form.order.semantics = default_semantics(row);
    form.order.scope = row.is(trait::gpu_scope)       ? Scope::gpu
                       : row.is(trait::cluster_scope) ? Scope::cluster
                                                      : Scope::cta;
    bool scoped = false;
    std::string_view before;
    for (std::string_view word : form.mods) {
        if (Type t = type_named(word); t != Type::none) form.types.push_back(t);
        if (const Space* space = find(SPACES, word); space && form.space == Space::generic) form.space = *space;
        if (const Semantics* semantics = find(SEMANTICS, word)) form.order.semantics = *semantics;
        if (const Scope* scope = find(SCOPES, word)) form.order.scope = *scope, scoped = true;
        if (const unsigned* vec = find(VECTORS, word)) form.vec = *vec;
        if (const unsigned* count = find(COUNTS, word)) form.count = *count;
        if (before == "proxy")
            if (const Proxy* proxy = find(PROXIES, word)) form.order.proxy = *proxy;
        if (before == "async" && form.order.proxy == Proxy::async && form.space != Space::generic)
            form.order.proxy = form.space == Space::global ? Proxy::async_global : Proxy::async_shared;
        before = word;
    }
    if (form.order.semantics == Semantics::vol && !scoped) form.order.scope = Scope::sys;
}

} // namespace emu
