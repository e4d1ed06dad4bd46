"""A small register map, accesses to it, and the cases that they are made under."""

from __future__ import annotations

from collections.abc import Iterable
from ctypes import c_void_p
from functools import cache
from typing import Any

import numpy as np
from tilewright.hw.axi.registers import AxiLiteRegisters
from tilewright.hw.emit.unit import emit_component
from tilewright.hw.spec.registers.register_map import Field, Register, RegisterMap
from tilewright.verif.axi.exhaustive.libraries import Library, Table, table_of
from tilewright.verif.axi.exhaustive.spoilt_registers import SpoiltRegisters

__all__ = ["SCRIPTS", "cases", "library"]

_FIELDS = (("rw", 32, 0x12345678), ("w1c", 8, 0), ("wo", 4, 0), ("ro", 8, 0))
_MAP = RegisterMap(
    registers=tuple(
        Register(
            name=name,
            offset=4 * n,
            access=access,
            fields=(Field(name="value", width=width, reset=reset),),
        )
        for n, (name, (access, width, reset)) in enumerate(
            zip(("VALUE", "FLAGS", "PULSE", "STATE"), _FIELDS, strict=True)
        )
    )
)

SCRIPTS = (
    # Words, data and strobes of two writes, words of two reads.
    ((0, 0), (0xA1B2C3D4, 0x55667788), (0b1111, 0b0110), (0, 0)),
    ((1, 0), (0x000000C5, 0xFFFFFFFF), (0b0001, 0b1000), (1, 0)),
    ((1, 1), (0x0000003A, 0x00000040), (0b1111, 0b0001), (1, 1)),
    ((2, 1), (0x0000000B, 0x000000FF), (0b1111, 0b1111), (3, 1)),
    ((4, 3), (0x00000001, 0x000000FF), (0b1111, 0b1111), (4, 3)),
)


@cache
def library(*, spoilt: bool = False) -> Library:
    """The library, with the scripts; ``spoilt``: of ``SpoiltRegisters``."""
    part = AxiLiteRegisters(_MAP, _MAP.address_bits + 1)
    top: Any = SpoiltRegisters(part) if spoilt else part
    found = Library(emit_component(top, name="registers"), "registers", {})
    for number, script in enumerate(SCRIPTS):
        words = np.array(script, np.uint32)
        found.call("script", number, c_void_p(words.ctypes.data))
    return found


def cases(
    *,
    delays: Iterable[int],
    reads: Iterable[tuple[int, int]],
    b: Iterable[Any],
    r: Iterable[Any],
    set_at: Iterable[int] = (-1,),
    clear_at: Iterable[int] = (-1,),
    patience: int,
) -> Table:
    """All combinations; see ``Case`` in registers.cpp. ``delays``: of each of the two addresses
    and of each of the two words of data; ``reads``: of the addresses of the reads."""
    each = list(delays)
    scripts = range(len(SCRIPTS))
    return table_of(scripts, each, each, each, each, reads, b, r, set_at, clear_at, [patience])
