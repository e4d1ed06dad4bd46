"""Brings operations and their operands together and feeds them to the matrix unit."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..spec.engine import SIZE_BITS, EngineConfig
from ..spec.matrix_unit import Operation
from ..stream.matrix_unit import operation_layout
from .layouts import Sizes, bits_for, job_layout, log2, within
from .scratchpads import tile_layout

Limits = dict[str, Value]


def step_layout(config: EngineConfig) -> data.StructLayout:
    """An operation: which tiles of the buffers it takes.

    ``first``: the first of its sum, it takes C; ``cut``: it has the last k of the matrices;
    ``block_end``: the last operation of the block.
    """
    rows, cols, depth = config.block
    return data.StructLayout(
        {
            "row": bits_for(rows),
            "col": bits_for(cols),
            "k": bits_for(depth),
            "chunk_buffer": 1,
            "block_buffer": 1,
            "first": 1,
            "cut": 1,
            "block_end": 1,
        }
    )


class Sequencer(wiring.Component):
    """Walks block rows, block columns, chunks of k; in a chunk k tiles, tile rows, tile columns.

    One operation a cycle. The next k step of a tile waits until the result of the one before is
    back, so it waits only if a block has fewer tiles than operations are in flight.

    Source: SIMD2, section on the tiled algorithm.

    Members
    -------
    job, start, stop: take the job and begin; end at once
    a_loaded, b_loaded, c_loaded: pulses: the next block of the operand is in its buffer
    stored: pulse: a result buffer was stored and is free
    written: pulse: a result has come back and can be read in the next cycle
    chunk_done: pulse: the last operation on the buffers of A and B has left
    running: operations are left, or results in flight
    o: see :func:`step_layout`
    """

    def __init__(self, config: EngineConfig) -> None:
        self._sizes = Sizes(config)
        pulses_in = ("start", "stop", "a_loaded", "b_loaded", "c_loaded", "stored", "written")
        super().__init__(
            {
                "job": In(job_layout(config)),
                **{name: In(1) for name in pulses_in},
                **{name: Out(1) for name in ("chunk_done", "running")},
                "o": Out(stream.Signature(step_layout(config))),
            }
        )
        self._most_under_way = 2 * config.sum_cycles

    def elaborate(self, platform: object) -> Module:
        m = Module()
        moved = Signal()
        active = Signal()
        at_last, first, block_start, limits = self._walk(m, moved)
        chunk_end = Signal()
        block_end = Signal()
        full = {operand: Signal(range(3), name=f"{operand}_full") for operand in "abc"}
        result_free = self._result_buffer_free(m, moved & block_start)
        sum_back = self._partial_sum_back(m, active, moved, limits["row"], limits["col"])
        fresh = Mux(self.job.use_c, full["c"] != 0, result_free | ~block_start)
        m.d.comb += [
            chunk_end.eq(at_last["col"] & at_last["row"] & at_last["k"]),
            block_end.eq(chunk_end & at_last["chunk"]),
            self.o.valid.eq(
                active & (full["a"] != 0) & (full["b"] != 0) & Mux(first, fresh, sum_back)
            ),
            moved.eq(self.o.valid & self.o.ready),
            self.chunk_done.eq(moved & chunk_end),
            self.o.payload.first.eq(first),
            self.o.payload.cut.eq(at_last["chunk"] & at_last["k"]),
            self.o.payload.block_end.eq(block_end),
        ]
        block_done = moved & block_end
        for operand, count in full.items():
            freed = block_done & self.job.use_c if operand == "c" else self.chunk_done
            m.d.sync += count.eq(count + getattr(self, f"{operand}_loaded") - freed)
            with m.If(self.start):
                m.d.sync += count.eq(0)
        for name, ended in (("chunk", self.chunk_done), ("block", block_done)):
            buffer = Signal(name=f"at_{name}_buffer")
            m.d.comb += self.o.payload[f"{name}_buffer"].eq(buffer)
            with m.If(ended):
                m.d.sync += buffer.eq(~buffer)
            with m.If(self.start):
                m.d.sync += buffer.eq(0)
        with m.If(self.stop | (block_done & at_last["block_col"] & at_last["block_row"])):
            m.d.sync += active.eq(0)
        with m.If(self.start):
            m.d.sync += active.eq(1)
        return m

    def _walk(self, m: Module, moved: Value) -> tuple[dict[str, Signal], Value, Value, Limits]:
        """The counters, innermost first; returns which are at their last value, whether the
        operation is the first of its sum, of its block, and the last values."""
        sizes, job, step = self._sizes, self.job, self.o.payload
        down, across = sizes.block_rows * sizes.rows, sizes.block_cols * sizes.cols
        deep = sizes.block_depth * sizes.depth
        widths = {"col": len(step.col), "row": len(step.row), "k": len(step.k)}
        widths |= {"chunk": sizes.k_bits, "block_col": SIZE_BITS, "block_row": SIZE_BITS}
        counters = {name: Signal(width, name=f"at_{name}") for name, width in widths.items()}
        at_last = {name: Signal(name=f"last_{name}") for name in widths}
        limits = {
            "col": _tiles(within(at_last["block_col"], job.n1, across), sizes.cols),
            "row": _tiles(within(at_last["block_row"], job.m1, down), sizes.rows),
            "k": _tiles(within(at_last["chunk"], job.k1, deep), sizes.depth),
            "chunk": job.k1[log2(deep) :],
            "block_col": job.n1[log2(across) :],
            "block_row": job.m1[log2(down) :],
        }
        carry: Value = moved
        for name, counter in counters.items():
            m.d.comb += at_last[name].eq(counter == limits[name])
            with m.If(carry):
                m.d.sync += counter.eq(Mux(at_last[name], 0, counter + 1))
            with m.If(self.start):
                m.d.sync += counter.eq(0)
            carry = carry & at_last[name]
        for name in ("col", "row", "k"):
            m.d.comb += step[name].eq(counters[name])
        first = (counters["chunk"] == 0) & (counters["k"] == 0)
        block_start = first & (counters["row"] == 0) & (counters["col"] == 0)
        return at_last, first, block_start, limits

    def _result_buffer_free(self, m: Module, taken: Value) -> Value:
        """Returns whether the next block has a free result buffer, in a job without C."""
        occupied = Signal(range(3))
        m.d.sync += occupied.eq(occupied + taken - self.stored)
        with m.If(self.start):
            m.d.sync += occupied.eq(0)
        return occupied != 2

    def _partial_sum_back(
        self, m: Module, active: Value, moved: Value, row: Value, col: Value
    ) -> Value:
        """Returns whether fewer operations are in flight than the block has tiles.

        The product is a cycle late, which is early enough: a block's first operation needs no
        partial sum.
        """
        under_way = Signal(range(self._most_under_way + 1))
        tiles = Signal(bits_for(self._sizes.block_rows * self._sizes.block_cols + 1))
        m.d.sync += [
            under_way.eq(under_way + moved - self.written),
            tiles.eq((row + 1) * (col + 1)),
        ]
        m.d.comb += self.running.eq(active | (under_way != 0))
        return under_way < tiles


def _tiles(last: Value, length: int) -> Value:
    """The tile that holds a position, as a number of at least one bit."""
    return last[log2(length) :] if len(last) > log2(length) else Const(0)


def tag_layout(config: EngineConfig) -> data.StructLayout:
    """Tag of an operation in flight: the tile of its result, and whether it ends its block."""
    return data.StructLayout({"tile": tile_layout(config), "block_end": 1})


class Feeder(wiring.Component):
    """Reads the tiles of an operation, pads them after the last k, and offers the operation to the
    unit.

    Lanes of A and B after the last k get the operation's padding, or where its format has none
    the lane of the first k: those operations are idempotent, so that the product it repeats
    changes nothing. Rows and columns outside the matrices are left as they are, as they are never
    stored. The first operation of a sum takes C, or the operation's neutral addend.

    One operation a cycle; two cycles from ``i`` to ``o``: the access to the scratchpads, and the
    register in front of the unit, whose first stage decodes the operands.

    Members
    -------
    job: the job; i: steps (see :func:`step_layout`)
    read: the tiles of ``i`` are to be read now
    a, b, c: the tiles that were read, from the next cycle until the next read
    o: operations for the unit; tag: where their results belong, moves with ``o``
    """

    def __init__(self, config: EngineConfig) -> None:
        self._config = config
        self._sizes = sizes = Sizes(config)
        self._operation = operation = operation_layout(config.unit)
        c_row = data.ArrayLayout(sizes.c_bits, sizes.cols)
        super().__init__(
            {
                "job": In(job_layout(config)),
                "i": In(stream.Signature(step_layout(config))),
                "read": Out(1),
                "a": In(operation["a"].shape),
                "b": In(operation["b"].shape),
                "c": In(data.ArrayLayout(c_row, sizes.rows)),
                "o": Out(stream.Signature(operation)),
                "tag": Out(tag_layout(config)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        step = Signal.like(self.i.payload)
        fetched = Signal()
        valid = Signal()
        register_free = Signal()
        fed = Signal(self._operation)
        operation = Signal(self._operation, reset_less=True)
        m.d.comb += [
            register_free.eq(~valid | self.o.ready),
            self.i.ready.eq(~fetched | register_free),
            self.read.eq(self.i.valid & self.i.ready),
            self.o.valid.eq(valid),
            self.o.payload.eq(operation),
        ]
        with m.If(self.i.ready):
            m.d.sync += fetched.eq(self.i.valid)
        with m.If(self.read):
            m.d.sync += step.eq(self.i.payload)
        with m.If(register_free):
            m.d.sync += [
                valid.eq(fetched),
                operation.eq(fed),
                self.tag.tile.row.eq(step.row),
                self.tag.tile.col.eq(step.col),
                self.tag.tile.buffer.eq(step.block_buffer),
                self.tag.block_end.eq(step.block_end),
            ]
        m.d.comb += fed.op.eq(self.job.op)
        self._operands(m, step, fed)
        self._addends(m, step.first, fed)
        return m

    def _chosen(self, of: dict[int, int]) -> Value:
        """A constant by opcode."""
        opcodes = self._config.unit.operations.values()
        patterns = {op.opcode: of[op.opcode] for op in opcodes}
        common = max(set(patterns.values()), key=list(patterns.values()).count)
        width = max(p.bit_length() for p in patterns.values()) or 1
        chosen: Value = Const(common, width)
        for opcode, pattern in patterns.items():
            if pattern != common:
                chosen = Mux(self.job.op == opcode, Const(pattern, width), chosen)
        return chosen

    def _operands(
        self, m: Module, step: data.View[data.StructLayout], fed: data.View[data.StructLayout]
    ) -> None:
        """Computes both operands, with the lanes after the last k padded."""
        sizes, unit = self._sizes, self._config.unit
        operations = list(unit.operations.values())
        repeats = Signal()
        without = [op.opcode for op in operations if op.padding is None]
        if without:
            m.d.comb += repeats.eq(Cat(self.job.op == n for n in without).any())
        for lane in range(sizes.depth):
            padded = Signal(name=f"padded_{lane}")
            pads = [
                self._chosen({op.opcode: _padding(op, unit.lane_bits, side, lane)
                              for op in operations})
                for side in range(2)
            ]  # fmt: skip
            if lane:
                last = self.job.k1[: log2(sizes.depth)]
                m.d.comb += padded.eq(step.cut & (last < lane))
            for row in range(sizes.rows):
                pad = Mux(repeats, self.a[row][0], pads[0]) if without else pads[0]
                m.d.comb += fed.a[row][lane].eq(Mux(padded, pad, self.a[row][lane]))
            for col in range(sizes.cols):
                pad = Mux(repeats, self.b[0][col], pads[1]) if without else pads[1]
                m.d.comb += fed.b[lane][col].eq(Mux(padded, pad, self.b[lane][col]))

    def _addends(self, m: Module, first: Value, fed: data.View[data.StructLayout]) -> None:
        neutral = Signal(self._sizes.c_bits)
        operations = self._config.unit.operations.values()
        m.d.comb += neutral.eq(self._chosen({op.opcode: op.addend or 0 for op in operations}))
        for row in range(self._sizes.rows):
            for col in range(self._sizes.cols):
                addend = Mux(first & ~self.job.use_c, neutral, self.c[row][col])
                m.d.comb += fed.c[row][col].eq(addend)


def _padding(operation: Operation, lane_bits: int, side: int, lane: int) -> int:
    """Computes the pattern that pads a lane of a (side 0) or b (side 1); 0 for operations without
    one."""
    if operation.padding is None:
        return 0
    lanes = max(1, operation.operand_bits // lane_bits)
    return operation.padding[side] >> lane % lanes * lane_bits & ((1 << lane_bits) - 1)
