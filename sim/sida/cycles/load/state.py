"""State of the cycle model of the load half: fields of the machine's record."""

from __future__ import annotations

from typing import Any

__all__ = ["LOAD"]

LOAD: list[tuple[Any, ...]] = []
"""Fields of the machine."""
