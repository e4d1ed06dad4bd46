"""What a bank takes of the sets in a window."""

from __future__ import annotations

from amaranth.hdl import Module, ShapeLike, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...stream.ring import moved_count, ring_address

__all__ = ["ScatterBank", "scattered_layout", "turn_layout"]


def turn_layout(width: int, window: int) -> data.StructLayout:
    """A bank's part of a set: its ``slot`` in the window, the ``leaves`` that are the bank's, and
    whether a ``mark`` follows them."""
    return data.StructLayout({"slot": range(window), "leaves": width, "mark": 1})


def scattered_layout(payload: ShapeLike) -> data.StructLayout:
    """What a bank gets: an element, if ``present``, and a ``mark`` behind it, or that alone."""
    return data.StructLayout({"present": 1, "mark": 1, "payload": payload})


class ScatterBank(wiring.Component):
    """Asks for the elements of one bank, one at a time, sets in the order in which they came.

    Parameters
    ----------
    payload: shape of an element
    width: leaves of a set
    window: sets

    Members
    -------
    room: out; another set may come
    take: in; a set with something for this bank comes
    turn: in; see :func:`turn_layout`
    asked, slot: out; the leaf (one bit at most) and the slot of the element that is wanted
    given, element: in; the leaf (likewise) that is granted, and what is there, in the same cycle
    o: stream, see :func:`scattered_layout`
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, payload: ShapeLike, width: int, window: int) -> None:
        self._payload, self._width, self._window = payload, width, window
        super().__init__(
            {
                "room": Out(1),
                "take": In(1),
                "turn": In(turn_layout(width, window)),
                "asked": Out(width),
                "slot": Out(range(window)),
                "given": In(width),
                "element": In(payload),
                "o": Out(stream.Signature(scattered_layout(payload))),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        layout = turn_layout(self._width, self._window)
        m.submodules.turns = turns = Memory(shape=layout, depth=self._window, init=[])
        write, read = turns.write_port(), turns.read_port(domain="comb")
        level = Signal(range(self._window + 1))
        loads = Signal()
        busy = Signal()
        turn = Signal(layout, reset_less=True)
        first = Signal(self._width)
        rest = Signal(self._width)
        free = Signal()
        moves = Signal()
        ends = Signal()
        m.d.comb += [
            self.room.eq(level != self._window),
            write.en.eq(self.take),
            write.data.eq(self.turn),
            write.addr.eq(
                ring_address(m, "newest", self._window, advance=self.take, clear=self.clear)
            ),
            read.addr.eq(ring_address(m, "oldest", self._window, advance=loads, clear=self.clear)),
            free.eq(~self.o.valid | self.o.ready),
            rest.eq(turn.leaves & (turn.leaves - 1)),
            first.eq(turn.leaves & ~(turn.leaves - 1)),
            self.slot.eq(turn.slot),
            self.asked.eq(first & (busy & free).replicate(self._width)),
            moves.eq(busy & free & (self.given.any() | (turn.leaves == 0))),
            ends.eq(moves & (rest == 0)),
            loads.eq((level != 0) & (~busy | ends)),
        ]
        m.d.sync += level.eq(moved_count(level, self.take, loads))
        with m.If(loads):
            m.d.sync += [turn.eq(read.data), busy.eq(1)]
        with m.Elif(ends):
            m.d.sync += busy.eq(0)
        with m.Elif(moves):
            m.d.sync += turn.leaves.eq(rest)
        with m.If(free):
            m.d.sync += [
                self.o.valid.eq(moves),
                self.o.payload.present.eq(turn.leaves != 0),
                self.o.payload.mark.eq(turn.mark & (rest == 0)),
                self.o.payload.payload.eq(self.element),
            ]
        with m.If(self.clear):
            m.d.sync += [level.eq(0), busy.eq(0), self.o.valid.eq(0)]
        return m
