"""Buffers elements on chip until their row is processed, and adds them to the second product."""

from __future__ import annotations

from functools import reduce
from operator import and_
from typing import Any, Final

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...spec.sida import SidaConfig
from ...stream.queue import DeepQueue
from ..layouts import count_bits, results_layout, set_layout
from ..operators import semiring_range
from .held_bank import HeldBank
from .late_elements import LateElements, Scatter
from .late_sums import EmptyValues, FirstValues, LateSums
from .layouts import (
    counts_layout,
    held_layout,
    late_layout,
    line_rows,
    place_bits,
    reload_layout,
    reload_request_layout,
    row_bits,
)
from .panel_check import PanelCheck
from .panel_control import PanelControl

_ROWS = 4
"""Parts of rows that may wait in a bank: their columns are of different banks mostly."""

_PARTS = 32
"""Parts of rows that may wait for their panel, without those of which nothing is wanted."""


def read_again(m: Module, held: Any, control: PanelControl) -> list[stream.Interface]:
    """Connects the refetched elements from ``held.reload`` of :class:`HeldElements`, by bank of w.

    Elements after the end of a panel wait until ``control`` has reloaded it.
    """
    config = held.config
    lanes = (config.pes - 1).bit_length()
    m.submodules.again = again = Scatter(late_layout(config), config.pes, _ROWS)
    m.submodules.parts = parts = DeepQueue(reload_layout(config), _PARTS)
    wiring.connect(m, wiring.flipped(held.reload), parts.i)
    given, found = parts.o.payload, again.i.payload
    m.d.comb += [
        parts.clear.eq(held.clear),
        again.clear.eq(held.clear),
        again.i.valid.eq(parts.o.valid),
        parts.o.ready.eq(again.i.ready),
        found.mark.eq(given.last),
    ]
    for element, leaf in zip(given.elements, found.leaves, strict=True):
        m.d.comb += [
            leaf.valid.eq(element.valid),
            leaf.bank.eq(element.column[:lanes]),
            leaf.payload.row.eq((given.row + element.offset)[: row_bits(config)]),
            leaf.payload.place.eq(element.column[lanes:]),
            leaf.payload.value.eq(element.value),
        ]
    # Elements after a mark are of the next panel, and wait for it.
    ended = Signal(config.pes)
    m.d.comb += control.reloaded.eq(ended.all())
    sources = []
    for n, given in enumerate(again.o):
        source = given.signature.create(path=(f"again_{n}",))
        goes = Signal(name=f"goes_{n}")
        m.d.comb += [
            goes.eq(control.reloads & ~ended[n]),
            source.valid.eq(given.valid & goes),
            source.payload.eq(given.payload),
            given.ready.eq(source.ready & goes),
        ]
        with m.If(source.valid & source.ready & source.payload.mark):
            m.d.sync += ended[n].eq(1)
        sources.append(source)
    with m.If(control.reloaded | held.clear):
        m.d.sync += ended.eq(0)
    return sources


SETS = 16
"""Sets that may wait in a bank, so that sets of few banks do not hold up those of others."""


class HeldElements(wiring.Component):
    """Buffers the deferred elements of the matrix and adds their products to w, rows ascending.

    That is ``w[j] (+)= z[i] (x) value`` for each element whose row is less than two steps behind
    its column.

    Such an element waits by its *panel*, ``subtensor`` rows, until that panel's z and the columns
    of the step behind it are there. Each of ``pes`` banks keeps the panel's elements of columns
    that no other bank has, so that they go to the banks of w by a rotation. Without space the
    highest panels are given up, and asked for ahead of their use: the result is the same, bit for
    bit, whatever the size of the buffer and the timing. Up to ``pes`` elements a cycle wait, and as
    many are added, at the same time.

    Transposed, it is ``w[i] (+)= z[j] (x) value`` for all elements, in ascending order of columns:
    panels are of columns, read again by columns, and w begins with the semiring's identity.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    start: in, a pulse: a pass begins; not before ``done`` or ``clear``
    columns, semiring, transposed: in; of the matrix, at least 1; the number of the second product's
        semiring among ``config.operators``; see above; constant during a pass
    i: stream of sets, all of the matrix
    first_valid, first: in; see :func:`results_layout`: what columns of w begin with, if not
        transposed; never waits
    z: stream of rows of z, ``pes`` elements, ascending
    request: stream, see :func:`reload_request_layout`: the panel's rows are to be read again
    reload: stream, see :func:`reload_layout`: those, rows ascending; transposed, what is called
        rows are columns
    done: out; w is complete, until the next ``start``
    place: in; while ``done``: which ``pes`` elements of w are seen
    w: out; a cycle later, they
    counts: out; see :func:`counts_layout`; of a pass, kept until the next one begins
    disagrees: out; until ``clear``: what was read again of a panel is not what came as sets
    disagrees_row: out; the first row of it
    clear: in, a pulse: forgets everything; a pass may begin in the next cycle
    """

    def __init__(self, config: SidaConfig) -> None:
        self.config: Final = config
        values = data.ArrayLayout(config.format.bits, config.pes)
        super().__init__(
            {
                "start": In(1),
                "columns": In(count_bits(config)),
                "semiring": In(semiring_range(config.operators)),
                "transposed": In(1),
                "i": In(stream.Signature(set_layout(config))),
                "first_valid": In(1),
                "first": In(results_layout(config)),
                "z": In(stream.Signature(values)),
                "request": Out(stream.Signature(reload_request_layout(config))),
                "reload": In(stream.Signature(reload_layout(config))),
                "done": Out(1),
                **self._members_of_w(),
                "counts": Out(counts_layout(config)),
                "disagrees": Out(1),
                "disagrees_row": Out(config.place_bits),
                "clear": In(1),
            }
        )

    def _members_of_w(self) -> dict[str, Any]:
        """Returns the ports that read w."""
        config = self.config
        values = data.ArrayLayout(config.format.bits, config.pes)
        return {"place": In(place_bits(config)), "w": Out(values)}

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        m.submodules.control = control = PanelControl(config)
        banks = [HeldBank(config) for _ in range(config.pes)]
        sums = [self._bank_of_w() for _ in range(config.pes)]
        for n, (bank, part) in enumerate(zip(banks, sums, strict=True)):
            m.submodules[f"bank_{n}"] = bank
            m.submodules[f"sums_{n}"] = part
        m.d.comb += [
            control.start.eq(self.start),
            control.columns.eq(self.columns),
            control.transposed.eq(self.transposed),
        ]
        m.d.comb += control.clear.eq(self.clear)
        wiring.connect(m, control.request, wiring.flipped(self.request))
        self._fill(m, control, banks)
        again = read_again(m, self, control)
        self._use(m, control, banks, again, sums)
        self._take_z(m, control, sums)
        self._order(m, control, banks)
        self._check(m, control, banks, again)
        self._count(m, control, banks)
        return m

    def _fill(self, m: Module, control: PanelControl, banks: list[HeldBank]) -> None:
        """Elements that come by columns."""
        config = self.config
        m.submodules.late = late = LateElements(config)
        m.submodules.scatter = scatter = Scatter(held_layout(config), config.pes, SETS)
        wiring.connect(m, late.o, scatter.i)
        m.d.comb += [
            late.opens.eq(self.start),
            late.columns.eq(self.columns),
            late.transposed.eq(self.transposed),
            control.boundary.eq(late.boundary),
            late.i.payload.eq(self.i.payload),
            late.i.valid.eq(self.i.valid & control.running),
            self.i.ready.eq(late.i.ready & control.running),
            scatter.clear.eq(self.clear),
        ]
        for bank, source in zip(banks, scatter.o, strict=True):
            wiring.connect(m, source, bank.i)

    def _use(
        self,
        m: Module,
        control: PanelControl,
        banks: list[HeldBank],
        again: list[stream.Interface],
        sums: list[Any],
    ) -> None:
        """Sends the elements of the panel that is due to the sums.

        They are rotated by the panel's number, or sent as they are refetched.
        """
        pes = self.config.pes
        bits = (pes - 1).bit_length()
        turn = Signal(bits)
        m.d.comb += turn.eq(control.due[:bits])
        offers = [Cat(bank.o.payload, bank.o.valid) for bank in banks]
        readies = [part.i.ready for part in sums]
        for bit in range(bits):
            step = 1 << bit
            offers = [
                self._named(m, f"offer_{bit}_{n}", turn[bit], offers[(n + step) % pes], offers[n])
                for n in range(pes)
            ]
            readies = [
                self._named(m, f"taken_{bit}_{n}", turn[bit], readies[(n - step) % pes], readies[n])
                for n in range(pes)
            ]
        for n, (part, source, bank) in enumerate(zip(sums, again, banks, strict=True)):
            reads_again = control.reloads & source.payload.present
            m.d.comb += [
                part.clear.eq(self.clear),
                part.semiring.eq(self.semiring),
                part.i.valid.eq(Mux(control.reloads, source.valid & reads_again, offers[n][-1])),
                part.i.payload.side.eq(control.due[0]),
                part.i.payload.late.eq(
                    Mux(control.reloads, Cat(source.payload.payload), offers[n][:-1])
                ),
                source.ready.eq(~source.payload.present | part.i.ready),
                bank.o.ready.eq(readies[n] & ~control.reloads),
            ]
        m.d.comb += control.idle.eq(Cat(part.idle for part in sums).all())

    def _named(self, m: Module, name: str, select: Signal, x: Signal, y: Signal) -> Signal:
        found = Signal(max(len(x), len(y)), name=name)
        m.d.comb += found.eq(Mux(select, x, y))
        return found

    def _bank_of_w(self) -> Any:
        """A part that adds to elements of w."""
        return LateSums(self.config)

    def _connect_w(
        self, m: Module, control: PanelControl, sums: list[Any], row: Signal
    ) -> list[Value]:
        """Sends initial values to their banks, and makes w readable.

        Returns what a row of z must wait for, by its first element.
        """
        config = self.config
        m.submodules.first = first = FirstValues(config)
        m.submodules.empty = empty = EmptyValues(config)
        m.d.comb += [
            empty.start.eq(self.start & self.transposed),
            empty.columns.eq(self.columns),
            empty.semiring.eq(self.semiring),
            empty.clear.eq(self.clear),
            first.opens.eq(self.start),
            first.valid.eq(Mux(self.transposed, empty.valid, self.first_valid)),
            first.results.eq(Mux(self.transposed, empty.results, self.first)),
            first.clear.eq(self.clear),
            control.first_columns.eq(first.columns),
            self.done.eq(control.done),
        ]
        for n, part in enumerate(sums):
            m.d.comb += [
                part.first.eq(first.banks[n]),
                part.reads.eq(self.done),
                part.place.eq(self.place),
                self.w[n].eq(part.value),
            ]
        return [row < control.z_end]

    def _take_z(self, m: Module, control: PanelControl, sums: list[Any]) -> None:
        """Rows of z to all sums."""
        config = self.config
        there = Signal.like(control.z_columns)
        may_come = reduce(and_, self._connect_w(m, control, sums, there))
        m.d.comb += [
            control.z_columns.eq(there),
            self.z.ready.eq(control.running & may_come & (there < self.columns)),
        ]
        with m.If(self.z.valid & self.z.ready):
            m.d.sync += there.eq(there + config.pes)
        with m.If(self.start):
            m.d.sync += there.eq(0)
        side = (config.subtensor - 1).bit_length()
        line = (config.pes - 1).bit_length()
        for part in sums:
            m.d.comb += [
                part.z.valid.eq(self.z.valid & self.z.ready),
                part.z.side.eq(there[side]),
                part.z.line.eq(there[line:side] if line_rows(config) > 1 else 0),
                part.z.values.eq(self.z.payload),
            ]

    def _order(self, m: Module, control: PanelControl, banks: list[HeldBank]) -> None:
        """Orders to all banks alike, and what they say."""
        for bank in banks:
            m.d.comb += [
                bank.opens.eq(self.start),
                bank.clear.eq(self.clear),
                bank.needs.eq(control.needs),
                bank.order.eq(control.order),
                bank.panel.eq(control.panel),
                bank.loses.eq(control.loses),
            ]
        starved = Cat(bank.starved for bank in banks)
        m.d.comb += [
            control.complete.eq(Cat(bank.complete for bank in banks).all()),
            control.starved.eq(starved.any()),
            control.busy.eq(Cat(bank.busy for bank in banks).any()),
            control.lost.eq(banks[0].lost),
        ]
        for bank in reversed(banks):
            with m.If(bank.starved):
                m.d.comb += control.top.eq(bank.top)

    def _check(
        self,
        m: Module,
        control: PanelControl,
        banks: list[HeldBank],
        again: list[stream.Interface],
    ) -> None:
        """Connects the check of refetched elements against those that arrived by columns.

        On the transpose both arrive by columns, and no disagreement is reported.
        """
        m.submodules.check = check = PanelCheck(self.config)
        m.d.comb += [
            check.clear.eq(self.clear),
            self.disagrees.eq(check.wrong & ~self.transposed),
            self.disagrees_row.eq(check.row),
        ]
        for name in ("order", "panel", "loses", "reloads", "reloaded", "due"):
            m.d.comb += getattr(check, name).eq(getattr(control, name))
        for n, (bank, source) in enumerate(zip(banks, again, strict=True)):
            given, read = bank.i.payload, source.payload
            m.d.comb += [
                check.comes[n].eq(bank.i.valid & bank.i.ready & given.present),
                check.elements[n].eq(given.payload),
                check.reads[n].eq(source.valid & source.ready & read.present),
                check.again[n].eq(read.payload),
            ]

    def _count(self, m: Module, control: PanelControl, banks: list[HeldBank]) -> None:
        counts = self.counts
        total = banks[0].held
        for bank in banks[1:]:
            total = total + bank.held
        m.d.sync += counts.held.eq(total)
        waits = Signal()
        with m.If(counts.held > counts.most):
            m.d.sync += counts.most.eq(counts.held)
        m.d.sync += [
            counts.lost.eq(counts.lost + control.given_up),
            waits.eq(self.i.valid & ~self.i.ready & control.running),
            counts.waited.eq(counts.waited + waits),
        ]
        with m.If(self.start | self.clear):
            m.d.sync += [counts.most.eq(0), counts.lost.eq(0), counts.waited.eq(0), waits.eq(0)]
