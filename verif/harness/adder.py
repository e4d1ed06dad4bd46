"""A small unit of streams, which may break their rules, and what it should give."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from amaranth import Module, Signal
from amaranth.hdl import Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from tilewright.hw.emit.unit import Emitted, emit_component

LAYOUT = data.StructLayout({
    "op": 3,
    "a": data.ArrayLayout(16, 5),
    "wide": 70,
    "c": data.ArrayLayout(12, 6),
})  # fmt: skip
RESULT = data.StructLayout({"error": 1, "sum": 40, "a": data.ArrayLayout(16, 5), "c": 72})
DEPTH = 3


class Adder(wiring.Component):
    """Test unit: ``sum = a[0] + a[1] + op``, the rest passed on, ``DEPTH`` registers.

    ``fault`` makes it break the stream rules: "drop" (valid goes away), "change" (payload
    changes), "hang" (no result ever).
    """

    def __init__(self, fault: str = "") -> None:
        self.fault = fault
        super().__init__({"i": In(stream.Signature(LAYOUT)), "o": Out(stream.Signature(RESULT))})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        valid = Signal(DEPTH)
        stage = [Signal(RESULT, name=f"stage_{n}") for n in range(DEPTH)]
        ready = Signal()
        m.d.comb += [
            ready.eq(~valid[-1] | self.o.ready),
            self.i.ready.eq(ready),
            self.o.valid.eq(valid[-1]),
            self.o.payload.eq(stage[-1]),
        ]
        i = self.i.payload
        with m.If(ready):
            m.d.sync += valid.eq((valid << 1) | self.i.valid)
            m.d.sync += [
                stage[0].sum.eq(i.a[0] + i.a[1] + i.op),
                stage[0].error.eq(i.wide[69]),
                stage[0].a.eq(i.a),
                stage[0].c.eq(Value.cast(i.c)),
            ]
            for before, after in itertools.pairwise(stage):
                m.d.sync += after.eq(before)
        if self.fault == "drop":
            with m.If(~ready):
                m.d.sync += valid[-1].eq(0)
        elif self.fault == "change":
            m.d.sync += stage[-1].sum.eq(stage[-1].sum + 1)
        elif self.fault == "hang":
            m.d.comb += self.o.valid.eq(0)
        return m


def build(fault: str = "") -> Emitted:
    """The test unit's Verilog and sidecar."""
    return emit_component(Adder(fault), name="adder")


def stimuli(count: int, seed: int) -> dict[str, np.ndarray]:
    """Random operations, field by field."""
    draw = np.random.default_rng(seed)
    wide = draw.integers(0, 1 << 32, (count, 3), dtype=np.uint32)
    wide[:, 2] &= 0x3F
    return {
        "op": draw.integers(0, 8, count, dtype=np.uint8),
        "a": draw.integers(0, 1 << 16, (count, 5), dtype=np.uint16),
        "wide": wide,
        "c": draw.integers(0, 1 << 12, (count, 6), dtype=np.uint16),
    }


def check(fields: dict[str, np.ndarray], results: dict[str, np.ndarray]) -> None:
    """Raise AssertionError unless the results are those of the operations."""
    total = fields["a"][:, 0].astype(np.uint64) + fields["a"][:, 1] + fields["op"]
    np.testing.assert_array_equal(results["sum"], total)
    np.testing.assert_array_equal(results["a"], fields["a"])
    np.testing.assert_array_equal(results["error"], fields["wide"][:, 2] >> 5)
