"""The registers, counters and error codes of MatRaptor, and what a job must obey."""

from __future__ import annotations

from .c2sr import VALUES
from .job_registers import (
    CONTROL,
    COUNTER_BITS,
    Check,
    checks_of,
    constants,
    counter_registers,
    identity,
    number,
)
from .matraptor import MatRaptorConfig
from .registers import Register, RegisterMap

__all__ = [
    "ARRAYS",
    "CHECKS",
    "COUNTERS",
    "COUNTER_BITS",
    "ERRORS",
    "ID",
    "JOB",
    "OUTER_JOB",
    "VERSION",
    "checks",
    "job_members",
    "limits",
    "register_map",
]

ID = int.from_bytes(b"TWMR", "little")
VERSION = 0x0001_0000

ARRAYS = tuple(f"{operand}_{what}" for operand in "abc" for what in ("pairs", "entries"))
"""Arrays in memory whose bases a job gives: members and, in upper case, registers."""

JOB = ("rows", "b_rows", "capacity", *ARRAYS)
"""Everything that a job gives, likewise."""

OUTER_JOB = ("mode", "columns")
"""What it gives besides where there is an outer-product mode."""

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
the number of the row of C at which it happened; in the outer-product mode, of ``index`` and
``unsorted`` the number of the row of A as it is stored, ``k * lanes + lane``."""


_SIZES = ("ROWS", "B_ROWS", "CAPACITY")
_BASES = tuple(name.upper() for name in ARRAYS)


def _checks(sizes: tuple[str, ...]) -> tuple[Check, ...]:
    rules = {
        "zero_size": sizes,
        "size_limit": sizes,
        "misaligned_base": _BASES,
        "misaligned_capacity": ("CAPACITY",),
        "address_range": _BASES,
    }
    return checks_of(rules)


CHECKS = _checks(_SIZES)
"""In order: the first one that fails is reported."""


def checks(config: MatRaptorConfig) -> tuple[Check, ...]:
    """``CHECKS``, and those of COLUMNS where there is one; that counts in the outer-product mode
    only."""
    return _checks((*_SIZES, "COLUMNS")) if config.outer_product else CHECKS


def job_members(config: MatRaptorConfig) -> tuple[str, ...]:
    """Everything that a job gives to an accelerator of ``config``."""
    return (*JOB, *OUTER_JOB) if config.outer_product else JOB


def limits(config: MatRaptorConfig, *, outer: bool = False) -> dict[str, int]:
    """The greatest value of each size: rows have numbers of ``index_bits`` bits; pointers, which
    count all entries that the lanes of a channel may write, have 32.

    In the ``outer`` mode A has a row for each row of B and lane, and a queue holds a row of B.
    """
    rows = min(1 << config.index_bits, (1 << 32) - 1)
    most = {"ROWS": rows, "B_ROWS": rows, "CAPACITY": ((1 << 32) - 1) // config.channel_lanes}
    if outer:
        most |= {"B_ROWS": rows // config.lanes, "COLUMNS": config.queue_depth}
    return most


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
            ("outer_product", 8, int(config.outer_product), "1: there is the mode"),
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
    if config.outer_product:
        rows += [
            number("MODE", 0x10C, "rw", 1, "0: row by row; 1: outer products"),
            number("COLUMNS", 0x110, "rw", 32, "columns of B and C, for outer products"),
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
