"""Python compiled to machine code, kept between runs."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba.core import config

__all__ = ["compiled"]

_Function = TypeVar("_Function", bound=Callable[..., Any])


@lru_cache(maxsize=1)
def _directory() -> str:
    """Where machine code is kept: another place for every state of this folder's sources.

    Numba looks only at the file that a function is in, not at those of the functions it calls.
    """
    sources = sorted(Path(__file__).parent.glob("*.py"))
    state = hashlib.sha256()
    for source in sources:
        text = source.read_bytes()
        if b"compiled" in text:
            state.update(text)
    if chosen := os.environ.get("TILEWRIGHT_CACHE"):
        cache = Path(chosen)
    else:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        cache = Path(base) / "tilewright"
    return str(cache / f"numba-{state.hexdigest()[:16]}")


def compiled(function: _Function) -> _Function:
    """Compile without the interpreter (Numba, nopython); the first call of a version compiles."""
    before = config.CACHE_DIR
    config.CACHE_DIR = _directory()
    try:
        return numba.njit(cache=True, error_model="numpy")(function)
    finally:
        config.CACHE_DIR = before
