"""What a report says of operands that are padded."""

from __future__ import annotations

from .report import Rows

__all__ = ["padded_to", "smaller_than_a_block"]


def padded_to(shape: tuple[int, ...], *wide: tuple[int, ...]) -> str:
    """What is said behind a shape of what it was padded to, operands of one shape once; nothing if
    it was not."""
    shapes = dict.fromkeys(wide)
    texts = [" x ".join(f"{length:,}" for length in one) for one in shapes]
    return f", padded to {' and '.join(texts)}" if set(shapes) != {shape} else ""


def smaller_than_a_block(s: int, *sides: int) -> Rows:
    """A row for operands of which a side is less than that of a block; none for others."""
    if min(sides) >= s:
        return []
    return [("padding", f"operands are smaller than a block of {s:,} x {s:,}: padded to one")]
