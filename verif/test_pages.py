"""Checks that pages and docstrings describe the tree as it is."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tilewright.verif.kit.prose import SHARE, count, paragraphs

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("hw", "sim", "synth", "verif", "scripts")
DRAWINGS = sorted((ROOT / "docs").rglob("*.svg"))
PAGES = sorted(
    path
    for folder in (".", "docs", "docs/*", "examples", "examples/*")
    for path in ROOT.glob(f"{folder}/*.md")
)

TESTS = {path.name for path in (ROOT / "verif").rglob("test_*.py")}

_PATH = re.compile(rf"`((?:{'|'.join(ROOMS)}|docs|examples)/[\w./*{{}},-]+)`")
_FILE = re.compile(r"`(test_\w+\.py)`")
_OBJECT = re.compile(rf"`((?:tilewright\.)?(?:{'|'.join(ROOMS)})(?:\.[a-z0-9_]+)+(?:[.:]\w+)*)[`(]")
_LINK = re.compile(r"\]\(([^)#:]+)(?:#[\w-]+)?\)")
_ANCHOR = re.compile(r"\]\(([^)#:]*\.md)?#([\w-]+)\)")


def missing(text: str) -> list[str]:
    """Paths and modules in a text that are not there; names in capitals stand for any."""
    paths = [path for path in _PATH.findall(text) if not re.search(r"[A-Z]{2}|[{}]", path)]
    lost = [path for path in paths if not any(ROOT.glob(path.rstrip("/")))]
    return lost + [name for name in _OBJECT.findall(text) if not _is_there(name)]


def _is_there(name: str) -> bool:
    """Returns whether a dotted name is a package, a module or something in a module."""
    parts = re.split("[.:]", name.removeprefix("tilewright."))
    for length in range(len(parts), 0, -1):
        place, rest = ROOT.joinpath(*parts[:length]), parts[length:]
        if place.with_suffix(".py").exists():
            text = place.with_suffix(".py").read_text()
            return not rest or re.search(rf"\b{rest[0]}\b", text) is not None
        if place.is_dir():
            return not rest
    return False


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_pages_name_what_is_there(page: Path) -> None:
    text = page.read_text()
    assert missing(text) == []
    tests = [name for name in _FILE.findall(text) if not re.search(r"[A-Z]{2}", name)]
    assert [name for name in tests if name not in TESTS] == []
    assert [link for link in _LINK.findall(text) if not (page.parent / link).exists()] == []


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as forges make them."""
    plain = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.M | re.S)
    found: dict[str, int] = {}
    for heading in re.findall(r"^#+ (.*)", plain, re.M):
        words = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
        name = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        found[name] = found.get(name, -1) + 1
    return {name + (f"-{n}" if n else "") for name, most in found.items() for n in range(most + 1)}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_headings(page: Path) -> None:
    links = _ANCHOR.findall(page.read_text())
    assert [f"{other}#{anchor}" for other, anchor in links
            if anchor not in anchors(page.parent / other if other else page)] == []  # fmt: skip


@pytest.mark.parametrize("room", ROOMS)
def test_docstrings_name_what_is_there(room: str) -> None:
    for module in sorted((ROOT / room).rglob("*.py")):
        if module != Path(__file__).resolve():
            assert missing(module.read_text()) == [], module


@pytest.mark.parametrize("drawing", DRAWINGS, ids=lambda drawing: drawing.name)
def test_drawings_are_readable_on_any_page(drawing: Path) -> None:
    """Each has a ground of its own behind all that is drawn, a dark one where the page is dark; and
    a page shows it."""
    shown = f"({drawing.relative_to(ROOT / 'docs')})"
    assert any(shown in page.read_text() for page in PAGES)
    root = ElementTree.parse(drawing).getroot()
    names = [element.tag.rpartition("}")[2] for element in root]
    assert "title" in names
    drawn = [element for element, name in zip(root, names, strict=True)
             if name not in ("title", "style", "defs")]  # fmt: skip
    ground = drawn[0]
    _, _, width, height = root.attrib["viewBox"].split()
    assert ground.tag.endswith("}rect")
    assert (ground.get("width"), ground.get("height")) == (width, height)
    assert ground.get("fill") in ("#fff", "white")
    assert "@media (prefers-color-scheme: dark){svg{filter:invert(" in drawing.read_text()


def test_what_is_not_there_is_found() -> None:
    said = "`hw/axi/nothing.py`, `hw/axi/ports.py`, `sim.rtl.nothing.Device`, `sim.rtl.build`"
    assert missing(said) == ["hw/axi/nothing.py", "sim.rtl.nothing.Device"]
    assert missing("`sim.rtl.build.BuildError`, `sim.rtl.build.none`") == ["sim.rtl.build.none"]
    assert missing("`hw/spec/NAME.py`, `verif/*/test_driver.py`, `docs/`") == []


PAGES_OF_PROSE = [ROOT / name for name in ("README.md", "CONTRIBUTING.md")] + sorted(
    (ROOT / "docs").rglob("*.md")
)

MOST_WORDS = 61_800
"""Words of prose that all pages together may have: 60,000, and those of boards and SoCs."""

PRINTED = {"docs/t2s-directives.md"}
"""Pages that are printed from docstrings."""

LITERAL = (
    "given up", "of its own", "of their own", "likewise", "whoever", "in one line that says",
    "by less a vertex", "a folder a system", "a file an idea", "dealt out", "read again",
    "as it was at its start", "what joins", "unit that does not fit is said to",
)  # fmt: skip
"""Phrases that the field has other words for."""


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES_OF_PROSE, ids=name_of)
def test_sentences_are_short(page: Path) -> None:
    found = count(page.read_text())
    assert found.share >= SHARE, found.long
    text = " ".join(paragraphs(page.read_text())).lower()
    assert [one for one in LITERAL if re.search(rf"\b{one}\b", text)] == []


def test_pages_are_not_too_many_words() -> None:
    """Those of pages that the program prints do not count."""
    written = [page for page in PAGES_OF_PROSE if name_of(page) not in PRINTED]
    assert sum(count(page.read_text()).words for page in written) <= MOST_WORDS


def test_what_is_counted() -> None:
    """Prose is counted; headings, tables and code are not. A long sentence is found."""
    text = "# A title\n\nOne `x. y` two, e.g. three. And *four*:\n\n* five\n* six.\n\n"
    found = count(text + "| a | b |\n|---|---|\n| c | d |\n\n    code that is no prose\n")
    assert found == (9, 4, [])
    sentence = f"This {'very ' * 30}long sentence."
    assert count(text + sentence).long == [sentence]
    assert count(text + sentence).share == 0.8
