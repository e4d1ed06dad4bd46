"""What travels between the parts of a lane."""

from __future__ import annotations

from amaranth.hdl import ShapeLike, signed
from amaranth.lib import data

from ...spec.gta import (
    BANKS,
    COLS,
    LEFT_WORD_BYTES,
    LIMB_BITS,
    RESULT_WORD_BYTES,
    ROWS,
    GtaConfig,
)
from ..float.headers import column_header
from ..layouts import result_words

__all__ = [
    "edge_layout",
    "result_step_layout",
    "row_step_layout",
]


def row_step_layout(config: GtaConfig) -> data.StructLayout:
    """What a row is fed in a cycle: a limb where it is ``valid``, the ``first`` of a fold.

    ``address``: its byte in the bank. ``rows``: rows of this lane that are in use. ``drains``: with
    ``first``: the sums of the fold before are good ones.
    """
    return data.StructLayout(
        {
            "valid": 1,
            "first": 1,
            "drains": 1,
            "address": range(config.edge_bytes),
            "rows": range(ROWS + 1),
        }
    )


def result_step_layout(config: GtaConfig) -> data.StructLayout:
    """What becomes of a partial result: it begins a sum over limbs (``first``), ends it.

    ``complete``: the sum is a result. ``accumulate``: it is added to the old one. ``last``: the
    last one of a command. ``bank``: of the group's banks. ``word``, ``place``: in the bank; places
    are of 4 bytes.
    """
    return data.StructLayout(
        {
            "first": 1,
            "complete": 1,
            "accumulate": 1,
            "last": 1,
            "bank": range(BANKS),
            "word": range(result_words(config)),
            "place": range(RESULT_WORD_BYTES // 4),
        }
    )


def edge_layout(config: GtaConfig) -> data.StructLayout:
    """What passes from the last row of a lane to the first row of the one below."""
    fields: dict[str, ShapeLike] = {"y": data.ArrayLayout(signed(LIMB_BITS + 1), COLS)}
    if config.integers:
        for name in ("sum", "drain"):
            fields[name] = data.ArrayLayout(signed(config.partial_bits), COLS)
    if config.floats:
        fields["headers"] = data.ArrayLayout(column_header(config), config.row_adders)
    return data.StructLayout(fields)


assert LEFT_WORD_BYTES * 2 == RESULT_WORD_BYTES
