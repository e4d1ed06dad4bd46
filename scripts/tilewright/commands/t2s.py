"""``tilewright t2s``: the group of what is done with a mapping."""

from __future__ import annotations

from collections.abc import Sequence

import typer

from .registered_group import registered_group

__all__ = ["t2s"]


def t2s(words: Sequence[str]) -> typer.Typer:
    """Show and check spatial mappings of tensor computations."""
    return registered_group("t2s", words)
