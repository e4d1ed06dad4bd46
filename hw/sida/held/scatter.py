"""Elements of sets to the banks that they name, those of a bank in order."""

from __future__ import annotations

from amaranth.hdl import Array, Cat, Module, ShapeLike, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...stream.ring import ring_address
from .scatter_bank import ScatterBank, scattered_layout, turn_layout

__all__ = ["Scatter", "scatter_layout"]


def scatter_layout(payload: ShapeLike, width: int) -> data.StructLayout:
    """A set of ``width`` elements: of each whether it is ``valid``, its ``bank``, its ``payload``;
    and a ``mark`` that all banks get behind them."""
    leaf = data.StructLayout(
        {"valid": 1, "bank": unsigned((width - 1).bit_length()), "payload": payload}
    )
    return data.StructLayout({"mark": 1, "leaves": data.ArrayLayout(leaf, width)})


class Scatter(wiring.Component):
    """Keeps the last ``window`` sets, from which each bank takes its elements one by one.

    A bank gets its elements in order: sets as they came, leaves ascending. Banks go through the
    sets on their own, so that many elements of a set for one bank hold up no other; a leaf of the
    window gives one element a cycle. One set a cycle; latency two cycles.

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
        width, window = self._width, self._window
        taken = Signal()
        slot = ring_address(m, "slot", window, advance=taken, clear=self.clear)
        # Leaves that have not been taken, by slot.
        waiting = [Signal(width, name=f"waiting_{n}") for n in range(window)]
        banks = [ScatterBank(self._payload, width, window) for _ in range(width)]
        wanted = [Signal(width, name=f"wanted_{bank}") for bank in range(width)]
        valid = Cat(leaf.valid for leaf in self.i.payload.leaves)
        m.d.comb += [
            self.i.ready.eq(~Array(waiting)[slot].any() & Cat(b.room for b in banks).all()),
            taken.eq(self.i.valid & self.i.ready),
        ]
        for n, bank in enumerate(banks):
            m.submodules[f"bank_{n}"] = bank
            turn = data.View(turn_layout(width, window), bank.turn)
            m.d.comb += [
                wanted[n].eq(Cat(v.valid & (v.bank == n) for v in self.i.payload.leaves)),
                turn.slot.eq(slot),
                turn.leaves.eq(wanted[n]),
                turn.mark.eq(self.i.payload.mark),
                bank.take.eq(taken & (wanted[n].any() | self.i.payload.mark)),
                bank.clear.eq(self.clear),
            ]
            wiring.connect(m, bank.o, wiring.flipped(self.o[n]))
        found, gone = self._leaves(m, banks, taken, slot)
        for bank in banks:
            chosen = [found[k] & bank.given[k].replicate(len(found[k])) for k in range(width)]
            total = chosen[0]
            for value in chosen[1:]:
                total = total | value
            m.d.comb += Cat(bank.element).eq(total)
        for n in range(window):
            left = waiting[n] & ~Cat(one & (at == n) for one, at in gone)
            m.d.sync += waiting[n].eq(left)
            with m.If(taken & (slot == n)):
                m.d.sync += waiting[n].eq(valid)
            with m.If(self.clear):
                m.d.sync += waiting[n].eq(0)
        return m

    def _leaves(
        self, m: Module, banks: list[ScatterBank], taken: Signal, slot: Signal
    ) -> tuple[list[Signal], list[tuple[Signal, Signal]]]:
        """Each leaf's memory, which the first bank that asks for it reads; what was read, and
        whether and in which slot."""
        found, gone = [], []
        for k in range(self._width):
            m.submodules[f"leaf_{k}"] = memory = Memory(
                shape=self._payload, depth=self._window, init=[]
            )
            write, read = memory.write_port(), memory.read_port(domain="comb")
            given = Signal(name=f"given_{k}")
            source = Signal.like(slot, name=f"source_{k}")
            content = Signal(len(Cat(read.data)), name=f"content_{k}")
            m.d.comb += [
                write.en.eq(taken & self.i.payload.leaves[k].valid),
                write.addr.eq(slot),
                write.data.eq(self.i.payload.leaves[k].payload),
                read.addr.eq(source),
                content.eq(Cat(read.data)),
            ]
            asked = Cat(bank.asked[k] for bank in banks)
            m.d.comb += given.eq(asked.any())
            for n, bank in reversed(list(enumerate(banks))):
                with m.If(bank.asked[k]):
                    m.d.comb += source.eq(bank.slot)
                m.d.comb += bank.given[k].eq(bank.asked[k] & ~asked[:n].any())
            found.append(content)
            gone.append((given, source))
        return found, gone
