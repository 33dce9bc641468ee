// SPDX-License-Identifier: Apache-2.0
// A right call with one thing wrong: the status, a sentence that names the field, err.field, and untouched memory.
// To be included last, as outcome.h is.
#pragma once

#include <cstring>
#include <functional>

#include "outcome.h"

inline int g_cases = 0;

struct Verdict {
    spark_status status;
    spark_error err;
};

inline Verdict call(const spark_args* args, bool launch) {
    Verdict v{};
    v.err.struct_size = sizeof v.err;
    if (launch) {
        v.status = spark_op_launch(g_ctx, args, nullptr, &v.err);
    } else {
        spark_op_info info{};
        info.struct_size = sizeof info;
        spark_op_info before = info;
        v.status = spark_op_query(g_ctx, args, &info, &v.err);
        if (v.status != SPARK_OK && std::memcmp(&info, &before, sizeof info) != 0)
            fail_msg("info written by a failed query");
    }
    return v;
}

// Whether a sentence gives a range of one number, as "1 to 1 wanted" does.
inline bool has_range_of_one(const char* message) {
    for (const char* to = std::strstr(message, " to "); to != nullptr; to = std::strstr(to + 4, " to ")) {
        const char* first = to;
        while (first > message && std::strchr("0123456789", first[-1]) != nullptr) --first;
        const size_t digits = static_cast<size_t>(to - first);
        if (digits > 0 && std::strncmp(first, to + 4, digits) == 0 && to[4 + digits] == ' ') return true;
    }
    return false;
}

// Statuses that a damage may lead to; most damages have exactly one.
using Wanted = std::vector<spark_status>;

inline void expect(api::Example& example, uint32_t field, const char* what, const Wanted& wanted, bool launch = true) {
    ++g_cases;
    const Verdict v = call(example.head(), launch);
    const char* name = field < example.desc().num_fields ? api::field(example.desc(), field).name : "(head)";
    bool listed = false;
    for (spark_status s : wanted) listed |= s == v.status;
    if (!listed)
        fail_msg("%s.%s, %s: status %s, message \"%s\"", example.desc().name, name, what, spark_status_name(v.status),
                 v.err.message);
    if (v.status == SPARK_OK) return;
    if (v.err.message[0] == 0 || v.err.status != v.status)
        fail_msg("%s.%s, %s: no message", example.desc().name, name, what);
    if (has_range_of_one(v.err.message))
        fail_msg("%s.%s, %s: a range of one number: \"%s\"", example.desc().name, name, what, v.err.message);
    if (field >= example.desc().num_fields) return;
    if (!std::strstr(v.err.message, name))
        fail_msg("%s.%s, %s: the message does not name the field: \"%s\"", example.desc().name, name, what,
                 v.err.message);
}

using Damage = std::function<void(api::Example&)>;

// Runs one damage on a fresh right call, through query and through launch, and looks at the memory afterwards.
inline void damaged(const spark_op_desc& desc, uint32_t field, const char* what, const Wanted& wanted,
                    const Damage& damage) {
    api::Arena arena(g_ctx);
    api::Example example(desc, arena);
    damage(example);
    expect(example, field, what, wanted, true);
    if (!arena.untouched()) fail_msg("%s field %u, %s: device memory was written", desc.name, field, what);
    // Query has no use for data addresses, so only damages elsewhere are seen by both.
    const bool addresses = !std::strncmp(what, "data", 4);
    if (!addresses) expect(example, field, what, wanted, false);
}

// Whether the example has scales there.
inline bool has_scales(const spark_op_desc& d, uint32_t f) {
    api::Arena arena(g_ctx);
    api::Example right(d, arena);
    return api::field(d, f).kind == SPARK_KIND_TENSOR && right.tensor(f).quant.scale != 0;
}
