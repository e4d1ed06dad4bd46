"""Units into lines, and lines into units."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...spec.tensaurus import TensaurusConfig
from ...stream.ring import moved_count, ring_address
from .layouts import slot_read_layout

__all__ = ["UnitLines", "unit_of_lines"]


def unit_of_lines(m: Module, config: TensaurusConfig, lines: stream.Interface) -> Value:
    """The unit whose last line is at hand; lines before it are kept when they are taken."""
    bits = config.unit_values * config.sum_format.bits
    parts: list[Value] = [lines.payload.data]
    for number in range(config.unit_lines - 1):
        kept = Signal(8 * config.line_bytes, name=f"line_{number}", reset_less=True)
        with m.If(lines.valid & lines.ready):
            m.d.sync += kept.eq(parts[0])
        parts.insert(0, kept)
    return Cat(parts)[:bits]


class UnitLines(wiring.Component):
    """Reads sums in the order of their slots, and sends each as whole lines.

    A line a cycle.

    Parameters
    ----------
    config: see :class:`TensaurusConfig`

    Members
    -------
    sums: in, a pulse: one more can be read
    read: out; see :func:`slot_read_layout`
    unit: in; what was read, from a cycle after ``read`` until the next
    lines: stream; what is behind a unit is anything
    sent: out; bytes of the unit in the line that is taken in this cycle
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: TensaurusConfig) -> None:
        self._config = config
        super().__init__(
            {
                "sums": In(1),
                "read": Out(slot_read_layout(config)),
                "unit": In(config.unit_values * config.sum_format.bits),
                "lines": Out(stream.Signature(8 * config.line_bytes)),
                "sent": Out(range(config.line_bytes + 1)),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, read = self._config, self.read
        last = config.unit_lines - 1
        sums = Signal(range(config.memory_slots + 1))
        valid = Signal()
        taken = Signal()
        ends = Signal()
        slot = ring_address(m, "slot", config.memory_slots, advance=read.valid, clear=self.clear)
        line = ring_address(m, "line", config.unit_lines, advance=taken, clear=self.clear)
        rest = config.result_unit_bytes - last * config.line_bytes
        m.d.comb += [
            ends.eq(line == last),
            taken.eq(valid & self.lines.ready),
            read.valid.eq((sums != 0) & (~valid | (taken & ends))),
            read.slot.eq(slot),
            self.lines.valid.eq(valid),
            self.lines.payload.eq(
                self.unit.word_select(line, 8 * config.line_bytes) if last else self.unit
            ),
            self.sent.eq(Mux(taken, Mux(ends, rest, config.line_bytes), 0)),
        ]
        m.d.sync += [
            valid.eq(read.valid | (valid & ~(taken & ends))),
            sums.eq(moved_count(sums, self.sums, read.valid)),
        ]
        with m.If(self.clear):
            m.d.sync += [valid.eq(0), sums.eq(0)]
        return m
