// SPDX-License-Identifier: Apache-2.0
// Sizes, strides, scalars and addresses at the ends of their types, in calls that agree with themselves: what checks,
// plans and costs compute of them neither overflows nor goes on for ever, and the answers agree. Sanitizers say the
// rest. Nothing is launched: the contexts have no device.

#include <cstdlib>
#include <random>

#include "outcome.h"

namespace {

constexpr int DRAWS = 4000; // of each operator on each chip and seed

// SPARK_EXTREMES names how many seeds there are; 1 without it.
uint32_t seeds() {
    const char* text = std::getenv("SPARK_EXTREMES");
    return text ? static_cast<uint32_t>(std::strtoul(text, nullptr, 10)) : 1;
}

class Draws {
public:
    explicit Draws(uint32_t seed) : random_(seed) {}
    uint64_t below(uint64_t end) { return random_() % end; }
    bool one_in(uint64_t n) { return below(n) == 0; }
    // What damages a call: often in some draws, so that many come together, seldom in others, so that most is right.
    bool damage() { return one_in(rarity_); }
    void next() { rarity_ = uint64_t{4} << below(4); }
    template <class T, size_t N> T of(const T (&list)[N]) { return list[below(N)]; }
    template <class T> T of(std::initializer_list<T> list) { return list.begin()[below(list.size())]; }
    // One of the bits of a mask that is not 0.
    uint32_t bit_of(uint64_t mask) {
        for (uint64_t skip = below(static_cast<uint64_t>(__builtin_popcountll(mask))); skip > 0; --skip)
            mask &= mask - 1;
        return static_cast<uint32_t>(__builtin_ctzll(mask));
    }

private:
    std::mt19937_64 random_;
    uint64_t rarity_ = 8;
};

const int64_t USUAL[] = {0, 1, 2, 7, 16, 32, 64, 128, 256, 1000, 4096, 131072};
const int64_t ENDS[] = {(1 << 24) + 1,    (1 << 28) + 1,
                        INT32_MAX,        int64_t{1} << 31,
                        UINT32_MAX,       int64_t{1} << 32,
                        int64_t{1} << 34, int64_t{1} << 40,
                        int64_t{1} << 48, int64_t{1} << 57,
                        int64_t{1} << 62, INT64_MAX - 63,
                        INT64_MAX,        -1,
                        INT64_MIN};

// What the letters of an operator's shapes stand for in one draw.
using Sizes = std::map<std::string, int64_t>;

int64_t size_of(Sizes& sizes, const std::string& letter, Draws& draws) {
    const auto [place, fresh] = sizes.try_emplace(letter, 0);
    if (fresh) place->second = draws.damage() ? draws.of(ENDS) : draws.of(USUAL);
    return place->second;
}

void resize(api::Example& e, uint32_t f, Sizes& sizes, Draws& draws) {
    const std::vector<std::string> names = api::parse_shape(api::field(e.desc(), f).shape).names;
    spark_tensor& t = e.tensor(f);
    const bool record = t.quant.scheme == SPARK_QUANT_RECORD;
    for (uint32_t back = 0; back < t.ndim; ++back) {
        const bool named = back < names.size();
        const std::string letter = named ? names[names.size() - 1 - back] : "..." + std::to_string(back - names.size());
        const bool number = letter.find_first_not_of("0123456789") == std::string::npos;
        int64_t& dim = t.shape[t.ndim - 1 - back];
        if (!number && !(record && back == 0)) dim = size_of(sizes, letter, draws);
        if (record && back == 0 && draws.damage()) dim = draws.of(ENDS);
    }
    std::memset(t.stride, 0, sizeof t.stride);
    if (draws.damage())
        for (uint32_t d = 0; d < t.ndim; ++d)
            t.stride[d] = d + 1 == t.ndim ? 1 : draws.one_in(2) ? draws.of(ENDS) : draws.of(USUAL);
    if (draws.damage()) t.quant.scale_stride[draws.below(t.ndim)] = draws.of(ENDS);
    t.size_bytes = draws.damage() ? UINT64_MAX : 0;
    t.quant.scale_bytes = draws.damage() ? UINT64_MAX : 0;
    if (draws.damage()) t.data = draws.one_in(2) ? 0 : uint64_t{0} - 256;
}

// One of the field's forms, with scales wherever its first form had some.
void reform(spark_tensor& t, const spark_quant_form& form, Draws& draws) {
    spark_quant& quant = t.quant;
    const spark_devptr scale = quant.scale;
    quant = {};
    quant.scheme = static_cast<spark_quant_scheme>(form.scheme);
    t.dtype = static_cast<spark_dtype>(draws.bit_of(form.dtype_mask));
    if (form.scheme == SPARK_QUANT_RECORD) {
        quant.record = static_cast<uint16_t>(form.record);
        t.shape[t.ndim - 1] = form.record_bytes * draws.of({int64_t{1}, int64_t{2}, int64_t{8}, int64_t{1} << 24});
        return;
    }
    quant.scale = scale != 0 ? scale : 4096;
    quant.scale_dtype = static_cast<spark_dtype>(draws.bit_of(form.scale_dtype_mask));
    quant.scale_layout = static_cast<spark_scale_layout>(draws.bit_of(form.layout_mask));
    if (form.scheme != SPARK_QUANT_BLOCK) return;
    for (uint32_t d = 0; d < t.ndim; ++d) {
        const bool inner = d + form.num_blocks >= t.ndim;
        quant.block[d] = inner ? form.block[d + form.num_blocks - t.ndim] : uint16_t{1};
    }
}

void retype(api::Example& e, uint32_t f, Draws& draws) {
    const spark_field& field = api::field(e.desc(), f);
    spark_tensor& t = e.tensor(f);
    if (field.num_forms != 0 && !draws.one_in(4)) {
        reform(t, *spark_op_form(e.desc().op, f, static_cast<uint32_t>(draws.below(field.num_forms))), draws);
        return;
    }
    t.quant = {};
    if (field.dtype_as < f && !draws.damage()) t.dtype = e.tensor(field.dtype_as).dtype;
    else if (field.dtype_mask != 0) t.dtype = static_cast<spark_dtype>(draws.bit_of(field.dtype_mask));
}

void rescale(api::Example& e, uint32_t f, Draws& draws) {
    const spark_field& field = api::field(e.desc(), f);
    if (field.kind == SPARK_KIND_RESERVED || !draws.damage()) return;
    const float reals[] = {0, 1, -1, 1e-45f, 3e38f, __builtin_inff(), __builtin_nanf("")};
    const float real = draws.of(reals);
    const int64_t whole = draws.one_in(2) ? draws.of(ENDS) : draws.of(USUAL);
    const auto choice = static_cast<uint32_t>(draws.below(6));
    if (field.kind == SPARK_KIND_F32) std::memcpy(e.at(f), &real, sizeof real);
    else if (field.kind == SPARK_KIND_ENUM) std::memcpy(e.at(f), &choice, sizeof choice);
    else std::memcpy(e.at(f), &whole, field.size);
}

api::Example drawn(const spark_op_desc& desc, api::Arena& arena, Draws& draws) {
    draws.next();
    api::Options options;
    options.optional_fields = draws.one_in(2);
    options.optional_dims = draws.one_in(2);
    api::Example e(desc, arena, options);
    Sizes sizes;
    for (uint32_t f = 0; f < desc.num_fields; ++f) {
        if (api::field(desc, f).kind != SPARK_KIND_TENSOR) {
            rescale(e, f, draws);
        } else if (e.tensor(f).ndim != 0) {
            retype(e, f, draws);
            resize(e, f, sizes, draws);
        }
    }
    if (draws.one_in(3)) e.head()->flags = static_cast<uint32_t>(draws.below(UINT64_MAX)) & desc.flags_mask;
    if (draws.one_in(2)) e.head()->given = desc.given_mask;
    return e;
}

// Query, explain and the list of kernels, which must agree; whether the call is legal.
bool answered(spark_context* ctx, const api::Example& e) {
    spark_error err = fresh_error(), again = fresh_error();
    spark_op_info info{}, infos[64]{};
    info.struct_size = sizeof info;
    for (spark_op_info& one : infos) one.struct_size = sizeof one;
    char text[16384];
    size_t needed = 0;
    uint32_t count = 0;
    const spark_status status = spark_op_query(ctx, e.head(), &info, &err);
    const spark_status listed = spark_op_kernels(ctx, e.head(), UINT64_MAX, infos, 64, &count, &again);
    spark_op_explain(ctx, e.head(), text, sizeof text, &needed, nullptr);
    const char* name = e.desc().name;
    if (status != listed)
        fail_msg("%s: query says %s \"%s\", kernels %s \"%s\"", name, spark_status_name(status), err.message,
                 spark_status_name(listed), again.message);
    if (status == SPARK_ERR_INTERNAL) fail_msg("%s: %s", name, err.message);
    if (status != SPARK_OK) {
        if (err.message[0] == 0) fail_msg("%s: no message", name);
        return false;
    }
    if (info.flags & SPARK_OP_INFO_EMPTY) return true;
    if (count == 0 || infos[0].kernel_id != info.kernel_id)
        fail_msg("%s: the choice is %s, the first of %u kernels %s", name, info.kernel, count, infos[0].kernel);
    for (uint32_t i = 0; i < count && i < 64; ++i)
        if (infos[i].workspace_size >> 56 != 0) fail_msg("%s: %s wants an absurd workspace", name, infos[i].kernel);
    return true;
}

void ends_of_an_operator(spark_context* ctx, const spark_op_desc& desc, uint32_t seed) {
    Draws draws(seed);
    int legal = 0;
    for (int n = 0; n < DRAWS; ++n) {
        api::Arena addresses(nullptr);
        legal += answered(ctx, drawn(desc, addresses, draws));
    }
    print_message("%s, seed %u: %d of %d legal\n", desc.name, seed, legal, DRAWS);
}

void ends_of_the_integers(void**) {
    for (uint32_t arch : {90u, 120u, 121u}) {
        spark_context* ctx = api::make_context(arch);
        assert_non_null(ctx);
        for (uint32_t i = 0; i < spark_op_count(); ++i)
            for (uint32_t n = 0; n < seeds(); ++n)
                ends_of_an_operator(ctx, *spark_op_at(i), n * 100000 + arch * 1000 + spark_op_at(i)->op);
        spark_context_destroy(ctx);
    }
}

} // namespace

int main() {
    const CMUnitTest tests[] = {cmocka_unit_test(ends_of_the_integers)};
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
