"""Checks that the refetched elements of a panel equal those that arrived by columns."""

from __future__ import annotations

from typing import ClassVar, Final

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...spec.sida import SidaConfig
from ...stream.ring import reads_with_writes
from .layouts import held_layout, late_layout, panel_bits, panels

HASH_BITS = 33
"""Bits of a hash, and of sums of hashes. With an odd number a round is one to one."""

_WORD_BITS = 32
_BEGIN = 0x19E3779B9
_TURNS = (13, 21)


def element_hash(m: Module, name: str, place: Value, value: Value) -> Signal:
    """Computes a hash of ``HASH_BITS`` of an element's place and value.

    Elements that differ only in a value of up to 32 bits have different hashes.

    Each 32 bits, from a new word on for the value, go through a round, and one is behind them: a
    sum over places that can be undone, then products of neighbours. Combinational; ``name`` is that
    of the signals.
    """
    words = [
        bits[first : first + _WORD_BITS]
        for bits in (Cat(place), Cat(value))
        for first in range(0, len(bits), _WORD_BITS)
    ]
    state: Value = Value.cast(_BEGIN)
    for number, word in enumerate(words):
        state = _round(m, f"{name}_{number}", state ^ word)
    return _round(m, name, state)


def _round(m: Module, name: str, state: Value) -> Signal:
    """Mixes the bits of a hash, one to one."""
    given = Signal(HASH_BITS, name=f"{name}_given")
    spread = Signal(HASH_BITS, name=f"{name}_spread")
    found = Signal(HASH_BITS, name=f"{name}_mixed")
    one, other = (given.rotate_left(turn) for turn in _TURNS)
    m.d.comb += [
        given.eq(state),
        spread.eq(given ^ one ^ other),
        found.eq(spread ^ (~spread.rotate_left(1) & spread.rotate_left(2))),
    ]
    return found


class PanelSum(wiring.Component):
    """Adds up the hashes of a bank's elements by panel, evicted or not.

    An element a cycle. A panel's sum is 0 again when it has been used. After a reset or a clear a
    walk goes over all panels, one a cycle, as that of :class:`PanelLists` does.

    Parameters
    ----------
    config: of the accelerator
    bank: its number

    Members
    -------
    comes, element: in; one is taken; not with ``order``
    order, panel, loses: in; see :class:`HeldBank`
    sum: out; a cycle after ``order``, of its panel
    clear: in; forgets everything
    """

    verilog_parameters: ClassVar = {"BANK": "bank"}

    def __init__(self, config: SidaConfig, bank: int) -> None:
        if not 0 <= bank < config.pes:
            raise ValueError(f"`bank` must be in 0..{config.pes - 1}, not {bank}")
        self.config: Final = config
        self._bank = bank
        super().__init__(
            {
                "comes": In(1),
                "element": In(held_layout(config)),
                "order": In(1),
                "panel": In(panel_bits(config)),
                "loses": In(1),
                "sum": Out(HASH_BITS),
                "clear": In(1),
            }
        )

    @property
    def bank(self) -> int:
        return self._bank

    def elaborate(self, platform: object) -> Module:
        m = Module()
        depth = panels(self.config)
        lanes = self.config.pes.bit_length() - 1
        m.submodules.sums = sums = Memory(shape=HASH_BITS, depth=depth, init=[])
        write = sums.write_port()
        looked_at = Signal(panel_bits(self.config))
        (found,) = reads_with_writes(m, sums, write, {"sum": looked_at})
        late = self.element.late
        column = Signal(lanes)
        hashed = Signal(HASH_BITS, reset_less=True)
        adds = Signal()
        empties = Signal()
        place = Signal.like(looked_at, reset_less=True)
        walk = Signal(range(depth + 1))
        ready = Signal()
        m.d.comb += [
            column.eq(self._bank - self.element.panel),
            looked_at.eq(Mux(self.order, self.panel, self.element.panel)),
            self.sum.eq(found),
            ready.eq(walk == depth),
            write.en.eq(adds | empties | ~ready),
            write.addr.eq(Mux(ready, place, walk)[: len(write.addr)]),
            write.data.eq(Mux(adds & ready, found + hashed, 0)),
        ]
        m.d.sync += [
            hashed.eq(element_hash(m, "hash", Cat(column, late.row, late.place), late.value)),
            adds.eq(self.comes & ~self.clear),
            empties.eq(self.order & ~self.loses),
            place.eq(looked_at),
        ]
        with m.If(self.clear):
            m.d.sync += walk.eq(0)
        with m.Elif(~ready):
            m.d.sync += walk.eq(walk + 1)
        return m


_TERMS = 4
"""Terms that are added up in a cycle."""


class PanelCheck(wiring.Component):
    """Compares the refetched elements of a panel with those that arrived by columns.

    It compares the sums of the hashes of rows, columns and values, when all have been refetched.

    A panel that is used as it was held is not compared. Elements are seen as the banks and the sums
    take them: nothing waits for this. What is wrong is known some cycles behind ``reloaded``.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    comes, elements: in; by bank: it takes an element
    order, panel, loses: in; see :class:`HeldBank`
    reads, again: in; by bank of w: an element that is read again is taken
    reloads, reloaded, due: in; see :class:`PanelControl`
    wrong: out; until ``clear``: a panel was not what it had been
    row: out; its first one
    clear: in; forgets everything
    """

    def __init__(self, config: SidaConfig) -> None:
        self.config: Final = config
        pes = config.pes
        super().__init__(
            {
                "comes": In(pes),
                "elements": In(data.ArrayLayout(held_layout(config), pes)),
                "order": In(1),
                "panel": In(panel_bits(config)),
                "loses": In(1),
                "reads": In(pes),
                "again": In(data.ArrayLayout(late_layout(config), pes)),
                "reloads": In(1),
                "reloaded": In(1),
                "due": In(panel_bits(config)),
                "wrong": Out(1),
                "row": Out(config.place_bits),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        lanes = config.pes.bit_length() - 1
        fetched = Signal()
        lost = Signal()
        m.d.sync += fetched.eq(self.order & ~self.loses)
        m.d.comb += lost.eq(fetched & self.reloads)
        # Over all banks, 0 when a panel's elements have been refetched.
        differences = []
        for n in range(config.pes):
            m.submodules[f"sum_{n}"] = part = PanelSum(config, n)
            late = self.again[n]
            hashed = Signal(HASH_BITS, name=f"hashed_{n}", reset_less=True)
            takes = Signal(name=f"takes_{n}")
            difference = Signal(HASH_BITS, name=f"difference_{n}")
            m.d.comb += [
                part.comes.eq(self.comes[n]),
                part.element.eq(self.elements[n]),
                part.order.eq(self.order),
                part.panel.eq(self.panel),
                part.loses.eq(self.loses),
                part.clear.eq(self.clear),
            ]
            place = Cat(Const(n, lanes), late.row, late.place)
            m.d.sync += [
                hashed.eq(element_hash(m, f"hash_{n}", place, late.value)),
                takes.eq(self.reads[n]),
            ]
            # Never both: a panel's elements are taken when its sum has been looked at.
            with m.If(lost | takes):
                m.d.sync += difference.eq(difference + Mux(lost, part.sum, -hashed))
            with m.If(self.clear):
                m.d.sync += [takes.eq(0), difference.eq(0)]
            differences.append(difference)
        self._compare(m, differences)
        return m

    def _compare(self, m: Module, terms: list[Signal]) -> None:
        """Adds up what there is in each cycle, some at a time; it counts in the one behind
        ``reloaded``, in which no element is on its way."""
        ends = Signal()
        panel = Signal.like(self.due, reset_less=True)
        m.d.sync += [ends.eq(self.reloaded & ~self.clear), panel.eq(self.due)]
        level = 0
        while len(terms) > 1:
            sums = []
            for first in range(0, len(terms), _TERMS):
                total = Signal(HASH_BITS, name=f"total_{level}_{first}", reset_less=True)
                m.d.sync += total.eq(sum(terms[first : first + _TERMS]))
                sums.append(total)
            following = Signal(name=f"ends_{level}")
            its = Signal.like(self.due, name=f"panel_{level}", reset_less=True)
            m.d.sync += [following.eq(ends & ~self.clear), its.eq(panel)]
            terms, ends, panel, level = sums, following, its, level + 1
        shift = self.config.subtensor.bit_length() - 1
        with m.If(ends & (terms[0] != 0) & ~self.wrong):
            m.d.sync += [self.wrong.eq(1), self.row.eq(panel.shift_left(shift))]
        with m.If(self.clear):
            m.d.sync += self.wrong.eq(0)
