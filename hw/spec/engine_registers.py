"""The registers, counters and error codes of the tile engine, and what a job must obey."""

from __future__ import annotations

from .engine import OPERANDS, SIZE_BITS, EngineConfig
from .job_registers import (
    CONTROL,
    COUNTER_BITS,
    checks_of,
    constants,
    counter_registers,
    identity,
    number,
)
from .registers import Field, Register, RegisterMap

__all__ = [
    "CHECKS",
    "COUNTERS",
    "COUNTER_BITS",
    "ERRORS",
    "ID",
    "ONLY_WITH_C",
    "VERSION",
    "register_map",
]

ID = int.from_bytes(b"TWTE", "little")
VERSION = 0x0001_0000

COUNTERS: dict[str, str] = {
    "cycles": "clock cycles of the job",
    "busy_cycles": "cycles in which the unit had an operation at its input",
    "stalls": "cycles in which it had none, between the first operation and the last",
    "operations": "operations of the unit",
    "bytes_read": "bytes of the beats that were read",
    "bytes_written": "bytes of D that were written",
}
"""What the engine counts, from the start of a job to its end: members and, in upper case,
registers."""

ERRORS: dict[str, int] = {
    "none": 0,
    "opcode": 1,
    "zero_size": 2,
    "size_limit": 3,
    "misaligned_base": 4,
    "misaligned_stride": 5,
    "address_range": 6,
    "bus_read": 7,
    "bus_write": 8,
}
"""Codes of STATUS. ERROR_DETAIL holds the offset of the job register that was wrong, or for the
last two the address at which the bus failed."""


def _of_operands(suffix: str) -> tuple[str, ...]:
    return tuple(f"{operand.upper()}_{suffix}" for operand in OPERANDS)


CHECKS = checks_of(
    {
        "opcode": ("OP",),
        "zero_size": "MNK",
        "size_limit": "MNK",
        "misaligned_base": _of_operands("BASE"),
        "misaligned_stride": _of_operands("STRIDE"),
        "address_range": _of_operands("BASE"),
    }
)
"""In order: the first one that fails is reported."""

ONLY_WITH_C = ("C_BASE", "C_STRIDE")
"""Registers that are looked at only for jobs that read C."""


def _identity(config: EngineConfig) -> list[Register]:
    unit, block = config.unit, config.block
    mask = sum(1 << opcode for opcode in config.opcodes.values())
    return [
        *identity(b"TWTE", VERSION),
        constants(
            "CONFIG0",
            0x08,
            "the matrix unit",
            ("rows", 8, unit.rows, "rows of a tile of A and D"),
            ("cols", 8, unit.cols, "columns of a tile of B and D"),
            ("depth", 8, unit.depth, "lanes of a row of A's tile"),
            ("lane_bits", 8, unit.lane_bits, "width of a lane of A and B"),
        ),
        constants(
            "CONFIG1",
            0x0C,
            "widths",
            ("accumulator_bits", 8, unit.accumulator_bits, "width of the unit's accumulators"),
            ("beat_bytes", 8, config.beat_bytes, "bytes of a beat"),
            ("addr_bits", 8, config.addr_bits, "width of an address"),
            ("managers", 8, config.managers, "AXI managers"),
        ),
        constants("CONFIG2", 0x10, "a bit for each opcode there is", ("value", 32, mask, "")),
        constants(
            "CONFIG3",
            0x14,
            "the block",
            ("block_rows", 8, block[0], "tiles downwards"),
            ("block_cols", 8, block[1], "tiles across"),
            ("block_depth", 8, block[2], "k tiles that are loaded at a time"),
            ("size_bits", 8, SIZE_BITS, "width of M, N and K"),
        ),
    ]


def _job(config: EngineConfig) -> list[Register]:
    rows = [
        number("OP", 0x80, "rw", 32, "opcode of the operation"),
        Register(
            name="FLAGS",
            offset=0x84,
            access="rw",
            fields=(
                Field(name="transposed_b", low=0, doc="B is stored by columns: N x K in memory"),
                Field(name="use_c", low=1, doc="C is added; else nothing is"),
            ),
            doc="variants of the job",
        ),
        number("M", 0x88, "rw", 32, "rows of A, C and D"),
        number("N", 0x8C, "rw", 32, "columns of B, C and D"),
        number("K", 0x90, "rw", 32, "columns of A, rows of B"),
    ]
    for index, operand in enumerate("ABCD"):
        doc = f"byte address of {operand}, a multiple of {config.beat_bytes}"
        rows.append(number(f"{operand}_BASE", 0xA0 + 8 * index, "rw", 64, doc))
    for index, operand in enumerate("ABCD"):
        doc = f"bytes from a row of {operand} to the next, a multiple of {config.beat_bytes}"
        rows.append(number(f"{operand}_STRIDE", 0xC0 + 4 * index, "rw", 32, doc))
    return rows


def register_map(config: EngineConfig) -> RegisterMap:
    """The registers of an engine."""
    detail = number(
        "ERROR_DETAIL", 0x28, "ro", 64, "offset of the wrong register, or the bus address"
    )
    control = (*CONTROL, detail, *counter_registers(COUNTERS))
    return RegisterMap(registers=(*_identity(config), *control, *_job(config)))
