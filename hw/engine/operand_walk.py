"""Walks the rows in memory that the blocks of each operand are composed of."""

from __future__ import annotations

from collections.abc import Callable

from amaranth.hdl import Const, Module, Mux, Value, ValueLike

from ..spec.engine import EngineConfig
from .layouts import Sizes, log2, within
from .row_walker import RowWalker

__all__ = ["connect_walk"]


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
