"""Which side of the scratchpads an operand is in, and whether the other one is free."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...spec.tensaurus import TensaurusConfig
from ...spec.tensaurus_tiles import OPERANDS

__all__ = ["MOST_TILES", "OperandSides"]

MOST_TILES = 7
"""Tiles that a row may have been told of and still work on."""


class OperandSides(wiring.Component):
    """Keeps a side for each operand, and counts the tiles that rows still work on.

    The tiles that used the other side of an operand were told before the tile for which it was
    loaded last. So the other side is free if no row works on more tiles than were told since.

    Members
    -------
    loaded: in; a bit for each operand, a pulse: it is in its other side now
    told: in, a pulse: the rows may work on a further tile; only with ``room``
    row_done: in; a bit for each row, a pulse: it has read all that it needs of its tile; means
        nothing from a row without a tile
    sides: out; a bit for each operand
    free: out; a bit for each operand: no row reads its other side
    room: out; rows may be told of a further tile
    clear: in; as after reset
    """

    def __init__(self, config: TensaurusConfig) -> None:
        self._rows = config.rows
        super().__init__(
            {
                "loaded": In(OPERANDS),
                "told": In(1),
                "row_done": In(config.rows),
                "sides": Out(OPERANDS),
                "free": Out(OPERANDS),
                "room": Out(1),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        tiles = [Signal(range(MOST_TILES + 1), name=f"tiles_{row}") for row in range(self._rows)]
        m.d.comb += self.room.eq(Cat(count != MOST_TILES for count in tiles).all())
        for row, count in enumerate(tiles):
            m.d.sync += count.eq(count + self.told - (self.row_done[row] & (count != 0)))
        for operand in range(OPERANDS):
            # Since it was loaded; more than a row can have of them is as good as that many.
            since = Signal(range(MOST_TILES + 1), name=f"since_{operand}")
            m.d.comb += self.free[operand].eq(Cat(count <= since for count in tiles).all())
            with m.If(self.loaded[operand]):
                m.d.sync += since.eq(0)
            with m.Elif(self.told):
                m.d.sync += since.eq(Mux(since == MOST_TILES, since, since + 1))
            with m.If(self.clear):
                m.d.sync += since.eq(0)
        m.d.sync += self.sides.eq(self.sides ^ self.loaded)
        with m.If(self.clear):
            m.d.sync += [self.sides.eq(0), *(count.eq(0) for count in tiles)]
        return m
