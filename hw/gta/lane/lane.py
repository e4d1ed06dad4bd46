"""A lane: an array, what feeds it, what takes its results, and its memories."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ...spec.gta import BANKS, LEFT_WORD_BYTES, RESULT_WORD_BYTES, ROWS, GtaConfig
from ..layouts import (
    LaneMemoryName,
    Operation,
    left_words,
    pgemm_layout,
    read_data_layout,
    read_layout,
    result_words,
    write_layout,
    x_layout,
)
from ..mpra import Mpra
from .fold_sequencer import FoldSequencer
from .lane_memory import LaneMemory
from .layouts import edge_layout, place_layout
from .left_feeder import LeftFeeder
from .multi_precision_accumulator import MultiPrecisionAccumulator
from .result_path import ResultPath
from .result_sequencer import ResultSequencer
from .top_feeder import TopFeeder

__all__ = ["Lane"]


class Lane(wiring.Component):
    """8 x 8 elements, memories for their rows, columns and results, and control of its own.

    Source: the paper's section 4.2. A lane at the left edge of its region feeds its rows, one at
    the top its columns, and one at the bottom takes the results; else they come from, and go to,
    the lanes beside it. The array never waits: writes of results go before those from outside,
    and its reads, too.

    Parameters
    ----------
    config: of the accelerator, with integers

    Members
    -------
    place: in; in its region; constant while not ``quiet``
    command, start: in; see :class:`FoldSequencer`
    ready, current, quiet: out; as well
    x_left, x_right: by row, from the lane on the left, to the one on the right
    above, below: from the upper lane, to the lower one, see :func:`edge_layout`
    write: in; ``lanes`` is not looked at
    write_ready: out; a write of results is done in this cycle; others are always
    read: in; ``lane`` is not looked at
    read_ready: out; a read is done in this cycle
    read_data: out; a cycle after it: of each bank 16 bytes
    done: out; a command is complete, in this lane
    """

    def __init__(self, config: GtaConfig) -> None:
        self._config = config
        x = data.ArrayLayout(x_layout(config), ROWS)
        super().__init__(
            {
                "place": In(place_layout(config)),
                "command": In(pgemm_layout(config)),
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
        )

    @property
    def config(self) -> GtaConfig:
        return self._config

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        m.submodules.sequencer = sequencer = FoldSequencer(config)
        m.d.comb += [
            sequencer.command.eq(self.command),
            sequencer.start.eq(self.start),
            sequencer.place.eq(self.place),
            self.ready.eq(sequencer.ready),
            self.current.eq(sequencer.current),
            self.quiet.eq(sequencer.quiet),
        ]
        weights = Signal()
        m.d.comb += weights.eq(sequencer.current.operation == Operation.WS)
        m.submodules.left_feeder = left = LeftFeeder(config)
        m.submodules.top_feeder = top = TopFeeder(config)
        for feeder in (left, top):
            m.d.comb += [
                feeder.weights.eq(weights),
                feeder.limbs_log.eq(sequencer.limbs_log),
                feeder.place.eq(self.place),
                feeder.valid.eq(sequencer.valid),
                feeder.fold.eq(sequencer.fold),
            ]
        self._edge_memory(m, "left", left, LaneMemoryName.LEFT)
        self._edge_memory(m, "top", top, LaneMemoryName.TOP)
        m.submodules.array = array = Mpra(config)
        m.d.comb += [
            array.x.eq(Mux(self.place.left, left.x.as_value(), self.x_left.as_value())),
            array.y.eq(Mux(self.place.top, top.y.as_value(), self.above.y.as_value())),
            array.sum_above.eq(self.above.sum),
            array.drain_above.eq(self.above.drain),
            self.x_right.eq(array.x_right),
            self.below.y.eq(array.y_down),
            self.below.sum.eq(array.sum),
            self.below.drain.eq(array.drain),
        ]
        self._results(m, sequencer, left, array)
        return m

    def _edge_memory(
        self, m: Module, name: str, feeder: LeftFeeder | TopFeeder, number: LaneMemoryName
    ) -> None:
        memory = LaneMemory(words=left_words(self._config), word_bytes=LEFT_WORD_BYTES)
        m.submodules[f"{name}_memory"] = memory
        chosen = Signal(name=f"writes_{name}")
        write = self.write
        m.d.comb += [
            chosen.eq(write.enable & (write.memory == number)),
            memory.read.eq(feeder.read),
            memory.read_address.eq(feeder.address),
            feeder.words.eq(memory.read_data),
            memory.write_data.eq(write.data),
        ]
        for n in range(BANKS):
            m.d.comb += [
                memory.write[n].eq(Mux(chosen, write.mask[n], 0)),
                memory.write_address[n].eq(write.address[: len(memory.write_address[n])]),
            ]

    def _results(self, m: Module, sequencer: FoldSequencer, left: LeftFeeder, array: Mpra) -> None:
        """The way of sums to the memory of results."""
        config = self._config
        m.submodules.accumulator = accumulator = MultiPrecisionAccumulator(config)
        m.submodules.result_sequencer = results = ResultSequencer(config)
        m.submodules.result_path = path = ResultPath(config)
        size = sequencer.current.result_size
        sums = Mux(left.weights, array.sum.as_value(), self._drained(array))
        m.d.comb += [
            accumulator.limbs_log.eq(sequencer.limbs_log),
            accumulator.sums.eq(sums),
            accumulator.first.eq(path.first),
            results.weights.eq(left.weights),
            results.limbs_log.eq(sequencer.limbs_log),
            results.size.eq(size),
            results.place.eq(self.place),
            results.valid.eq(sequencer.valid),
            results.fold.eq(sequencer.fold),
            results.row.eq(left.last_row),
            path.limbs_log.eq(sequencer.limbs_log),
            path.size.eq(size),
            path.step.eq(results.step),
            path.sums.eq(accumulator.o),
            self.done.eq(path.done),
        ]
        self._result_memory(m, path)

    def _drained(self, array: Mpra) -> Value:
        bits = self._config.partial_bits
        return Cat(*(array.drain[c][:bits] for c in range(BANKS)))

    def _result_memory(self, m: Module, path: ResultPath) -> None:
        """The array's accesses go before those from outside."""
        memory = LaneMemory(words=result_words(self._config), word_bytes=RESULT_WORD_BYTES)
        m.submodules.result_memory = memory
        writes = Signal()
        reads = Signal()
        outside = Signal()
        own = self.write.enable & (self.write.memory == LaneMemoryName.RESULT)
        m.d.comb += [
            writes.eq(path.write.as_value().any()),
            reads.eq(path.read.any()),
            self.write_ready.eq(~writes),
            self.read_ready.eq(~reads),
            outside.eq(own & ~writes),
            memory.read.eq(Mux(reads, path.read, self.read.enable.replicate(BANKS))),
            path.words.eq(memory.read_data),
        ]
        low, word = self.write.address[0], self.write.address[1:]
        for n in range(BANKS):
            part = self.write.mask[n]
            half_word = Signal(8 * LEFT_WORD_BYTES, name=f"half_word_{n}")
            half = Mux(low, Cat(Const(0, LEFT_WORD_BYTES), part), part)
            m.d.comb += [
                memory.read_address[n].eq(Mux(reads, path.read_address[n], self.read.address[1:])),
                memory.write_address[n].eq(Mux(outside, word, path.write_address[n])),
                memory.write[n].eq(Mux(outside, half, path.write[n])),
                half_word.eq(Mux(outside, self.write.data[n], path.write_data[n])),
                memory.write_data[n].eq(half_word.replicate(2)),
            ]
        upper = Signal()
        m.d.sync += upper.eq(self.read.address[0])
        for n in range(BANKS):
            bits = 8 * LEFT_WORD_BYTES
            found = memory.read_data[n]
            m.d.comb += self.read_data[n].eq(Mux(upper, found[bits:], found[:bits]))
