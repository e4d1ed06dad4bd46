"""Cycle model, outer products: what a job does besides, and its state for compiled code."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from ....hw.spec.matraptor import MatRaptorConfig
from .plan import LAST, Places, Plan, packed, plan, starts
from .state import LONG_RING, NEVER, RING, Latency, State

__all__ = ["EMPTY", "END", "OuterState", "outer_plan", "outer_state"]

EMPTY, END = -1, -2
"""In place of a sum's place: no product, and the token that ends the lane."""

_LANE = np.dtype(
    [
        (name, np.int64)
        for name in (
            # From when on products are summed, and when the sums leave.
            *("summing", "draining"),
            # The columns of A: tokens taken, whether the token that ends the lane is to be sent;
            # entries that wait for their row of B, and are done (and when last).
            *("taken", "closing", "column_in", "column_out", "column_out_at"),
            # Rows of B: the token before the two memories, rows that are in them, and that were
            # sent; the next entry of the one that is being sent.
            *("held", "token", "stored", "sent", "entry"),
            # Places of the product that is multiplied, that has a place; places that were read.
            *("multiplied", "placed", "reads"),
            # The next row of C, whether its first line is known; whether a line is shown, which
            # is next, how many of the row are behind it, and its sums that are still to be sent.
            *("row", "ready", "shown", "line", "left", "mask"),
        )
    ]
)


class OuterState(NamedTuple):
    """What changes, besides :class:`State`.

    ``lanes``: counters. ``column`` and ``column_time`` [lane, place]: tokens of A that wait for a
    row of B, and from when on they can be seen. ``product_place`` [lane, place]: of those in the
    multiplier. ``read_place`` and ``read_time`` [lane, place]: of the latest sums that were read.
    ``begun`` [lane, line]: banks in which there is a sum. ``lines``: of a row of C; ``banks``.
    """

    lanes: Any
    column: Any
    column_time: Any
    product_place: Any
    read_place: Any
    read_time: Any
    begun: Any
    lines: int
    banks: int


def outer_plan(
    config: MatRaptorConfig, t: csr_array, b: csr_array, places: Places, rows: int
) -> Plan:
    """Lay out the work of an outer product; ``t``: A as it is stored, ``places``: where the
    operands are, ``rows``: of C."""
    work = plan(config, t, b, places, rows)
    none = csr_array((rows, 1))
    rows_of_c = plan(config, none, b, packed(none, b, config.channels))
    lengths = np.diff(t.indptr)[work.row_number]
    columns, counts = [], []
    for lane in range(config.lanes):
        own = slice(work.row_start[lane], work.row_start[lane + 1])
        asked = work.row_number[own][lengths[own] > 0] // config.lanes
        # The last token ends the lane.
        columns.append(np.append(asked, -1) if lane < rows else asked)
        counts.append(len(columns[-1]))
    column = np.concatenate(columns).astype(np.int64)
    return work._replace(
        ask_start=starts(counts),
        ask_column=column,
        ask_flags=np.full_like(column, LAST),
        c_start=rows_of_c.row_start,
        c_number=rows_of_c.row_number,
        c_slot=rows_of_c.row_slot,
    )


def outer_state(
    config: MatRaptorConfig, machine: State, work: Plan, times: Latency, columns: int
) -> OuterState:
    """Of a machine at the beginning of a job; ``columns``: of C."""
    lanes = config.lanes
    lines = max(1, -(-columns // config.accumulator_banks))
    own = np.diff(work.c_start)

    def zeros(*size: int) -> Any:
        return np.zeros(size, np.int64)

    state = OuterState(
        lanes=np.zeros(lanes, _LANE),
        column=zeros(lanes, LONG_RING),
        column_time=zeros(lanes, LONG_RING),
        product_place=zeros(lanes, RING),
        read_place=zeros(lanes, RING),
        read_time=zeros(lanes, RING),
        begun=zeros(lanes, max(1, int(own.max()) * lines)),
        lines=lines,
        banks=config.accumulator_banks,
    )
    record = state.lanes
    # The lines are cleared, one a cycle; a cycle later it is known that none is left.
    record["summing"] = times.start + own * lines + 1
    record["draining"] = NEVER
    record["taken"] = work.token_start[:-1]
    record["sent"] = record["stored"] = work.ask_start[:-1]
    record["row"] = work.c_start[:-1]
    record["multiplied"] = record["placed"] = EMPTY
    record["column_out_at"] = -1
    return state
