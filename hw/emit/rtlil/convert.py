"""A design as Amaranth's RTLIL, without what would be dropped at once.

Amaranth gives every field of every signal a wire of its own, which nothing reads, and spells out
the contents of a memory at power-up bit by bit, zeros, too. And it looks at each bit of each value
that it makes, whether it is one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from amaranth.back import rtlil
from amaranth.hdl import Format, _nir
from amaranth.hdl._ir import Design
from amaranth.hdl._mem import MemoryInstance

__all__ = ["convert"]


@contextmanager
def _without_fields(design: Design) -> Iterator[None]:
    """While this lasts, signals of the design have no fields."""
    divided = [
        (signal, signal._format)
        for signal in design.signal_lca
        if isinstance(signal._format, Format.Struct | Format.Array)
    ]
    whole = Format("")
    for signal, _ in divided:
        signal._format = whole
    try:
        yield
    finally:
        for signal, description in divided:
            signal._format = description


@contextmanager
def _without_zeros(design: Design) -> Iterator[None]:
    """While this lasts, memories that are written hold nothing at power-up, if they held zeros."""
    contents = {
        fragment: fragment._data._init._raw
        for fragment in design.fragments
        if isinstance(fragment, MemoryInstance)
        and fragment._write_ports
        and not any(fragment._data._init._raw)
    }
    for memory in contents:
        memory._data._init._raw = []
    try:
        yield
    finally:
        for memory, words in contents.items():
            memory._data._init._raw = words


@contextmanager
def _without_looking() -> Iterator[None]:
    """While this lasts, a value may be made of anything; Amaranth makes them of bits."""

    def plain(cls: type[Any], nets: Any = ()) -> Any:
        return tuple.__new__(cls, (nets,) if isinstance(nets, _nir.Net) else nets)

    looking = _nir.Value.__dict__["__new__"]
    _nir.Value.__new__ = staticmethod(plain)
    try:
        yield
    finally:
        _nir.Value.__new__ = looking


def convert(design: Design, name: str) -> str:
    """The RTLIL text of a prepared design of one module of this name."""
    with _without_fields(design), _without_zeros(design), _without_looking():
        text, _ = rtlil.convert_fragment(design, name=name, emit_src=False)
    return str(text)
