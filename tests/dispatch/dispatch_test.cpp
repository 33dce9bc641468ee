// SPDX-License-Identifier: Apache-2.0
// The cost of a launch and the choice among kernels: pure functions, on chips of chips.inc and kernels made up here.
#include <algorithm>
#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
extern "C" {
#include <cmocka.h>
}

#include "core/divide.h"
#include "dispatch/pick.h"

using namespace spark;

namespace {

const Target GB10 = find_target(121, "NVIDIA GB10", 48);
const Target H200 = find_target(90, "NVIDIA H200", 132);
const Load A_LOAD = {1000, 64, 64, 1 << 20, 1, 0, 0, 2, 0, 0, 65536, 0, 0, {256, 49152, 16384, 544}, 0};

int64_t price_of(const Target& target, const Load& load, uint32_t resident = 2) {
    return cost(target, target.fits[fit_index("gemm")], resident, load);
}

void chips_are_found_by_capability_and_name(void**) {
    assert_string_equal(find_target(120, "NVIDIA GeForce RTX 5090", 170).chip->name, "RTX 5090");
    assert_string_equal(find_target(120, "NVIDIA RTX PRO 6000 Blackwell (emulated)", 188).chip->name, "RTX PRO 6000");
    assert_string_equal(H200.chip->name, "H200");
    assert_string_equal(find_target(90, "NVIDIA GH200 480GB", 132).chip->name, "H200");
}

void an_unknown_chip_has_its_own_sms_and_the_rates_of_its_class(void**) {
    Target unknown = find_target(120, "NVIDIA GeForce RTX 5060", 30);
    assert_string_equal(unknown.chip->name, "");
    assert_int_equal(unknown.sms, 30);
    assert_int_equal(find_target(120, "", 0).sms, unknown.chip->sms);
    // Half as many SMs, twice as long.
    Load load = A_LOAD;
    load.blocks = 2 * 30 * 100, load.bytes = 0;
    int64_t full = price_of(find_target(120, "", 60), load), half = price_of(unknown, load);
    assert_in_range(half * 100 / full, 185, 201);
}

void an_unmeasured_chip_works_at_its_published_rates(void**) {
    for (const auto& [chip, pattern, fit, as] : detail::LINES) {
        if (!chip.empty() || !as.empty()) continue;
        const Fit& same = GB10.fits[fit_index(pattern)];
        for (uint32_t factor : {same.products, same.shared, same.fetched, same.memory}) assert_int_equal(factor, 64);
        const bool fp8 = pattern == "gemm_e4m3" || pattern == "gemm_fp8"; // which it has instructions for
        const Fit& other = fp8 ? H200.fits[fit_index("gemm")] : fit;
        assert_int_equal(same.issued, other.issued);
        assert_int_equal(same.latency, other.latency);
    }
}

// Twice that of FP32 sums on GeForce cards, elsewhere the same.
void sums_of_f16_have_a_rate_of_their_own(void**) {
    const Target geforce = find_target(120, "NVIDIA GeForce RTX 5090", 170);
    Load load = A_LOAD;
    load.blocks = 2 * 170 * 20, load.bytes = 0, load.step.products *= 8;
    Load halves = load;
    halves.step.full_rate = true;
    assert_in_range(price_of(geforce, halves) * 100 / price_of(geforce, load), 45, 55);
    for (const Target& target : {GB10, H200}) assert_int_equal(price_of(target, halves), price_of(target, load));
}

void a_line_of_a_chip_counts_there_alone(void**) {
    const Target h100 = find_target(90, "NVIDIA H100 80GB HBM3", 132);
    assert_string_equal(h100.chip->name, "H100");
    for (const auto& line : detail::LINES) {
        const uint8_t place = fit_index(line.pattern);
        if (line.chip.empty() && line.as.empty()) assert_int_equal(H200.fits[place].block, line.fit.block);
        if (line.chip == "H100") assert_int_equal(h100.fits[place].block, line.fit.block);
    }
    assert_int_equal(h100.fits[fit_index("")].block, H200.fits[fit_index("")].block);
}

void a_line_as_another_costs_the_same_on_chips_with_a_name_and_without(void**) {
    const Target others[] = {find_target(90, "another", 100), find_target(120, "another", 84),
                             find_target(121, "another", 48)};
    assert_string_equal(others[1].chip->name, "");
    for (const auto& line : detail::LINES) {
        if (line.as.empty()) continue;
        const uint8_t place = fit_index(line.pattern), as = fit_index(line.as);
        for (const Target* target : {&H200, &GB10, &others[0], &others[1], &others[2]}) {
            assert_int_not_equal(target->fits[place].block, 0);
            assert_int_equal(target->fits[place].block, target->fits[as].block);
        }
    }
}

void cost_never_falls_where_a_count_rises(void**) {
    for (const Target* target : {&GB10, &H200}) {
        Load load = A_LOAD;
        int64_t before = 0;
        for (load.blocks = 1; load.blocks < 2000; ++load.blocks) {
            int64_t found = price_of(*target, load);
            assert_true(found >= before);
            before = found;
        }
        uint32_t* counts[] = {&load.step.products, &load.step.shared, &load.step.fetched,
                              &load.step.issued,   &load.step.turns,  &load.syncs,
                              &load.rounds,        &load.written,     &load.launches};
        for (uint32_t* count : counts) {
            Load more = load;
            uint32_t* same = reinterpret_cast<uint32_t*>(
                reinterpret_cast<char*>(&more) + (reinterpret_cast<char*>(count) - reinterpret_cast<char*>(&load)));
            *same = *same * 8 + 1;
            assert_true(price_of(*target, more) >= price_of(*target, load));
        }
        Load more = load;
        more.bytes = uint64_t{1} << 40;
        assert_true(price_of(*target, more) > price_of(*target, load));
    }
}

// Of a load with this change, in percent of the same without it; by a fit in which every term counts.
int64_t percent_of(void (*change)(Load&), int64_t blocks = 132) {
    const Fit fit =
        detail::fit_line("", "", 118, 95, 41, 60, 203, 107, 100, 26, 2354, 100, 100, 32, 100, 50, 0, 100).fit;
    Load load = A_LOAD;
    load.blocks = blocks, load.bytes = 0;
    const int64_t before = cost(H200, fit, 2, load);
    change(load);
    return cost(H200, fit, 2, load) * 100 / before;
}

void each_term_shows(void**) {
    assert_in_range(percent_of([](Load& load) { load.longest = 2 * load.steps; }), 170, 200);
    assert_in_range(percent_of([](Load& load) { load.rounds = 1000; }), 150, 400);
    assert_in_range(percent_of([](Load& load) { load.step.turns = 100, load.step.products *= 4; }), 200, 600);
    assert_in_range(percent_of([](Load& load) { load.blocks = 264; }), 105, 200);
    // Memory is hidden the better, the more is under way.
    Load load = A_LOAD;
    load.blocks = 264;
    Fit fit = H200.fits[fit_index("gemm")];
    fit.exposed = 64, fit.flight = 0, load.bytes = uint64_t{1} << 28;
    const int64_t always = cost(H200, fit, 2, load);
    fit.flight = 2 * load.stages * load.step.fetched;
    assert_int_equal(cost(H200, fit, 2, load), always);
    fit.flight = load.stages * load.step.fetched;
    assert_true(cost(H200, fit, 2, load) < always);
}

void a_wave_more_costs_a_block_more(void**) {
    Load load = A_LOAD;
    load.bytes = 0;
    load.blocks = 264;
    int64_t one = price_of(H200, load);
    load.blocks = 263;
    assert_int_equal(price_of(H200, load), one);
    load.blocks = 265;
    int64_t more = price_of(H200, load);
    assert_true(more > one + one / 4);
    load.blocks = 264 + 132;
    assert_int_equal(price_of(H200, load), more);
}

// Memory has kept the first wave waiting for half as long again as it works.
void a_last_wave_of_few_blocks_waits_for_its_own_loads(void**) {
    constexpr int64_t WAVE = 264, FEW = 52;
    Fit fit = H200.fits[fit_index("gemm")];
    fit.exposed = fit.apart = 0;
    Load load = A_LOAD;
    load.blocks = FEW, load.bytes = 0;
    const int64_t alone = cost(H200, fit, 2, load) - H200.launch;
    load.blocks = WAVE;
    const int64_t works = cost(H200, fit, 2, load);
    load.bytes = WAVE * 1000;
    while (cost(H200, fit, 2, load) < works * 3 / 2) load.bytes += load.bytes / 10;
    const int64_t one = cost(H200, fit, 2, load);
    load.bytes = load.bytes / WAVE * (WAVE + FEW), load.blocks = WAVE + FEW;
    assert_in_range((cost(H200, fit, 2, load) - one) * 100 / alone, 97, 103);
}

void gigantic_problems_saturate(void**) {
    Load load = A_LOAD;
    load.blocks = INT64_MAX, load.steps = load.longest = INT64_MAX, load.bytes = UINT64_MAX, load.merged = UINT64_MAX;
    load.step = {UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX};
    load.written = load.syncs = load.rounds = UINT32_MAX, load.launches = 3;
    assert_true(price_of(GB10, load, 24) == INT64_MAX);
    load.blocks = 1;
    assert_true(price_of(H200, load, 1) == INT64_MAX);
    load = A_LOAD;
    load.bytes = UINT64_MAX;
    assert_true(price_of(H200, load) > 0);
}

void blocks_an_sm_follow_from_what_the_assembler_used(void**) {
    static Image images[1] = {};
    images[0].kind = ImageKind::cubin, images[0].arch = 90, images[0].regs = 96;
    Kernel kernel{};
    kernel.block = 128, kernel.smem = 24576, kernel.regs = 255;
    assert_int_equal(resident_blocks(H200, kernel, {}), 2); // registers
    assert_int_equal(resident_blocks(H200, kernel, images), 5);
    kernel.regs = 32;
    assert_int_equal(resident_blocks(GB10, kernel, images), 4); // shared memory: no image for it
    assert_true(has_code(H200, images) && !has_code(GB10, images) && has_code(GB10, {}));
    kernel.smem = 101376, kernel.block = 1024, kernel.regs = 255;
    assert_int_equal(resident_blocks(GB10, kernel, images), 1); // never 0
}

void division_is_the_same_by_either_instruction(void**) {
    const int64_t near = int64_t{1} << 32, numbers[] = {1, 2, 3, 7, 64, near - 1, near, near + 1, INT64_MAX / 2};
    for (int64_t a : numbers) {
        for (int64_t b : numbers) {
            assert_true(quotient(a, b) == a / b);
            assert_true(ceil_div(a, b) == a / b + (a % b != 0));
        }
        for (uint32_t b = 1; b < 1u << 20; b *= 2) assert_true(ceil_shift(a, b) == a / b + (a % b != 0));
    }
    assert_true(quotient(UINT64_MAX, uint64_t{3}) == UINT64_MAX / 3);
}

// ---- a table of four kernels ----------------------------------------------------------------------------------------

constexpr const char* FACTS[] = {"m", "k"};
constexpr Limit LIMITS[] = {{"k", Rel::multiple_of, 8}};
constexpr uint64_t ONE = 11, OTHER = 22;

constexpr Kernel kernel(std::string_view name, uint64_t id, uint32_t index, uint64_t order) {
    Kernel k{};
    std::ranges::copy(name, k.name);
    k.id = id, k.index = index, k.order = order, k.deterministic = order != 0;
    return k;
}
constexpr Kernel LARGE = kernel("gemm_test__large", 1, 0, ONE), SMALL = kernel("gemm_test__small", 2, 1, ONE);
constexpr Kernel SPLIT = kernel("gemm_test__split", 3, 2, 0), GENERIC = kernel("gemm_test__generic", 4, 3, OTHER);
constexpr Kernel MERGE = [] {
    Kernel k = kernel("gemm_test_merge__generic", 5, 4, OTHER);
    k.dependent = true;
    k.cluster = {2, 1, 1};
    return k;
}();
constexpr Tile TILE{};
static_assert(whole_clusters(make_grid(5, 4, 70000), {2, 4, 2}).x == 6);
static_assert(whole_clusters(make_grid(5, 4, 70000), {2, 4, 2}).y == 4);
static_assert(whole_clusters(make_grid(5, 4, 70000), {2, 4, 2}).z == 65534);
void plan_test(const CheckedOp&, const Row&, const Then&, Plan&) {}
constexpr Draft DRAFTS[] = {
    make_row(LARGE, LIMITS, "large", TILE, plan_test), make_row(SMALL, LIMITS, "small", TILE, plan_test),
    make_row(SPLIT, LIMITS, "split", TILE, plan_test, MERGE), make_row(GENERIC, {}, "generic", TILE, plan_test)};
constexpr auto TABLE = make_table<DRAFTS, FACTS>();
constexpr auto& ROWS = TABLE.rows;
static_assert(ROWS[2].num_then == 1 && ROWS[0].num_then == 0 && TABLE.thens.size() == 2);
static_assert(TABLE.thens[ROWS[2].then][0] == &MERGE && TABLE.thens[ROWS[0].then][0] == nullptr);
static_assert(TABLE.terms.size() == 1 && ROWS[2].conditions == 1 && ROWS[3].conditions == 0);
constexpr uint8_t RESIDENT[] = {1, 1, 1, 1};

// Steps of each kernel, by its index; and how many loads were asked for.
int64_t steps[4];
uint64_t memory; // bytes that all read
int loads;

void load_test(const CheckedOp& work, const Row& row, Load& load);

struct Question {
    Target target = GB10;
    int64_t facts[2] = {64, 64};
    Request request;

    Question() {
        target.resident = RESIDENT;
        request = {ROWS,  TABLE, FACTS,   facts, &target, load_test, reinterpret_cast<const CheckedOp*>(this),
                   false, false, nullptr, 0,     0,       nullptr,   -1};
    }
    std::string answer() const {
        const Row* row = pick(request);
        return row != nullptr ? std::string(row->kernel->name).substr(strlen("gemm_test__")) : "none";
    }
};

void load_test(const CheckedOp&, const Row& row, Load& load) {
    ++loads;
    load = A_LOAD;
    load.bytes = std::max(load.bytes, memory);
    load.blocks = 1;
    load.steps = load.longest = steps[row.kernel->index];
}

void set_steps(int64_t large, int64_t small, int64_t split, int64_t generic) {
    steps[0] = large, steps[1] = small, steps[2] = split, steps[3] = generic;
}

void the_cheapest_legal_row_is_taken_and_the_table_breaks_ties(void**) {
    Question q;
    set_steps(40, 30, 20, 100);
    assert_string_equal(q.answer().c_str(), "split");
    set_steps(20, 20, 20, 20);
    assert_string_equal(q.answer().c_str(), "large");
    q.facts[1] = 63; // an illegal row is not taken, whatever it costs
    set_steps(1, 1, 1, 1000);
    assert_string_equal(q.answer().c_str(), "generic");
    q.request.load = nullptr, q.facts[1] = 64;
    assert_string_equal(q.answer().c_str(), "large");
}

void each_legal_row_is_priced_once(void**) {
    Question q;
    set_steps(40, 30, 20, 100);
    loads = 0, q.answer();
    assert_int_equal(loads, 4);
    q.request.deterministic = true;
    loads = 0, q.answer();
    assert_int_equal(loads, 3);
    q.facts[1] = 63;
    loads = 0, q.answer();
    assert_int_equal(loads, 1);
}

void a_kernel_whose_instructions_the_chip_lacks_is_not_taken(void**) {
    static constexpr uint8_t SOME[] = {0, 1, 1, 1};
    Question q;
    q.target.resident = SOME;
    set_steps(10, 30, 20, 100);
    assert_string_equal(q.answer().c_str(), "split");
    assert_false(can_run(q.request, ROWS[0]));
    char why[80];
    describe(q.request, ROWS[0], judge(q.request, ROWS[0]), why, sizeof why);
    assert_string_equal(why, "compute capability 12.1 lacks its instructions");
}

// A row that costs no more than the memory that all must read ends the search.
// Where all wait for memory, the kernel with the least other work is taken.
void a_tie_at_the_memory_goes_to_the_least_work(void**) {
    Question q;
    memory = uint64_t{1} << 40;
    set_steps(4000, 3000, 5000, 5000);
    assert_string_equal(q.answer().c_str(), "small");
    memory = 0;
}

// A condition of several rows is looked at once, and none is left out.
void limits_that_rows_share_hold_for_each(void**) {
    static constexpr Limit SHARED[][3] = {
        {{"k", Rel::multiple_of, 8}, {"k", Rel::at_least, 16}, {"m", Rel::at_most, 8}},
        {{"k", Rel::multiple_of, 8}, {"k", Rel::at_least, 16}, {"m", Rel::equal, 16}},
        {{"k", Rel::multiple_of, 8}, {"k", Rel::at_least, 8}, {"m", Rel::at_most, 32}},
        {{"k", Rel::multiple_of, 3}, {"k", Rel::at_least, 8}, {"m", Rel::at_most, 32}}};
    static constexpr Draft SHARING[] = {
        make_row(LARGE, SHARED[0], "", TILE, plan_test), make_row(SMALL, SHARED[1], "", TILE, plan_test),
        make_row(SPLIT, SHARED[2], "", TILE, plan_test), make_row(GENERIC, SHARED[3], "", TILE, plan_test)};
    static constexpr auto SHARERS = make_table<SHARING, FACTS>();
    static_assert(SHARERS.terms.size() == 7);
    Question q;
    q.request.rows = SHARERS.rows, q.request.table = SHARERS, q.request.load = nullptr;
    for (q.facts[0] = 0; q.facts[0] < 40; ++q.facts[0]) {
        for (q.facts[1] = 0; q.facts[1] < 40; ++q.facts[1]) {
            const int64_t m = q.facts[0], k = q.facts[1];
            const char* first = k % 8 == 0 && k >= 16 && m <= 8    ? "large"
                                : k % 8 == 0 && k >= 16 && m == 16 ? "small"
                                : k % 8 == 0 && k >= 8 && m <= 32  ? "split"
                                : k % 3 == 0 && k >= 8 && m <= 32  ? "generic"
                                                                   : "none";
            assert_string_equal(q.answer().c_str(), first);
        }
    }
}

std::string ranking(const Request& request) {
    const Row* rows[MAX_ROWS];
    std::string names;
    for (uint32_t i = 0, count = rank(request, rows); i < count; ++i)
        names += std::string(rows[i]->kernel->name).substr(strlen("gemm_test__")) + " ";
    return names;
}

void kernels_are_ranked_by_cost_behind_the_choice(void**) {
    Question q;
    set_steps(40, 30, 20, 100);
    assert_string_equal(ranking(q.request).c_str(), "split small large generic ");
    set_steps(40, 40, 60, 40);
    assert_string_equal(ranking(q.request).c_str(), "large small generic split ");
    q.request.batch_invariant = true; // of another order, but for who asks for it by its id
    set_steps(40, 30, 20, 10);
    assert_string_equal(ranking(q.request).c_str(), "small generic large ");
    q.request.batch_invariant = false, q.request.pattern = "*__large";
    assert_string_equal(ranking(q.request).c_str(), "large generic split small ");
    q.facts[1] = 63, q.request.pattern = nullptr;
    assert_string_equal(ranking(q.request).c_str(), "generic ");
}

void flags_pattern_and_id_come_before_cost(void**) {
    Question q;
    set_steps(40, 30, 20, 10);
    assert_string_equal(q.answer().c_str(), "generic");
    q.request.pattern = "*__[ls]*";
    assert_string_equal(q.answer().c_str(), "split");
    q.request.deterministic = true;
    assert_string_equal(q.answer().c_str(), "small");
    q.request.pattern = nullptr;
    q.request.kernel_id = 1;
    assert_string_equal(q.answer().c_str(), "large");
    q.request.kernel_id = 3; // not deterministic
    assert_string_equal(q.answer().c_str(), "none");
    assert_true(!can_run(q.request, ROWS[2]));
    q.request.kernel_id = 0, q.request.deterministic = false, q.request.pattern = "*__generic";
    assert_true(can_run(q.request, ROWS[2])); // by its id
}

void batch_invariance_is_free_among_kernels_of_one_order(void**) {
    Question q;
    q.request.batch_invariant = true;
    set_steps(40, 30, 1, 1);
    assert_string_equal(q.answer().c_str(), "small");
    set_steps(30, 40, 1, 1);
    assert_string_equal(q.answer().c_str(), "large");
    q.facts[1] = 63;
    assert_string_equal(q.answer().c_str(), "generic");
}

// A kernel for few rows, of an order of its own, before those for all.
constexpr Limit FEW_ROWS[] = {{"m", Rel::at_most, 8}}, ALL_ROWS[] = {{"m", Rel::at_most, INT32_MAX}};
constexpr Draft FEW_DRAFTS[] = {make_row(GENERIC, FEW_ROWS, "few", TILE, plan_test),
                                make_row(LARGE, ALL_ROWS, "many", TILE, plan_test)};
constexpr auto FEW_TABLE = make_table<FEW_DRAFTS, FACTS>();

void kernels_for_few_rows_do_not_set_the_order(void**) {
    Question q;
    q.request.rows = FEW_TABLE.rows, q.request.table = FEW_TABLE;
    q.request.batch_invariant = true;
    set_steps(40, 0, 0, 30);
    const auto at = [&](int64_t rows) { return q.facts[0] = rows, q.answer(); };
    for (int32_t counting : {-1, 0}) {
        q.request.rows_fact = counting;
        assert_string_equal(at(8).c_str(), counting == 0 ? "large" : "generic");
        assert_string_equal(at(9).c_str(), "large");
    }
    q.request.batch_invariant = false;
    assert_string_equal(at(8).c_str(), "generic");
}

void explain_tells_costs_and_reasons(void**) {
    Question q;
    set_steps(40, 30, 20, 100);
    std::string text(explain(q.request, nullptr, 0) + 1, 0);
    assert_int_equal(explain(q.request, text.data(), text.size()), text.size() - 1);
    const auto says = [&](const char* part) { return text.find(part) != text.npos; };
    assert_true(says("* gemm_test__split "));
    assert_true(says("  gemm_test__large "));
    assert_true(says(" us: 1 blocks, 1 an SM, steps 20 (at most 20, 2 under way) of 256 products, 49152 shared"));
    assert_true(says("; split, then gemm_test_merge__generic (clusters of 2 x 1 x 1) (dependent)\n"));
    q.facts[1] = 63;
    q.request.batch_invariant = true;
    text.assign(explain(q.request, nullptr, 0) + 1, 0);
    explain(q.request, text.data(), text.size());
    assert_true(says("k is 63; the kernel needs k%8"));
    assert_true(says("* gemm_test__generic "));
    char small[8] = "1234567";
    assert_int_equal(explain(q.request, small, 4), text.size() - 1); // what did not fit is counted, and not written
    assert_int_equal(small[4], '5');
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(chips_are_found_by_capability_and_name),
        cmocka_unit_test(an_unknown_chip_has_its_own_sms_and_the_rates_of_its_class),
        cmocka_unit_test(an_unmeasured_chip_works_at_its_published_rates),
        cmocka_unit_test(sums_of_f16_have_a_rate_of_their_own),
        cmocka_unit_test(a_line_of_a_chip_counts_there_alone),
        cmocka_unit_test(a_line_as_another_costs_the_same_on_chips_with_a_name_and_without),
        cmocka_unit_test(cost_never_falls_where_a_count_rises),
        cmocka_unit_test(each_term_shows),
        cmocka_unit_test(a_wave_more_costs_a_block_more),
        cmocka_unit_test(a_last_wave_of_few_blocks_waits_for_its_own_loads),
        cmocka_unit_test(gigantic_problems_saturate),
        cmocka_unit_test(blocks_an_sm_follow_from_what_the_assembler_used),
        cmocka_unit_test(the_cheapest_legal_row_is_taken_and_the_table_breaks_ties),
        cmocka_unit_test(each_legal_row_is_priced_once),
        cmocka_unit_test(a_kernel_whose_instructions_the_chip_lacks_is_not_taken),
        cmocka_unit_test(a_tie_at_the_memory_goes_to_the_least_work),
        cmocka_unit_test(limits_that_rows_share_hold_for_each),
        cmocka_unit_test(division_is_the_same_by_either_instruction),
        cmocka_unit_test(kernels_are_ranked_by_cost_behind_the_choice),
        cmocka_unit_test(flags_pattern_and_id_come_before_cost),
        cmocka_unit_test(batch_invariance_is_free_among_kernels_of_one_order),
        cmocka_unit_test(kernels_for_few_rows_do_not_set_the_order),
        cmocka_unit_test(explain_tells_costs_and_reasons),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
