"""Layouts of the data between the parts of the compute array."""

from __future__ import annotations

from enum import IntEnum

from amaranth.hdl import ShapeLike
from amaranth.lib import data

from ...spec.tensaurus import TensaurusConfig


class Source(IntEnum):
    """Sources of an operation's operand."""

    NONE = 0
    UNIT = 1
    SCALAR = 2


def levels(config: TensaurusConfig) -> int:
    """Levels of sums: temporary ones, and that of the output, which is the last."""
    return config.order - 1


def level_slots(config: TensaurusConfig, level: int) -> int:
    """Vectors of a level's ring."""
    return config.output_slots if level == levels(config) - 1 else config.temporary_slots


def level_offset(config: TensaurusConfig, level: int) -> int:
    """Number of its first slot, of those of all levels."""
    return level * config.temporary_slots


def slot_range(config: TensaurusConfig) -> range:
    """Numbers of slots, of all levels."""
    last = levels(config) - 1
    return range(level_offset(config, last) + level_slots(config, last))


def slice_range(config: TensaurusConfig) -> range:
    """Numbers of slices."""
    return range(config.slice_numbers)


def most_vectors(config: TensaurusConfig) -> int:
    """Most vectors of a row of an operand, or of a group."""
    return max(config.tlen, config.olen)


def operand_layout(config: TensaurusConfig) -> data.StructLayout:
    """A unit, or a scalar, of a side of its scratchpad."""
    return data.StructLayout({"address": range(config.spm_scalars), "side": 1})


def plan_layout(config: TensaurusConfig) -> data.StructLayout:
    """Plan of a job for the rows, derived from its registers.

    ``product_mode``: the mode of the products' operand, less 1; ``count``, ``region``: by mode,
    less 1: units or scalars of a row of its operand, and where it begins; ``vectors``, ``span``: by
    level: vectors of a group, and of all its partial sums; ``repeats``: by temporary level: how
    often a group is multiplied; ``scalar_products``, ``scalar_fibers``: operands of products, of
    finished fibers are scalars; ``last``: the level that the products go to is the output's;
    ``second``: the first level is followed by a second temporary one.
    """
    count = range(most_vectors(config) + 1)
    modes, temporary = config.order - 1, levels(config) - 1
    span = range(most_vectors(config) + config.sum_latency)
    fields: dict[str, ShapeLike] = {
        "product_mode": range(max(2, modes)),
        "count": data.ArrayLayout(count, modes),
        "region": data.ArrayLayout(range(config.spm_scalars), modes),
        "vectors": data.ArrayLayout(count, levels(config)),
        "span": data.ArrayLayout(span, levels(config)),
        "repeats": data.ArrayLayout(count, max(1, temporary)),
        "scalar_products": 1,
        "scalar_fibers": 1,
        "last": 1,
        "second": 1,
    }
    return data.StructLayout(fields)


def decoded_layout(config: TensaurusConfig) -> data.StructLayout:
    """A value of a ``slice``, or the ``end`` of the row's part of a tile; its indices as operands:
    ``product``, and ``fibers[l]``, which the sum of level l is multiplied by. Those that the job
    does not have are 0. ``new_slice``, ``new_fibers``: they are not those of the value before."""
    operand = operand_layout(config)
    temporary = levels(config) - 1
    fields: dict[str, ShapeLike] = {
        "end": 1,
        "value": config.format.bits,
        "slice": slice_range(config),
        "new_slice": 1,
        "product": operand,
        **({"fibers": data.ArrayLayout(operand, temporary)} if temporary else {}),
        **({"new_fibers": temporary} if temporary else {}),
    }
    return data.StructLayout(fields)


def info_layout(config: TensaurusConfig, level: int) -> data.StructLayout:
    """Purpose of a group of a level's sums: ``fibers``: the fibers that it and the groups above it
    are multiplied by; ``closes``: the group above it, and the one above that, end with it;
    ``slice``. ``end``: it is not a group, but the end of the row's part of a tile."""
    above = levels(config) - 1 - level
    fields: dict[str, ShapeLike] = {"slice": slice_range(config), "end": 1}
    if above:
        fields["fibers"] = data.ArrayLayout(operand_layout(config), above)
        fields["closes"] = above
    return data.StructLayout(fields)


def group_layout(config: TensaurusConfig, level: int) -> data.StructLayout:
    """A group of sums: ``base``, its first slot in the level's ring; ``result``: that of its last
    partial sum, where the total will be; ``partials``; ``size``: its slots."""
    slots = level_slots(config, level)
    return data.StructLayout(
        {
            "base": range(slots),
            "result": range(slots),
            "partials": range(config.sum_latency + 1),
            "size": range(slots + 1),
        }
    )


def log_layout(config: TensaurusConfig) -> data.StructLayout:
    """A slot that an operation writes, if it does."""
    return data.StructLayout({"valid": 1, "slot": slot_range(config)})


def place_layout(config: TensaurusConfig) -> data.StructLayout:
    """Place of a vector in a scratchpad."""
    lines = -(-config.spm_units // config.banks)
    return data.StructLayout(
        {"bank": range(max(2, config.banks)), "line": range(max(2, lines)), "side": 1}
    )


def requests_layout(config: TensaurusConfig) -> data.StructLayout:
    """The operands of a row that are to be fetched: ``pending``, and where each is; the
    ``oldest`` operation of the window has that number."""
    return data.StructLayout(
        {
            "pending": config.window,
            "places": data.ArrayLayout(place_layout(config), config.window),
            "oldest": range(config.window),
        }
    )


def answer_layout(config: TensaurusConfig) -> data.StructLayout:
    """Answer to a window of requests: the operation that is served, if one is."""
    return data.StructLayout({"valid": 1, "index": range(config.window)})


def operation_layout(config: TensaurusConfig) -> data.StructLayout:
    """Operation of a row's elements in a cycle.

    ``active``: multiply; by an operand from ``source``, at ``operand``; what is multiplied is
    ``scalar``, or with ``fiber`` the sum in ``fiber_slot``. The product begins (``start``) the sum
    in ``slot``, or is added to it. ``reduce``: the sum in ``left`` is added to that in ``right``.
    ``release``: the oldest slice in the output register that was not released is complete, or, with
    ``end``, the tile ends instead.
    """
    slot = slot_range(config)
    fields: dict[str, ShapeLike] = {
        "active": 1,
        "source": 2,
        "operand": operand_layout(config),
        "scalar": config.format.bits,
        "fiber": 1,
        "fiber_slot": slot,
        "start": 1,
        "slot": slot,
        "reduce": 1,
        "left": slot,
        "right": slot,
        "release": 1,
        "end": 1,
    }
    return data.StructLayout(fields)


def multiply_layout(config: TensaurusConfig) -> data.StructLayout:
    """Control of the multipliers: they multiply ``scalar`` or (``fiber``) the sum in ``slot`` by
    the operand or (``by_scalar``) by ``scalar``."""
    return data.StructLayout(
        {"scalar": config.format.bits, "fiber": 1, "slot": slot_range(config), "by_scalar": 1}
    )


def sum_layout(config: TensaurusConfig) -> data.StructLayout:
    """Control of the adders: ``start`` the sum in ``slot`` with the product, or add it
    (``accumulate``) to that in ``left``; ``reduce``: add the sum in ``left`` to that in ``right``.
    ``left_new``, ``right_new``: that sum leaves the adders in this cycle."""
    slot = slot_range(config)
    slots = dict.fromkeys(("slot", "left", "right"), slot)
    flags = dict.fromkeys(("start", "accumulate", "reduce", "left_new", "right_new"), 1)
    return data.StructLayout({**flags, **slots})


def store_layout(config: TensaurusConfig) -> data.StructLayout:
    """Control of the registers: the place of the sum that leaves the adders, if one does."""
    return log_layout(config)


def bank_reads_layout(config: TensaurusConfig) -> data.ArrayLayout:
    """Reads of a scratchpad's banks in a cycle; a bank reads if ``enable`` is set."""
    bank = data.StructLayout({"enable": 1, "line": place_layout(config)["line"].shape, "side": 1})
    return data.ArrayLayout(bank, config.banks)


def bank_answer_layout(config: TensaurusConfig) -> data.StructLayout:
    """Answer to a row: the bank that has its operand, and the operand's number in its window."""
    bank = place_layout(config)["bank"].shape
    return data.StructLayout({"valid": 1, "bank": bank, "index": range(config.window)})


def access_layout(config: TensaurusConfig) -> data.StructLayout:
    """Accesses to a scratchpad in a cycle: ``banks``: a vector each; ``rows``: the bank whose
    vector a row receives, and its number in the row's window."""
    return data.StructLayout(
        {
            "banks": bank_reads_layout(config),
            "rows": data.ArrayLayout(bank_answer_layout(config), config.rows),
        }
    )


def released_layout(config: TensaurusConfig) -> data.StructLayout:
    """A slice that leaves: its group's ``result`` and ``size`` in the output register's ring; or
    the ``end`` of a tile."""
    group = group_layout(config, levels(config) - 1)
    return data.StructLayout(
        {
            "result": group["result"].shape,
            "size": group["size"].shape,
            "slice": slice_range(config),
            "end": 1,
        }
    )
