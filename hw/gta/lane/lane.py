"""A lane: an array, what feeds it, what takes its results, and its memories."""

from __future__ import annotations

from typing import TypeAlias

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Member, Out

from ...spec.gta import BANKS, LEFT_WORD_BYTES, RESULT_WORD_BYTES, ROWS, GtaConfig
from ..float.float_path import FloatPath
from ..float.headers import row_header
from ..fold_layouts import place_layout
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
from .integer_path import IntegerPath
from .lane_memory import LaneMemory
from .layouts import edge_layout
from .waiting_fold import WaitingFold

__all__ = ["Lane"]


Path: TypeAlias = "IntegerPath | FloatPath"


class _Chosen:
    """Outputs of the path for integers, or of that for floats, as a command has them."""

    def __init__(self, paths: list[Path], floats: Value) -> None:
        self._paths, self.floats = paths, floats

    def value(self, name: str) -> Value:
        values = [Value.cast(getattr(path, name)) for path in self._paths]
        return Mux(self.floats, values[1], values[0]) if len(values) > 1 else values[0]


class Lane(wiring.Component):
    """8 x 8 elements, memories for their rows, columns and results, and control of its own.

    Source: the paper's section 4.2. A lane at the left edge of its region feeds its rows, one at
    the top its columns, and one at the bottom takes the results; else they come from, and go to,
    the lanes beside it. The array never waits: writes of results go before those from outside,
    and its reads, too.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    place: in; in its region; constant while not ``quiet``
    command, start: in; see :class:`FoldSequencer`
    ready, current, quiet: out; as well
    x_left, x_right: by row, from the lane on the left, to the one on the right
    headers_left, headers_right: (floats) likewise, see ``row_header``
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
        members: dict[str, Member] = {
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
        if config.floats:
            headers = data.ArrayLayout(row_header(config), ROWS)
            members |= {"headers_left": In(headers), "headers_right": Out(headers)}
        super().__init__(members)

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
        m.submodules.waiting = waiting = WaitingFold(config)
        m.d.comb += [
            waiting.weights.eq(sequencer.current.operation == Operation.WS),
            waiting.place.eq(self.place),
            waiting.valid.eq(sequencer.valid),
            waiting.fold.eq(sequencer.fold),
        ]
        m.submodules.array = array = Mpra(config)
        m.d.comb += [self.x_right.eq(array.x_right), self.below.y.eq(array.y_down)]
        paths: list[Path] = []
        if config.integers:
            paths.append(self._integers(m, sequencer, array))
        if config.floats:
            paths.append(self._floats(m, array))
        for path, floats in zip(paths, (0, 1) if config.integers else (1,), strict=False):
            own = sequencer.floats == floats
            m.d.comb += [
                path.format.eq(sequencer.current.format),
                path.place.eq(self.place),
                path.valid.eq(sequencer.valid & own),
                path.fold.eq(sequencer.fold),
                path.go.eq(waiting.go & own),
                path.waiting.eq(waiting.o),
            ]
        chosen = _Chosen(paths, sequencer.floats)
        m.d.comb += [
            array.x.eq(Mux(self.place.left, chosen.value("x"), self.x_left.as_value())),
            array.y.eq(Mux(self.place.top, chosen.value("y"), self.above.y.as_value())),
            self.done.eq(chosen.value("done")),
        ]
        self._edge_memory(m, "left", paths, chosen, LaneMemoryName.LEFT)
        self._edge_memory(m, "top", paths, chosen, LaneMemoryName.TOP)
        self._result_memory(m, paths, chosen)
        return m

    def _integers(self, m: Module, sequencer: FoldSequencer, array: Mpra) -> IntegerPath:
        m.submodules.integers = path = IntegerPath(self._config)
        m.d.comb += [
            path.weights.eq(sequencer.current.operation == Operation.WS),
            path.limbs_log.eq(sequencer.limbs_log),
            path.size.eq(sequencer.current.result_size),
            path.sums.eq(array.sum),
            path.drains.eq(array.drain),
            array.sum_above.eq(self.above.sum),
            array.drain_above.eq(self.above.drain),
            self.below.sum.eq(array.sum),
            self.below.drain.eq(array.drain),
        ]
        return path

    def _floats(self, m: Module, array: Mpra) -> FloatPath:
        m.submodules.floats = path = FloatPath(self._config)
        m.d.comb += [
            path.last_limbs.eq(array.last_limbs),
            path.products.eq(array.products),
            path.headers_left.eq(self.headers_left),
            path.headers_above.eq(self.above.headers),
            self.headers_right.eq(path.headers_right),
            self.below.headers.eq(path.headers_below),
        ]
        return path

    def _edge_memory(
        self, m: Module, name: str, paths: list[Path], chosen: _Chosen, number: LaneMemoryName
    ) -> None:
        memory = LaneMemory(words=left_words(self._config), word_bytes=LEFT_WORD_BYTES)
        m.submodules[f"{name}_memory"] = memory
        writes = Signal(name=f"writes_{name}")
        write = self.write
        m.d.comb += [
            writes.eq(write.enable & (write.memory == number)),
            memory.read.eq(chosen.value(f"{name}_read")),
            memory.read_address.eq(chosen.value(f"{name}_address")),
            *(getattr(path, f"{name}_words").eq(memory.read_data) for path in paths),
            memory.write_data.eq(write.data),
        ]
        for n in range(BANKS):
            m.d.comb += [
                memory.write[n].eq(Mux(writes, write.mask[n], 0)),
                memory.write_address[n].eq(write.address[: len(memory.write_address[n])]),
            ]

    def _result_memory(self, m: Module, paths: list[Path], chosen: _Chosen) -> None:
        """The array's accesses go before those from outside."""
        memory = LaneMemory(words=result_words(self._config), word_bytes=RESULT_WORD_BYTES)
        m.submodules.result_memory = memory
        writes = Signal()
        reads = Signal()
        outside_reads = self.read.enable.replicate(BANKS)
        outside = Signal()
        own = self.write.enable & (self.write.memory == LaneMemoryName.RESULT)
        write = data.View(data.ArrayLayout(RESULT_WORD_BYTES, BANKS), chosen.value("write"))
        write_address = data.View(memory.write_address.shape(), chosen.value("write_address"))
        read_address = data.View(memory.read_address.shape(), chosen.value("read_address"))
        m.d.comb += [
            writes.eq(chosen.value("write").any()),
            reads.eq(chosen.value("read").any()),
            self.write_ready.eq(~writes),
            self.read_ready.eq(~reads),
            outside.eq(own & ~writes),
            memory.read.eq(Mux(reads, chosen.value("read"), outside_reads)),
            *(path.words.eq(memory.read_data) for path in paths),
        ]
        low, word = self.write.address[0], self.write.address[1:]
        for n in range(BANKS):
            part = self.write.mask[n]
            half = Mux(low, Cat(Const(0, LEFT_WORD_BYTES), part), part)
            m.d.comb += [
                memory.read_address[n].eq(Mux(reads, read_address[n], self.read.address[1:])),
                memory.write_address[n].eq(Mux(outside, word, write_address[n])),
                memory.write[n].eq(Mux(outside, half, write[n])),
                memory.write_data[n].eq(self._written(paths, chosen, n, outside)),
            ]
        upper = Signal()
        m.d.sync += upper.eq(self.read.address[0])
        for n in range(BANKS):
            bits = 8 * LEFT_WORD_BYTES
            found = memory.read_data[n]
            m.d.comb += self.read_data[n].eq(Mux(upper, found[bits:], found[:bits]))

    def _written(self, paths: list[Path], chosen: _Chosen, bank: int, outside: Value) -> Value:
        """What a bank of results is given. From outside, and of integers, both halves are alike."""
        found = self.write.data[bank]
        for path in paths:
            word = path.write_data[bank]
            if isinstance(path, IntegerPath):
                found = Mux(outside, found, word[: len(found)])
            else:
                own = ~outside & (chosen.floats | (len(paths) == 1))
                return Mux(own, word, found.replicate(2))
        return found.replicate(2)
