# SPDX-License-Identifier: Apache-2.0
#
# Each rule of tools/lint finds a fault that is planted for it, and nothing in a tree without faults.
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools" / "lint"), str(ROOT / "tools" / "sparklib")]
import tree  # noqa: E402
import rules_repository  # noqa: E402,F401
import rules_text  # noqa: E402,F401

SPDX = "// SPDX-License-Identifier: Apache-2.0\n"
PY = "# SPDX-License-Identifier: Apache-2.0\n"

# rule: a file that breaks it, and what the finding says
PLANTED = {
    "spaces": [("a.md", "word \n", "space at the end"), ("b.md", "a\tb\n", "a tab"), ("c.md", "a\u200bb\n", "U+200B"),
               ("d.md", "end", "exactly one newline"), ("e.md", "a\r\n", "space at the end")],
    "spdx": [("src/core/a.cpp", "int x;\n", "no SPDX")],
    "sizes": [("ptx/lib/a.ptxh", SPDX + "//\n" * 200, "201 lines; at most 200"),
              ("ptx/gemm/a.ptx", SPDX + "//\n" * 300, "at most 300"),
              ("src/core/b.cpp", SPDX + "//\n" * 600, "at most 600")],
    "functions": [("src/core/f.cpp",
                   SPDX + "int f(int a,\n      int b) {\n" + "    a += b;\n" * 60 + "    return a;\n}\n",
                   "f has 64 lines"),
                  ("src/core/t.cpp", SPDX + "template <class T = int> T g() {\n" + "    ;\n" * 60 + "}\n",
                   "g has 62 lines"),
                  ("tools/f.py", PY + "def f():\n" + "    pass\n" * 60, "f has 61 lines")],
    "width": [("src/core/w.cpp", SPDX + "// " + "w" * 118 + "\n", "121 columns")],
    "leftovers": [("src/core/c.cpp", SPDX + "#if 0\n#endif\n", "switched off"),
                  ("ptx/gemm/gemm_v2.ptx", SPDX, "ordinal"),
                  ("src/core/d.cpp", SPDX + "// TO" + "DO later\n", "note to self")],
    "syntax": [("tools/a.py", PY + "def :\n", "does not parse"), ("tools/b", "#!/bin/sh\n" + PY, "not executable")],
    "driver": [("src/ops/gemm/a.cpp", SPDX + "int f() { return cuInit(0); }\n", "cuInit")],
    "paths": [("docs/a.md", "see /ho" + "me/someone/notes\n", "one machine")],
    "hosts": [("docs/b.md", "from htt" + "ps://files.example.com/x\n", "files.example.com")],
    "modules": [("src/core/e.h", SPDX + '#include "runtime/driver.h"\n', "stands after"),
              ("src/api/a.cpp", SPDX + '#include "emu/engine.h"\n', "includes emu/engine.h")],
    "readme": [("emu/a.md", "x\n", "no README.md"), ("tests/ops/gemm/deep/a.md", "x\n", "no README.md"),
               ("bench/README.md", "x\n" * 26, "26 lines")],
    "links": [("docs/c.md", "[x](none.md) and [y](#nowhere)\n", "no such heading"),
              ("docs/d.md", "[x](none.md)\n", "not there")],
    "knobs": [("docs/e.md", "set LIBSPARK_NOISE\n", "LIBSPARK_NOISE")],
}
CLEAN = {
    "README.md": "# x\n\n## A part\n\n[here](docs/README.md), [there](#a-part), LIBSPARK_LOG\n",
    "docs/README.md": "<!-- made by a tool; do not edit -->\n# docs\n" + "| row |\n" * 30,
    "src/README.md": "# src\n",
    "src/core/README.md": "# core\n",
    "src/core/knobs.inc": SPDX + 'KNOB(log, "LIBSPARK_LOG", "where to")\n',
    "tests/README.md": "# tests\n",
    "tests/ops/README.md": "# ops\n\nA folder for a family. In each:\n\n- `shapes.inc`\n",
    "tests/ops/gemm/shapes.inc": SPDX + "// none\n",
    "src/core/a.cpp": SPDX + "// cuInit is named in a comment only.\nint x;\n",
}


class Lint(unittest.TestCase):
    def findings(self, rule, planted):
        """What one rule says about a tree of the clean files and the planted ones."""
        with tempfile.TemporaryDirectory() as folder:
            for name, content in {**CLEAN, **planted}.items():
                path = Path(folder) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content.encode())
            identity = ["-c", "user.name=test", "-c", "user.email=test@example.com", "-c", "commit.gpgsign=false"]
            for words in (["init", "-q"], ["add", "."], [*identity, "commit", "-q", "-m", self.subject]):
                subprocess.run(["git", *words], cwd=folder, check=True,
                               env={**os.environ, "GIT_CONFIG_GLOBAL": os.devnull})
            for cached in (tree.files, tree.text, tree.lines):
                cached.cache_clear()
            with mock.patch.object(tree, "ROOT", Path(folder).resolve()):
                found = [str(finding) for finding in {r.name: r for r in tree.RULES}[rule].check()]
            for cached in (tree.files, tree.text, tree.lines):
                cached.cache_clear()
            return found

    subject = "Start the tree"

    def test_nothing_is_found_in_a_clean_tree(self):
        for rule in [*PLANTED, "commits"]:
            self.assertEqual(self.findings(rule, {}), [], rule)

    def test_each_planted_fault_is_found(self):
        for rule, faults in PLANTED.items():
            found = self.findings(rule, {name: content for name, content, _ in faults})
            for name, _, says in faults:
                with self.subTest(rule=rule, file=name):
                    place = str(Path(name).parent) if says == "no README.md" else name
                    self.assertTrue(any(text.startswith(place) and says in text for text in found), found)

    def test_subjects_of_commits(self):
        for subject in ("wip", "Fix it.", "fixup! Start", "A" * 121):
            with self.subTest(subject=subject):
                self.subject = subject
                self.assertTrue(self.findings("commits", {}))

    def test_a_host_in_the_tools_is_no_exception(self):
        self.assertTrue(self.findings("hosts", {"tools/x.py": PY + 'URL = "htt' + 'ps://index.example.org/simple"\n'}))
