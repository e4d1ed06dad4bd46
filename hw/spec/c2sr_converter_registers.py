"""The registers, counters and error codes of the converter, and what a job must obey."""

from __future__ import annotations

from .c2sr import VALUES
from .c2sr_converter import C2srConverterConfig
from .job_registers import CONTROL, checks_of, constants, counter_registers, identity, number
from .matraptor_registers import ERRORS as _ERRORS
from .registers import Register, RegisterMap

__all__ = [
    "BASES",
    "CHECKS",
    "COUNTERS",
    "ERRORS",
    "ID",
    "JOB",
    "MODES",
    "VERSION",
    "limits",
    "register_map",
]

ID = int.from_bytes(b"TWCV", "little")
VERSION = 0x0001_0000

MODES = {"csr_to_c2sr": 0, "c2sr_to_csr": 1}
"""Values of MODE."""

BASES: dict[str, str] = {
    "csr_pointers": "the row pointers in CSR",
    "csr_entries": "the entries in CSR",
    "c2sr_pairs": "the pairs in C2SR",
    "c2sr_entries": "the entries in C2SR",
}
"""Arrays in memory whose bases a job gives: members and, in upper case, registers."""

JOB = ("mode", "rows", "capacity", *BASES)
"""Everything that a job gives, likewise."""

COUNTERS: dict[str, str] = {
    "cycles": "clock cycles of the job",
    "rows_done": "rows that were converted",
    "entries": "entries that were converted",
    "bytes_read": "bytes of the beats that were read",
    "bytes_written": "bytes that were written",
}
"""What is counted from the start of a job to its end: members and, in upper case, registers."""

ERRORS: dict[str, int] = {
    name: _ERRORS[name]
    for name in (
        "none",
        "zero_size",
        "size_limit",
        "misaligned_base",
        "address_range",
        "bus_read",
        "bus_write",
        "unsorted",
        "region",
    )
}
"""Codes of STATUS, those of MatRaptor. ERROR_DETAIL holds, up to ``address_range``, the offset of
the job register that was wrong; of ``bus_read`` and ``bus_write`` the address at which the bus
failed; of ``unsorted`` (CSR's row pointers do not ascend from 0) and of ``region`` the number of
the row."""

_SIZES = ("ROWS", "CAPACITY")
_BASES = tuple(name.upper() for name in BASES)

CHECKS = checks_of(
    {
        "zero_size": _SIZES,
        "size_limit": _SIZES,
        "misaligned_base": _BASES,
        "address_range": _BASES,
    }
)
"""In order: the first one that fails is reported."""


def limits(config: C2srConverterConfig) -> dict[str, int]:
    """The greatest value of each size: rows have numbers of ``index_bits`` bits, pointers have
    32."""
    most = (1 << 32) - 1
    return {"ROWS": min(1 << config.index_bits, most), "CAPACITY": most}


def _identity(config: C2srConverterConfig) -> list[Register]:
    layout = config.layout
    return [
        *identity(b"TWCV", VERSION),
        constants(
            "CONFIG0",
            0x08,
            "the matrix",
            ("channels", 8, config.channels, "memory channels"),
            ("format", 8, VALUES.index(config.value), f"of the values: {', '.join(VALUES)}"),
            ("index_bits", 8, config.index_bits, "width of a row or column number"),
            ("entry_bytes", 8, layout.entry_bytes, "bytes of an entry"),
        ),
        constants(
            "CONFIG1",
            0x0C,
            "memory",
            ("interleave", 16, config.interleave, "bytes of a block of the interleaving"),
            ("addr_bits", 8, config.addr_bits, "width of an address"),
            ("beat_bytes", 8, config.beat_bytes, "bytes of a beat"),
        ),
        constants(
            "CONFIG2",
            0x10,
            "depths",
            ("outstanding", 12, config.outstanding, "bursts under way of a reader"),
        ),
    ]


def _job(config: C2srConverterConfig) -> list[Register]:
    capacity = "entries that may be written: to C2SR into each channel, to CSR in all"
    job = [
        number("MODE", 0x100, "rw", 1, "0: from CSR to C2SR, 1: from C2SR to CSR"),
        number("ROWS", 0x104, "rw", 32, "rows of the matrix"),
        number("CAPACITY", 0x108, "rw", 32, capacity),
    ]
    for index, (name, what) in enumerate(BASES.items()):
        doc = f"byte address of {what}, a multiple of {config.interleave}"
        job.append(number(name.upper(), 0x120 + 8 * index, "rw", 64, doc))
    return job


def register_map(config: C2srConverterConfig) -> RegisterMap:
    """The registers of a converter."""
    detail = number("ERROR_DETAIL", 0x28, "ro", 64, "wrong register, bus address or row")
    control = (*CONTROL, detail, *counter_registers(COUNTERS))
    return RegisterMap(registers=(*_identity(config), *control, *_job(config)))
