"""Jobs of the converter: registers, counters, errors, and the rules of a job."""

from __future__ import annotations

from ..c2sr import VALUES
from ..c2sr_converter import C2srConverterConfig
from ..registers.job_spec import Check, Error, JobSpec, Rule, checks_of
from ..registers.register_map import Register, constants, number
from ..sidecar.operation import Compute, Operand, OperationEntry, Size
from ..sidecar.placement import Placement, Room, Setting

__all__ = ["BASES", "COUNTERS", "ERRORS", "MODES", "job_spec", "limits"]

MODES = {"csr_to_c2sr": 0, "c2sr_to_csr": 1}
"""Values of MODE."""

BASES: dict[str, str] = {
    "csr_pointers": "the row pointers in CSR",
    "csr_entries": "the entries in CSR",
    "c2sr_pairs": "the pairs in C2SR",
    "c2sr_entries": "the entries in C2SR",
}
"""Arrays in memory whose bases are in the job registers: members and, in upper case, registers."""

COUNTERS: dict[str, str] = {
    "cycles": "clock cycles of the job",
    "rows_done": "rows converted",
    "entries": "entries converted",
    "bytes_read": "bytes read, in whole beats",
    "bytes_written": "bytes written",
}
"""Events that are counted from the start of a job to its end."""

ERRORS = (
    Error("zero_size", 1, "register", "ROWS or CAPACITY is 0"),
    Error("size_limit", 2, "register", "ROWS exceeds the range of `index_bits`"),
    Error("misaligned_base", 3, "register", "a base is not a multiple of `interleave`"),
    Error("address_range", 5, "register", "a base has more than `addr_bits` bits"),
    Error("bus_read", 6, "address", "a response to a read was neither OKAY nor EXOKAY"),
    Error("bus_write", 7, "address", "a response to a write was neither OKAY nor EXOKAY"),
    Error("unsorted", 9, "row", "row pointers do not ascend from 0"),
    Error("region", 11, "row", "an entry lies beyond CAPACITY"),
)
"""The codes are those of MatRaptor."""


def limits(config: C2srConverterConfig) -> dict[str, int]:
    """The greatest value of each size: rows have numbers of ``index_bits`` bits, pointers have
    32."""
    most = (1 << 32) - 1
    return {"ROWS": min(1 << config.index_bits, most), "CAPACITY": most}


def _checks(config: C2srConverterConfig) -> tuple[Check, ...]:
    bases, most = [name.upper() for name in BASES], limits(config)
    return (
        *checks_of("zero_size", most, Rule.NON_ZERO),
        *checks_of("size_limit", most, Rule.AT_MOST, most),
        *checks_of("misaligned_base", bases, Rule.MULTIPLE_OF, config.interleave),
        *checks_of("address_range", bases, Rule.BELOW, 1 << config.addr_bits),
    )


def _constants(config: C2srConverterConfig) -> tuple[Register, ...]:
    layout = config.layout
    return (
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
            ("outstanding", 12, config.outstanding, "bursts of a reader in flight"),
            ("lanes", 8, config.lane_count, "rows that are copied at the same time"),
        ),
    )


def _job(config: C2srConverterConfig) -> list[Register]:
    capacity = "entries that may be written: to C2SR into each channel, to CSR in all"
    job = [
        number("MODE", 0x100, "rw", 1, "0: from CSR to C2SR, 1: from C2SR to CSR", MODES),
        number("ROWS", 0x104, "rw", 32, "rows of the matrix"),
        number("CAPACITY", 0x108, "rw", 32, capacity),
    ]
    for index, (name, what) in enumerate(BASES.items()):
        doc = f"byte address of {what}, a multiple of {config.interleave}"
        job.append(number(name.upper(), 0x120 + 8 * index, "rw", 64, doc))
    return job


def _operations(config: C2srConverterConfig) -> tuple[OperationEntry, ...]:
    """Either direction: the same matrix, in one form and in the other."""
    layout, room = config.layout, Room(register="CAPACITY")
    csr, c2sr = layout.csr_placement("CSR"), layout.placement("C2SR")
    ways: dict[str, tuple[Placement, Placement]] = {
        "csr_to_c2sr": (csr, layout.placement("C2SR", read=False, room=room)),
        "c2sr_to_csr": (c2sr, layout.csr_placement("CSR", read=False, room=room)),
    }
    sizes = (
        Size(name="M", doc="rows of the matrix", register="ROWS"),
        Size(name="N", doc="columns of the matrix", most=1 << config.index_bits),
    )
    return tuple(
        OperationEntry(
            name=name,
            select=(Setting(register="MODE", value=MODES[name]),),
            compute=Compute(kind="conversion", doc="target = source, entry by entry"),
            sizes=sizes,
            operands=tuple(
                Operand(
                    name=operand,
                    direction=direction,
                    rows="M",
                    columns="N",
                    format=layout.format,
                    placement=place,
                )
                for (operand, direction), place in zip(
                    (("source", "in"), ("target", "out")), places, strict=True
                )
            ),
        )
        for name, places in ways.items()
    )


def job_spec(config: C2srConverterConfig) -> JobSpec:
    """The jobs of a converter."""
    return JobSpec(
        accelerator="converter",
        letters=b"TWCV",
        version=0x0001_0002,
        constants=_constants(config),
        detail="wrong register, bus address or row",
        counters=COUNTERS,
        errors=ERRORS,
        job=tuple(_job(config)),
        checks=_checks(config),
        operations=_operations(config),
        traffic=config.traffic,
    )
