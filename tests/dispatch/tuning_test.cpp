// SPDX-License-Identifier: Apache-2.0
// Tuning files: what is taken from a sound one, and that nothing is taken from any other.
#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>
extern "C" {
#include <cmocka.h>
}

#include "dispatch/pick.h"

using namespace spark;

namespace {

constexpr const char* FACTS[] = {"m"};
constexpr Limit LIMITS[] = {{"m", Rel::at_most, 64}};

constexpr Kernel kernel(std::string_view name, uint32_t index, uint64_t order) {
    Kernel k{};
    std::ranges::copy(name, k.name);
    k.id = hash(name), k.index = index, k.order = order, k.deterministic = order != 0;
    return k;
}
constexpr Kernel FIRST = kernel("gemm_test__first", 0, 1), SMALL = kernel("gemm_test__small", 1, 1),
                 SPLIT = kernel("gemm_test__split", 2, 0), OTHER = kernel("gemm_test__other", 3, 2);
constexpr Tile TILE{};
void plan_test(const CheckedOp&, const Row&, const Then&, Plan&) {}
constexpr Draft DRAFTS[] = {make_row(FIRST, {}, "", TILE, plan_test), make_row(SMALL, LIMITS, "", TILE, plan_test),
                            make_row(SPLIT, {}, "", TILE, plan_test), make_row(OTHER, {}, "", TILE, plan_test)};
constexpr auto TABLE = make_table<DRAFTS, FACTS>();
constexpr auto& ROWS = TABLE.rows;
constexpr const Kernel* KERNELS[] = {&FIRST, &SMALL, &SPLIT, &OTHER};

const Target CHIP = [] {
    static constexpr uint8_t RESIDENT[] = {1, 1, 1, 1};
    Target target = find_target(121, "NVIDIA GB10", 48);
    target.resident = RESIDENT;
    return target;
}();
constexpr Tuning US = {"0.1.0 00c0ffee00c0ffee", "12.1, 48 SMs, NVIDIA GB10", nullptr, 0};
const std::string HEAD = "libspark tuning 1\nlibrary 0.1.0 00c0ffee00c0ffee\nchip 12.1, 48 SMs, NVIDIA GB10\n";

struct File {
    std::vector<Tuned> tuned;
    uint32_t count = 0, line = 0;
    TuningIs is;
    std::string wrong;

    explicit File(const std::string& text) : tuned(text.size() + 1) {
        const TuningVerdict verdict = read_tuning(text, US, KERNELS, tuned.data(), count);
        is = verdict.is, line = verdict.line;
        if (verdict.wrong) wrong = verdict.wrong;
    }
};

std::string entry(uint64_t problem, const char* name) {
    char line[128];
    snprintf(line, sizeof line, "%016llx %s as measured\n", static_cast<unsigned long long>(problem), name);
    return line;
}

void a_sound_file_is_read(void**) {
    const File empty(HEAD);
    assert_true(empty.is == TuningIs::for_us && empty.count == 0);
    const File two(HEAD + entry(~0ull, FIRST.name) + entry(7, SPLIT.name));
    assert_true(two.is == TuningIs::for_us && two.count == 2);
    Tuning tuning = US;
    tuning.tuned = const_cast<Tuned*>(two.tuned.data()), tuning.count = two.count;
    assert_true(find_tuned(tuning, 7) == SPLIT.id && find_tuned(tuning, ~0ull) == FIRST.id);
    assert_true(find_tuned(tuning, 8) == 0 && find_tuned(US, 7) == 0);
}

void a_file_for_others_is_left_out(void**) {
    std::string library = HEAD, chip = HEAD;
    library.replace(library.find("0.1.0"), 5, "0.2.0");
    chip.replace(chip.find("48"), 2, "84");
    assert_true(File(library + entry(7, "of_another_release")).is == TuningIs::for_another_library);
    assert_true(File(chip + entry(7, FIRST.name)).is == TuningIs::for_another_chip);
}

void what_spark_bench_does_not_write_is_damaged(void**) {
    const std::string sound = entry(7, FIRST.name);
    const std::string no_problem = "does not begin with a problem's 16 digits and a space";
    const struct {
        std::string text;
        uint32_t line;
        std::string wrong;
    } bad[] = {
        {"", 1, "is not the first of a tuning file"},
        {"\n", 1, "is not the first of a tuning file"},
        {"libspark tuning 2\n", 1, "is not the first of a tuning file"},
        {"\x7f"
         "ELF" +
             HEAD,
         1, "is not the first of a tuning file"},
        {"libspark tuning 1\n", 2, "does not name a library"},
        {HEAD.substr(0, HEAD.size() - 1), 3, "does not name a chip"},
        {HEAD + "\n", 4, no_problem},
        {HEAD + "7 gemm_test__first\n", 4, no_problem},
        {HEAD + "000000000000000G gemm_test__first\n", 4, no_problem},
        {HEAD + "0000000000000007\tgemm_test__first\n", 4, no_problem},
        {HEAD + std::string(64, '\0') + "\n", 4, no_problem},
        {HEAD + sound + "?\n", 5, no_problem},
        {HEAD + "0000000000000007  gemm_test__first\n", 4, "names no kernel of this library"},
        {HEAD + entry(7, "gemm_test__unknown"), 4, "names no kernel of this library"},
        {HEAD + sound.substr(0, sound.size() - 1), 4, "has no end"},
        {HEAD + entry(9, FIRST.name) + sound + entry(8, FIRST.name) + sound + sound, 7,
         "names a problem that an earlier line names"},
    };
    for (const auto& [text, line, wrong] : bad) {
        const File file(text);
        assert_true(file.is == TuningIs::damaged);
        assert_int_equal(file.line, line);
        assert_string_equal(file.wrong.c_str(), wrong.c_str());
    }
}

// Whatever is done to a file, entries that come out name kernels that there are.
void any_text_is_read_without_harm(void**) {
    std::mt19937 dice(1);
    std::string sound = HEAD;
    for (uint64_t i = 0; i < 8; ++i) sound += entry(i * 0x123456789abcdefu, KERNELS[i % 4]->name);
    for (size_t size = 0; size < sound.size(); ++size) File(sound.substr(0, size));
    for (int i = 0; i < 20000; ++i) {
        std::string text = sound;
        for (int changes = 1 + static_cast<int>(dice() % 4); changes-- > 0 && !text.empty();) {
            const size_t at = dice() % text.size();
            if (dice() % 3 == 0) text.erase(at, dice() % 40);
            else if (dice() % 2 == 0) text.insert(at, text.substr(dice() % text.size(), dice() % 40));
            else text[at] = static_cast<char>(dice());
        }
        const File file(text);
        if (file.is != TuningIs::for_us) continue;
        for (uint32_t e = 0; e < file.count; ++e) {
            bool known = false;
            for (const Kernel* k : KERNELS) known |= k->id == file.tuned[e].kernel_id;
            assert_true(known);
        }
    }
}

// ---- the choice -----------------------------------------------------------------------------------------------------

struct Question {
    int64_t fact = 64;
    Tuning tuning = US;
    Tuned tuned{};
    Request request{};

    explicit Question(const Kernel& wanted) {
        request.rows = ROWS, request.table = TABLE, request.fact_names = FACTS, request.facts = &fact,
        request.target = &CHIP;
        request.tuning = &tuning;
        tuned.kernel_id = wanted.id;
        tuning.tuned = &tuned, tuning.count = 1;
    }
    const Kernel* answer() {
        tuned.problem = problem_of(request);
        return pick(request)->kernel;
    }
};

void the_files_kernel_is_taken(void**) {
    Question q(OTHER);
    assert_ptr_equal(q.answer(), &OTHER);
    q.fact = 63; // another problem
    assert_ptr_equal(pick(q.request)->kernel, &FIRST);
    q.fact = 64, q.request.flags = 1;
    assert_ptr_equal(pick(q.request)->kernel, &FIRST);
    std::string text(explain(q.request, nullptr, 0) + 1, 0);
    explain(q.request, text.data(), text.size());
    assert_true(
        text.find("on chip 12.1, 48 SMs, NVIDIA GB10, library 0.1.0 00c0ffee00c0ffee; not in the tuning file") !=
        text.npos);
}

void no_limit_and_no_flag_gives_way_to_a_file(void**) {
    Question small(SMALL);
    assert_ptr_equal(small.answer(), &SMALL);
    small.fact = 65;
    assert_ptr_equal(small.answer(), &FIRST);
    Question split(SPLIT);
    assert_ptr_equal(split.answer(), &SPLIT);
    split.request.deterministic = true;
    assert_ptr_equal(split.answer(), &FIRST);
    Question order(OTHER);
    order.request.batch_invariant = true;
    assert_ptr_equal(order.answer(), &FIRST); // another order of sums
    Question same(SMALL);
    same.request.batch_invariant = true;
    assert_ptr_equal(same.answer(), &SMALL);
    same.request.kernel_id = SPLIT.id, same.request.batch_invariant = false;
    assert_ptr_equal(same.answer(), &SPLIT);
    Question pattern(SMALL);
    pattern.request.pattern = "*__other";
    assert_ptr_equal(pattern.answer(), &OTHER);
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(a_sound_file_is_read),
        cmocka_unit_test(a_file_for_others_is_left_out),
        cmocka_unit_test(what_spark_bench_does_not_write_is_damaged),
        cmocka_unit_test(any_text_is_read_without_harm),
        cmocka_unit_test(the_files_kernel_is_taken),
        cmocka_unit_test(no_limit_and_no_flag_gives_way_to_a_file),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
