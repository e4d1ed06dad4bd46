"""Which lanes exchange data, and where each stands in its region."""

from __future__ import annotations

from amaranth.hdl import Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..spec.gta import GtaConfig
from .fold_layouts import place_layout
from .layouts import csr_layout

__all__ = ["MaskMatch"]


class MaskMatch(wiring.Component):
    """Lanes exchange data only with lanes of the same mask.

    Source: the paper's section 4.2, Figure 4(e). With c lanes across, lane n stands in row n / c
    and column n mod c. It passes its x to lane n + 1 in the same row, its sums to lane n + c, if
    their masks are the same. Places in regions, which have to be rectangles, are counted from lane
    to lane, one a cycle: ``settled`` says that this is over; until then nothing may run.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    csr: in; see :func:`csr_layout`
    places: out; by lane
    settled: out; the places are those of ``csr`` as it is
    """

    def __init__(self, config: GtaConfig) -> None:
        self._config = config
        super().__init__(
            {
                "csr": In(csr_layout(config)),
                "places": Out(data.ArrayLayout(place_layout(config), config.lanes)),
                "settled": Out(1),
            }
        )

    @property
    def config(self) -> GtaConfig:
        return self._config

    def elaborate(self, platform: object) -> Module:
        m = Module()
        lanes = self._config.lanes
        seen = Signal(csr_layout(self._config))
        wait = Signal(range(2 * lanes + 5), init=2 * lanes + 4)
        m.d.sync += seen.eq(self.csr)
        m.d.comb += self.settled.eq(~wait.any())
        with m.If(seen.as_value() != self.csr.as_value()):
            m.d.sync += wait.eq(2 * lanes + 4)
            m.d.comb += self.settled.eq(0)
        with m.Elif(wait.any()):
            m.d.sync += wait.eq(wait - 1)
        across = [1 << n for n in range(lanes.bit_length())]
        behind = {
            n: self._same(m, f"left_of_{n}", n, seen, {c: n - 1 for c in across if n % c})
            for n in range(lanes)
        }
        below = {
            n: self._same(m, f"above_{n}", n, seen, {c: n - c for c in across if n >= c})
            for n in range(lanes)
        }
        ones, layout = dict.fromkeys(across, 1), seen.layout
        right = self._count(m, "columns_right", behind, layout, ones, forward=False)
        column = self._count(m, "columns_left", behind, layout, ones, forward=True)
        steps = {c: c for c in across}
        under = self._count(m, "rows_below", below, layout, steps, forward=False)
        row = self._count(m, "rows_above", below, layout, steps, forward=True)
        for n, place in enumerate(self.places):
            m.d.sync += [
                place.row.eq(row[n]),
                place.column.eq(column[n]),
                place.rows.eq(row[n] + under[n] + 1),
                place.columns.eq(column[n] + right[n] + 1),
                place.left.eq(column[n] == 0),
                place.top.eq(row[n] == 0),
                place.bottom.eq(under[n] == 0),
                place.right.eq(right[n] == 0),
            ]
        return m

    def _same(
        self,
        m: Module,
        name: str,
        lane: int,
        csr: data.View[data.StructLayout],
        others: dict[int, int],
    ) -> Value:
        """Whether the neighbour, by number of lanes across, has the same mask."""
        if not others:
            return Const(0)
        same = Signal(name=name)
        found: Value = Const(0)
        for c, other in others.items():
            is_layout = csr.layout == c.bit_length() - 1
            found = found | (is_layout & (csr.masks[lane] == csr.masks[other]))
        m.d.sync += same.eq(found)
        return same

    def _count(
        self,
        m: Module,
        name: str,
        same: dict[int, Value],
        layout: Value,
        steps: dict[int, int],
        *,
        forward: bool,
    ) -> list[Signal]:
        """How many neighbours in one direction a lane has in its region.

        ``same``: the lane and its left, or upper, neighbour are of one region. ``steps``: by number
        of lanes across, how far that neighbour's number is away.
        """
        lanes = self._config.lanes
        counts = [Signal(range(lanes), name=f"{name}_{n}") for n in range(lanes)]
        for n, count in enumerate(counts):
            found: Value = Const(0, len(count))
            for c, step in steps.items():
                other = n - step if forward else n + step
                if not 0 <= other < lanes:
                    continue
                joined = same[n] if forward else same[other]
                further = Mux(joined, counts[other] + 1, 0)
                found = Value.cast(Mux(layout == c.bit_length() - 1, further, found))
            m.d.sync += count.eq(found)
        return counts
