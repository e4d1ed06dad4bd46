"""What travels between the parts of the converter."""

from __future__ import annotations

from amaranth.hdl import ShapeLike
from amaranth.lib import data

from ..spec.c2sr_converter import C2srConverterConfig
from ..spec.jobs.c2sr_converter import BASES

__all__ = ["converter_job_layout", "entry_token_layout", "found_row_layout"]


def converter_job_layout(config: C2srConverterConfig) -> data.StructLayout:
    """A job, constant while it runs: its registers."""
    sizes: dict[str, ShapeLike] = {"mode": 1, "rows": 32, "capacity": 32}
    return data.StructLayout({**sizes, **dict.fromkeys(BASES, config.addr_bits)})


def found_row_layout(config: C2srConverterConfig) -> data.StructLayout:
    """A row of the matrix that is read: ``length``, ``pointer`` to its first entry, counted in its
    ``channel`` (0 in CSR), and whether it is the ``last``."""
    return data.StructLayout(
        {"channel": config.layout.channel_bits, "length": 32, "pointer": 32, "last": 1}
    )


def entry_token_layout(config: C2srConverterConfig) -> data.StructLayout:
    """An entry if ``present``: ``value``, ``column``; ``row_last``: last token of its row;
    ``last``: and of the last row. An empty row is one token without an entry."""
    value = config.layout.format.bits
    fields: dict[str, ShapeLike] = {"value": value, "column": config.index_bits}
    return data.StructLayout({**fields, "present": 1, "row_last": 1, "last": 1})
