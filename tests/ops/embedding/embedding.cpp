// SPDX-License-Identifier: Apache-2.0
// Cases of embedding: from a row of shapes.inc (or a random one) to arguments, memory and right results.
// Called by spark-check through families.cpp; results come from tests/ref. Rows are copied: everything is compared as
// bits.
#include "ref/embedding.h"

#include "ops/families.h"

#include <algorithm>
#include <cstddef>
#include <limits>

namespace check::embedding {
namespace {

enum IdTypes : unsigned { I32 = 1, I64 = 2, BOTH = 3 };
// wraps_to_valid: a valid number plus a multiple of 2^32, which a kernel that drops the upper half would follow.
enum class Bad { none, minus_one, v, smallest, largest, wraps_to_valid, mixed, all };

struct Shape {
    const char* name = "";
    int64_t v = 1, d = 1, rows1 = 1, rows0 = 1;
    int64_t table_pad = 0, y_pad = 0;                             // elements between rows
    int64_t table_misalign = 0, y_misalign = 0, ids_misalign = 0; // elements off the 16-byte boundary
    unsigned types = ALL, ids = BOTH;
    Bad bad = Bad::none;
    bool zero = false, count = false; // flag ZERO_INVALID; invalid_count is given
    Tier tier = Tier::quick;
};

const Shape SHAPES[] = {
#include "ops/embedding/shapes.inc"
};

constexpr int32_t COUNT_BEFORE = 40; // the counter is counted up, not set

int64_t bad_id(Bad bad, int64_t v, bool wide, Random& random) {
    switch (bad) {
    case Bad::minus_one: return -1;
    case Bad::v: return v;
    case Bad::smallest: return wide ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int32_t>::min();
    case Bad::largest: return wide ? std::numeric_limits<int64_t>::max() : std::numeric_limits<int32_t>::max();
    case Bad::wraps_to_valid: {
        const int64_t index = random.below(std::max<int64_t>(v, 1)); // one draw a line: operands have no order
        return index + (random.between(1, 1000) << 32);
    }
    default: break;
    }
    std::vector<Bad> kinds = {Bad::minus_one, Bad::v, Bad::smallest, Bad::largest};
    if (wide) {
        kinds.push_back(Bad::wraps_to_valid);
    }
    return bad_id(random.pick(kinds), v, wide, random);
}

std::vector<int64_t> draw_ids(const Shape& s, bool wide, Random& random) {
    std::vector<int64_t> ids(static_cast<size_t>(s.rows1 * s.rows0));
    for (size_t i = 0; i < ids.size(); ++i) {
        const bool bad = s.v == 0 || s.bad == Bad::all || (s.bad != Bad::none && i % 3 == 1);
        ids[i] = bad      ? bad_id(s.bad == Bad::all || s.v == 0 ? Bad::mixed : s.bad, s.v, wide, random)
                 : i == 0 ? s.v - 1
                 : i == 2 ? 0
                          : random.below(s.v);
    }
    return ids;
}

// Random bits, so that NaNs with payloads, infinities and subnormals are among what is copied.
void fill_bits(Case& c, const Operand& operand, Random& random) {
    for (int64_t i = 0; i < c.to_fill(operand); ++i) {
        ref::store_bits(operand.view.type, random.next(), c.element(operand, i));
    }
}

std::vector<Allowed> expect(const Case& c, const std::vector<int64_t>& ids, const Shape& s, const std::string& field) {
    const Operand& table = c.operands[0];
    const auto width = static_cast<size_t>(s.d);
    std::vector<ref::Row> rows(static_cast<size_t>(s.v), ref::Row(width));
    const uint8_t* base = c.storages[table.storage].bytes.data();
    for (size_t i = 0; i < rows.size() * width; ++i) {
        const auto at = static_cast<size_t>(table.view.offset(static_cast<int64_t>(i)));
        rows[i / width][i % width] = ref::load_bits(table.view.type, base + at * ref::size_of(table.view.type));
    }
    std::vector<ref::Row> y(ids.size()); // an empty row is one that stays as it is
    const bool nothing = s.d == 0;       // with no table every index is invalid, and counted
    std::vector<ref::Row> zero_rows(ids.size(), ref::Row(width));
    const int64_t refused =
        nothing ? 0 : ref::embedding(rows, ids, s.zero, s.zero ? std::span(zero_rows) : std::span(y));
    if (field == "invalid_count") {
        return {{Allowed::bits, 0, 0, static_cast<uint32_t>(COUNT_BEFORE + refused)}};
    }
    std::vector<Allowed> out;
    for (const ref::Row& row : s.zero && !nothing ? zero_rows : y) {
        for (size_t i = 0; i < width; ++i) {
            out.push_back(row.empty() ? Allowed{Allowed::unchanged}
                                      : Allowed{Allowed::bits, 0, 0, static_cast<uint32_t>(row[i])});
        }
    }
    return out;
}

View rows_view(const Shape& s, ref::Type type) {
    const int64_t pitch = std::max<int64_t>(s.d + s.y_pad, 1);
    if (s.rows1 == 1) {
        return {type, {s.rows0, s.d}, {pitch, 1}};
    }
    return {type, {s.rows1, s.rows0, s.d}, {s.rows0 * pitch, pitch, 1}};
}

Case build(const Shape& s, ref::Type type, ref::Type id_type, const std::string& name, const Seed& seed) {
    using Args = spark_embedding_args;
    Case c = make_case<Args>("embedding", name, SPARK_OP_EMBEDDING, seed);
    Random random(seed, name);
    const size_t size = ref::size_of(type);
    const View table{type, {s.v, s.d}, {std::max<int64_t>(s.d + s.table_pad, 1), 1}};
    fill_bits(c, c.add("table", offsetof(Args, table), table, 16 + static_cast<size_t>(s.table_misalign) * size, false),
              random);

    const std::vector<int64_t> ids = draw_ids(s, id_type == ref::Type::i64, random);
    const View id_view = s.rows1 == 1 ? packed(id_type, {s.rows0}) : packed(id_type, {s.rows1, s.rows0});
    const size_t id_base = 16 + static_cast<size_t>(s.ids_misalign) * ref::size_of(id_type);
    const Operand& id_operand = c.add("ids", offsetof(Args, ids), id_view, id_base, false);
    for (size_t i = 0; i < ids.size(); ++i) {
        ref::store_bits(id_type, static_cast<uint64_t>(ids[i]), c.element(id_operand, static_cast<int64_t>(i)));
    }
    c.add("y", offsetof(Args, y), rows_view(s, type), 16 + static_cast<size_t>(s.y_misalign) * size, true);
    // Without zeroing, the counter must be given: it is the only sign of a refusal.
    if (s.count || !s.zero) {
        Operand& counter = c.add("invalid_count", offsetof(Args, invalid_count), packed(ref::Type::i32, {1}), 20, true);
        counter.input = true;
        ref::store_bits(ref::Type::i32, COUNT_BEFORE, c.element(counter, 0));
    }
    c.as<Args>().hdr.flags = s.zero ? SPARK_EMBEDDING_ZERO_INVALID : 0;
    c.exact = true;
    c.large = s.tier == Tier::card;
    c.note = "V " + std::to_string(s.v) + ", D " + std::to_string(s.d) + ", ids " + std::to_string(s.rows1 * s.rows0);
    std::vector<std::string> fields;
    for (const Operand& operand : c.operands) {
        fields.push_back(operand.field);
    }
    // The case is copied without its expectation: it holds the table.
    c.kind = any_kernel;
    c.expect = [before = c, ids, s, fields](size_t index, const std::string&) {
        return expect(before, ids, s, fields[index]);
    };
    return c;
}

Entry entry(const Shape& s, ref::Type type, ref::Type id_type, const std::string& name) {
    return {"embedding", name, s.tier, [=](const Seed& seed) { return build(s, type, id_type, name, seed); }};
}

void expand(const Shape& s, const std::string& name, std::vector<Entry>& out) {
    for (ref::Type type : types_of(s.types)) {
        for (ref::Type id_type : {ref::Type::i32, ref::Type::i64}) {
            if (s.ids & (id_type == ref::Type::i32 ? I32 : I64)) {
                out.push_back(entry(s, type, id_type, name + "." + ref::name_of(type) + "." + ref::name_of(id_type)));
            }
        }
    }
}

void named(std::vector<Entry>& out) { add_table("embedding", SHAPES, expand, out); }

Entry random(uint64_t seed, int64_t index) {
    const std::string name = "random_" + std::to_string(index);
    Random r(seed, "embedding." + name);
    Shape s;
    s.v = r.between(1, 60);
    s.d = r.chance(0.5) ? r.between(1, 300) : 8 * r.between(1, 64);
    s.rows1 = r.chance(0.3) ? r.between(2, 4) : 1;
    s.rows0 = r.between(1, 80);
    const std::vector<int64_t> pads = {0, 0, 8, 16, 1, 5};
    s.table_pad = r.pick(pads);
    s.y_pad = r.pick(pads);
    s.table_misalign = r.chance(0.2) ? r.between(1, 7) : 0;
    s.y_misalign = r.chance(0.2) ? r.between(1, 7) : 0;
    s.ids_misalign = r.chance(0.2) ? 1 : 0;
    s.zero = r.chance(0.5);
    s.count = r.chance(0.5);
    const bool wide = r.chance(0.5);
    s.bad = r.pick<Bad>({Bad::none, Bad::minus_one, Bad::v, Bad::smallest, Bad::largest, Bad::mixed});
    return entry(s, r.pick(types_of(ALL)), wide ? ref::Type::i64 : ref::Type::i32, name);
}

void sized(const std::vector<int64_t>& dims, std::vector<Entry>& out) {
    if (dims.size() == 3) {
        const Shape s{.v = dims[0], .d = dims[1], .rows0 = dims[2]};
        for (ref::Type type : types_of(ALL)) {
            out.push_back(entry(s, type, ref::Type::i64, dims_name(dims) + "." + ref::name_of(type) + ".i64"));
        }
    }
}

Entry worded(Words& words) {
    const int64_t tokens = words.number("tokens");
    const Shape s{.v = words.number("vocabulary"), .d = words.number("width"), .rows0 = tokens, .zero = true};
    return entry(s, words.type(ALL), ref::Type::i32, words.name());
}

constexpr OpCases CASES{"embedding", named, random, sized, "V,D,ids", worded};

} // namespace
} // namespace check::embedding

const check::OpCases check::EMBEDDING = check::embedding::CASES;
