"""A lane: an array, what feeds it, what takes its results, and its memories."""

from __future__ import annotations

from typing import Final

from amaranth.hdl import C, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Member, Out

from ...spec.gta import FORMATS_OF_GTA, ROWS, GtaConfig
from ...spec.jobs.gta_vector import VECTOR_FUNCTIONS
from ..float.float_path import FloatPath
from ..float.headers import row_header, vector_mode
from ..layouts import (
    Operation,
    pgemm_layout,
    read_data_layout,
    read_layout,
    vector_step_layout,
    write_layout,
    x_layout,
)
from ..mpra import Mpra
from ..path_members import fold_layout, place_layout
from ..vector.function_table import properties_layout
from ..vector.vector_path import VectorPath
from ..vector.vector_sequencer import VectorSequencer
from .fold_sequencer import FoldSequencer
from .integer_path import IntegerPath
from .lane_memories import LaneMemories
from .result_path import edge_layout


class WaitingFold(wiring.Component):
    """Holds a fold until the lane's first row is to be fed.

    ``go`` comes 1 + 8 r cycles after ``valid``, r the lane's row in its region; in WS, where
    operands have to come down first, R + 8 r cycles, R the region's rows of elements. At least R
    cycles are between folds, so one waits for the operands, and one for its row.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    weights: in; WS
    place: in; of the lane in its region
    valid, fold: in; a fold begins
    go, o: out; its first row is to be fed
    """

    def __init__(self, config: GtaConfig) -> None:
        self._config = config
        super().__init__(
            {
                "weights": In(1),
                "place": In(place_layout(config)),
                "valid": In(1),
                "fold": In(fold_layout(config)),
                "go": Out(1),
                "o": Out(fold_layout(config)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        loads = Signal()
        loading = Signal(fold_layout(config), reset_less=True)
        left = Signal(range(ROWS * config.lanes))
        loaded = Signal()
        m.d.comb += loaded.eq(loads & (left == 1))
        with m.If(loads):
            m.d.sync += left.eq(left - 1)
        with m.If(loaded):
            m.d.sync += loads.eq(0)
        with m.If(self.valid & self.weights):
            m.d.sync += [
                loads.eq(1),
                loading.eq(self.fold),
                left.eq((self.place.rows << 3) - 1),
            ]
        waits = Signal()
        cycles = Signal(range(ROWS * config.lanes))
        m.d.comb += self.go.eq(waits & ~cycles.any())
        with m.If(waits & cycles.any()):
            m.d.sync += cycles.eq(cycles - 1)
        with m.If(self.go):
            m.d.sync += waits.eq(0)
        with m.If(loaded):
            m.d.sync += [waits.eq(1), self.o.eq(loading), cycles.eq(self.place.row << 3)]
        with m.Elif(self.valid & ~self.weights):
            m.d.sync += [waits.eq(1), self.o.eq(self.fold), cycles.eq(self.place.row << 3)]
        return m


class LaneSequencer(wiring.Component):
    """Takes commands: those on vectors, and on matrices, each begin when all others are over.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    command, start: in; a command, taken in the cycle of ``start``
    offered: in; the command that ``ready`` is about
    place: in; of the lane in its region; constant while not ``quiet``
    ready: out; ``offered`` may be taken; depends on it
    current: out; the command taken last
    quiet: out; everything is over, the last result is written
    limbs_log, floats, valid, fold: out; see :class:`FoldSequencer`
    go, waiting: out; see :class:`WaitingFold`
    vector: out; the command is one on vectors
    by_planes: out; and its results come by planes, from the elements
    properties, step: out; see :class:`VectorSequencer`
    mode: out; see ``vector_mode``; of a configuration with floats
    """

    def __init__(self, config: GtaConfig) -> None:
        self.config: Final = config
        fold = fold_layout(config)
        members: dict[str, Member] = {
            "command": In(pgemm_layout(config)),
            "offered": In(pgemm_layout(config)),
            "start": In(1),
            "place": In(place_layout(config)),
            "ready": Out(1),
            "current": Out(pgemm_layout(config)),
            "quiet": Out(1),
            "limbs_log": Out(2),
            "floats": Out(1),
            "valid": Out(1),
            "fold": Out(fold),
            "go": Out(1),
            "waiting": Out(fold),
            "vector": Out(1),
            "by_planes": Out(1),
            "properties": Out(properties_layout(config)),
            "step": Out(vector_step_layout(config)),
        }
        super().__init__(members | ({"mode": Out(vector_mode())} if config.floats else {}))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.folds = folds = FoldSequencer(self.config)
        m.submodules.vectors = vectors = VectorSequencer(self.config)
        m.submodules.waiting = waiting = WaitingFold(self.config)
        simd = Signal()
        m.d.comb += [
            simd.eq(self.offered.operation == Operation.SIMD),
            folds.command.eq(self.command),
            folds.offered.eq(self.offered),
            folds.start.eq(self.start),
            folds.place.eq(self.place),
            vectors.command.eq(self.command),
            vectors.offered.eq(self.offered),
            vectors.start.eq(self.start & (self.command.operation == Operation.SIMD)),
            vectors.current.eq(folds.current),
            waiting.weights.eq(folds.current.operation == Operation.WS),
            waiting.place.eq(self.place),
            waiting.valid.eq(folds.valid),
            waiting.fold.eq(folds.fold),
            self.ready.eq(Mux(simd, vectors.ready & folds.quiet, folds.ready & vectors.quiet)),
            self.current.eq(folds.current),
            self.quiet.eq(folds.quiet & vectors.quiet),
            *(getattr(self, x).eq(getattr(folds, x)) for x in ("limbs_log", "floats", "valid")),
            self.fold.eq(folds.fold),
            self.go.eq(waiting.go),
            self.waiting.eq(waiting.o),
            self.vector.eq(folds.current.operation == Operation.SIMD),
            self.by_planes.eq(self.vector & ~vectors.properties.floats),
            self.properties.eq(vectors.properties),
            self.step.eq(vectors.step),
        ]
        if self.config.floats:
            self._mode(m)
        return m

    def _mode(self, m: Module) -> None:
        """Sets the adders' mode for a vector product of floats."""
        current, known = self.current, self.properties
        functions = list(VECTOR_FUNCTIONS)
        mode = {
            "active": C(1),
            "fp16": current.format == FORMATS_OF_GTA.index("fp16"),
            "fp64": current.format == FORMATS_OF_GTA.index("fp64"),
            "own": ~known.sums & (known.element == 2),
            "plain": current.function == functions.index("mul"),
            "subtract": current.function == functions.index("sub"),
            "one": ~known.square,
        }
        active = self.vector & ~self.by_planes
        # A register: no adder needs the mode in the first cycle after a command is taken.
        m.d.sync += [self.mode[name].eq(mode[name] & active) for name, _ in self.mode.shape()]


class Lane(wiring.Component):
    """Lane of 8 x 8 elements, with memories for their rows, columns and results, and its control.

    Source: the paper's section 4.2. A lane at the left edge of its region feeds its rows, one at
    the top its columns, and one at the bottom takes the results; else they come from, and go to,
    the lanes beside it. Of vectors each feeds itself, from its own banks. The array never waits:
    its accesses of results go before those from outside, see :class:`LaneMemories`.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    place: in; in its region; constant while not ``quiet``
    command, offered, start: in; see :class:`LaneSequencer`
    ready, current, quiet: out; as well
    x_left, x_right: by row, from the lane on the left, to the one on the right
    headers_left, headers_right: (floats) likewise, see ``row_header``
    above, below: from the upper lane, to the lower one, see :func:`edge_layout`
    write: in; ``lanes`` is not looked at
    write_ready: out; a write of results is done in this cycle; others are always
    read: in; ``lane`` is not looked at
    read_ready: out; a read is done in this cycle
    read_data: out; a cycle after it: of each bank that was asked for 16 bytes
    done: out; a command is complete, in this lane
    """

    def __init__(self, config: GtaConfig) -> None:
        self.config: Final = config
        x = data.ArrayLayout(x_layout(config), ROWS)
        members: dict[str, Member] = {
            "place": In(place_layout(config)),
            "command": In(pgemm_layout(config)),
            "offered": In(pgemm_layout(config)),
            "start": In(1),
            "ready": Out(1),
            "current": Out(pgemm_layout(config)),
            "quiet": Out(1),
            "x_left": In(x),
            "x_right": Out(x),
            "above": In(edge_layout(config)),
            "below": Out(edge_layout(config)),
            "write": In(write_layout(config)),
            "write_ready": Out(1),
            "read": In(read_layout(config)),
            "read_ready": Out(1),
            "read_data": Out(read_data_layout()),
            "done": Out(1),
        }
        if config.floats:
            headers = data.ArrayLayout(row_header(config), ROWS)
            members |= {"headers_left": In(headers), "headers_right": Out(headers)}
        super().__init__(members)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        m.submodules.sequencer = sequencer = LaneSequencer(config)
        m.submodules.array = array = Mpra(config)
        m.d.comb += [
            sequencer.command.eq(self.command),
            sequencer.offered.eq(self.offered),
            sequencer.start.eq(self.start),
            sequencer.place.eq(self.place),
            self.ready.eq(sequencer.ready),
            self.current.eq(sequencer.current),
            self.quiet.eq(sequencer.quiet),
            self.x_right.eq(array.x_right),
            self.below.y.eq(array.y_down),
        ]
        vectors = self._vectors(m, sequencer, array)
        paths: list[IntegerPath | FloatPath] = []
        if config.integers:
            paths.append(self._integers(m, sequencer, array))
        if config.floats:
            paths.append(self._floats(m, sequencer, array, vectors))
        for path, floats in zip(paths, (0, 1) if config.integers else (1,), strict=False):
            own = sequencer.floats == floats
            m.d.comb += [
                path.format.eq(sequencer.current.format),
                path.place.eq(self.place),
                path.valid.eq(sequencer.valid & own),
                path.fold.eq(sequencer.fold),
                path.go.eq(sequencer.go & own),
                path.waiting.eq(sequencer.waiting),
            ]

        def folds(name: str) -> Value:
            values = [Value.cast(getattr(path, name)) for path in paths]
            return Mux(sequencer.floats, values[1], values[0]) if len(values) > 1 else values[0]

        vector, by_planes = sequencer.vector, sequencer.by_planes
        x = Mux(vector, vectors.x.as_value(), folds("x"))
        m.d.comb += [
            array.x.eq(Mux(self.place.left | vector, x, self.x_left.as_value())),
            array.y.eq(Mux(self.place.top, folds("y"), self.above.y.as_value())),
            array.vector.eq(vector),
            self.done.eq(Mux(by_planes, vectors.done, folds("done"))),
        ]
        memories = self._memories(m)
        for taker in (vectors, *paths):
            m.d.comb += [
                taker.left_words.eq(memories.left_words),
                taker.top_words.eq(memories.top_words),
            ]
        for names, own in (
            (("left_read", "left_address", "top_read", "top_address"), vector),
            (("read", "read_address", "write", "write_address"), by_planes),
        ):
            for name in names:
                chosen = Mux(own, Value.cast(getattr(vectors, name)), folds(name))
                m.d.comb += getattr(memories, name).eq(chosen)
        m.d.sync += memories.writes.eq(Mux(by_planes, vectors.will_write, folds("will_write")))
        part = vectors.part.as_value()
        for path in paths:
            if isinstance(path, IntegerPath):
                part = Mux(by_planes, part, path.part.as_value())
                m.d.comb += [
                    path.halves.eq(memories.halves),
                    path.quarters.eq(memories.quarters),
                    memories.write_half.eq(path.write_half),
                ]
            else:
                m.d.comb += [
                    path.words.eq(memories.words),
                    memories.write_words.eq(path.write_words),
                    memories.write_upper.eq(path.write_upper),
                    memories.upper.eq(path.upper),
                    memories.floats.eq(sequencer.floats),
                ]
        m.d.comb += [
            memories.by_planes.eq(by_planes),
            memories.part.eq(part),
            memories.write_planes.eq(vectors.write_data),
            vectors.quarters.eq(memories.quarters),
        ]
        return m

    def _memories(self, m: Module) -> LaneMemories:
        m.submodules.memories = memories = LaneMemories(self.config)
        m.d.comb += [
            memories.outside_write.eq(self.write),
            memories.outside_read.eq(self.read),
            self.write_ready.eq(memories.write_ready),
            self.read_ready.eq(memories.read_ready),
            self.read_data.eq(memories.read_data),
        ]
        return memories

    def _vectors(self, m: Module, sequencer: LaneSequencer, array: Mpra) -> VectorPath:
        m.submodules.vectors = path = VectorPath(self.config)
        m.d.comb += [
            path.function_number.eq(sequencer.current.function),
            path.format.eq(sequencer.current.format),
            path.amount.eq(sequencer.current.amount),
            path.properties.eq(sequencer.properties),
            path.step.eq(sequencer.step),
            array.x_vector.eq(path.x_vector),
            array.y_vector.eq(path.y_vector),
            path.bytes.eq(array.bytes),
        ]
        return path

    def _integers(self, m: Module, sequencer: LaneSequencer, array: Mpra) -> IntegerPath:
        m.submodules.integers = path = IntegerPath(self.config)
        m.d.comb += [
            path.weights.eq(sequencer.current.operation == Operation.WS),
            path.limbs_log.eq(sequencer.limbs_log),
            path.size.eq(sequencer.current.result_size),
            path.sums.eq(array.sum),
            array.sum_above.eq(self.above.sum),
            self.below.sum.eq(array.sum),
        ]
        if self.config.second_rank:
            m.d.comb += [
                path.drains.eq(array.drain),
                array.drain_above.eq(self.above.drain),
                self.below.drain.eq(array.drain),
            ]
        return path

    def _floats(
        self, m: Module, sequencer: LaneSequencer, array: Mpra, vectors: VectorPath
    ) -> FloatPath:
        m.submodules.floats = path = FloatPath(self.config)
        m.d.comb += [
            path.last_limbs.eq(array.last_limbs),
            path.products.eq(array.products),
            path.headers_left.eq(self.headers_left),
            path.headers_above.eq(self.above.headers),
            self.headers_right.eq(path.headers_right),
            self.below.headers.eq(path.headers_below),
            path.mode.eq(sequencer.mode),
            path.steps.eq(vectors.steps),
            path.y_any.eq(vectors.y_any),
            vectors.mode.eq(sequencer.mode),
        ]
        return path
