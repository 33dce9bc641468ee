# SPDX-License-Identifier: Apache-2.0
"""The examples in the pages, run as they are printed, against an installed copy of the library.

A fenced block with a title takes part. `sh` is run by a shell, in order, all blocks of a page in one folder; a title
that begins with "prints" is text whose lines the last run must have printed, in that order; any other title is the
name of a file that holds the block. Blocks without a title are for the reader. `libspark` in the folder is this tree.

Pages of languages whose tools are not here, or whose binding has not been built (python), are skipped.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
TOOLS = {"c": "cc", "embedding": "cmake", "testing": "cc", "rust": "cargo", "go": "go", "python": "python"}
FENCE = re.compile(r'^```(?P<language>\w+) title="(?P<title>[^"]+)"\n(?P<text>.*?)^```$', re.M | re.S)


def blocks(page):
    return [(match["language"], match["title"], match["text"]) for match in FENCE.finditer(page.read_text())]


def wheel_programs():
    """Where the python is that has the wheel, once bindings.python has made it."""
    return OPTIONS.bindings.resolve() / "python" / "clean" / "bin"


def environment(page):
    """Variables as a user of the installed library has them; of the wheel, where the page is Python's."""
    path, bindings = os.environ["PATH"], OPTIONS.bindings.resolve()
    if page.stem == "python":
        return dict(os.environ, PATH=f"{wheel_programs()}{os.pathsep}{path}",
                    LIBSPARK_DRIVER=OPTIONS.driver, PYTHONDONTWRITEBYTECODE="1")
    library = next((bindings / "prefix").rglob("libspark.pc")).parents[1]
    return dict(os.environ, PKG_CONFIG_PATH=str(library / "pkgconfig"), LD_LIBRARY_PATH=str(library),
                CMAKE_PREFIX_PATH=str(bindings / "prefix"), LIBSPARK_DRIVER=OPTIONS.driver, GOFLAGS="-buildvcs=false",
                GOCACHE=str(OPTIONS.into.resolve() / "go-cache"), GOTOOLCHAIN="local")


def packaged_crates(folder):
    """Lets cargo take the crate that a build script needs from where the binding's own check has put it."""
    found = next(OPTIONS.bindings.resolve().glob("rust/*/vendor"), None)
    if found:
        (folder / ".cargo").mkdir()
        (folder / ".cargo" / "config.toml").write_text(
            f'[source.crates-io]\nreplace-with = "packaged"\n[source.packaged]\ndirectory = "{found}"\n')


def missing(wanted, printed):
    """The first wanted line that does not follow those before it, or None."""
    rest = iter(line.rstrip() for line in printed.splitlines())
    return next((line for line in wanted.splitlines() if line.rstrip() not in rest), None)


class Examples(unittest.TestCase):
    def run_page(self, page):
        env, tool = environment(page), TOOLS[page.stem]
        if not shutil.which(tool, path=env["PATH"] if tool != "python" else str(wheel_programs())):
            self.skipTest(f"there is no {tool} here")
        folder = OPTIONS.into / page.stem
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        (folder / "libspark").symlink_to(ROOT)
        packaged_crates(folder)
        printed = ""
        for language, title, text in blocks(page):
            if language == "sh":
                result = subprocess.run(["sh", "-eu", "-c", text], cwd=folder, env=env, text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120)
                printed = result.stdout
                self.assertEqual(result.returncode, 0, f"{page.name}: {text}\n{printed}")
            elif title.startswith("prints"):
                self.assertIsNone(missing(text, printed), f"{page.name} is to print\n{text}\nand prints\n{printed}")
            else:
                (folder / title).parent.mkdir(exist_ok=True)
                (folder / title).write_text(text)


def add_pages():
    """A test for each page that has a block to run."""
    for page in sorted(DOCS.glob("*.md")):
        if any(language == "sh" for language, _, _ in blocks(page)):
            setattr(Examples, f"test_{page.stem}", lambda self, page=page: self.run_page(page))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bindings", type=pathlib.Path, required=True, help="what the tests of bindings/ have built")
    parser.add_argument("--driver", required=True)
    parser.add_argument("--into", type=pathlib.Path, required=True, help="the folder for the examples")
    OPTIONS, rest = parser.parse_known_args()
    add_pages()
    unittest.main(argv=[sys.argv[0], *rest])
