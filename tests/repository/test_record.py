# SPDX-License-Identifier: Apache-2.0
#
# The record of measurements: one entry a card, no emulated run, and a page that says what the record says.
import json
import unittest
from xml.etree import ElementTree

from recording import ROOT, Recording

import decode
import generation
import goals
import peers
import record

CEILING = {"name": "copy", "shape": "256 MiB", "kernel": "", "unit": "byte/s", "median_us": 130.0, "rate": 4.1e12,
           "ceiling": "", "fraction": 0}
ROW = {"name": "rmsnorm", "shape": "16384 x 4096", "kernel": "norm_bf16__256x16", "unit": "byte/s",
       "median_us": 70.5, "rate": 3.69e12, "ceiling": "copy", "fraction": 0.9}


def run_of(device, emulated=False, rows=(CEILING, ROW)):
    return {"device": device, "cc": "12.0", "sm_count": 170, "driver": 13000, "emulated": emulated,
            "rounds": 25, "rows": list(rows)}


class Record(Recording):
    name = "performance"

    def setUp(self):
        super().setUp()
        self.put(goals, "PAGE", self.folder / "goals.md")

    def test_a_run_becomes_an_entry_and_a_section(self):
        page = self.adopt(run_of("Card A"))
        self.assertIn("## Card A", page)
        line = "| rmsnorm | 16384 x 4096 | `norm_bf16__256x16` | 70.50 us | 3.69 TB/s | 90.0 % of copy |"
        self.assertIn(line, page)
        self.assertIn("commit 0123456789", page)
        self.assertEqual(page, record.page(record.load()))

    def test_decoding_becomes_tables_and_a_picture(self):
        self.adopt(run_of("NVIDIA Card 7"))
        rows = [ROW | {"name": "attention", "shape": f"b={users} q=1 k={context} h=32/8 d=128 BF16 page=16{cache}",
                       "median_us": us, "fraction": 0.5}
                for users, context, cache, us in ((1, 1024, "", 10), (8, 1024, "", 20), (8, 2048, "", 31.25),
                                                  (8, 2048, " FP8-cache", 12.5))]
        measured = self.folder / "decode.json"
        measured.write_text(json.dumps(run_of("NVIDIA Card 7", rows=[CEILING, ROW, *rows[:3]])))
        other = self.folder / "other.json"
        other.write_text(json.dumps(run_of("NVIDIA Card 7", rows=rows[3:])))
        decode.adopt([measured, other])
        page = record.PAGE.read_text()
        self.assertEqual(page, record.page(record.load()))
        self.assertIn("| context | 1 user | 8 users |\n|---|---|---|\n| 1K | 3,125 (50 %) | 12,500 (50 %) |\n"
                      "| 2K | - | 8,000 (50 %) |", page)
        self.assertIn("Cache of E4M3:\n\n| context | 8 users |\n|---|---|\n| 2K | 20,000 (50 %) |", page)
        self.assertIn("(decode-nvidia-card-7.svg)", page)
        picture = ElementTree.parse(self.folder / "decode-nvidia-card-7.svg").getroot()
        self.assertEqual(len(picture.findall("{*}path[@fill]")), 3)  # a line for each number of users and cache
        self.adopt(run_of("NVIDIA Card 7"))
        self.assertIn("### Decoding", record.PAGE.read_text(), "a newer bench leaves it")

    def test_decoding_is_recorded_beside_a_bench_and_of_its_shapes(self):
        measured = self.folder / "decode.json"
        measured.write_text(json.dumps(run_of("Card A")))
        with self.assertRaisesRegex(record.Refused, "Card A has no entry yet"):
            decode.adopt([measured])
        self.adopt(run_of("Card A"))
        with self.assertRaisesRegex(record.Refused, "none of the shapes of bench/decode.txt"):
            decode.adopt([measured])

    def test_the_shapes_of_decoding_are_all_told(self):
        shapes = [line for line in (ROOT / "bench" / "decode.txt").read_text().splitlines() if line[0] != "#"]
        self.assertTrue(all(decode.SHAPE.match(shape.removeprefix("attention ")) for shape in shapes))
        self.assertEqual(len(set(shapes)), 9 * 7 * len(decode.CACHES))

    def test_a_card_has_one_entry_the_newest(self):
        self.adopt(run_of("Card B"))
        self.adopt(run_of("Card A"))
        self.adopt(run_of("Card B", rows=[CEILING]))
        self.assertEqual([entry["device"] for entry in record.load()], ["Card A", "Card B"])
        self.assertEqual(len(record.load()[1]["rows"]), 1)

    def test_a_legal_kernel_that_beats_the_choice_is_told(self):
        rivals = {"legal": 4, "best": "norm_bf16__32x32", "best_us": 35.25, "beaten": True}
        page = self.adopt(run_of("Card A", rows=(CEILING, ROW | rivals)))
        self.assertIn("| of the ceiling | best legal kernel |\n|---|---|---|---|---|---|---|\n", page)
        self.assertIn("| 90.0 % of copy | `norm_bf16__32x32`, 0.50 of its time |", page)
        self.assertIn("1 rows in which another legal kernel beat", page)
        self.assertIn("- rmsnorm 16384 x 4096: `norm_bf16__256x16` 70.50 us, `norm_bf16__32x32` 35.25 us", page)
        rivals |= {"best": "norm_bf16__256x16", "best_us": 70.5, "beaten": False}
        page = self.adopt(run_of("Card A", rows=(CEILING, ROW | rivals)))
        self.assertIn("| 90.0 % of copy | the choice, of 4 |", page)
        self.assertIn("No other legal kernel beat the choice", page)
        self.assertNotIn("legal", self.adopt(run_of("Card A")))

    def generate(self, *runs):
        file = self.folder / "runs.json"
        file.write_text("\n".join(json.dumps(run, indent=1) for run in runs))
        generation.adopt([file])
        return record.PAGE.read_text()

    def test_text_generation_stands_beside_its_peers_and_outlives_a_new_bench(self):
        own = {"device": "Card A", "emulated": False, "graph": True, "prefill_s": 0.002, "prompt_tokens": 40,
               "generated_tokens": 9, "timed_steps": 8, "decode_s": 0.01}
        peer = {"device": "Card A", "torch": "2", "transformers": "5", "dtype": "BF16", "prompt_tokens": 40,
                "new_tokens": 9, "generate": {"first_token_s": 0.02, "tokens_per_second": 50.4},
                "compiled": {"failed": "RuntimeError: no\nmore"}}
        with self.assertRaisesRegex(record.Refused, "no entry"):
            self.generate(own)
        self.adopt(run_of("Card A"))
        self.generate(own, own | {"decode_s": 0.02}, own | {"decode_s": 0.01}, peer)
        page = self.adopt(run_of("Card A"))
        self.assertIn("| `spark-generate` | 40, 9 | 2.0 ms | 800 |", page)
        self.assertIn("| transformers, `generate` | 40, 9 | 20.0 ms | 50 |", page)
        self.assertIn("failed: RuntimeError: no | - |", page)
        for runs in ([own | {"emulated": True}], [own, peer | {"device": "Card B"}], [peer]):
            with self.assertRaises(record.Refused):
                self.generate(*runs)

    def test_peers_stand_beside_and_outlive_a_new_bench(self):
        run = {"device": "Card A", "torch": "2", "cuda": "13", "cudnn": 9, "rounds": 5,
               "packages": {"other-kernels": "1.2"},
               "ceilings": {"read": 4e12, "mma_bf16": 6e14, "mma_s8": 12e14},
               "rows": [{"row": "gemm m=1", "bound_us": 5.0,
                         "us": {"libspark": 10.0, "cuBLAS": 8.0, "none": "why not"},
                         "compared": {"cuBLAS": "within 2 % of the largest", "I32": "equal bits"}}]}
        file = self.folder / "peers.json"
        file.write_text(json.dumps(run))
        with self.assertRaisesRegex(record.Refused, "no entry"):
            peers.adopt(file)
        self.adopt(run_of("Card A"))
        peers.adopt(file)
        page = self.adopt(run_of("Card A"))
        self.assertIn("cuDNN 9, other-kernels 1.2; 5 rounds", page)
        self.assertIn("| gemm m=1 | 5.0 us | 10.0 us | 50 % | cuBLAS 8.0 us, 0.80; none: why not |", page)
        self.assertIn("timed: 1 within 2 % of the largest, and by what each may err:\n\n- gemm m=1: I32: equal bits\n",
                      page)
        run["rows"][0]["us"]["libspark"] = "another result"
        file.write_text(json.dumps(run))
        with self.assertRaisesRegex(record.Refused, "did not compute gemm m=1: another result"):
            peers.adopt(file)

    def test_what_cannot_be_traced_is_refused(self):
        with self.assertRaisesRegex(record.Refused, "emulated"):
            self.adopt(run_of("Card A", emulated=True))
        self.changed = " M src/api/op.cpp"
        with self.assertRaisesRegex(record.Refused, "differ from the last commit"):
            self.adopt(run_of("Card A"))
        self.assertFalse(record.RECORD.exists())
