"""Layouts of the data between the parts of the accelerator."""

from __future__ import annotations

from enum import IntEnum

from amaranth.hdl import ShapeLike
from amaranth.lib import data

from ..spec.jobs.tensaurus_operations import OPERANDS
from ..spec.tensaurus import KERNELS, TensaurusConfig

__all__ = [
    "ROW_EVENTS",
    "SlotKind",
    "drain_layout",
    "job_layout",
    "scalar_write_layout",
    "slot_layout",
    "tile_layout",
    "tile_token_layout",
    "unit_write_layout",
]

ROW_EVENTS = ("products", "conflicts", "wait_slots", "wait_operands", "wait_sums", "wait_output")
"""Events of a row in a cycle, which are counted."""


class SlotKind(IntEnum):
    """Kind of a row's slot: a value, the header of a slice, or the end of the row's tile."""

    VALUE = 0
    HEADER = 1
    END = 2


def slot_layout(config: TensaurusConfig) -> data.StructLayout:
    """A row's slot: its ``kind``, ``value``, and ``index[m - 1]``, that of mode m.

    A header's slice is in ``index[0]``. Of what a kind does not have nothing is said, nor of the
    modes that the job's tensor does not have.
    """
    index = data.ArrayLayout(config.index_bits, config.order - 1)
    return data.StructLayout({"kind": 2, "value": config.format.bits, "index": index})


def job_layout(config: TensaurusConfig) -> data.StructLayout:
    """A job, constant while it runs: its registers, by their names."""
    vectors = range(max(config.tlen, config.olen) + 1)
    fields: dict[str, ShapeLike] = {
        "kernel": range(len(KERNELS)),
        "order": range(config.order + 1),
        "dense": 1,
        "direct": 1,
        "vectors": vectors,
        "scalars_1": vectors,
        "scalars_2": vectors,
        **{f"region_{mode}": 32 for mode in range(1, OPERANDS + 1)},
        "tiles": 32,
        "list": config.addr_bits,
    }
    return data.StructLayout(fields)


def tile_layout(config: TensaurusConfig) -> data.StructLayout:
    """A tile whose description holds, see ``TILE_WORDS``, and which of the job's it is.

    ``number``: from 0; ``final``: the last tile of the job; ``elements``: of a dense slice.
    """
    operand_bits = config.spm_scalars.bit_length()
    address = config.addr_bits
    fields: dict[str, ShapeLike] = {
        "load": OPERANDS,
        "last": 1,
        "slices": 32,
        "entries": 32,
        "tensor": address,
        "output": address,
        "pitch": 32,
        **{f"size_{mode}": operand_bits for mode in range(1, OPERANDS + 1)},
        **{f"operand_{mode}": address for mode in range(1, OPERANDS + 1)},
        "number": 32,
        "final": 1,
        "elements": (config.order - 1) * operand_bits,
    }
    return data.StructLayout(fields)


def tile_token_layout(config: TensaurusConfig) -> data.StructLayout:
    """Token of a tile whose operands are in the scratchpads: ``sides``: bit m - 1 is the side of
    mode m's operand."""
    return data.StructLayout({"sides": OPERANDS})


def unit_write_layout(config: TensaurusConfig) -> data.StructLayout:
    """A unit to the scratchpads of all columns, where there is ``enable``: column c has the c-th
    vector of ``data``."""
    return data.StructLayout(
        {
            "enable": 1,
            "side": 1,
            "address": range(config.spm_units),
            "data": config.unit_values * config.format.bits,
        }
    )


def scalar_write_layout(config: TensaurusConfig) -> data.StructLayout:
    """A vector of ``vlen`` values to the scratchpad of scalars, where there is ``enable``."""
    return data.StructLayout(
        {
            "enable": 1,
            "side": 1,
            "address": range(config.spm_units),
            "data": config.vlen * config.format.bits,
        }
    )


def drain_layout(config: TensaurusConfig) -> data.StructLayout:
    """Vector of a slice that leaves the array, where it is ``valid``; the data of column c follow c
    cycles later. SpMV uses only lane 0 of column 0."""
    return data.StructLayout(
        {
            "valid": 1,
            "slice": range(config.slice_numbers),
            "vector": range(max(config.tlen, config.olen) + 1),
        }
    )
