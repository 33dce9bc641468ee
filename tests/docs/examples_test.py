# SPDX-License-Identifier: Apache-2.0
"""The examples in the pages, run as they are printed, against an installed copy of the library.

A fenced block with a title takes part. `sh` is run by a shell, in order, all blocks of a page in one folder; a title
that begins with "prints" is text whose lines the last run must have printed, in that order; any other title is the
name of a file that holds the block. Blocks without a title are for the reader.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"
FENCE = re.compile(r'^```(?P<language>\w+) title="(?P<title>[^"]+)"\n(?P<text>.*?)^```$', re.M | re.S)


def blocks(page):
    return [(match["language"], match["title"], match["text"]) for match in FENCE.finditer(page.read_text())]


def environment():
    library = next(OPTIONS.prefix.rglob("libspark.pc")).parents[1]
    return dict(os.environ, PKG_CONFIG_PATH=str(library / "pkgconfig"), LD_LIBRARY_PATH=str(library),
                CMAKE_PREFIX_PATH=str(OPTIONS.prefix), LIBSPARK_DRIVER=OPTIONS.driver)


def missing(wanted, printed):
    """The first wanted line that does not follow those before it, or None."""
    rest = iter(line.rstrip() for line in printed.splitlines())
    return next((line for line in wanted.splitlines() if line.rstrip() not in rest), None)


class Examples(unittest.TestCase):
    def run_page(self, page):
        folder = OPTIONS.into / page.stem
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        printed = ""
        for language, title, text in blocks(page):
            if language == "sh":
                result = subprocess.run(["sh", "-eu", "-c", text], cwd=folder, env=environment(), text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120)
                printed = result.stdout
                self.assertEqual(result.returncode, 0, f"{page.name}: {text}\n{printed}")
            elif title.startswith("prints"):
                self.assertIsNone(missing(text, printed), f"{page.name} is to print\n{text}\nand prints\n{printed}")
            else:
                (folder / title).write_text(text)


def add_pages():
    """A test for each page that has a block to run."""
    for page in sorted(DOCS.glob("*.md")):
        if any(language == "sh" for language, _, _ in blocks(page)):
            setattr(Examples, f"test_{page.stem}", lambda self, page=page: self.run_page(page))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--prefix", type=pathlib.Path, required=True, help="where libspark is installed")
    parser.add_argument("--driver", required=True)
    parser.add_argument("--into", type=pathlib.Path, required=True, help="the folder for the examples")
    OPTIONS, rest = parser.parse_known_args()
    add_pages()
    unittest.main(argv=[sys.argv[0], *rest])
