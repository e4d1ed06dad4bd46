"""Layouts and ports between a lane's memories and its array, shared by integers and floats."""

from __future__ import annotations

from amaranth.hdl import signed
from amaranth.lib import data
from amaranth.lib.wiring import In, Member, Out

from ..spec.gta import (
    BANKS,
    COLS,
    FORMATS_OF_GTA,
    LEFT_WORD_BYTES,
    LIMB_BITS,
    RESULT_WORD_BYTES,
    ROWS,
    GtaConfig,
    element_bytes,
    is_float,
)
from .layouts import left_words, result_words, x_layout


def place_layout(config: GtaConfig) -> data.StructLayout:
    """Position of a lane in its region.

    ``row``, ``column``: of lanes, from 0; ``rows``, ``columns``: the region's; ``left``, ``top``,
    ``bottom``, ``right``: the lane is at that edge.
    """
    return data.StructLayout(
        {
            "row": range(config.lanes),
            "column": range(config.lanes),
            "rows": range(config.lanes + 1),
            "columns": range(config.lanes + 1),
            "left": 1,
            "top": 1,
            "bottom": 1,
            "right": 1,
        }
    )


def fold_cycles(config: GtaConfig) -> range:
    """Cycles of the stream of a fold."""

    def cycles(name: str) -> int:
        elements = config.edge_bytes // element_bytes(name)
        return elements * config.interval(name) if is_float(name) else config.edge_bytes

    names = (*config.integers, *config.floats)
    return range(max((cycles(name) for name in names), default=1) + 1)


def fold_layout(config: GtaConfig) -> data.StructLayout:
    """A fold that begins.

    ``left``: the first word of its rows' streams. ``top``: the first byte of its columns' streams.
    ``cycles``: of its stream; of floats: products of a sum. ``rows``: rows of elements in use.
    ``real``: 0: no operands follow, it is there for the sums that stayed. ``drains``: the sums of
    the fold before leave.
    """
    return data.StructLayout(
        {
            "left": range(left_words(config)),
            "top": range(config.edge_bytes),
            "cycles": fold_cycles(config),
            "rows": range(ROWS * config.lanes + 1),
            "real": 1,
            "drains": 1,
            "result": result_fold_layout(config),
        }
    )


def result_fold_layout(config: GtaConfig) -> data.StructLayout:
    """Destination of the results of a fold in the memory of results.

    ``word``: of a bank, where each group's string begins. ``element``: the fold's first result in
    it. ``accumulate``: they are added to what is there. ``last``: the command's last fold.
    """
    elements = max(config.edge_bytes, BANKS * config.bank_bytes // 4)
    return data.StructLayout(
        {
            "word": range(result_words(config)),
            "element": range(elements),
            "accumulate": 1,
            "last": 1,
        }
    )


def path_members(config: GtaConfig) -> dict[str, Member]:
    """Members of a path for integers, and of one for floats.

    ``format``: in; its place among all formats; constant while anything is under way
    ``place``: in; of the lane in its region
    ``valid``, ``fold``: in; a fold begins, of numbers of this kind
    ``go``, ``waiting``: in; it begins in the lane's first row
    ``left_read``, ``left_address``, ``left_words``, ``top_read``, ...: out, out and in; banks that
      are read, where, and what was there a cycle later
    ``x``: out; by row, of a lane at the left edge; ``y``: out; by column, of one at the top
    ``read``, ``read_address``: out; likewise of the banks of results
    ``write``, ``write_address``: out; by bank of results, a bit for each byte that is written, and
      where
    ``will_write``: out; results are written in the next cycle
    ``done``: out; the last result of a command is in the memory
    """
    edge = data.ArrayLayout(range(left_words(config)), BANKS)
    edge_words = data.ArrayLayout(8 * LEFT_WORD_BYTES, BANKS)
    address = data.ArrayLayout(range(result_words(config)), BANKS)
    return {
        "format": In(range(len(FORMATS_OF_GTA))),
        "place": In(place_layout(config)),
        "valid": In(1),
        "fold": In(fold_layout(config)),
        "go": In(1),
        "waiting": In(fold_layout(config)),
        "left_read": Out(BANKS),
        "left_address": Out(edge),
        "left_words": In(edge_words),
        "top_read": Out(BANKS),
        "top_address": Out(edge),
        "top_words": In(edge_words),
        "x": Out(data.ArrayLayout(x_layout(config), ROWS)),
        "y": Out(data.ArrayLayout(signed(LIMB_BITS + 1), COLS)),
        "read": Out(BANKS),
        "read_address": Out(address),
        "write": Out(data.ArrayLayout(RESULT_WORD_BYTES, BANKS)),
        "write_address": Out(address),
        "will_write": Out(1),
        "done": Out(1),
    }
