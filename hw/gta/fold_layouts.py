"""Where a lane stands in its region, and the folds that it is told of."""

from __future__ import annotations

from amaranth.lib import data

from ..spec.gta import BANKS, ROWS, GtaConfig, element_bytes, is_float
from .layouts import left_words, result_words

__all__ = ["fold_cycles", "fold_layout", "place_layout", "result_fold_layout"]


def place_layout(config: GtaConfig) -> data.StructLayout:
    """Where a lane stands in its region.

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
    """Where the results of a fold go.

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
