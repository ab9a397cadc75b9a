"""Every relative link, anchor and image of the documentation leads somewhere.

``sphinx -W`` fails on broken links, anchors and images between the pages of ``docs``. It does not read README.md, it
resolves links of the files that pages include (CONTRIBUTING.md and others) from the page, not from where the file
is, and it does not look into raw HTML. This test reads all files as text and needs no network.
"""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path
from urllib.parse import unquote

import pytest

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
BESIDE_THE_CODE = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")
#: As ``myst_heading_anchors`` of docs/conf.py: deeper headings have no anchor on the site.
DEEPEST_ANCHOR = 3

_FENCE = re.compile(r"^(`{3,}|~{3,}|:{3,}).*?^\1`*[ \t]*$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)", re.DOTALL)
_INCLUDE = re.compile(r"^```\{include\} (\S+)$", re.MULTILINE)
_IMAGE = re.compile(r"^```\{(?:image|figure)\} (\S+)$", re.MULTILINE)
_TOCTREE = re.compile(r"^```\{toctree\}\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^(#{1,6}) +(.+?) *#*$", re.MULTILINE)
_TARGET = re.compile(r"^\(([^()\s]+)\)=$", re.MULTILINE)
_INLINE = re.compile(r"(?<!\\)\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
_DEFINITION = re.compile(r"^\[[^\]]+\]:\s+<?(\S+?)>?$", re.MULTILINE)
_RAW_HTML = re.compile(r"<[^>]*\b(?:href|src)=[\"']([^\"']+)[\"']")
_DOC_ROLE = re.compile(r"\{doc\}`(?:[^`<]*<)?([^`<>]+)>?`")


def pages() -> list[Path]:
    """All files that are checked."""
    found = [path for path in sorted(DOCS.rglob("*.md")) if "_build" not in path.parts]
    return [ROOT / name for name in BESIDE_THE_CODE] + found


def without_code(text: str) -> str:
    """The text without blocks and spans of code, in which brackets are not links. Lines keep their numbers."""

    def blank(match: re.Match[str]) -> str:
        return "\n" * match.group().count("\n")

    return _CODE.sub(blank, _FENCE.sub(blank, text))


def slug(heading: str) -> str:
    """The anchor that GitHub and MyST give to a heading."""
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    plain = "".join(
        char
        for char in plain.strip().lower()
        if char in " -_" or unicodedata.category(char)[0] in "LN" or unicodedata.category(char) == "Mn"
    )
    return plain.replace(" ", "-")


def anchors(path: Path) -> set[str]:
    """The anchors of a page: of its headings, of targets such as ``(name)=``, and of the files that it includes."""
    text = path.read_text(encoding="utf-8")
    found: set[str] = set()
    for name in _INCLUDE.findall(text):
        found |= anchors((path.parent / name).resolve())
    blocks_removed = _FENCE.sub("", text)
    for marks, heading in _HEADING.findall(blocks_removed):
        if len(marks) <= DEEPEST_ANCHOR:
            name, number = slug(heading), 1
            while name in found:
                name, number = f"{slug(heading)}-{number}", number + 1
            found.add(name)
    return found | set(_TARGET.findall(blocks_removed))


def links(path: Path) -> list[tuple[int, str]]:
    """Line and target of each link and image of a page, without those to other sites."""
    text = path.read_text(encoding="utf-8")
    prose = without_code(text)
    found = [
        (prose.count("\n", 0, match.start()) + 1, match.group(1))
        for pattern in (_INLINE, _DEFINITION, _RAW_HTML)
        for match in pattern.finditer(prose)
    ]
    for pattern in (_INCLUDE, _IMAGE):
        for match in pattern.finditer(text):
            found.append((text.count("\n", 0, match.start()) + 1, match.group(1)))
    # The pages of a tree and of a role are named without their ending.
    entries = [entry for block in _TOCTREE.findall(text) for entry in block.split("\n")]
    named = [entry.strip() for entry in entries if entry.strip() and not entry.startswith(":")]
    roles = [match.group(1) for match in _DOC_ROLE.finditer(_FENCE.sub("", text))]
    found += [(1, f"{name}.md") for name in [*named, *roles]]
    return [(line, target) for line, target in found if not re.match(r"[a-z][a-z0-9+.-]*:|//", target)]


def broken(path: Path) -> list[str]:
    """What is wrong with the links of a page, one text for each."""
    problems = []
    for line, target in links(path):
        name, _, anchor = unquote(target).partition("#")
        base = DOCS if name.startswith("/") else path.parent
        file = (base / name.lstrip("/")).resolve() if name else path
        if not file.exists():
            problems.append(f"{path.relative_to(ROOT)}:{line}: {target}: there is no such file")
        elif anchor and file.suffix == ".md" and anchor not in anchors(file):
            problems.append(f"{path.relative_to(ROOT)}:{line}: {target}: {file.name} has no such heading")
        elif not file.is_relative_to(ROOT):
            problems.append(f"{path.relative_to(ROOT)}:{line}: {target}: outside of the project")
    return problems


@pytest.mark.parametrize("path", pages(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_relative_links_anchors_and_images_exist(path):
    assert broken(path) == []


def test_every_page_is_in_a_table_of_contents():
    listed = {DOCS / "index.md"}
    for page in DOCS.rglob("*.md"):
        for block in _TOCTREE.findall(page.read_text(encoding="utf-8")):
            listed |= {(page.parent / f"{name.strip()}.md").resolve() for name in block.split("\n")}
    hidden = {path for path in pages() if DOCS in path.parents and "_static" not in path.parts} - listed
    assert hidden == set()


def test_images_have_a_description():
    missing = [
        f"{path.relative_to(ROOT)}: {target}"
        for path in pages()
        for target in re.findall(r"!\[\s*\]\(([^)]+)\)", without_code(path.read_text(encoding="utf-8")))
    ]
    assert missing == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[a](missing.md)", "no such file"),
        ("![a](missing.png)", "no such file"),
        ("[a](#missing)", "no such heading"),
        ("[a](other.md#missing)", "no such heading"),
        ("[a](other.md#too-deep)", "no such heading"),
        ("[a][b]\n\n[b]: missing.md", "no such file"),
        ('<img src="missing.svg">', "no such file"),
        ("```{include} missing.md\n```", "no such file"),
        ("```{image} missing.svg\n```", "no such file"),
        ("```{toctree}\nmissing\n```", "no such file"),
        ("{doc}`/missing`", "no such file"),
    ],
)
def test_a_broken_link_is_found(tmp_path, monkeypatch, text, problem):
    monkeypatch.setattr("tests.test_docs_links.ROOT", tmp_path)
    monkeypatch.setattr("tests.test_docs_links.DOCS", tmp_path)
    (tmp_path / "other.md").write_text("# Other\n\n#### Too deep\n", encoding="utf-8")
    page = tmp_path / "page.md"
    page.write_text(text, encoding="utf-8")

    (found,) = broken(page)

    assert problem in found


def test_right_links_and_code_are_not_reported(tmp_path, monkeypatch):
    monkeypatch.setattr("tests.test_docs_links.ROOT", tmp_path)
    monkeypatch.setattr("tests.test_docs_links.DOCS", tmp_path)
    (tmp_path / "other.md").write_text(
        "(given)=\n## `fit`, γ and Größe\n## Same\n## Same\n", encoding="utf-8"
    )
    page = tmp_path / "page.md"
    page.write_text(
        "# Here\n[a](other.md) [b](other.md#fit-γ-and-größe) [c](other.md#same-1) [d](other.md#given)\n"
        "[e](#here) [f](https://example.org/x) `x[0](missing)`\n```text\n[g](missing.md)\n```\n{doc}`/other`\n",
        encoding="utf-8",
    )

    assert broken(page) == []
