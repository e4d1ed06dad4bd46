"""Counts words and sentences of pages: ``python -m tilewright.verif.kit.prose PAGE.md ...``.

Prose is what stands in paragraphs and lists: code blocks, tables, headings and HTML are not. An
inline code span, a formula and a link count as the words that a reader sees.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token

LIMIT = 25
"""Words that a sentence may have."""

SHARE = 0.95
"""Sentences within the limit, of all of a page."""

_END = re.compile(r"(?<=[.!?:])[\"')\]]*\s+(?=[\"'(\[]*[A-Z0-9`])")
_NOT_AN_END = re.compile(r"\b(?:e\.g|i\.e|vs|cf|Fig|Sec|No|et al)\.$")


class Count(NamedTuple):
    """Words and sentences of a text, and the sentences that are too long."""

    words: int
    sentences: int
    long: list[str]

    @property
    def share(self) -> float:
        """The share of sentences within the limit."""
        return 1 - len(self.long) / max(1, self.sentences)


def paragraphs(text: str) -> Iterator[str]:
    """The paragraphs and items of a Markdown page, in plain words."""
    inside: list[str] = []
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        if token.nesting:
            inside = inside[:-1] if token.nesting < 0 else [*inside, token.type]
        elif token.type == "inline" and not {"table_open", "heading_open"} & {*inside}:
            yield " ".join(_seen(token).split())


def _seen(token: Token) -> str:
    parts = []
    for child in token.children or ():
        if child.type in ("softbreak", "hardbreak"):
            parts.append(" ")
        elif child.type == "code_inline":
            parts.append("`" + "_".join(child.content.split()).rstrip(".:!?") + "_`")
        elif child.type == "text":
            parts.append(child.content)
    return "".join(parts)


def sentences(paragraph: str) -> list[str]:
    """The sentences of a paragraph. A colon ends one, as a list or an example follows it."""
    found: list[str] = []
    for part in _END.split(paragraph):
        if found and _NOT_AN_END.search(found[-1]):
            found[-1] += f" {part}"
        else:
            found.append(part)
    return [one for one in found if words(one)]


def words(text: str) -> int:
    """Counts the words of a text: pieces between spaces with a letter or a digit."""
    return sum(re.search(r"\w", piece) is not None for piece in text.split())


def count(text: str) -> Count:
    """Counts the words and sentences of a Markdown page."""
    each = [one for paragraph in paragraphs(text) for one in sentences(paragraph)]
    return Count(sum(map(words, each)), len(each), [one for one in each if words(one) > LIMIT])


def main(files: Sequence[str]) -> None:
    """Print the figures of pages, and sentences that are too long."""
    for file in files:
        found = count(Path(file).read_text(encoding="utf-8"))
        for one in found.long:
            print(f"  {words(one)} words: {one}")
        print(f"{file}: {found.words} words of prose, {found.sentences} sentences, "
              f"{found.share:.1%} of at most {LIMIT} words")  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1:])
