"""Layouts of the loaders' jobs, and of the signals between the parts of the column loader."""

from __future__ import annotations

from amaranth.lib import data

from ...spec.sida import INDEX_BITS, SidaConfig
from ..layouts import count_bits

__all__ = [
    "block_layout",
    "cut_layout",
    "job_layout",
    "rows_job_layout",
    "window_layout",
]


def job_layout(config: SidaConfig) -> data.StructLayout:
    """A matrix by columns: addresses of its ``pointers``, ``rows`` and ``values``, multiples of a
    line, and its ``columns``, as many as rows, at least 1."""
    addresses = dict.fromkeys(("pointers", "rows", "values"), config.addr_bits)
    return data.StructLayout({**addresses, "columns": count_bits(config)})


def rows_job_layout(config: SidaConfig) -> data.StructLayout:
    """A matrix by rows: addresses of its ``pointers``, ``columns`` and ``values``, multiples of a
    line, and its ``rows``, as many as columns, at least 1."""
    addresses = dict.fromkeys(("pointers", "columns", "values"), config.addr_bits)
    return data.StructLayout({**addresses, "rows": count_bits(config)})


def window_layout(config: SidaConfig) -> data.StructLayout:
    """``pes`` columns that follow each other, the first a multiple of that: of one step.

    ``ends``: where each ends, of a column that is not in the matrix the number of elements;
    ``present``: it is in the matrix; ``whole``: it ends with the matrix; ``bad``: its end is before
    that of the column before it, or behind that of the matrix. ``first``: of a step; ``last``: of
    the matrix.
    """
    columns = config.pes
    return data.StructLayout(
        {
            "ends": data.ArrayLayout(INDEX_BITS, columns),
            "present": columns,
            "whole": columns,
            "bad": columns,
            "first": 1,
            "last": 1,
        }
    )


def block_layout(config: SidaConfig) -> data.StructLayout:
    """Rows and values of as many elements as a set has; the first is a multiple of that."""
    return data.StructLayout(
        {
            "rows": data.ArrayLayout(INDEX_BITS, config.pes),
            "values": data.ArrayLayout(config.format.bits, config.pes),
        }
    )


def cut_layout(config: SidaConfig) -> data.StructLayout:
    """Parts of a set: a block, and the ends of columns in it.

    ``base``, ``columns``, ``final``: see ``set_layout``. ``done``: columns before ``base`` in its
    window. ``ends``, ``leaves``: columns of this window and the next one that end in the block, and
    before which leaf. ``both``: the set has columns of the next window, too, but none that is as
    many behind the base as a window has. ``since``: leaves before it are of other windows.
    ``filled``: there are elements. ``wrong``: there is no set, but the end of column
    ``base + place`` is bad.
    """
    columns = config.pes
    return data.StructLayout(
        {
            "base": count_bits(config),
            "columns": range(config.pes + 1),
            "final": 1,
            "done": columns,
            "ends": 2 * columns,
            "leaves": data.ArrayLayout(range(config.pes), 2 * columns),
            "both": 1,
            "since": range(config.pes),
            "filled": 1,
            "wrong": 1,
            "place": range(columns),
            "block": block_layout(config),
        }
    )
