"""How many rows of a job each lane has."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["LaneRows"]

_BITS = 32


class LaneRows(wiring.Component):
    """Divides the rows among the lanes: lane ``n`` has rows ``n``, ``n + lanes``, ...

    Source: MatRaptor, section on the sparse matrix format.

    Parameters
    ----------
    lanes: number of lanes, at least 1

    Members
    -------
    start: pulse: divide
    rows: looked at with ``start``
    ready: the counts are there: 33 cycles after ``start``, or one if ``lanes`` is a power of two
    counts: rows of each lane
    """

    def __init__(self, lanes: int) -> None:
        self._lanes = lanes
        super().__init__(
            {
                "start": In(1),
                "rows": In(_BITS),
                "ready": Out(1),
                "counts": Out(data.ArrayLayout(_BITS, lanes)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        lanes = self._lanes
        shift = lanes.bit_length() - 1
        quotient: Value
        rest: Value
        if lanes == 1 << shift:
            rows = Signal(_BITS)
            with m.If(self.start):
                m.d.sync += rows.eq(self.rows)
            m.d.comb += self.ready.eq(1)
            quotient, rest = rows[shift:], rows[:shift]
        else:
            quotient, rest = self._divide(m)
        for lane in range(lanes):
            # The rest is less than the number of lanes.
            count = quotient + (rest > lane) if lane < lanes - 1 else quotient
            m.d.comb += self.counts[lane].eq(count)
        return m

    def _divide(self, m: Module) -> tuple[Value, Value]:
        """A bit of the quotient a cycle, the highest one first."""
        left = Signal(range(_BITS + 1))
        # The bits of the quotient take the place of those of the dividend.
        quotient = Signal(_BITS)
        rest = Signal(range(self._lanes))
        following = Signal(range(2 * self._lanes))
        fits = Signal()
        m.d.comb += [
            following.eq(Cat(quotient[-1], rest)),
            fits.eq(following >= self._lanes),
            self.ready.eq(left == 0),
        ]
        with m.If(self.start):
            m.d.sync += [left.eq(_BITS), quotient.eq(self.rows), rest.eq(0)]
        with m.Elif(~self.ready):
            m.d.sync += [
                left.eq(left - 1),
                quotient.eq(Cat(fits, quotient)),
                rest.eq(Mux(fits, following - self._lanes, following)),
            ]
        return quotient, rest
