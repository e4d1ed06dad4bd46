"""Raises two errors of an outer product at once: the detail belongs to the reported one."""

from __future__ import annotations

from typing import Any

import pytest
from amaranth.sim import Simulator
from tilewright.hw.matraptor.outer.product import OuterProduct
from tilewright.hw.spec.matraptor import MatRaptorConfig

CONFIG = MatRaptorConfig(lanes=1, channels=1, queues=3, queue_depth=4, outer_product=True)
ROWS, COLUMNS = 6, 2
FULL_ROW = 4
"""A line a row: the fifth one has no room."""
ROW = 99
"""Row of A, as it is stored, to which the wrong entry of B belongs."""


def run(wrong: str, offered: int) -> dict[str, int]:
    """Returns the cycle of each error if the wrong entry is offered from a given cycle on."""
    unit = OuterProduct(CONFIG)
    seen: dict[str, int] = {}

    async def drive(ctx: Any) -> None:
        ctx.set(unit.job.rows, ROWS)
        ctx.set(unit.job.columns, COLUMNS)
        ctx.set(unit.rows_in_lane, ROWS)
        ctx.set(unit.start, 1)
        for cycle in range(1, 24):
            await ctx.tick()
            ctx.set(unit.start, 0)
            if cycle >= offered:
                # Two entries in column 1, or one in a column that B does not have.
                ctx.set(unit.i.valid, 1)
                ctx.set(unit.i.payload.present, 1)
                ctx.set(unit.i.payload.column, 1 if wrong == "unsorted" else COLUMNS)
                ctx.set(unit.i.payload.row.index, ROW)
            found = {name: ctx.get(getattr(unit, name)) for name in ("overflow", wrong)}
            detail = ctx.get(unit.error_row.index)
            if found[wrong]:
                assert detail == ROW
            elif found["overflow"]:
                assert detail == FULL_ROW
            seen.update({name: cycle for name in found if found[name] and name not in seen})

    simulator = Simulator(unit)
    simulator.add_clock(1e-9)
    simulator.add_testbench(drive)
    simulator.run()
    assert set(seen) == {"overflow", wrong}
    return seen


@pytest.mark.parametrize("wrong", ["index_error", "unsorted"])
def test_an_overflow_and_a_wrong_row_of_b(wrong: str) -> None:
    seen = [run(wrong, offered) for offered in range(1, 9)]
    assert {(x[wrong] > x["overflow"]) - (x[wrong] < x["overflow"]) for x in seen} == {-1, 0, 1}
