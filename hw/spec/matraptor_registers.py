"""The registers, counters and error codes of MatRaptor, and what a job must obey."""

from __future__ import annotations

from .job_registers import (
    CONTROL,
    COUNTER_BITS,
    checks_of,
    constants,
    counter_registers,
    identity,
    number,
)
from .matraptor import VALUES, MatRaptorConfig
from .registers import Register, RegisterMap

__all__ = [
    "ARRAYS",
    "CHECKS",
    "COUNTERS",
    "COUNTER_BITS",
    "ERRORS",
    "ID",
    "JOB",
    "VERSION",
    "limits",
    "register_map",
]

ID = int.from_bytes(b"TWMR", "little")
VERSION = 0x0001_0000

ARRAYS = tuple(f"{operand}_{what}" for operand in "abc" for what in ("pairs", "entries"))
"""Arrays in memory whose bases a job gives: members and, in upper case, registers."""

JOB = ("rows", "b_rows", "capacity", *ARRAYS)
"""Everything that a job gives, likewise."""

COUNTERS: dict[str, str] = {
    "cycles": "clock cycles of the job",
    "busy_cycles": "cycles in which at least one lane took a product",
    "stalls": "cycles in which none did, between the first product and the last",
    "operations": "products",
    "bytes_read": "bytes of the beats that were read",
    "bytes_written": "bytes of C that were written",
    "bytes_a_pairs": "bytes of the beats that were read of A's pairs",
    "bytes_a_entries": "bytes of the beats that were read of A's entries",
    "bytes_b_pairs": "bytes of the beats that were read of B's pairs",
    "bytes_b_entries": "bytes of the beats that were read of B's entries",
    "bytes_c_pairs": "bytes of C's pairs that were written",
    "bytes_c_entries": "bytes of C's entries that were written",
    "conflicts": "cycles that requests waited while their channel took another lane's",
    "merge_steps": "entries that merges into a helper queue moved",
    "results": "entries of C",
    "lane_busy_max": "products of the lane that had the most",
    "lane_busy_min": "products of the lane that had the fewest",
}
"""What is counted from the start of a job to its end: members and, in upper case, registers."""

ERRORS: dict[str, int] = {
    "none": 0,
    "zero_size": 1,
    "size_limit": 2,
    "misaligned_base": 3,
    "misaligned_capacity": 4,
    "address_range": 5,
    "bus_read": 6,
    "bus_write": 7,
    "index": 8,
    "unsorted": 9,
    "overflow": 10,
    "region": 11,
}
"""Codes of STATUS. ERROR_DETAIL holds, up to ``address_range``, the offset of the job register that
was wrong; of ``bus_read`` and ``bus_write`` the address at which the bus failed; of the others
the number of the row of C at which it happened."""


_SIZES = ("ROWS", "B_ROWS", "CAPACITY")
_BASES = tuple(name.upper() for name in ARRAYS)

CHECKS = checks_of(
    {
        "zero_size": _SIZES,
        "size_limit": _SIZES,
        "misaligned_base": _BASES,
        "misaligned_capacity": ("CAPACITY",),
        "address_range": _BASES,
    }
)
"""In order: the first one that fails is reported."""


def limits(config: MatRaptorConfig) -> dict[str, int]:
    """The greatest value of each size: rows have numbers of ``index_bits`` bits; pointers, which
    count all entries that the lanes of a channel may write, have 32."""
    rows = min(1 << config.index_bits, (1 << 32) - 1)
    return {"ROWS": rows, "B_ROWS": rows, "CAPACITY": ((1 << 32) - 1) // config.channel_lanes}


def _identity(config: MatRaptorConfig) -> list[Register]:
    layout, semiring = config.layout, config.operators
    value = VALUES.index(config.value)
    return [
        *identity(b"TWMR", VERSION),
        constants(
            "CONFIG0",
            0x08,
            "the parts",
            ("lanes", 8, config.lanes, "lanes"),
            ("channels", 8, config.channels, "memory channels"),
            ("queues", 8, config.queues, "queues of a set"),
            ("semiring", 8, semiring.opcode, "opcode of the semiring in the SIMD2 unit"),
        ),
        constants(
            "CONFIG1",
            0x0C,
            "widths",
            ("format", 8, value, f"of the values: {', '.join(VALUES)}"),
            ("index_bits", 8, config.index_bits, "width of a row or column number"),
            ("entry_bytes", 8, layout.entry_bytes, "bytes of an entry"),
            ("beat_bytes", 8, config.beat_bytes, "bytes of a beat"),
        ),
        constants(
            "CONFIG2",
            0x10,
            "depths",
            ("queue_depth", 20, config.queue_depth, "entries of a queue"),
            ("outstanding", 12, config.outstanding, "bursts under way of a reader"),
        ),
        constants(
            "CONFIG3",
            0x14,
            "memory",
            ("interleave", 16, config.interleave, "bytes of a block of the interleaving"),
            ("addr_bits", 8, config.addr_bits, "width of an address"),
        ),
    ]


def _job(config: MatRaptorConfig) -> list[Register]:
    entries = config.layout.block_entries
    capacity = f"entries that a lane may write into a channel, a multiple of {entries}"
    rows = [
        number("ROWS", 0x100, "rw", 32, "rows of A and C"),
        number("B_ROWS", 0x104, "rw", 32, "rows of B, columns of A"),
        number("CAPACITY", 0x108, "rw", 32, capacity),
    ]
    for index, name in enumerate(ARRAYS):
        operand, what = name.upper().split("_")
        doc = f"byte address of {operand}'s {what.lower()}, a multiple of {config.interleave}"
        rows.append(number(name.upper(), 0x120 + 8 * index, "rw", 64, doc))
    return rows


def register_map(config: MatRaptorConfig) -> RegisterMap:
    """The registers of a MatRaptor."""
    detail = number("ERROR_DETAIL", 0x28, "ro", 64, "wrong register, bus address or row of C")
    control = (*CONTROL, detail, *counter_registers(COUNTERS))
    return RegisterMap(registers=(*_identity(config), *control, *_job(config)))
