"""Layouts of the data between the parts of the accelerator."""

from __future__ import annotations

from amaranth.hdl import ShapeLike
from amaranth.lib import data

from ..channels.c2sr_row_writer import lane_entry_layout, lane_row_layout
from ..spec.jobs.matraptor import VALUE_ARRAYS
from ..spec.matraptor import MatRaptorConfig

__all__ = [
    "direct_layout",
    "entry_layout",
    "job_layout",
    "left_layout",
    "outer_layout",
    "partial_layout",
    "product_layout",
    "result_layout",
    "row_layout",
]


def row_layout(config: MatRaptorConfig) -> data.StructLayout:
    """A row of A and C within its lane, see ``lane_row_layout``."""
    return lane_row_layout(config.lane_map, config.index_bits)


def _token(config: MatRaptorConfig, fields: dict[str, ShapeLike]) -> data.StructLayout:
    """Fields, and where they stand: a token that is not ``present`` only ends a row.

    ``row_last``: last token of the row; ``lane_last``: and of the lane's last row.
    """
    ends: dict[str, ShapeLike] = {"present": 1, "row_last": 1, "lane_last": 1}
    return data.StructLayout({**fields, **ends, "row": row_layout(config)})


def left_layout(config: MatRaptorConfig) -> data.StructLayout:
    """An entry of A: ``value``, ``column`` (k)."""
    return _token(config, {"value": config.format.bits, "column": config.index_bits})


def _target(config: MatRaptorConfig) -> dict[str, ShapeLike]:
    """Field ``target`` of the outer-product mode: the lane's row of C that a product belongs to."""
    return {"target": range(config.queue_depth)} if config.outer_product else {}


def product_layout(config: MatRaptorConfig) -> data.StructLayout:
    """Two values to multiply: ``a``, ``b``, ``column`` (j); ``b_last``: last of a row of B."""
    bits = config.format.bits
    fields: dict[str, ShapeLike] = {"a": bits, "b": bits, "column": config.index_bits}
    return _token(config, {**fields, "b_last": 1, **_target(config)})


def partial_layout(config: MatRaptorConfig) -> data.StructLayout:
    """A product: ``value``, ``column``; ``ends``: last of a partial row; ``unsorted``: its column
    is no larger than that before it."""
    fields: dict[str, ShapeLike] = {"value": config.format.bits, "column": config.index_bits}
    return _token(config, {**fields, "ends": 1, "unsorted": 1, **_target(config)})


def outer_layout(config: MatRaptorConfig) -> data.StructLayout:
    """An entry of a column of A in the outer-product mode: ``value``, ``target``; ``last``: of the
    column. It may be not ``present`` and only end the column."""
    return data.StructLayout(
        {"value": config.format.bits, **_target(config), "present": 1, "last": 1}
    )


def entry_layout(config: MatRaptorConfig) -> data.StructLayout:
    """An entry of a partial row, in a sorting queue."""
    return data.StructLayout({"value": config.format.bits, "column": config.index_bits})


def direct_layout(config: MatRaptorConfig) -> data.StructLayout:
    """Direct access to a queue's memory: ``write`` the entry to ``write_address``, ``read`` the
    head of the next cycle, and keep it until the next ``read``."""
    address = range(config.queue_depth)
    return data.StructLayout(
        {
            "write": 1,
            "write_address": address,
            "entry": entry_layout(config),
            "read": 1,
            "read_address": address,
        }
    )


def result_layout(config: MatRaptorConfig) -> data.StructLayout:
    """An entry of C, see ``lane_entry_layout``."""
    return lane_entry_layout(config.layout, config.lane_map)


def job_layout(config: MatRaptorConfig) -> data.StructLayout:
    """A job, constant while it runs: flat bases, rows of A and of B, ``capacity`` (entries that
    each lane may write into each of its channels), columns of B from ``first_column`` on and
    before ``end_column``, and whether others are left out (``ranged``). Where there is an
    outer-product mode, ``mode`` chooses it, and ``columns`` are those of B and C; with a cache,
    ``keep`` is the driver's word that B is that of the last job. With ``csr`` there are the formats
    of A and B."""
    bases = {f"{x}_{what}": config.addr_bits for x in "abc" for what in ("pairs", "entries")}
    fields: dict[str, ShapeLike] = {**bases, "rows": 32, "b_rows": 32, "capacity": 32}
    fields |= {"first_column": 32, "end_column": 33, "ranged": 1}
    if config.outer_product:
        fields |= {"mode": 1, "columns": 32}
    if config.cache_bytes:
        fields["keep"] = 1
    if config.csr:
        fields |= {"a_format": 2, "b_format": 2}
        fields |= dict.fromkeys(VALUE_ARRAYS, config.addr_bits)
    return data.StructLayout(fields)
