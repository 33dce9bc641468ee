#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# spark-generate on the small model of synthetic.py: the reference is met, the graph changes nothing, seeds decide; and
# rows of Q and K in another order, as a program that forgets GGUF's permutation has them, do not meet the reference.
# usage: text_test.py SPARK-GENERATE FOLDER
import json
import re
import subprocess
import sys
import unittest
from pathlib import Path

import synthetic

HERE = Path(__file__).parent
PROGRAM, FOLDER = None, None


def half_split(data, heads, rows, row_bytes):
    """Rows of each head as (0, 2, 4, ..., 1, 3, 5, ...): pairs of neighbours become pairs of halves."""
    each = rows // heads
    order = [head * each + i for head in range(heads) for i in [*range(0, each, 2), *range(1, each, 2)]]
    return b"".join(data[i * row_bytes:(i + 1) * row_bytes] for i in order)


class Text(unittest.TestCase):
    def setUp(self):
        self.model = FOLDER / "text.gguf"
        if not self.model.exists():
            self.model.write_bytes(synthetic.build(synthetic.values(), synthetic.tensors())[0])

    def generate(self, *options, code=0, model=None, errors=False):
        result = subprocess.run([PROGRAM, "--model", model or self.model, *map(str, options)], capture_output=True,
                                timeout=250)
        self.assertEqual(result.returncode, code, result.stderr.decode(errors="replace") +
                         result.stdout.decode(errors="replace"))
        return result.stderr if errors else result.stdout

    def test_the_reference_is_met_with_a_graph_and_without(self):
        for option in ([], ["--no-graph"]):
            self.assertIn(b"the reference is met", self.generate("--check", HERE / "synthetic.txt", *option))

    def test_the_reference_is_met_with_a_cache_of_codes(self):
        for option in ([], ["--no-graph"], ["--page", 5]):
            met = self.generate("--check", HERE / "synthetic.txt", "--cache", "e4m3", *option)
            self.assertIn(b"the reference is met", met)
        plain = (HERE / "synthetic.txt").read_text().splitlines(keepends=True)
        path = FOLDER / "without.txt"
        path.write_text("".join(line for line in plain if ".e4m3" not in line))
        self.generate("--check", path, "--cache", "e4m3", code=1)

    def test_pages_of_any_size_give_the_same_text(self):
        options = ("--raw", "--prompt", "x" * 40, "--max-tokens", 50, "--ignore-end")
        for cache in ("bf16", "e4m3"):
            one_page, *others = [self.generate(*options, "--cache", cache, "--page", page)
                                 for page in (128, 1, 7, 16, 64)]
            self.assertEqual(others, [one_page] * len(others), cache)

    def test_a_shared_prefix_changes_no_text(self):
        same = "x" * 37
        options = ("--raw", "--max-tokens", 12, "--ignore-end", "--prompt", same + "abc", "--then", same + "the thing")
        alone = [self.generate(*options[:4], "--prompt", options[i]) for i in (5, 7)]
        for cache in ("bf16", "e4m3"):
            apart = self.generate(*options, "--cache", cache)
            if cache == "bf16":
                self.assertEqual(apart, b"\n".join(alone))
            for page in (1, 5, 16, 64):
                for option in ([], ["--no-graph"]):
                    said = self.generate(*options, "--share-prefix", "--cache", cache, "--page", page, *option)
                    self.assertEqual(said, apart, (cache, page))

    def test_the_shared_prefix_is_not_computed_again(self):
        options = ("--raw", "--max-tokens", 1, "--prompt", "x" * 37, "--then", "x" * 37)
        for page, shared in ((1, 36), (5, 35), (16, 32), (64, 0)):
            said = self.generate(*options, "--share-prefix", "--page", page, errors=True)
            self.assertRegex(said, rb"shared +%d tokens of both prompts" % shared)
            self.assertEqual(re.findall(rb"(\d+) tokens,", said), [b"37", b"%d" % (37 - shared)])

    def test_a_cache_that_cannot_be_is_refused(self):
        for option in (["--page", 0], ["--page", 65537], ["--page", 1.5], ["--cache", "e5m2"], ["--share-prefix"]):
            self.generate(*option, code=2)

    def test_rows_of_q_and_k_in_half_split_order_are_seen(self):
        parts, row_bytes = synthetic.tensors(), synthetic.WIDTH // 32 * 20
        for i in range(synthetic.LAYERS):
            for name, heads in (("attn_q", synthetic.HEADS), ("attn_k", synthetic.GROUPS)):
                part = parts[f"blk.{i}.{name}.weight"]
                part[2] = half_split(part[2], heads, part[1][0], row_bytes)
        wrong = FOLDER / "half-split.gguf"
        wrong.write_bytes(synthetic.build(synthetic.values(), parts)[0])
        self.assertIn(b"WRONG: a logit", self.generate("--check", HERE / "synthetic.txt", code=1, model=wrong))

    def test_graph_and_no_graph_give_the_same_text(self):
        options = ("--prompt", "the thing", "--max-tokens", 12, "--ignore-end", "--temperature", 0.9)
        first = self.generate(*options)
        self.assertEqual(first, self.generate(*options, "--no-graph"))
        self.assertEqual(first, self.generate(*options))

    def test_seeds_give_other_texts_and_temperature_0_does_not_care(self):
        options = ("--prompt", "x", "--max-tokens", 12, "--ignore-end", "--seed")
        texts = {self.generate(*options, seed, "--temperature", 2) for seed in (1, 2, 3)}
        self.assertEqual(len(texts), 3)
        self.assertEqual(len({self.generate(*options, seed) for seed in (1, 2)}), 1)

    def test_top_k_1_is_greedy(self):
        options = ("--prompt", "x", "--max-tokens", 8, "--ignore-end")
        self.assertEqual(self.generate(*options), self.generate(*options, "--temperature", 1, "--top-k", 1))

    def test_a_long_prompt_fills_the_context_exactly(self):
        self.generate("--raw", "--prompt", "x" * 80, "--max-tokens", 16, "--ignore-end")

    def test_times_are_written_as_json(self):
        path = FOLDER / "times.json"
        self.generate("--prompt", "x", "--max-tokens", 5, "--ignore-end", "--json", path)
        times = json.loads(path.read_text())
        self.assertEqual((times["generated_tokens"], times["timed_steps"], times["graph"]), (5, 3, True))


if __name__ == "__main__":
    PROGRAM, FOLDER = sys.argv[1], Path(sys.argv[2])
    FOLDER.mkdir(parents=True, exist_ok=True)
    unittest.main(argv=sys.argv[:1])
