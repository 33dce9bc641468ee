# SPDX-License-Identifier: Apache-2.0
#
# Tests of records write to a folder of their own, and see a repository whose commit and changes they say.
import json
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "sparklib"))
import record  # noqa: E402


class Recording(unittest.TestCase):
    module = record  # whose RECORD and PAGE these are
    name = "record"  # of its files

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)
        self.changed = ""
        answers = {"status": lambda: self.changed, "rev-parse": lambda: "0123456789"}
        self.put(record, "git", lambda word, *rest: answers[word]())
        self.put(self.module, "RECORD", self.folder / f"{self.name}.json")
        self.put(self.module, "PAGE", self.folder / f"{self.name}.md")

    def put(self, module, name, value):
        patch = mock.patch.object(module, name, value)
        patch.start()
        self.addCleanup(patch.stop)

    def adopt(self, run):
        measured = self.folder / "run.json"
        measured.write_text(json.dumps(run))
        self.module.adopt(measured)
        return self.module.PAGE.read_text()
