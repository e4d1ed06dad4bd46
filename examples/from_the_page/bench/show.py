"""Prints bytes of memory as the pages show them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["show"]


def show(memory: npt.NDArray[Any], begin: int, count: int, per_line: int, title: str) -> None:
    """Print `count` bytes from address `begin` on, `per_line` in a line, below a title."""
    print(f"{title}:")
    for address in range(begin, begin + count, per_line):
        content = np.asarray(memory[address : min(address + per_line, begin + count)])
        print(f"  {address:#06x}: " + " ".join(f"{byte:02x}" for byte in content))
