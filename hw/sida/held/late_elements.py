"""Selects the deferred elements of the matrix, and distributes them to banks."""

from __future__ import annotations

from typing import ClassVar, Final

from amaranth.hdl import Cat, Module, Mux, ShapeLike, Signal, Value, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...spec.sida import DELAY, SidaConfig
from ...stream.queue import DeepQueue
from ..layouts import count_bits, set_layout
from .layouts import held_layout, row_bits


def share_layout(payload: ShapeLike, width: int) -> data.StructLayout:
    """A bank's part of a set: the ``leaves`` that are the bank's; whether a ``mark`` follows them;
    all ``payloads``."""
    return data.StructLayout(
        {"leaves": width, "mark": 1, "payloads": data.ArrayLayout(payload, width)}
    )


def scattered_layout(payload: ShapeLike) -> data.StructLayout:
    """Output of a scatter to a bank: an element, if ``present``; a ``mark`` after it, or alone."""
    return data.StructLayout({"present": 1, "mark": 1, "payload": payload})


class ScatterBank(wiring.Component):
    """Queues sets, and takes the bank's elements out of each, in ascending order of leaves.

    An element a cycle; latency three cycles.

    Parameters
    ----------
    payload: shape of an element
    width: leaves of a set
    window: sets

    Members
    -------
    i: stream, see :func:`share_layout`, of sets with something for this bank
    o: stream, see :func:`scattered_layout`
    clear: in; forgets everything at the end of the cycle
    """

    verilog_parameters: ClassVar = {"WIDTH": "payload", "WINDOW": "window"}

    def __init__(self, payload: ShapeLike, width: int, window: int) -> None:
        self._payload, self._width, self._window = payload, width, window
        super().__init__(
            {
                "i": In(stream.Signature(share_layout(payload, width))),
                "o": Out(stream.Signature(scattered_layout(payload))),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.sets = sets = DeepQueue(self.i.payload.shape(), self._window)
        wiring.connect(m, wiring.flipped(self.i), sets.i)
        share = sets.o.payload
        gone = Signal(self._width)
        left = Signal(self._width)
        first = Signal(self._width)
        free = Signal()
        moves = Signal()
        ends = Signal()
        m.d.comb += [
            sets.clear.eq(self.clear),
            free.eq(~self.o.valid | self.o.ready),
            left.eq(share.leaves & ~gone),
            first.eq(left & ~(left - 1)),
            moves.eq(sets.o.valid & free),
            ends.eq(left == first),
            sets.o.ready.eq(free & ends),
        ]
        with m.If(moves):
            m.d.sync += gone.eq(Mux(ends, 0, gone | first))
        with m.If(free):
            m.d.sync += [
                self.o.valid.eq(moves),
                self.o.payload.present.eq(left.any()),
                self.o.payload.mark.eq(share.mark & ends),
                Cat(self.o.payload.payload).eq(self._chosen(share, first)),
            ]
        with m.If(self.clear):
            m.d.sync += [gone.eq(0), self.o.valid.eq(0)]
        return m

    def _chosen(self, share: data.View, first: Signal) -> Value:
        found: Value = Cat(share.payloads[0]) & first[0].replicate(len(Cat(share.payloads[0])))
        for n in range(1, self._width):
            payload = Cat(share.payloads[n])
            found = found | (payload & first[n].replicate(len(payload)))
        return found


def scatter_layout(payload: ShapeLike, width: int) -> data.StructLayout:
    """A set of ``width`` elements: of each whether it is ``valid``, its ``bank``, its ``payload``;
    and a ``mark`` that all banks get behind them."""
    leaf = data.StructLayout(
        {"valid": 1, "bank": unsigned((width - 1).bit_length()), "payload": payload}
    )
    return data.StructLayout({"mark": 1, "leaves": data.ArrayLayout(leaf, width)})


class Scatter(wiring.Component):
    """Distributes the elements of sets to banks, which take them one by one.

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

    verilog_parameters: ClassVar = {"WIDTH": "payload", "WINDOW": "window"}

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


class LateElements(wiring.Component):
    """Selects the deferred elements of a set: their rows are less than two steps behind.

    Element (row, column) of panel p goes to bank (column + p) % pes, so that a long column is in
    all banks and each bank has columns of its own while a panel is used. Sets without a late
    element are left out, but for those that complete a step: they carry a mark. Combinational.

    Transposed, rows and columns change their roles, and all elements are late: an element's panel
    is its column's, and what it is added to is its row's.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    opens: in; a pass begins
    columns, transposed: in; of the matrix; see above; constant from there on
    i: stream of sets
    o: stream, see :func:`scatter_layout`
    boundary: out; where the step ends whose columns come
    """

    def __init__(self, config: SidaConfig) -> None:
        self.config: Final = config
        super().__init__(
            {
                "opens": In(1),
                "columns": In(count_bits(config)),
                "transposed": In(1),
                "i": In(stream.Signature(set_layout(config))),
                "o": Out(stream.Signature(scatter_layout(held_layout(config), config.pes))),
                "boundary": Out(range(config.most_rows + 2 * config.subtensor + 1)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, given, found = self.config, self.i.payload, self.o.payload
        lanes = (config.pes - 1).bit_length()
        rows = (config.subtensor - 1).bit_length()
        boundary = self.boundary
        complete = Signal.like(boundary)
        marks = Signal()
        m.d.comb += [
            complete.eq(given.base + given.columns),
            marks.eq(complete >= Mux(boundary < self.columns, boundary, self.columns)),
            found.mark.eq(marks & (boundary < self.columns + config.subtensor)),
        ]
        for leaf, out in zip(given.leaves, found.leaves, strict=True):
            column = Signal(count_bits(config), name="column")
            # The number of its operand, and that of its sum.
            key = Signal(config.place_bits, name="key")
            target = Signal(config.place_bits, name="target")
            behind = Signal(name="behind")
            panel = key[rows:]
            m.d.comb += [
                column.eq(given.base + leaf.offset),
                key.eq(Mux(self.transposed, column, leaf.row)),
                target.eq(Mux(self.transposed, leaf.row, column)),
                behind.eq(leaf.row[rows:] + DELAY <= given.base[rows:]),
                out.valid.eq(leaf.valid & (self.transposed | ~behind)),
                out.bank.eq((target[:lanes] + panel)[:lanes]),
                out.payload.panel.eq(panel),
                out.payload.late.row.eq(key[: row_bits(config)]),
                out.payload.late.place.eq(target[lanes:]),
                out.payload.late.value.eq(leaf.value),
            ]
        any_late = Signal()
        m.d.comb += [
            any_late.eq(Cat(out.valid for out in found.leaves).any()),
            self.o.valid.eq(self.i.valid & (any_late | found.mark)),
            self.i.ready.eq(self.o.ready | ~(any_late | found.mark)),
        ]
        with m.If(self.opens):
            m.d.sync += boundary.eq(config.subtensor)
        with m.Elif(self.o.valid & self.o.ready & found.mark):
            m.d.sync += boundary.eq(boundary + config.subtensor)
        return m
