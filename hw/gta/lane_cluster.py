"""All lanes, joined to regions."""

from __future__ import annotations

from typing import Final

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..spec.gta import COLS, GtaConfig
from .lane.lane import Lane
from .lane.result_path import edge_layout
from .layouts import (
    LaneMemoryName,
    csr_layout,
    pgemm_layout,
    read_data_layout,
    read_layout,
    write_layout,
)
from .path_members import place_layout


class MaskMatch(wiring.Component):
    """Compares the masks of neighbouring lanes: only lanes of the same mask exchange data.

    Source: the paper's section 4.2, Figure 4(e). With c lanes across, lane n stands in row n / c
    and column n mod c. It passes its x to lane n + 1 in the same row, its sums to lane n + c, if
    their masks are the same. Places in regions, which have to be rectangles, are counted from lane
    to lane, one a cycle: ``settled`` says that this is over; until then nothing may run.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    csr: in; see :func:`csr_layout`
    places: out; by lane
    settled: out; the places are those of ``csr`` as it is
    """

    def __init__(self, config: GtaConfig) -> None:
        self.config: Final = config
        super().__init__(
            {
                "csr": In(csr_layout(config)),
                "places": Out(data.ArrayLayout(place_layout(config), config.lanes)),
                "settled": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        lanes = self.config.lanes
        seen = Signal(csr_layout(self.config))
        wait = Signal(range(2 * lanes + 5), init=2 * lanes + 4)
        m.d.sync += seen.eq(self.csr)
        m.d.comb += self.settled.eq(~wait.any())
        with m.If(seen.as_value() != self.csr.as_value()):
            m.d.sync += wait.eq(2 * lanes + 4)
            m.d.comb += self.settled.eq(0)
        with m.Elif(wait.any()):
            m.d.sync += wait.eq(wait - 1)
        across = [1 << n for n in range(lanes.bit_length())]
        behind = {
            n: self._same(m, f"left_of_{n}", n, seen, {c: n - 1 for c in across if n % c})
            for n in range(lanes)
        }
        below = {
            n: self._same(m, f"above_{n}", n, seen, {c: n - c for c in across if n >= c})
            for n in range(lanes)
        }
        ones, layout = dict.fromkeys(across, 1), seen.layout
        right = self._count(m, "columns_right", behind, layout, ones, forward=False)
        column = self._count(m, "columns_left", behind, layout, ones, forward=True)
        steps = {c: c for c in across}
        under = self._count(m, "rows_below", below, layout, steps, forward=False)
        row = self._count(m, "rows_above", below, layout, steps, forward=True)
        for n, place in enumerate(self.places):
            m.d.sync += [
                place.row.eq(row[n]),
                place.column.eq(column[n]),
                place.rows.eq(row[n] + under[n] + 1),
                place.columns.eq(column[n] + right[n] + 1),
                place.left.eq(column[n] == 0),
                place.top.eq(row[n] == 0),
                place.bottom.eq(under[n] == 0),
                place.right.eq(right[n] == 0),
            ]
        return m

    def _same(
        self,
        m: Module,
        name: str,
        lane: int,
        csr: data.View[data.StructLayout],
        others: dict[int, int],
    ) -> Value:
        """Tells whether the neighbour, given by number of lanes across, has the same mask."""
        if not others:
            return Const(0)
        same = Signal(name=name)
        found: Value = Const(0)
        for c, other in others.items():
            is_layout = csr.layout == c.bit_length() - 1
            found = found | (is_layout & (csr.masks[lane] == csr.masks[other]))
        m.d.sync += same.eq(found)
        return same

    def _count(
        self,
        m: Module,
        name: str,
        same: dict[int, Value],
        layout: Value,
        steps: dict[int, int],
        *,
        forward: bool,
    ) -> list[Signal]:
        """Counts the neighbours of each lane in one direction that belong to its region.

        ``same``: the lane and its left, or upper, neighbour are of one region. ``steps``: by number
        of lanes across, how far that neighbour's number is away.
        """
        lanes = self.config.lanes
        counts = [Signal(range(lanes), name=f"{name}_{n}") for n in range(lanes)]
        for n, count in enumerate(counts):
            found: Value = Const(0, len(count))
            for c, step in steps.items():
                other = n - step if forward else n + step
                if not 0 <= other < lanes:
                    continue
                joined = same[n] if forward else same[other]
                further = Mux(joined, counts[other] + 1, 0)
                found = Value.cast(Mux(layout == c.bit_length() - 1, further, found))
            m.d.sync += count.eq(found)
        return counts


class SlideUnit(wiring.Component):
    """Passes on the signals of the lane above, which the arrangement of lanes selects.

    Source: the paper's section 4.2: the Slide Unit "programs direction of the data shuffling
    (source lane and destination lane)". Combinational, from registers of one lane to the adders of
    the next one's first row.

    Parameters
    ----------
    config: of the accelerator
    sources: lanes that may stand above: of lane n with 1, 2, 4, ... lanes across n - 1, n - 2, ...

    Members
    -------
    layout: in; 1 << layout lanes stand across
    above: in; of each source
    top: in; the lane is at the edge: its sums begin with 0
    o: out
    """

    def __init__(self, config: GtaConfig, sources: int) -> None:
        self.config: Final = config
        self._sources = sources
        edge = edge_layout(config)
        super().__init__(
            {
                "layout": In(range(config.lanes.bit_length())),
                "above": In(data.ArrayLayout(edge, sources)),
                "top": In(1),
                "o": Out(edge),
            }
        )

    @property
    def sources(self) -> int:
        return self._sources

    def elaborate(self, platform: object) -> Module:
        m = Module()
        chosen = Signal(edge_layout(self.config))
        with m.Switch(self.layout):
            for n in range(self._sources - 1):
                with m.Case(n):
                    m.d.comb += chosen.eq(self.above[n])
            with m.Default():
                m.d.comb += chosen.eq(self.above[self._sources - 1])
        m.d.comb += self.o.eq(chosen)
        if self.config.integers:
            m.d.comb += self.o.sum.eq(Mux(self.top, 0, chosen.sum))
        return m


class LaneCluster(wiring.Component):
    """Lanes that stand ``1 << csr.layout`` across and work together where their masks are equal.

    Source: the paper's section 4.2. A command is taken by all lanes of its group's left edge at
    once, and by each lane 8 cycles after the one on its left, as its x. A command of a group
    that no lane has is taken and does nothing.

    Cycles, in a region of R rows and C columns of elements: a command that is taken in cycle t
    begins its first fold in cycle t + 3 if the array is free, else with the last fold's interval
    over, see :class:`FoldSequencer`. It is ``done`` 2 R + C + T' + d + 6 cycles after
    its last fold has begun in WS, with d = log2 of the most limbs that the configuration has. In OS
    it is 2 R + C + d + 7 cycles after the fold behind its last one has, the next command's first if
    that comes in time, an empty one otherwise. Of floats, whose chains have K products, L limbs
    a significand and I = ``GtaConfig.interval`` cycles a product, it is (K - 1) I + L L + R + C +
    ``adder_stages`` + 6 cycles after its last fold has begun.
    A command of vectors that is taken in cycle t begins in cycle t + 2, or where one of the same
    function, format and amount before it ends, and takes T O cycles, T its ``time`` and O its
    ``octet_cycles``. The next one like it is taken when it has begun, but not less than 8 cycles
    after t; others T O + 14 cycles after it has begun. It is done T O + C + 6 cycles after it has
    begun. Where floats are multiplied or added others are taken ``adder_stages`` + 1 cycles later;
    of K products, of S steps each, in T O = K I cycles it is done (K - 1) I + S + C +
    ``adder_stages`` + 6 cycles after it has begun, of fp64 one more.
    Accesses from outside change none of this.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    csr: in; constant while ``busy``
    command: stream of commands, see :func:`pgemm_layout`; those of other groups wait behind
    done: out; a bit for each group: a command is complete, its results are in memory
    busy: out; a command has been taken whose end is not over, or ``csr`` has changed just now
    write: in; see :func:`write_layout`
    write_ready: out; a write of results is done in this cycle, in all its lanes; others always are
    read: in; see :func:`read_layout`
    read_ready: out; the read is done in this cycle
    read_data: out; two cycles after it
    """

    def __init__(self, config: GtaConfig) -> None:
        self.config: Final = config
        super().__init__(
            {
                "csr": In(csr_layout(config)),
                "command": In(stream.Signature(pgemm_layout(config))),
                "done": Out(1 << config.mask_bits),
                "busy": Out(1),
                "write": In(write_layout(config)),
                "write_ready": Out(1),
                "read": In(read_layout(config)),
                "read_ready": Out(1),
                "read_data": Out(read_data_layout()),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        m.submodules.mask_match = match = MaskMatch(config)
        m.d.comb += match.csr.eq(self.csr)
        lanes = [Lane(config) for _ in range(config.lanes)]
        for n, lane in enumerate(lanes):
            m.submodules[f"lane_{n}"] = lane
            m.d.comb += lane.place.eq(match.places[n])
        self._join(m, lanes)
        self._commands(m, lanes, match.settled)
        self._memories(m, lanes)
        return m

    def _join(self, m: Module, lanes: list[Lane]) -> None:
        """Connects the x of the left neighbour and the signals of the upper one."""
        floats = self.config.floats
        for n, lane in enumerate(lanes):
            if not n:
                continue
            m.submodules[f"slide_unit_{n}"] = slide = SlideUnit(self.config, n.bit_length())
            m.d.comb += [
                lane.x_left.eq(lanes[n - 1].x_right),
                *([lane.headers_left.eq(lanes[n - 1].headers_right)] if floats else []),
                slide.layout.eq(self.csr.layout),
                slide.top.eq(lane.place.top),
                lane.above.eq(slide.o),
                *(slide.above[k].eq(lanes[n - (1 << k)].below) for k in range(slide.sources)),
            ]

    def _commands(self, m: Module, lanes: list[Lane], settled: Value) -> None:
        """Gives each lane its commands, and says when they are complete."""
        command = self.command
        takes = Signal()
        waits = Signal(len(lanes))
        quiet = Signal(len(lanes))
        ends = Signal(len(lanes))
        for n, lane in enumerate(lanes):
            own = Signal(name=f"is_for_{n}")
            m.d.comb += [
                own.eq((command.payload.group == self.csr.masks[n]) & lane.place.left),
                waits[n].eq(own & ~lane.ready),
                quiet[n].eq(lane.quiet),
                ends[n].eq(lane.done & lane.place.bottom & lane.place.right),
                lane.start.eq(takes & own),
                lane.command.eq(command.payload),
                # Lanes at the left edge alone are waited for.
                lane.offered.eq(command.payload),
            ]
            if n:
                passed = Signal(COLS, name=f"start_passes_to_{n}")
                m.d.sync += passed.eq(Cat(lanes[n - 1].start, passed[:-1]))
                with m.If(~lane.place.left):
                    m.d.comb += [
                        lane.start.eq(passed[-1]),
                        lane.command.eq(lanes[n - 1].current),
                    ]
        m.d.comb += [
            command.ready.eq(settled & ~waits.any()),
            takes.eq(command.valid & command.ready),
            self.busy.eq(~(quiet.all() & settled)),
        ]
        for group in range(len(self.done)):
            of_group = Cat(ends[n] & (self.csr.masks[n] == group) for n in range(len(lanes)))
            m.d.sync += self.done[group].eq(of_group.any())

    def _memories(self, m: Module, lanes: list[Lane]) -> None:
        """Writes to some lanes, and reads of one."""
        waits = Signal(len(lanes))
        reads = Signal(len(lanes))
        shown = Signal.like(self.read.lane)
        of_results = Signal()
        m.d.comb += [
            of_results.eq(self.write.memory == LaneMemoryName.RESULT),
            self.write_ready.eq(~waits.any()),
            self.read_ready.eq(reads.any()),
        ]
        m.d.sync += shown.eq(self.read.lane)
        for n, lane in enumerate(lanes):
            chosen = self.read.lane == n if len(lanes) > 1 else Const(1)
            m.d.comb += [
                lane.write.eq(self.write),
                lane.write.enable.eq(
                    self.write.enable & self.write.lanes[n] & (self.write_ready | ~of_results)
                ),
                waits[n].eq(self.write.lanes[n] & ~lane.write_ready),
                lane.read.eq(self.read),
                lane.read.enable.eq(self.read.enable & chosen),
                reads[n].eq(lane.read_ready & chosen),
            ]
        found = [lane.read_data for lane in lanes]
        if len(lanes) == 1:
            m.d.sync += self.read_data.eq(found[0])
        else:
            m.d.sync += self.read_data.eq(Array(found)[shown])
