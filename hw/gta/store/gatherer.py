"""Bytes of a row from the banks in which they lie."""

from __future__ import annotations

from amaranth.hdl import Array, Cat, Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ...spec.gta import BANKS, LEFT_WORD_BYTES, GtaConfig
from ...spec.jobs.gta_commands import DEALS
from ..control.layouts import place_layout
from ..control.row_walk import log2

__all__ = ["Gatherer"]

_HALF = LEFT_WORD_BYTES // 2


class Gatherer(wiring.Component):
    """Takes 16 bytes of a row out of the words of a lane's banks, dealt out as results are. No
    latency.

    Parameters
    ----------
    config: see :class:`GtaConfig`

    Members
    -------
    deal: in; the number of the deal, of elements of 4 bytes or more
    place: in; of the bytes
    words: in; of all banks, 16 bytes each
    data: out; the bytes
    """

    def __init__(self, config: GtaConfig) -> None:
        super().__init__(
            {
                "deal": In(range(len(DEALS))),
                "place": In(place_layout(config)),
                "words": In(data.ArrayLayout(8 * LEFT_WORD_BYTES, BANKS)),
                "data": Out(8 * LEFT_WORD_BYTES),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        pair = Signal(data.ArrayLayout(8 * LEFT_WORD_BYTES, 2))
        first, half = self.place.bank[0], self.place.position[log2(_HALF)]
        pairs = [Cat(self.words[bank], self.words[bank + 1]) for bank in range(0, BANKS, 2)]
        one = Signal(8 * LEFT_WORD_BYTES)
        halves = Signal(data.ArrayLayout(8 * _HALF, 2))
        m.d.comb += [
            pair.eq(Array(pairs)[self.place.bank[1:]]),
            one.eq(Array([pair[0], pair[1]])[first]),
            *(halves[n].eq(pair[n].word_select(half, 8 * _HALF)) for n in range(2)),
        ]
        # Elements of 4 bytes lie in turn in two banks, of 8 bytes there is one in each half.
        words = [halves[n % 2].word_select(n // 2, 32) for n in range(4)]
        ways = {4: Cat(words), 8: Cat(halves[0], halves[1])}
        choice = [one if deal.banks == 1 else ways.get(deal.element, one) for deal in DEALS]
        m.d.comb += self.data.eq(Array(choice)[self.deal])
        return m
