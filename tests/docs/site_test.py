# SPDX-License-Identifier: Apache-2.0
"""The documentation site: it builds with every warning an error, every link and anchor leads somewhere, nothing is
loaded from elsewhere, and every operator, status and language has its place."""
import argparse
import html.parser
import pathlib
import re
import shutil
import sys
import tempfile
import unittest
from urllib.parse import unquote, urlsplit

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tools/sparklib"))
import build  # noqa: E402
import docs  # noqa: E402
import wheels  # noqa: E402

ADDRESS = re.compile(r"https?://[\w.-]+\.\w+(?:/\S*)?|mailto:\S+@\S+")
LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src"}


class Page(html.parser.HTMLParser):
    """What one page links to, loads and can be linked at."""

    def __init__(self, path):
        super().__init__()
        self.links, self.loads, self.anchors = [], [], {"", "__top"}
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.anchors |= {found[name] for name in ("id", "name") if found.get(name)}
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        elif found.get(LOADED.get(tag)):
            self.loads.append(found[LOADED[tag]])


def dead_ends(site):
    """Every link of the site that leads nowhere, and everything that a page loads from elsewhere."""
    pages = {path.resolve(): Page(path) for path in site.rglob("*.html")}
    found = []
    for path, page in pages.items():
        for target in page.links + page.loads:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                if target in page.loads or not ADDRESS.fullmatch(target):
                    found.append(f"{path.name}: {target}")
                continue
            base = site if parts.path.startswith("/") else path.parent
            to = (base / unquote(parts.path).lstrip("/")).resolve() if parts.path else path
            to = to / "index.html" if to.is_dir() else to
            if not to.exists() or to in pages and parts.fragment not in pages[to].anchors:
                found.append(f"{path.name}: {target}")
    return found


class Site(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.site = INTO.resolve()
        shutil.rmtree(cls.site, ignore_errors=True)
        if docs.mkdocs("build", "--site-dir", cls.site):
            raise AssertionError("MkDocs has something to say against the pages")

    def page(self, name):
        return (self.site / name).read_text(encoding="utf-8")

    def test_links(self):
        self.assertEqual(dead_ends(self.site), [])

    def test_dead_ends_are_noticed(self):
        with tempfile.TemporaryDirectory() as folder:
            site = pathlib.Path(folder)
            (site / "b.html").write_text("<h1 id='here'>b</h1>")
            (site / "a.html").write_text("<a href='b.html#here'></a><a href='b.html#there'></a><a href='c.html'></a>"
                                         "<a href='https://arxiv.org/a b'></a><script src='//arxiv.org/x.js'>")
            self.assertEqual([line.partition(" ")[2] for line in dead_ends(site)],
                             ["b.html#there", "c.html", "https://arxiv.org/a b", "//arxiv.org/x.js"])

    def test_every_operator_and_status_has_its_place(self):
        listed = re.findall(r"^\| \[(\w+)\]\((\w+)\.md#", (ROOT / "docs/ops/README.md").read_text(), re.M)
        for op, family in listed:
            self.assertIn(f'id="{op}"', self.page(f"ops/{family}.html"))
        for status in re.findall(r"^    (SPARK_ERR_\w+) =", (ROOT / "include/spark.h").read_text(), re.M):
            self.assertIn(f'id="{status.lower()}"', self.page("errors.html"))

    def test_every_language_starts_at_home(self):
        for readme in ROOT.glob("bindings/*/README.md"):
            own = readme.parent.name + ".html"
            start = own if (self.site / own).exists() else f"bindings/{readme.parent.name}/index.html"
            self.assertIn(f'href="{start}"', self.page("index.html"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--into", type=pathlib.Path, required=True, help="the folder for the site")
    options, rest = parser.parse_known_args()
    INTO = options.into
    try:
        docs.installed(build.PINNED)
    except wheels.FetchError as error:
        print(f"site_test.py: {error}: the site is not built")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *rest])
