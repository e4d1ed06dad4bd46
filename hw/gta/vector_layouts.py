"""Layouts of the signals from column to column of a lane that works on vectors."""

from __future__ import annotations

from amaranth.lib import data

from ..spec.gta import COLS, GtaConfig
from ..spec.jobs.gta_vector import OCTET
from .layouts import Base

__all__ = [
    "MOST_PLANES",
    "STEP_TO_BYTE",
    "STEP_TO_LAST",
    "STEP_TO_WRITE",
    "left_planes",
    "plane_step_layout",
    "result_planes",
    "steps_layout",
    "vector_step_layout",
]

MOST_PLANES = 16
"""Planes of the longest product of integers."""

STEP_TO_LAST = 3
"""Cycles from a column's step to that in which its elements multiply: 0: the bank on top is read;
1: its plane is there, and the bank on the left is read; 2: the other plane is there, too."""

STEP_TO_BYTE = STEP_TO_LAST + 1
"""Cycles from a column's step to that in which sums have its product, and their lowest bytes go to
the ``PlaneUnit``."""

STEP_TO_WRITE = STEP_TO_BYTE + 1
"""Cycles from a column's step to that in which its plane of results is written."""


def left_planes(config: GtaConfig) -> int:
    """Planes, of 8 bytes, of a bank that feeds a row, or a column."""
    return config.edge_bytes // OCTET


def result_planes(config: GtaConfig) -> int:
    """Planes of a bank of results."""
    return config.bank_bytes // OCTET


def plane_step_layout() -> data.StructLayout:
    """Control of the plane that the lowest bytes of a column's sums form, if ``valid``.

    ``plane``: their number, of products from 0 to twice an element's planes; of a pass in ascending
    order. ``first``, ``last``: of a pass over an octet; of a shift to the right the plane below the
    results is the first. ``second``: of two passes that which gives results.
    """
    return data.StructLayout(
        {"valid": 1, "plane": range(MOST_PLANES), "first": 1, "second": 1, "last": 1}
    )


def vector_step_layout(config: GtaConfig) -> data.StructLayout:
    """A cycle's work of all rows of a column; the next column's a cycle later.

    Of products, ``valid``:

    ``left``, ``top``: planes of the banks that are the limbs ``i`` of x and ``j`` of y. ``zero``: x
    is 0 instead. ``x_high``, ``y_high``: the limb is the highest one: of integers it has the sign,
    of floats it gets the hidden bit. ``base``: to what the product is added.
    Of floats: ``last``: it is a product's last one. ``first``, ``final``: of a chain of products,
    during all of the product's steps. ``accumulate``: the chain begins with what the memory of
    results has.

    Functions that work by planes multiply x by 1, and read y by ``top`` when the product is there.

    Of results: ``plane``: what the sums' lowest bytes are then. ``result``: plane of the bank of
    results, of what is written and of what is there before; of floats the octet's first one.
    ``write``: the plane is a result. ``done``: it is a command's last one; of floats, in the last
    step, the octet is.
    """
    left = range(left_planes(config))
    limb = range(OCTET)
    return data.StructLayout(
        {
            "valid": 1,
            "left": left,
            "top": left,
            "i": limb,
            "j": limb,
            "zero": 1,
            "x_high": 1,
            "y_high": 1,
            "base": range(len(Base)),
            "last": 1,
            "first": 1,
            "final": 1,
            "accumulate": 1,
            "plane": plane_step_layout(),
            "result": range(result_planes(config)),
            "write": 1,
            "done": 1,
        }
    )


def steps_layout(config: GtaConfig) -> data.ArrayLayout:
    """The step of column 0, and what it was each a cycle before: the columns' steps are the first
    ones, and those behind them tell what comes of these."""
    return data.ArrayLayout(vector_step_layout(config), COLS + STEP_TO_WRITE)
