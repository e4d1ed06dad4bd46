"""What is known of a module before it becomes Verilog."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["Block"]


@dataclass(frozen=True, kw_only=True)
class Block:
    """A module: its name, its ports ("i" or "o"; clock and reset first), its RTLIL; ``comment``
    says what it is, a line each."""

    module: str
    ports: Mapping[str, str]
    rtlil: str
    comment: tuple[str, ...] = ()
