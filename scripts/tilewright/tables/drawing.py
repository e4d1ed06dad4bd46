"""Draws tables: the head and the tail of each SVG."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

__all__ = ["drawn"]


def drawn(
    title: str, parts: Iterable[str], *, size: tuple[int, int], title_at: tuple[int, int]
) -> str:
    """An SVG that is dark where its reader's pages are.

    Parameters
    ----------
    parts: its elements; their classes are m (text around its place), e (text that ends there), l
        (pale) and h (bold)
    size: width and height
    title_at: where the title begins
    """
    (width, height), (x, y) = size, title_at
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        'font-family="sans-serif" font-size="12">',
        f"<title>{escape(title)}</title>",
        "<style>@media (prefers-color-scheme: dark){svg{filter:invert(.9) hue-rotate(180deg)}}"
        ".m{text-anchor:middle}.e{text-anchor:end}.l{fill:#333}.h{font-weight:bold}</style>",
        f'<rect width="{width}" height="{height}" fill="white"/>',
        f'<text x="{x}" y="{y}" class="h">{escape(title)}</text>',
        *parts,
        "</svg>",
    ]
    return "\n".join(lines) + "\n"
