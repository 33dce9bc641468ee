# SPDX-License-Identifier: Apache-2.0
#
# What MkDocs does not do by itself: pages from outside docs/ (the README as home, those of bindings and examples, the
# list of kernels), folders in the navigation, and links. A link in a page is one of the source tree; here it becomes
# one of the site, or plain text where what it leads to is no page. Called by MkDocs, see mkdocs.yml.
import re
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[2]
OUTSIDE = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "ptx/KERNELS.md", "ptx/LOOPS.md",
           "examples/README.md", "examples/*/README.md", "bindings/README.md", "bindings/*/README.md",
           "bindings/*/*/README.md"]
LINK = re.compile(r"`[^`]*`|(?<!!)\[(?P<text>[^\]]*)\]\((?P<target>[^)\s]+)\)")  # or code, where nothing is one


def outside():
    """{page of the site: file of the tree}"""
    found = sorted(path for pattern in OUTSIDE for path in ROOT.glob(pattern))
    return {path.relative_to(ROOT).as_posix(): path for path in found}


def page_of(path):
    """The page of the site that a file or folder of the tree is, whether or not it exists."""
    path = path / "README.md" if path.is_dir() else path
    inside = path.is_relative_to(ROOT / "docs")
    return path.relative_to(ROOT / "docs" if inside else ROOT).as_posix() if path.is_relative_to(ROOT) else None


def listed(folder, named):
    """The pages in a folder of docs/ or of the tree, and those of the folders in it. Not its own README, which is named
    or is left out, and not that of a folder whose name a page that is `named` has: bindings/go where there is go.md."""
    home = ROOT / "docs" / folder if (ROOT / "docs" / folder).is_dir() else ROOT / folder
    return [page_of(path) for path in sorted([*home.glob("*.md"), *home.glob("*/README.md")])
            if path != home / "README.md" and f"{path.parent.name}.md" not in named]


def expanded(entries):
    out = []
    for entry in entries:
        if isinstance(entry, dict):
            out += [{title: expanded(below) if isinstance(below, list) else below} for title, below in entry.items()]
        else:
            out += listed(entry, entries) if entry.endswith("/") else [entry]
    return out


def on_config(config):
    config.nav = expanded(config.nav)
    return config


def on_files(files, config):
    files.remove(files.get_file_from_path("README.md"))  # that of docs/, a list for those who read the tree
    for page, path in outside().items():
        files.append(File.generated(config, page, abs_src_path=str(path)))
    return files


def turned(match, page, known):
    """One link of a page, as the site has it."""
    text, target = match["text"], match["target"]
    if target is None:
        return match[0]
    parts = urlsplit(target)
    if parts.scheme:
        if parts.scheme not in ("https", "http", "mailto") or not (parts.netloc or parts.path):
            raise PluginError(f"{page.file.src_uri}: {target} is no address")
        return match[0]
    if not parts.path:
        return match[0]
    path = (Path(page.file.abs_src_path).parent / parts.path).resolve()
    if not path.exists():
        raise PluginError(f"{page.file.src_uri}: {target} is not there")
    uri = page_of(path)
    if uri not in known:
        return text if "`" in text or "/" in text else f"{text} (`{path.relative_to(ROOT).as_posix()}`)"
    steps = len(PurePosixPath(page.file.src_uri).parts) - 1
    return f"[{text}]({'../' * steps}{uri}{'#' + parts.fragment if parts.fragment else ''})"


def on_page_markdown(markdown, page, config, files):
    known = {file.src_uri for file in files.documentation_pages()}
    markdown = re.sub(r"^<!--.*?-->\n", "", markdown)  # what the page is made from: MkDocs wants the title first
    if page.is_homepage:  # theme/home.html shows the name and the first paragraph
        name, tagline, markdown = markdown.split("\n\n", 2)
        page.meta |= {"name": name.lstrip("# "), "tagline": tagline, "template": "home.html", "hide": ["navigation"]}
    lines, fenced = [], False
    for line in markdown.split("\n"):
        fenced ^= line.lstrip().startswith("```")
        if fenced:
            lines.append(line)
            continue
        # A list may follow a line of text directly; Python's Markdown wants an empty one between.
        if re.match(r"(?:- |\d+\. )", line) and lines and re.match(r"[^\s\-\d#|>]", lines[-1]):
            lines.append("")
        lines.append(LINK.sub(lambda match: turned(match, page, known), line))
    return "\n".join(lines)
