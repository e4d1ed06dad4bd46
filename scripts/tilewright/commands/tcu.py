"""``tilewright tcu``: the group of what is said about the TCU model without running algorithms."""

from __future__ import annotations

from collections.abc import Sequence

import typer

from .registered_group import registered_group

__all__ = ["tcu"]


def tcu(words: Sequence[str]) -> typer.Typer:
    """Count the cost of algorithms on a tensor unit by the (m, l)-TCU model."""
    return registered_group("tcu", words)
