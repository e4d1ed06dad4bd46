"""Folds that have begun and whose rows are not fed yet."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...spec.gta import ROWS, GtaConfig
from ..fold_layouts import fold_layout, place_layout

__all__ = ["WaitingFold"]


class WaitingFold(wiring.Component):
    """Holds a fold until the lane's first row is to be fed.

    ``go`` comes 1 + 8 r cycles after ``valid``, r the lane's row in its region; in WS, where
    operands have to come down first, R + 8 r cycles, R the region's rows of elements. At least R
    cycles are between folds, so one waits for the operands, and one for its row.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    weights: in; WS
    place: in; of the lane in its region
    valid, fold: in; a fold begins
    go, o: out; its first row is to be fed
    """

    def __init__(self, config: GtaConfig) -> None:
        self._config = config
        super().__init__(
            {
                "weights": In(1),
                "place": In(place_layout(config)),
                "valid": In(1),
                "fold": In(fold_layout(config)),
                "go": Out(1),
                "o": Out(fold_layout(config)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        loads = Signal()
        loading = Signal(fold_layout(config), reset_less=True)
        left = Signal(range(ROWS * config.lanes))
        loaded = Signal()
        m.d.comb += loaded.eq(loads & (left == 1))
        with m.If(loads):
            m.d.sync += left.eq(left - 1)
        with m.If(loaded):
            m.d.sync += loads.eq(0)
        with m.If(self.valid & self.weights):
            m.d.sync += [
                loads.eq(1),
                loading.eq(self.fold),
                left.eq((self.place.rows << 3) - 1),
            ]
        waits = Signal()
        cycles = Signal(range(ROWS * config.lanes))
        m.d.comb += self.go.eq(waits & ~cycles.any())
        with m.If(waits & cycles.any()):
            m.d.sync += cycles.eq(cycles - 1)
        with m.If(self.go):
            m.d.sync += waits.eq(0)
        with m.If(loaded):
            m.d.sync += [waits.eq(1), self.o.eq(loading), cycles.eq(self.place.row << 3)]
        with m.Elif(self.valid & ~self.weights):
            m.d.sync += [waits.eq(1), self.o.eq(self.fold), cycles.eq(self.place.row << 3)]
        return m
