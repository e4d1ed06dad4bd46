"""Layouts of the signals between the parts of the accelerator and between array elements."""

from __future__ import annotations

from enum import IntEnum

from amaranth.hdl import ShapeLike, signed
from amaranth.lib import data

from ..spec.gta import (
    BANKS,
    COLS,
    FORMATS_OF_GTA,
    LEFT_WORD_BYTES,
    LIMB_BITS,
    RESULT_WORD_BYTES,
    ROWS,
    GtaConfig,
)
from ..spec.jobs.gta_vector import OCTET, VECTOR_FUNCTIONS


class Operation(IntEnum):
    """Operation of a command: weight-stationary or output-stationary product, or vectors."""

    WS = 0
    OS = 1
    SIMD = 2


class LaneMemoryName(IntEnum):
    """The memories of a lane."""

    LEFT = 0
    TOP = 1
    RESULT = 2


class Base(IntEnum):
    """Addend of an element's product.

    ``CARRY``: its sum without the lowest byte, which goes to the second rank, if there is one.
    """

    ZERO = 0
    OWN = 1
    ABOVE = 2
    CARRY = 3


def left_words(config: GtaConfig) -> int:
    """Words of a bank that feeds a row, or a column."""
    return config.edge_bytes // LEFT_WORD_BYTES


def result_words(config: GtaConfig) -> int:
    """Words of a bank of results."""
    return config.bank_bytes // RESULT_WORD_BYTES


def pgemm_layout(config: GtaConfig) -> data.StructLayout:
    """A command: folds of a product, carried out by all lanes of a group.

    The region has R rows and C columns of elements; L are the format's limbs (of floats: 1).

    ``operation``: see :class:`Operation`; floats: OS. ``format``: its place in ``FORMATS_OF_GTA``.
    ``group``: the mask of the lanes. ``row_folds``, ``col_folds``: each at least 1. ``time``: T in
    elements, at least 1: rows of A of a fold in WS, products of a sum in OS.
    ``rows_last``: rows of elements in use in the last row fold, 1 to R, a multiple of L in OS: WS
    feeds zeros to the others, OS does not write their results.
    ``use_c``: results are added to what is in the memory of results; otherwise the first row fold
    of WS, and each fold of OS, writes over it.
    ``lateral``: column folds are the inner loop, otherwise row folds. ``overlap``: a fold begins as
    soon as the array takes it, otherwise when the last one has multiplied its last operands.
    ``left_base``, ``top_base``, ``result_base``: words of a bank (16, 16 and 32 bytes).
    ``left_stride``: words from a row fold to the next one; ``top_stride``, ``result_stride``: from
    a column fold to the next one; all modulo a bank's words. In WS a column's string goes on from
    row fold to row fold, R bytes each; so do, in OS, a group's results, R / L elements each.
    ``result_size``: an element of the results has 4 << result_size bytes.

    Of SIMD only ``operation``, ``format``, ``group``, ``use_c``, ``time`` (octets of results in
    each bank), the bases, and ``function``, its place in ``VECTOR_FUNCTIONS``, ``amount`` and
    ``chain``, mean something, see ``hw/spec/jobs/gta_vector.py``.
    """
    folds = range(config.edge_bytes // ROWS + 1)
    left, result = range(left_words(config)), range(result_words(config))
    fields: dict[str, ShapeLike] = {
        "operation": range(len(Operation)),
        "format": range(len(FORMATS_OF_GTA)),
        "group": config.mask_bits,
        "row_folds": folds,
        "col_folds": folds,
        "time": range(config.edge_bytes + 1),
        "rows_last": range(ROWS * config.lanes + 1),
        "use_c": 1,
        "lateral": 1,
        "overlap": 1,
        "left_base": left,
        "left_stride": left,
        "top_base": left,
        "top_stride": left,
        "result_base": result,
        "result_stride": result,
        "result_size": 2,
        "function": range(len(VECTOR_FUNCTIONS)),
        "amount": range(OCTET),
        "chain": range(config.edge_bytes // OCTET + 1),
    }
    return data.StructLayout(fields)


def csr_layout(config: GtaConfig) -> data.StructLayout:
    """The arrangement of lanes: they stand ``1 << layout`` across; ``masks``: of each lane.

    Lanes of one mask are one region, a rectangle.
    """
    return data.StructLayout(
        {
            "layout": range(config.lanes.bit_length()),
            "masks": data.ArrayLayout(config.mask_bits, config.lanes),
        }
    )


def write_layout(config: GtaConfig) -> data.StructLayout:
    """A write of 16 bytes to each bank of a memory of all ``lanes`` whose bit is set.

    ``memory``: see :class:`LaneMemoryName`. ``address``: in units of 16 bytes of a bank, of which a
    word of results has two. ``mask``: a bit for each byte of each bank.
    """
    return data.StructLayout(
        {
            "enable": 1,
            "lanes": config.lanes,
            "memory": range(len(LaneMemoryName)),
            "address": range(config.bank_bytes // LEFT_WORD_BYTES),
            "data": data.ArrayLayout(8 * LEFT_WORD_BYTES, BANKS),
            "mask": data.ArrayLayout(LEFT_WORD_BYTES, BANKS),
        }
    )


def read_layout(config: GtaConfig) -> data.StructLayout:
    """A read of 16 bytes of some ``banks`` of results of a lane; ``address`` as of a write."""
    return data.StructLayout(
        {
            "enable": 1,
            "lane": range(config.lanes),
            "banks": BANKS,
            "address": range(config.bank_bytes // LEFT_WORD_BYTES),
        }
    )


def read_data_layout() -> data.ArrayLayout:
    """Words that a read returns, one per bank; a bank that was not read returns any value."""
    return data.ArrayLayout(8 * LEFT_WORD_BYTES, BANKS)


def x_layout(config: GtaConfig) -> data.StructLayout:
    """Signals from an element to its right neighbour: a limb and the control of the element.

    ``base``: see :class:`Base`, of the product of this limb. Of a configuration with integers:
    ``y_shift``: y comes from above. ``swap``: the product of this limb, and those behind it, are
    with what y is now. ``shift_drain``, with a second rank: it comes from above; with
    ``Base.CARRY``: the product is of significands. Of one with floats: ``last``: the product of
    this limb is the last one of a product of significands.
    """
    fields: dict[str, ShapeLike] = {"limb": signed(LIMB_BITS + 1), "base": range(len(Base))}
    if config.integers:
        fields |= {"y_shift": 1, "swap": 1}
        if config.second_rank:
            fields["shift_drain"] = 1
    if config.floats:
        fields["last"] = 1
    return data.StructLayout(fields)


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
