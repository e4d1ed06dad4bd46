"""AXI4-Lite registers with addresses and data of writes in any order, at any distance.

In every cycle: a write takes effect, with its response, two cycles after the later one of its
address and its data, or in the cycle after the response before has gone; fields show what all
writes so far have made of them; reads answer with what the field held when the address was taken;
responses stay until READY and follow it not in the same cycle.
"""

from __future__ import annotations

from collections.abc import Iterable
from ctypes import c_void_p
from functools import cache
from typing import Any

import numpy as np
import pytest
from amaranth.hdl import Module, Signal
from tilewright.hw.axi.registers import AxiLiteRegisters
from tilewright.hw.emit.unit import emit_component
from tilewright.hw.spec.registers.register_map import Field, Register, RegisterMap
from tilewright.verif.axi.exhaustive.libraries import (
    ALWAYS,
    Library,
    SpoiltPart,
    Table,
    all_patterns,
    table_of,
)
from tilewright.verif.kit.sampling import by_size

WAYS = {
    "BVALID follows BREADY": "a VALID follows a READY",
    "RVALID follows RREADY": "a VALID follows a READY",
    "ARREADY follows RREADY": "a READY follows a READY",
    "ARREADY is late": "ARREADY does not wait for RREADY alone",
    "RVALID is late": "data do not come a cycle after their address",
    "BRESP does not stay": "b changes before ready",
    "RDATA does not stay": "r changes before ready",
    "BRESP is always OKAY": "another response",
    "RDATA is wrong": "other data",
    "a write is lost": "another value",
    "set bits are lost": "other flags",
    "cleared bits stay": "other flags",
    "a pulse is lost": "another pulse",
    "a response comes after the effect": "another value",
}
"""Defects of registers, each with the fault that must be found."""


class SpoiltRegisters(SpoiltPart):
    """The registers of the bench."""

    def __init__(self, inner: Any) -> None:
        super().__init__(inner, WAYS)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        inner, way = self._inner, self.pass_through(m)
        b_held, r_held = self.held(m, self.b, self.r)
        for name, port in (("BVALID follows BREADY", self.b), ("RVALID follows RREADY", self.r)):
            with m.If(way[name] & ~port.ready):
                m.d.comb += port.valid.eq(0)
        b, r = inner.b.payload, inner.r.payload
        response, data = self.b.payload.response, self.r.payload.data
        with m.If(way["BRESP does not stay"] & b_held):
            m.d.comb += response.eq(~b.response)
        with m.If(way["BRESP is always OKAY"]):
            m.d.comb += response.eq(0)
        with m.If(way["RDATA is wrong"] | (way["RDATA does not stay"] & r_held)):
            m.d.comb += data.eq(~r.data)
        with m.If(way["a write is lost"]):
            m.d.comb += inner.w.payload.strobe.eq(0)
        with m.If(way["set bits are lost"]):
            m.d.comb += inner.flags_set.eq(0)
        with m.If(way["cleared bits stay"]):
            m.d.comb += inner.flags_clear.eq(0)
        with m.If(way["a pulse is lost"]):
            m.d.comb += self.pulse.eq(0)
        with m.If(way["ARREADY follows RREADY"] & inner.r.valid & self.r.ready):
            m.d.comb += self.ar.ready.eq(1)
        late = Signal()
        m.d.sync += late.eq(inner.r.valid)
        with m.If(way["ARREADY is late"] & late & ~inner.r.valid):
            m.d.comb += [self.ar.ready.eq(0), inner.ar.valid.eq(0)]
        with m.If(way["RVALID is late"] & inner.r.valid & ~late):
            m.d.comb += [self.r.valid.eq(0), inner.r.ready.eq(0)]
        waits = Signal()
        m.d.sync += waits.eq(inner.b.valid & ~waits)
        with m.If(way["a response comes after the effect"] & inner.b.valid & ~waits):
            m.d.comb += [self.b.valid.eq(0), inner.b.ready.eq(0)]
        return m


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


SELDOM = [(1 << cycle, 8, 1) for cycle in range(8)]
"""READY in one of eight cycles: responses wait for long."""


def judged(what: str, table: Table) -> None:
    """Run cases, say how many, and fail with the first fault."""
    found = library().run(table)
    print(f"{what}: {found.runs} runs, {found.cycles} cycles, the longest {found.longest}, "
          f"{found.moved} accesses, data first in {found.overtakes}, at most "
          f"{found.idle_after} cycles apart")  # fmt: skip
    assert found.fault == ""
    assert found.runs == len(table)
    # Data came first, address came first, both came together.
    assert 0 < found.overtakes < found.runs
    assert found.idle_after > 2
    assert found.moved == 4 * found.runs


def test_address_and_data_in_any_order() -> None:
    """Writes while reads are in flight, with responses accepted in any cycle."""
    table = cases(
        delays=range(by_size(4, 4, 6)),
        reads=[(0, 0), (3, 0), (4, 1), (5, 3)],
        b=[*all_patterns(3, repeats=True), *SELDOM],
        r=[ALWAYS, (0b001, 3, 1), SELDOM[7]],
        set_at=by_size((-1,), (-1, 4), (-1, 3, 4, 5, 6)),
        patience=100,
    )
    judged("writes", table)


def test_reads_at_any_distance() -> None:
    table = cases(
        delays=(0, 1, 4),
        reads=[(first, second) for first in range(10) for second in range(4)],
        b=[ALWAYS, SELDOM[3]],
        r=[*all_patterns(3, repeats=True), *SELDOM],
        patience=100,
    )
    judged("reads", table)


def test_the_hardware_sets_bits_in_any_cycle() -> None:
    """Setting wins over clearing by a write of the same cycle."""
    table = cases(
        delays=(0, 1, 4), reads=[(0, 6)], b=[ALWAYS, SELDOM[3]], r=[ALWAYS],
        set_at=range(20), patience=100,
    )  # fmt: skip
    judged("bits set", table)


def test_the_hardware_clears_bits_in_any_cycle() -> None:
    """Setting wins over clearing, by the hardware in the same cycle as well."""
    table = cases(
        delays=(0, 1, 4), reads=[(0, 6)], b=[ALWAYS, SELDOM[3]], r=[ALWAYS],
        set_at=range(2, 9), clear_at=range(12), patience=100,
    )  # fmt: skip
    judged("bits cleared", table)


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_what_is_wrong_is_found(way: str) -> None:
    spoilt = library(spoilt=True)
    table = cases(
        delays=(0, 1), reads=[(0, 0), (0, 6)], b=[ALWAYS, SELDOM[3]], r=[ALWAYS, SELDOM[3]],
        set_at=(-1, 4), clear_at=(-1, 7), patience=100,
    )  # fmt: skip
    spoilt.call("spoil", 0)
    assert spoilt.run(table).fault == ""
    spoilt.call("spoil", 1 + [*WAYS].index(way))
    assert WAYS[way] in spoilt.run(table).fault
