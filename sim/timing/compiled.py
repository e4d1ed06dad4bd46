"""Python compiled to machine code, kept between runs."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba.core import config

from ...hw.spec.cache import cache_directory

__all__ = ["allocating", "compiled", "inlined"]

_Function = TypeVar("_Function", bound=Callable[..., Any])


@lru_cache(maxsize=1)
def _directory() -> str:
    """Where machine code is kept: another place for every state of this room's sources.

    Numba looks only at the file that a function is in, not at those of the functions it calls.
    """
    sources = sorted(Path(__file__).parents[1].rglob("*.py"))
    state = hashlib.sha256()
    for source in sources:
        text = source.read_bytes()
        if b"compiled" in text:
            state.update(text)
    return str(cache_directory() / f"numba-{state.hexdigest()[:16]}")


def _kept(function: _Function, **options: Any) -> _Function:
    before = config.CACHE_DIR
    config.CACHE_DIR = _directory()
    try:
        return numba.njit(cache=True, error_model="numpy", **options)(function)
    finally:
        config.CACHE_DIR = before


def compiled(function: _Function) -> _Function:
    """A function as machine code; numbers as NumPy has them: no error when dividing by zero.

    It works in arrays that it is given, and makes none: then references need not be counted.
    """
    return _kept(function, _nrt=False)


def allocating(function: _Function) -> _Function:
    """As `compiled`, for a function that makes arrays."""
    return _kept(function)


def inlined(function: _Function) -> _Function:
    """A part of compiled functions: it becomes part of each that calls it, so that tuples of arrays
    cost nothing to pass."""
    return numba.njit(inline="always", error_model="numpy", _nrt=False)(function)
