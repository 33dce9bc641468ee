# SPDX-License-Identifier: Apache-2.0
# The real kernel tree against its own rules: headers, sizes, layers, rows, opcodes, and the page that shows it.
# Run by CTest as ptx.tree, after the build: SPARK_KERNEL_RESULTS names the folder with the NAME.json files.
import collections
import json
import os
import tomllib
import unittest
from pathlib import Path

from support import CC, TOP

import lint
import page
from assemble import EVERY, image_list
from cubin import Cubin
from header import check_contract, check_way, parse_tree
from images import TESTING, bundles

ROOT = TOP / "ptx"
RESULTS = os.environ.get("SPARK_KERNEL_RESULTS")


class Tree(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.files = parse_tree(ROOT)
        cls.variants = [v for f in cls.files for v in f.variants]

    def none(self, findings):
        self.assertEqual(findings, [], "\n" + "\n".join(findings))

    def test_names(self):
        self.none([p for v in self.variants for p in (check_contract(v.contract), check_way(v.way)) if p])

    def test_sizes(self):
        self.none(lint.sizes(ROOT))

    def test_layers(self):
        self.none(lint.layers(ROOT))

    def test_raw_instructions(self):
        self.none(lint.raw_instructions(ROOT))

    def test_rows(self):
        if page.table_rows(ROOT, CC) is None:
            self.skipTest("there is no dispatch table yet")
        self.none(lint.rows(ROOT, self.files, CC))

    def test_opcodes(self):
        self.none(lint.opcodes(ROOT, self.files, RESULTS))

    def test_page_is_up_to_date(self):
        self.assertEqual(page.difference(ROOT, RESULTS, CC), "")

    @unittest.skipUnless(RESULTS, "SPARK_KERNEL_RESULTS is not set")
    def test_results(self):
        """What was built is what the headers say: one kernel in each image, its parameters, its registers."""
        for variant in self.variants:
            record = json.loads((Path(RESULTS) / f"{variant.name}.json").read_text(encoding="utf-8"))
            built = [(i["kind"], i["arch"]) for i in record["images"]]
            code = {arch for kind, arch in built if kind == "cubin"}
            self.assertEqual((built, {str(arch) for arch in code}),
                             ([i for i in image_list(variant, EVERY) if i[0] == "ptx" or i[1] in code],
                              set(record["regs"])))
            self.assertLessEqual(max(record["regs"].values()), variant.regs, variant.name)
            for image in (i for i in record["images"] if i["kind"] == "cubin"):
                code = Cubin((Path(RESULTS) / image["file"]).read_bytes())
                self.assertEqual(code.kernels(), [variant.name])
                found, wanted = code.params(variant.name), [(p.offset, p.size) for p in variant.params.params]
                if variant.params.tensor_maps:  # the assembler aligns them where they will lie
                    found, wanted = [size for _, size in found], [size for _, size in wanted]
                self.assertEqual(found, wanted)

    @unittest.skipUnless(RESULTS, "SPARK_KERNEL_RESULTS is not set")
    def test_budgets(self):
        """What each family's images take in the library, beside image_kib of its op.toml: a tenth of room."""
        described = (tomllib.loads(p.read_text(encoding="utf-8")) for p in TOP.glob("src/ops/*/op.toml"))
        budgets = {d["family"]: d["image_kib"] for d in described}
        records = [json.loads((Path(RESULTS) / f"{v.name}.json").read_text(encoding="utf-8")) for v in self.variants]
        taken = collections.Counter()
        for bundle in bundles(records, RESULTS, os.environ.get("SPARK_KERNEL_CACHE") or None):
            taken[bundle.family] += len(bundle.stored) if bundle.arch not in TESTING else 0
        self.assertEqual(sorted(taken), sorted(budgets))
        self.none([f"{family}: {size} bytes, {budgets[family]} KiB are allowed (image_kib in src/ops/{family}/op.toml)"
                   for family, size in taken.items() if size > budgets[family] * 1024])


if __name__ == "__main__":
    unittest.main()
