"""``tilewright board``: the group of what is done with boards."""

from __future__ import annotations

from collections.abc import Sequence

import typer

from .registered_group import registered_group

__all__ = ["board"]


def board(words: Sequence[str]) -> typer.Typer:
    """Put an accelerator on a board, with memory and a bridge to the host."""
    return registered_group("board", words)
