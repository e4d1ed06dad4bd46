"""Programs on the elements of a vector, as many at a time as there are lanes."""

from __future__ import annotations

from typing import Any, Final

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...spec.elementwise.instructions import SCALARS, WORD_BITS
from ...spec.sida import SidaConfig
from ...stream.stream_registers import OutputRegister, SkidBuffer
from ..layouts import count_bits
from .lane import Lane
from .layouts import KINDS, opcode, request_layout, row_layout, stored_layout, values_layout
from .load_walker import LoadWalker
from .reductions import Reductions
from .sequencer import Sequencer

__all__ = ["EwiseCore"]


class EwiseCore(wiring.Component):
    """Runs a part of a program on all elements of a vector.

    Blocks of up to eight rows of ``pes`` elements are taken in, and computed instruction by
    instruction, a row a cycle; quotients and roots take their cycles, those of scalars alone once
    until another one is computed. Where a block has fewer rows than an instruction has cycles of
    latency, the next one waits for it. No block is of two steps, so none waits for elements of the
    next step. Bits as ``sim/sida/result/elementwise.py``.

    Parameters
    ----------
    config: the accelerator's

    Members
    -------
    program_write, program_place, word: in; writes a word of the program
    words: in; of the program; constant while ``busy``
    scalar_write, scalar_place, scalar: in; writes a scalar; neither while ``busy``
    scalar_read: out; of scalar ``scalar_place``, a cycle later; not while ``busy``
    start: in; begins a part; ignored while ``busy``
    entry, columns: in, with ``start``; the part's first word; elements, at least 1
    i: values of the rows of y, in order, the first one of element 0
    o: rows of the part's result, in order, see :func:`row_layout`
    requests: what the program loads, ahead of its use, see :func:`request_layout`. The vector in
        memory is as it was before the part, but for elements of rows before
    loaded: the rows' values, in order
    stored: see :func:`stored_layout`
    busy: out; a part is under way
    done: out; for one cycle; all that it gives has been taken, its reductions are in their scalars
    error: out; the program has a word that is no instruction, or one that the core has not (dot;
        div and sqrt of integers), or a part of two results, or no end; until ``clear``
    error_place: out, with it; where; ``words`` if there is no end
    executes, waits: out; an instruction is done on a row in this cycle; or waits for rows, for a
        stream, for a quotient or a root
    clear: in; forgets everything at the end of the cycle but programs and scalars
    """

    def __init__(self, config: SidaConfig) -> None:
        self.config: Final = config
        address, bits = range(config.program_words), config.format.bits
        words = range(config.program_words + 1)
        super().__init__(
            {
                "program_write": In(1),
                "program_place": In(address),
                "word": In(WORD_BITS),
                "words": In(words, init=config.program_words),
                "scalar_write": In(1),
                "scalar_place": In(range(SCALARS)),
                "scalar": In(bits),
                "scalar_read": Out(bits),
                "start": In(1),
                "entry": In(address),
                "columns": In(count_bits(config)),
                "i": In(stream.Signature(values_layout(config))),
                "o": Out(stream.Signature(row_layout(config))),
                "requests": Out(stream.Signature(request_layout(config))),
                "loaded": In(stream.Signature(values_layout(config))),
                "stored": Out(stream.Signature(stored_layout(config))),
                "busy": Out(1),
                "done": Out(1),
                "error": Out(1),
                "error_place": Out(words),
                "executes": Out(1),
                "waits": Out(1),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.sequencer = sequencer = Sequencer(self.config)
        m.submodules.walker = walker = LoadWalker(self.config)
        m.submodules.reductions = reductions = Reductions(self.config)
        self._program(m, sequencer, walker)
        execute = Signal()
        begins = Signal()
        m.d.comb += [
            begins.eq(self.start & ~self.busy),
            execute.eq(sequencer.valid & sequencer.proceed),
            sequencer.start.eq(self.start),
            walker.start.eq(begins),
            reductions.start.eq(begins),
            sequencer.clear.eq(self.clear),
            walker.clear.eq(self.clear | sequencer.error),
            reductions.clear.eq(self.clear),
            *(part.entry.eq(self.entry) for part in (sequencer, walker)),
            *(part.columns.eq(self.columns) for part in (sequencer, walker)),
            *(part.words.eq(self.words) for part in (sequencer, walker)),
            self.busy.eq(sequencer.busy),
            self.done.eq(sequencer.done),
            self.error.eq(sequencer.error),
            self.error_place.eq(sequencer.finish_place),
            self.executes.eq(execute),
            self.waits.eq(sequencer.valid & ~sequencer.proceed),
        ]
        wiring.connect(m, walker.requests, wiring.flipped(self.requests))
        constants = self._scalars(m, sequencer, reductions)
        found = Signal(name="iteration_found")
        lanes = self._lanes(m, sequencer, execute, constants, found, begins)
        self._reduce(m, sequencer, reductions, lanes, execute, begins)
        self._streams(m, sequencer, reductions, lanes, execute, found)
        return m

    def _program(self, m: Module, sequencer: Sequencer, walker: LoadWalker) -> None:
        m.submodules.program = program = Memory(
            shape=WORD_BITS, depth=self.config.program_words, init=[]
        )
        write = program.write_port()
        m.d.comb += [
            write.en.eq(self.program_write),
            write.addr.eq(self.program_place),
            write.data.eq(self.word),
        ]
        for part in (sequencer, walker):
            read = program.read_port()
            m.d.comb += [read.addr.eq(part.address), part.word.eq(read.data)]

    def _scalars(self, m: Module, sequencer: Sequencer, reductions: Reductions) -> list[Value]:
        """Reads the scalars that may be operands of ``step``, and writes those of reductions."""
        m.submodules.scalars = scalars = Memory(
            shape=self.config.format.bits, depth=SCALARS, init=[]
        )
        write = scalars.write_port()
        found: list[Value] = []
        for name in "abc":
            read = scalars.read_port()
            m.d.comb += [
                read.en.eq(sequencer.read),
                read.addr.eq(sequencer.issued.word[name]),
            ]
            found.append(read.data)
        other = scalars.read_port()
        number = sequencer.finish_word.d
        m.d.comb += [
            other.addr.eq(Mux(self.busy, number, self.scalar_place)),
            self.scalar_read.eq(other.data),
            reductions.scalar.eq(other.data),
            write.en.eq(self.scalar_write | reductions.write),
            write.addr.eq(Mux(self.busy, number, self.scalar_place)),
            write.data.eq(Mux(self.busy, reductions.total, self.scalar)),
        ]
        return found

    def _iterate(
        self, m: Module, sequencer: Sequencer, execute: Value, found: Signal, begins: Value
    ) -> Signal:
        """When a quotient or a root begins, and whether the lanes still have what ``step`` wants:
        of scalars alone all rows have the same one, until another one begins."""
        step, word = sequencer.step, sequencer.step.word
        fresh = Signal(name="iteration_begins", init=1)
        starts = Signal(name="iteration_starts")
        scalars = Signal(name="of_scalars")
        kept = Signal(name="iteration_kept")
        place = Signal.like(step.place, name="iteration_place")
        divides = word.opcode == opcode("div")
        iterates = divides | (word.opcode == opcode("sqrt"))
        m.d.comb += [
            found.eq(fresh & kept & (place == step.place)),
            starts.eq(sequencer.valid & fresh & iterates & ~step.first & ~found),
            scalars.eq(word.a[-1] & (word.b[-1] | ~divides)),
        ]
        with m.If(execute | self.clear):
            m.d.sync += fresh.eq(1)
        with m.Elif(starts):
            m.d.sync += fresh.eq(0)
        with m.If(starts):
            m.d.sync += [kept.eq(scalars), place.eq(step.place)]
        with m.If(begins):
            m.d.sync += kept.eq(0)
        return starts

    def _lanes(
        self,
        m: Module,
        sequencer: Sequencer,
        execute: Value,
        constants: list[Value],
        found: Signal,
        begins: Value,
    ) -> list[Lane]:
        issued, step = sequencer.issued, sequencer.step
        word = step.word
        starts = self._iterate(m, sequencer, execute, found, begins)
        stores = word.opcode == opcode("store")
        silent = [opcode("end"), opcode("out"), *(opcode(name) for name in KINDS)]
        writes = step.first | ~Cat(word.opcode == number for number in silent).any()
        lanes = []
        for index in range(self.config.pes):
            m.submodules[f"lane_{index}"] = lane = Lane(self.config)
            m.d.comb += [
                lane.read.eq(sequencer.read),
                lane.opcode.eq(word.opcode),
                lane.outside.eq(step.first | ((word.opcode == opcode("load")) & ~step.kept)),
                lane.given.eq(Mux(step.first, self.i.payload[index], self.loaded.payload[index])),
                lane.start.eq(starts),
                lane.execute.eq(execute & writes),
                lane.target.row.eq(step.row),
                lane.target.stored.eq(stores & ~step.first),
                lane.target.number.eq(Mux(step.first, 0, Mux(stores, word.c, word.d))),
                lane.clear.eq(self.clear),
            ]
            for place, name in enumerate("abc"):
                m.d.comb += [
                    lane.places[place].row.eq(issued.row),
                    lane.places[place].number.eq(issued.word[name]),
                    lane.places[place].stored.eq(issued.kept if name == "c" else 0),
                    lane.constants[place].eq(constants[place]),
                    lane.constant[place].eq(word[name][-1]),
                ]
            lanes.append(lane)
        return lanes

    def _reduce(
        self,
        m: Module,
        sequencer: Sequencer,
        reductions: Reductions,
        lanes: list[Lane],
        execute: Value,
        begins: Value,
    ) -> None:
        step, word = sequencer.step, sequencer.step.word
        kind = Signal(range(len(KINDS)), name="kind")
        with m.Switch(Mux(sequencer.finish, sequencer.finish_word.opcode, word.opcode)):
            for number, name in enumerate(KINDS):
                with m.Case(opcode(name)):
                    m.d.comb += kind.eq(number)
        reduces = Cat(word.opcode == opcode(name) for name in KINDS).any()
        m.d.comb += [
            reductions.valid.eq(execute & reduces & ~step.first),
            reductions.kind.eq(kind),
            reductions.slot.eq(Mux(sequencer.finish, sequencer.finish_place, step.place)),
            reductions.turn.eq(step.turn),
            reductions.fresh.eq(step.fresh),
            reductions.mask.eq(self._mask(m, step, begins)),
            *(reductions.values[n].eq(lane.operand) for n, lane in enumerate(lanes)),
            reductions.finish.eq(sequencer.finish),
            reductions.number.eq(sequencer.finish_word.d),
            reductions.count.eq(sequencer.count),
            sequencer.finished.eq(reductions.finished),
        ]

    def _mask(self, m: Module, step: Any, begins: Value) -> Value:
        """Returns the mask of the elements present in the row of ``step``."""
        pes = self.config.pes
        tail = Signal(pes, name="tail")
        mask = Signal(pes, name="mask")
        with m.If(begins):
            rest = self.columns[: pes.bit_length() - 1]
            whole = rest == 0
            m.d.sync += tail.eq(Cat(*(whole | (rest > n) for n in range(pes - 1)), whole))
        m.d.comb += mask.eq(Mux(step.last, tail, ~0))
        return mask

    def _streams(
        self,
        m: Module,
        sequencer: Sequencer,
        reductions: Reductions,
        lanes: list[Lane],
        execute: Value,
        found: Value,
    ) -> None:
        """Connects the streams of an instruction: operands that it waits for, and results."""
        config, step = self.config, sequencer.step
        word = step.word
        m.submodules.results = results = OutputRegister(row_layout(config), clearable=True)
        m.submodules.stores = stores = SkidBuffer(stored_layout(config), clearable=True)
        wiring.connect(m, results.o, wiring.flipped(self.o))
        wiring.connect(m, stores.o, wiring.flipped(self.stored))
        for row in (results.i.payload, stores.i.payload.row):
            m.d.comb += [
                row.base.eq(step.base),
                row.mask.eq(reductions.mask),
                *(row["values"][n].eq(lane.operand) for n, lane in enumerate(lanes)),
            ]
        takes = {
            name: Signal(name=f"takes_{name}") for name in ("load", "store", "out", "iteration")
        }
        m.d.comb += [
            takes["load"].eq(~step.first & (word.opcode == opcode("load")) & ~step.kept),
            takes["store"].eq(~step.first & (word.opcode == opcode("store"))),
            takes["out"].eq(~step.first & (word.opcode == opcode("out"))),
            takes["iteration"].eq(
                ~step.first & ((word.opcode == opcode("div")) | (word.opcode == opcode("sqrt")))
            ),
            sequencer.proceed.eq(
                ~(
                    (step.first & ~self.i.valid)
                    | (takes["load"] & ~self.loaded.valid)
                    | (takes["store"] & ~stores.i.ready)
                    | (takes["out"] & ~results.i.ready)
                    | (takes["iteration"] & ~lanes[0].done & ~found)
                )
            ),
            self.i.ready.eq(sequencer.valid & step.first),
            self.loaded.ready.eq(sequencer.valid & takes["load"]),
            stores.i.payload.vector.eq(word.c),
            stores.i.valid.eq(sequencer.valid & takes["store"]),
            results.i.valid.eq(sequencer.valid & takes["out"]),
            stores.clear.eq(self.clear),
            results.clear.eq(self.clear),
            sequencer.drained.eq(~(reductions.busy | self.o.valid | self.stored.valid)),
        ]
