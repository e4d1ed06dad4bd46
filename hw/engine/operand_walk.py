"""Walks the rows in memory that the blocks of each operand are composed of."""

from __future__ import annotations

from collections.abc import Callable

from amaranth.hdl import Const, Module, Mux, Signal, Value, ValueLike
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..spec.engine import SIZE_BITS, EngineConfig
from .layouts import Sizes, log2, within


def row_layout(config: EngineConfig) -> data.StructLayout:
    """A row of a block: address of its first beat, its last beat, which row it is, whether it is
    the block's last, and the block's buffer."""
    sizes = Sizes(config)
    return data.StructLayout(
        {
            "address": config.addr_bits,
            "last_beat": sizes.beat_bits,
            "row": sizes.row_bits,
            "last": 1,
            "buffer": 1,
        }
    )


class RowWalker(wiring.Component):
    """Walks block rows i, block columns j, k chunks k and, innermost, rows.

    One row a cycle. A pointer a level; entering the next position of a level adds its step to
    its pointer, and the pointers of the levels below start there. Addresses wrap around.

    Members
    -------
    start: take ``base`` and begin; needs ``stop`` low
    stop: end at once, forget the row that was offered
    base, step_i, step_j, step_k, step_row: address of the first row, distances; constant
    i_last, j_last, k_last: the last number of each level; constant from ``start`` on
    row_last, beat_last: last row of the block, last beat of its rows, at the present position
    credit: a buffer is free for the next block
    at_i_last, at_j_last, at_k_last: the position is the last of its level; from registers
    claim: a block's first row leaves
    running: rows are left
    o: see :func:`row_layout`
    """

    def __init__(self, config: EngineConfig) -> None:
        self._sizes = sizes = Sizes(config)
        self._addr_bits = config.addr_bits
        addresses = ("base", "step_i", "step_j", "step_k", "step_row")
        self._widths = {"i": SIZE_BITS, "j": SIZE_BITS, "k": sizes.k_bits}
        super().__init__(
            {
                "start": In(1),
                "stop": In(1),
                **{name: In(config.addr_bits) for name in addresses},
                **{f"{level}_last": In(width) for level, width in self._widths.items()},
                "row_last": In(sizes.row_bits),
                "beat_last": In(sizes.beat_bits),
                "credit": In(1),
                **{f"at_{level}_last": Out(1) for level in self._widths},
                "claim": Out(1),
                "running": Out(1),
                "o": Out(stream.Signature(row_layout(config))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        levels = ("i", "j", "k", "row")
        pointers = {x: Signal(self._addr_bits, name=f"at_{x}", reset_less=True) for x in levels}
        position = {x: Signal(width, name=x) for x, width in self._widths.items()}
        row = Signal(self._sizes.row_bits)
        buffer = Signal()
        row_end = Signal()
        # `row` is the last one of several; registered, since the choice of the target begins with
        # it. It is computed while `row_last` is already that of the present block.
        ends = Signal()
        moved = Signal()
        first = Signal()
        at_last = {x: getattr(self, f"at_{x}_last") for x in position}
        last = {x: getattr(self, f"{x}_last") for x in position}
        m.d.comb += [
            first.eq(row == 0),
            row_end.eq(Mux(first, self.row_last == 0, ends)),
            self.o.valid.eq(self.running & (~first | self.credit)),
            self.o.payload.address.eq(pointers["row"]),
            self.o.payload.last_beat.eq(self.beat_last),
            self.o.payload.row.eq(row),
            self.o.payload.last.eq(row_end),
            self.o.payload.buffer.eq(buffer),
            moved.eq(self.o.valid & self.o.ready),
            self.claim.eq(moved & first),
        ]
        # enters[x]: the next move enters the next position of level x or of a level above it;
        # carry[x]: it does so now. `moved` arrives late, so `enters` chooses the target.
        enters = {x: Signal(name=f"enters_{x}") for x in levels}
        carry = {x: Signal(name=f"carry_{x}") for x in levels}
        m.d.comb += [
            enters["row"].eq(1),
            enters["k"].eq(row_end),
            enters["j"].eq(row_end & self.at_k_last),
            enters["i"].eq(row_end & self.at_k_last & self.at_j_last),
            *(carry[x].eq(moved & enters[x]) for x in levels),
        ]
        target = Signal(self._addr_bits)
        source, step = pointers["row"], self.step_row
        for level in ("k", "j", "i"):
            source = Mux(enters[level], pointers[level], source)
            step = Mux(enters[level], getattr(self, f"step_{level}"), step)
        m.d.comb += target.eq(source + step)
        for level in levels:
            with m.If(carry[level]):
                m.d.sync += pointers[level].eq(target)
        with m.If(moved):
            m.d.sync += [row.eq(Mux(row_end, 0, row + 1)), ends.eq(row + 1 == self.row_last)]
        for level in position:
            # `at_last` is registered, since the choice of the target begins with it.
            following = position[level] + 1
            with m.If(carry[level]):
                m.d.sync += [
                    position[level].eq(Mux(at_last[level], 0, following)),
                    at_last[level].eq(
                        Mux(at_last[level], last[level] == 0, following == last[level])
                    ),
                ]
        with m.If(carry["k"]):
            m.d.sync += buffer.eq(~buffer)
        with m.If((carry["i"] & self.at_i_last) | self.stop):
            m.d.sync += self.running.eq(0)
        with m.If(self.start):
            m.d.sync += [self.running.eq(1), row.eq(0), buffer.eq(0)]
            m.d.sync += [pointer.eq(self.base) for pointer in pointers.values()]
            m.d.sync += [counter.eq(0) for counter in position.values()]
            m.d.sync += [at_last[level].eq(last[level] == 0) for level in position]
        return m


class _Job:
    """Values derived from a job's fields; ``choose`` picks by the width of an element."""

    def __init__(self, config: EngineConfig, job: Value) -> None:
        self.config, self.sizes, self.job = config, Sizes(config), job

    def _choose(self, one_hot: Value, options: list[ValueLike]) -> Value:
        chosen: Value = Value.cast(options[0])
        for index, option in enumerate(options[1:], 1):
            chosen = Mux(one_hot[index], option, chosen)
        return chosen

    def by_element(self, function: Callable[[int], ValueLike]) -> Value:
        lanes = self.config.element_lanes
        return self._choose(self.job.element, [function(n) for n in lanes])

    def by_result(self, function: Callable[[int], ValueLike]) -> Value:
        widths = self.config.result_widths
        return self._choose(self.job.result, [function(n) for n in widths])

    def last_beat(self, last: Value, elements: int, bits: int) -> Value:
        """The beat that holds element ``last`` of a row of ``elements`` of ``bits``."""
        per_beat = self.config.data_bits // bits
        assert elements % per_beat == 0
        return last[log2(per_beat) :] if elements > per_beat else Const(0)


def connect_walk(
    m: Module, config: EngineConfig, walker: RowWalker, operand: str, job: Value
) -> None:
    """Set a walker's parameters for an operand, "a", "b", "c" or "d", of a job.

    Blocks of all operands come in the order in which D is computed: for every block row and,
    in it, every block column, all chunks of k; C and D have one block for these.
    """
    walk = _Job(config, job)
    sizes = walk.sizes
    down, across = sizes.block_rows * sizes.rows, sizes.block_cols * sizes.cols
    deep = sizes.block_depth * sizes.depth
    m.d.comb += [
        walker.base.eq(getattr(job, f"{operand}_base")),
        walker.step_row.eq(getattr(job, f"{operand}_stride")),
        walker.i_last.eq(job.m1[log2(down) :]),
        walker.j_last.eq(job.n1[log2(across) :]),
        walker.k_last.eq(0 if operand in "cd" else job.k1[log2(deep) :]),
    ]
    {"a": _walk_a, "b": _walk_b, "c": _walk_c, "d": _walk_c}[operand](
        m, walk, walker, down, across, deep
    )


def _walk_a(m: Module, walk: _Job, walker: RowWalker, down: int, across: int, deep: int) -> None:
    lane = walk.config.unit.lane_bits
    last_lane = within(walker.at_k_last, walk.job.k1, deep)
    m.d.comb += [
        walker.step_i.eq(walk.job.a_stride.shift_left(log2(down))),
        walker.step_k.eq(deep * lane // 8),
        walker.row_last.eq(within(walker.at_i_last, walk.job.m1, down)),
        walker.beat_last.eq(walk.last_beat(last_lane, deep, lane)),
    ]


def _walk_b(m: Module, walk: _Job, walker: RowWalker, down: int, across: int, deep: int) -> None:
    """Transposed: rows are columns of B, as A's rows are. Otherwise a row is a k of B."""
    job, lane = walk.job, walk.config.unit.lane_bits
    last_lane = within(walker.at_k_last, job.k1, deep)
    last_col = within(walker.at_j_last, job.n1, across)
    with m.If(job.transposed_b):
        m.d.comb += [
            walker.step_j.eq(job.b_stride.shift_left(log2(across))),
            walker.step_k.eq(deep * lane // 8),
            walker.row_last.eq(last_col),
            walker.beat_last.eq(walk.last_beat(last_lane, deep, lane)),
        ]
    with m.Else():
        m.d.comb += [
            walker.step_j.eq(walk.by_element(lambda n: Const(across * n * lane // 8))),
            walker.step_k.eq(walk.by_element(lambda n: job.b_stride.shift_left(log2(deep // n)))),
            walker.row_last.eq(walk.by_element(lambda n: last_lane[log2(n) :])),
            walker.beat_last.eq(
                walk.by_element(lambda n: walk.last_beat(last_col, across, n * lane))
            ),
        ]


def _walk_c(m: Module, walk: _Job, walker: RowWalker, down: int, across: int, deep: int) -> None:
    job = walk.job
    operand_stride = walker.step_row
    last_col = within(walker.at_j_last, job.n1, across)
    m.d.comb += [
        walker.step_i.eq(operand_stride.shift_left(log2(down))),
        walker.step_j.eq(walk.by_result(lambda bits: Const(across * bits // 8))),
        walker.row_last.eq(within(walker.at_i_last, job.m1, down)),
        walker.beat_last.eq(walk.by_result(lambda bits: walk.last_beat(last_col, across, bits))),
    ]
