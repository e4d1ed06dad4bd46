"""Elements of sets to the banks that they name, those of a bank in order."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, ShapeLike, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from .scatter_bank import ScatterBank, scattered_layout

__all__ = ["Scatter", "scatter_layout"]


def scatter_layout(payload: ShapeLike, width: int) -> data.StructLayout:
    """A set of ``width`` elements: of each whether it is ``valid``, its ``bank``, its ``payload``;
    and a ``mark`` that all banks get behind them."""
    leaf = data.StructLayout(
        {"valid": 1, "bank": unsigned((width - 1).bit_length()), "payload": payload}
    )
    return data.StructLayout({"mark": 1, "leaves": data.ArrayLayout(leaf, width)})


class Scatter(wiring.Component):
    """Gives each bank the sets that have elements for it, from which it takes them one by one.

    A bank gets its elements in order: sets as they came, leaves ascending. Each has a queue of its
    own, of ``window`` whole sets, so that many elements of a set for one bank hold up no other, and
    no bank waits for what another one reads. A set a cycle while all queues have room.

    Parameters
    ----------
    payload: shape of an element
    width: leaves of a set, and banks, a power of two
    window: sets, at least 2

    Members
    -------
    i: stream of sets, see :func:`scatter_layout`
    o: of each bank (array), see :func:`scattered_layout`
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, payload: ShapeLike, width: int, window: int) -> None:
        self._payload, self._width, self._window = payload, width, window
        super().__init__(
            {
                "i": In(stream.Signature(scatter_layout(payload, width))),
                "o": Out(stream.Signature(scattered_layout(payload))).array(width),
                "clear": In(1),
            }
        )

    @property
    def width(self) -> int:
        return self._width

    @property
    def window(self) -> int:
        return self._window

    def elaborate(self, platform: object) -> Module:
        m = Module()
        given = self.i.payload
        banks = [ScatterBank(self._payload, self._width, self._window) for _ in range(self._width)]
        m.d.comb += self.i.ready.eq(Cat(bank.i.ready for bank in banks).all())
        for n, bank in enumerate(banks):
            m.submodules[f"bank_{n}"] = bank
            wanted = Signal(self._width, name=f"wanted_{n}")
            m.d.comb += [
                wanted.eq(Cat(leaf.valid & (leaf.bank == n) for leaf in given.leaves)),
                bank.i.valid.eq(self.i.valid & self.i.ready & (wanted.any() | given.mark)),
                bank.i.payload.leaves.eq(wanted),
                bank.i.payload.mark.eq(given.mark),
                bank.clear.eq(self.clear),
            ]
            for kept, leaf in zip(bank.i.payload.payloads, given.leaves, strict=True):
                m.d.comb += Cat(kept).eq(Cat(leaf.payload))
            wiring.connect(m, bank.o, wiring.flipped(self.o[n]))
        return m
