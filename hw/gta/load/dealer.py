"""Bytes of a row to the banks that they belong to."""

from __future__ import annotations

from amaranth.hdl import Array, Cat, Const, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...spec.gta import BANKS, LEFT_WORD_BYTES, GtaConfig
from ...spec.jobs.gta_commands import DEALS, MEMORIES, Deal
from ..control.layouts import chunk_bytes, place_layout
from ..control.row_walk import log2
from ..layouts import write_layout

__all__ = ["Dealer"]


def _spread(deal: Deal, chunk: int) -> int:
    """Over how many banks a chunk goes."""
    return min(deal.banks, max(1, chunk // deal.element))


def _source(deal: Deal, bank: int, byte: int) -> int:
    """Which byte of 16 goes to a byte of a bank's word, if that gets one at all."""
    banks = _spread(deal, LEFT_WORD_BYTES)
    nth, within = divmod(byte % (LEFT_WORD_BYTES // banks), deal.element)
    return (nth * banks + bank % banks) * deal.element + within


class Dealer(wiring.Component):
    """Deals a chunk of a row out to the banks of a lane. No latency.

    A chunk of 8 bytes is doubled: where they go is a matter of the mask.

    Parameters
    ----------
    config: see :class:`GtaConfig`

    Members
    -------
    deal, memory: in; their numbers
    place: in; of the chunk
    data, valid: in; its bytes, and which of them count
    write: out; all of it but ``enable``
    """

    def __init__(self, config: GtaConfig) -> None:
        self._config = config
        chunk = chunk_bytes(config)
        super().__init__(
            {
                "deal": In(range(len(DEALS))),
                "memory": In(range(len(MEMORIES))),
                "place": In(place_layout(config)),
                "data": In(8 * chunk),
                "valid": In(chunk),
                "write": Out(write_layout(config)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        chunk = chunk_bytes(self._config)
        copies = LEFT_WORD_BYTES // chunk
        # Each byte with its valid bit, moved together.
        marked = [Cat(self.data.word_select(n, 8), self.valid[n]) for n in range(chunk)] * copies
        here, there = self._targets(m, chunk)
        ways: dict[tuple[int, ...], int] = {}
        numbers = []
        for deal in DEALS:
            way = tuple(_source(deal, bank, 0) for bank in range(BANKS))
            way += tuple(_source(deal, 0, byte) for byte in range(LEFT_WORD_BYTES))
            numbers.append(ways.setdefault(way, len(ways)))
        way_of = Array(Const(number, range(len(ways))) for number in numbers)
        way_now = Signal(range(len(ways)))
        m.d.comb += way_now.eq(way_of[self.deal])
        firsts = [DEALS[numbers.index(number)] for number in range(len(ways))]
        for bank in range(BANKS):
            for byte in range(LEFT_WORD_BYTES):
                chosen = Signal(9, name=f"byte_{bank}_{byte}")
                sources = [marked[_source(deal, bank, byte)] for deal in firsts]
                m.d.comb += [
                    chosen.eq(Array(sources)[way_now]),
                    self.write.data[bank].word_select(byte, 8).eq(chosen[:8]),
                    self.write.mask[bank][byte].eq(chosen[8] & here[bank] & there[byte]),
                ]
        m.d.comb += [
            self.write.memory.eq(self.memory),
            self.write.address.eq(self.place.word),
            self.write.lanes.eq(Cat(self.place.lane == n for n in range(self._config.lanes))),
        ]
        return m

    def _targets(self, m: Module, chunk: int) -> tuple[Value, Value]:
        """Which banks, and which bytes of their words, get some."""
        here = Signal(BANKS)
        there = Signal(LEFT_WORD_BYTES)
        spreads = sorted({_spread(deal, chunk) for deal in DEALS})
        spread_of = Array(
            Const(spreads.index(_spread(deal, chunk)), range(len(spreads))) for deal in DEALS
        )
        spread = Signal(range(len(spreads)))
        m.d.comb += spread.eq(spread_of[self.deal])
        banks, bytes_ = [], []
        for count in spreads:
            width = chunk // count
            banks.append(
                Cat(self.place.bank[log2(count) :] == n // count for n in range(BANKS))
                if count < BANKS
                else Const((1 << BANKS) - 1, BANKS)
            )
            bytes_.append(
                Cat(
                    self.place.position[log2(width) :] == n // width for n in range(LEFT_WORD_BYTES)
                )
                if width < LEFT_WORD_BYTES
                else Const((1 << LEFT_WORD_BYTES) - 1, LEFT_WORD_BYTES)
            )
        m.d.comb += [here.eq(Array(banks)[spread]), there.eq(Array(bytes_)[spread])]
        return here, there
