"""Checks that pages are in short sentences, with the field's words."""

import re
from pathlib import Path

import pytest
from tilewright.verif.kit.prose import SHARE, count, paragraphs

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md")] + sorted(
    (ROOT / "docs").rglob("*.md")
)

MOST_WORDS = 60_000
"""Words of prose that all pages together may have."""

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


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_sentences_are_short(page: Path) -> None:
    found = count(page.read_text())
    assert found.share >= SHARE, found.long
    text = " ".join(paragraphs(page.read_text())).lower()
    assert [one for one in LITERAL if re.search(rf"\b{one}\b", text)] == []


def test_pages_are_not_too_many_words() -> None:
    """Those of pages that the program prints do not count."""
    written = [page for page in PAGES if name_of(page) not in PRINTED]
    assert sum(count(page.read_text()).words for page in written) <= MOST_WORDS


def test_what_is_counted() -> None:
    """Prose is counted; headings, tables and code are not. A long sentence is found."""
    text = "# A title\n\nOne `x. y` two, e.g. three. And *four*:\n\n* five\n* six.\n\n"
    found = count(text + "| a | b |\n|---|---|\n| c | d |\n\n    code that is no prose\n")
    assert found == (9, 4, [])
    sentence = f"This {'very ' * 30}long sentence."
    assert count(text + sentence).long == [sentence]
    assert count(text + sentence).share == 0.8
