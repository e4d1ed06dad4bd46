"""A bank of w of which a part is on chip."""

from __future__ import annotations

from typing import Final

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...spec.sida import SidaConfig
from ...stream.queue import DeepQueue
from ...stream.ring import moved_count, reads_with_writes
from ..elementwise.layouts import values_layout
from ..held.late_sums import LateSums, first_layout, line_layout
from ..held.layouts import late_layout, place_bits, sided_layout, slot_bits
from ..operators import semiring_range

EXCHANGES = 16
"""Most rows in flight to the chip, or from it, at a time; a power of two."""


def tag_bits(config: SidaConfig) -> int:
    """Width of what tells rows of a slot apart, at least 1."""
    return max(1, place_bits(config) - slot_bits(config))


def slot_of(config: SidaConfig, place: Value) -> Value:
    """Returns the slot of a row of w on chip."""
    return place[: slot_bits(config)]


def tag_of(config: SidaConfig, place: Value) -> Value:
    """Returns the tag of a row: which of the rows of its slot it is."""
    tag = place[slot_bits(config) :]
    return tag if len(tag) else Cat(Const(0, 1))


def tag_layout(config: SidaConfig) -> data.StructLayout:
    """Tag of a slot: whether a row is ``present``, and which one."""
    return data.StructLayout({"present": 1, "tag": tag_bits(config)})


def tag_write_layout(config: SidaConfig) -> data.StructLayout:
    """Write of a slot's tag, if ``valid``; it is readable from the next cycle on."""
    return data.StructLayout({"valid": 1, "slot": slot_bits(config), "has": tag_layout(config)})


def wanted_layout(config: SidaConfig) -> data.StructLayout:
    """A row that an element waits for, if ``valid``."""
    return data.StructLayout({"valid": 1, "place": place_bits(config)})


def used_layout(config: SidaConfig) -> data.StructLayout:
    """A slot whose row an element is about to be added to, if ``valid``."""
    return data.StructLayout({"valid": 1, "slot": slot_bits(config)})


def row_values_layout(config: SidaConfig) -> data.StructLayout:
    """A row of w, with its number, ``place``."""
    return data.StructLayout({"place": place_bits(config), "values": values_layout(config)})


def entry_layout() -> data.StructLayout:
    """The number of an exchange, if ``valid``."""
    return data.StructLayout({"valid": 1, "entry": unsigned((EXCHANGES - 1).bit_length())})


def exchange_layout(config: SidaConfig) -> data.StructLayout:
    """An exchange that begins, if ``valid``: its number, ``entry``; the ``row`` of w that it is
    for, or any row of its slot; whether that is ``missing``; whether a row ``leaves``, and the
    ``tag`` of that one."""
    return data.StructLayout(
        {
            "valid": 1,
            "entry": entry_layout()["entry"].shape,
            "row": place_bits(config),
            "missing": 1,
            "leaves": 1,
            "tag": tag_bits(config),
        }
    )


class WaitingElement(wiring.Component):
    """Delays an element until its row is on chip, or it need not wait.

    One element per cycle; latency one cycle.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    opens: in; elements are taken
    i, o: streams of elements, see :func:`sided_layout`; one that does not go on may not be offered
        any more
    passes: in; the element goes on without its row
    holds: in; none goes on
    wants: out; see :func:`wanted_layout`: the row that is not on chip
    uses: out; see :func:`used_layout`: the slot of a row that is
    tags: in; see :func:`tag_write_layout`; what a slot has
    clear: in; forgets the element; not what slots have
    """

    def __init__(self, config: SidaConfig) -> None:
        self.config: Final = config
        element = stream.Signature(sided_layout(late_layout(config)))
        super().__init__(
            {
                "opens": In(1),
                "i": In(element),
                "o": Out(element),
                "passes": In(1),
                "holds": In(1),
                "wants": Out(wanted_layout(config)),
                "uses": Out(used_layout(config)),
                "tags": In(tag_write_layout(config)),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        element = Signal(self.i.payload.shape(), reset_less=True)
        waits = Signal()
        comes = Signal()
        goes = Signal()
        here = element.late.place
        m.submodules.tags = tags = Memory(
            shape=tag_layout(config), depth=1 << slot_bits(config), init=[]
        )
        write = tags.write_port()
        place = Mux(comes, self.i.payload.late.place, here)
        (word,) = reads_with_writes(m, tags, write, {"element": slot_of(config, place)})
        has = Signal(tag_layout(config))
        hits = has.present & (has.tag == tag_of(config, here))
        m.d.comb += [
            write.en.eq(self.tags.valid),
            write.addr.eq(self.tags.slot),
            write.data.eq(self.tags.has),
            has.eq(word),
            self.o.valid.eq(waits & (hits | self.passes) & ~self.holds),
            self.o.payload.eq(element),
            goes.eq(self.o.valid & self.o.ready),
            self.i.ready.eq(self.opens & (goes | ~waits)),
            comes.eq(self.i.valid & self.i.ready),
            self.wants.valid.eq(waits & ~hits & ~self.passes),
            self.wants.place.eq(here),
            self.uses.valid.eq(waits & hits),
            self.uses.slot.eq(slot_of(config, here)),
        ]
        with m.If(comes):
            m.d.sync += element.eq(self.i.payload)
        with m.If(self.clear):
            m.d.sync += waits.eq(0)
        with m.Else():
            m.d.sync += waits.eq(comes | (waits & ~goes))
        return m


_AHEAD = 4
"""Elements between the one that waits and the one whose row is requested."""


class CachedSums(wiring.Component):
    """Adds elements to the rows of w that are on chip, as :class:`LateSums` does.

    An element, and those behind it, wait until its row of w is on chip; the row of an element some
    places behind is requested meanwhile. One element per cycle; latency five cycles more.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    opens: in; elements are taken
    semiring: in; its number among ``config.operators``, constant during a pass
    i: stream of elements, see :func:`sided_layout`
    z: in; see :func:`line_layout`; a side in ``sides`` must not be written
    sides: out; by side of z, whether an element that waits needs it
    wants, wants_ahead: out; see :func:`wanted_layout`: a row that is not on chip, which an element
        waits for, or will
    answered: in; the row that will be waited for is on its way, or another one to its slot
    uses: out; see :func:`used_layout`: the slot of a row that is on chip, and must stay
    tags: in; see :func:`tag_write_layout`; what a slot has
    holds: in; no element goes on
    first: in; see :func:`first_layout`; a value of a row that comes on chip; all wait meanwhile
    reads, place, value: see :class:`LateSums`
    idle: out; nothing waits, and nothing is on its way
    clear: in; forgets what is on its way; not what slots have
    """

    def __init__(self, config: SidaConfig) -> None:
        self.config: Final = config
        super().__init__(
            {
                "opens": In(1),
                "semiring": In(semiring_range(config.operators)),
                "i": In(stream.Signature(sided_layout(late_layout(config)))),
                "z": In(line_layout(config)),
                "sides": Out(2),
                "wants": Out(wanted_layout(config)),
                "wants_ahead": Out(wanted_layout(config)),
                "answered": In(1),
                "uses": Out(used_layout(config)),
                "tags": In(tag_write_layout(config)),
                "holds": In(1),
                "first": In(first_layout(config)),
                "reads": In(1),
                "place": In(slot_bits(config)),
                "value": Out(config.format.bits),
                "idle": Out(1),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        m.submodules.ahead = ahead = WaitingElement(config)
        m.submodules.queue = queue = DeepQueue(self.i.payload.shape(), _AHEAD)
        m.submodules.head = head = WaitingElement(config)
        m.submodules.sums = sums = LateSums(config)
        wiring.connect(m, wiring.flipped(self.i), ahead.i)
        wiring.connect(m, ahead.o, queue.i)
        wiring.connect(m, queue.o, head.i)
        for part in (ahead, head):
            m.d.comb += [part.tags.eq(self.tags), part.clear.eq(self.clear)]
        given, late = sums.i.payload, head.o.payload.late
        m.d.comb += [
            ahead.opens.eq(self.opens),
            head.opens.eq(1),
            head.holds.eq(self.holds),
            queue.clear.eq(self.clear),
            self.wants.eq(head.wants),
            self.wants_ahead.eq(ahead.wants),
            self.uses.eq(head.uses),
            sums.i.valid.eq(head.o.valid),
            head.o.ready.eq(sums.i.ready),
            given.side.eq(head.o.payload.side),
            given.late.row.eq(late.row),
            given.late.place.eq(slot_of(config, late.place)),
            given.late.value.eq(late.value),
            self.value.eq(sums.value),
        ]
        for name in ("semiring", "z", "first", "reads", "place", "clear"):
            m.d.comb += getattr(sums, name).eq(getattr(self, name))
        # It is said of the element that is there.
        with m.If(self.clear | (ahead.o.valid & ahead.o.ready)):
            m.d.sync += ahead.passes.eq(0)
        with m.Elif(self.answered):
            m.d.sync += ahead.passes.eq(1)
        self._count(m, head, sums)
        return m

    def _count(self, m: Module, head: WaitingElement, sums: LateSums) -> None:
        """Elements that wait, by their side of z."""
        for side in (0, 1):
            inside = Signal(range(_AHEAD + 4), name=f"inside_{side}")
            comes = self.i.valid & self.i.ready & (self.i.payload.side == side)
            goes = head.o.valid & head.o.ready & (head.o.payload.side == side)
            m.d.sync += inside.eq(moved_count(inside, comes, goes))
            with m.If(self.clear):
                m.d.sync += inside.eq(0)
            m.d.comb += self.sides[side].eq(inside != 0)
        m.d.comb += self.idle.eq(sums.idle & ~self.sides.any())
