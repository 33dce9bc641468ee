// SPDX-License-Identifier: Apache-2.0
// Choices that are remembered: found again for the same problem alone, by any number of threads.
#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>
extern "C" {
#include <cmocka.h>
}

#include "dispatch/memo.h"
#include "dispatch/pick.h"

using namespace spark;

namespace {

constexpr const char* FACTS[] = {"m", "n", "k"};
const Row ROWS[8] = {}, OTHERS[1] = {};

struct Question {
    int64_t facts[3] = {64, 64, 64};
    uint64_t bytes = 1000;
    Request request{};

    Question() { request.rows = ROWS, request.fact_names = FACTS, request.facts = facts; }
    Memo::Problem problem() const { return Memo::problem_of(request, bytes); }
};

std::unique_ptr<Memo> empty_memo() { return std::make_unique<Memo>(); }

void what_was_kept_is_found(void**) {
    const auto memo = empty_memo();
    Question q;
    assert_null(memo->find(q.problem()));
    memo->keep(q.problem(), ROWS[3]);
    assert_true(memo->find(q.problem()) == &ROWS[3]);
    memo->keep(q.problem(), ROWS[4]);
    assert_true(memo->find(q.problem()) == &ROWS[4]);
}

void a_problem_that_differs_in_anything_is_another(void**) {
    const auto memo = empty_memo();
    memo->keep(Question().problem(), ROWS[3]);
    for (size_t i = 0; i < 3; ++i) {
        Question q;
        q.facts[i] += 64;
        assert_null(memo->find(q.problem()));
    }
    Question more, rows, asked, flags, deterministic, invariant;
    more.bytes = 2000;
    rows.request.rows = OTHERS;
    asked.request.kernel_id = 5;
    flags.request.flags = 1;
    deterministic.request.deterministic = true;
    invariant.request.batch_invariant = true;
    for (const Question* q : {&more, &rows, &asked, &flags, &deterministic, &invariant})
        assert_null(memo->find(q->problem()));
}

void as_many_facts_as_an_operator_may_have_are_remembered(void**) {
    const auto memo = empty_memo();
    Question q;
    const std::vector<const char*> names(MAX_FACTS, "m");
    const std::vector<int64_t> facts(names.size(), 1);
    q.request.fact_names = names, q.request.facts = facts.data();
    memo->keep(q.problem(), ROWS[3]);
    assert_true(memo->find(q.problem()) == &ROWS[3]);
}

// What a pattern leaves out is not remembered, nor what has more facts than there is room for.
void some_problems_are_not_remembered(void**) {
    const auto memo = empty_memo();
    Question pattern, many, none;
    pattern.request.pattern = "*";
    const std::vector<const char*> names(Memo::Problem::MAX_WORDS, "m");
    const std::vector<int64_t> facts(names.size(), 1);
    many.request.fact_names = names, many.request.facts = facts.data();
    none.request.rows = {};
    for (const Question* q : {&pattern, &many, &none}) {
        memo->keep(q->problem(), ROWS[3]);
        assert_null(memo->find(q->problem()));
    }
}

// More problems than there are places, of which each thread knows the answers.
void threads_find_right_answers_or_none(void**) {
    const auto memo = empty_memo();
    std::vector<int> found(4), wrong(4);
    std::vector<std::thread> threads;
    for (size_t t = 0; t < found.size(); ++t) {
        threads.emplace_back([&, t] {
            Question q;
            for (int i = 0; i < 20000; ++i) {
                q.facts[0] = i / 4 % 200;
                const Row& right = ROWS[q.facts[0] % 8];
                const Row* row = memo->find(q.problem());
                if (row == nullptr) memo->keep(q.problem(), right);
                else ++(row == &right ? found : wrong)[t];
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    for (size_t t = 0; t < found.size(); ++t) {
        assert_true(found[t] > 1000);
        assert_int_equal(wrong[t], 0);
    }
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(what_was_kept_is_found), cmocka_unit_test(a_problem_that_differs_in_anything_is_another),
        cmocka_unit_test(as_many_facts_as_an_operator_may_have_are_remembered),
        cmocka_unit_test(some_problems_are_not_remembered), cmocka_unit_test(threads_find_right_answers_or_none)};
    return cmocka_run_group_tests_name("dispatch.memo", tests, nullptr, nullptr);
}
