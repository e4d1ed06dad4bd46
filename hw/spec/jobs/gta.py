"""Jobs of a GTA: registers, counters, errors, and the rules of a job."""

from __future__ import annotations

from ..gta import FORMATS_OF_GTA, GtaConfig
from ..registers.job_spec import Check, Error, JobSpec, Rule, checks_of
from ..registers.register_map import Field, Register, constants, number
from ..sidecar.traffic import BusSide, IdPart, Traffic
from .gta_commands import COMMAND_BYTES, longest_row
from .gta_operations import operations

__all__ = [
    "COMMANDS_BITS",
    "COUNTERS",
    "ERRORS",
    "FAULTS",
    "ID_BITS",
    "LIST_BURSTS",
    "LIST_BURST_BYTES",
    "READS",
    "beat_bytes",
    "burst_beats",
    "job_spec",
    "mask_registers",
    "most_across",
]

READS = ("list", "operands")
"""Data that is read, each kind under an ID of its own."""

ID_BITS = 1

LIST_BURSTS = 2
"""Bursts of the list that may be in flight."""

LIST_BURST_BYTES = 256
"""Most bytes of a burst of the list, if bursts may be as long."""

COMMANDS_BITS = 24
"""Width of a job's number of commands."""

_MASK_BITS = 8
_REGISTER_LANES = 4
_LONGEST_BURST = 64
_PAGE_BYTES = 4096

COUNTERS: dict[str, str] = {
    "cycles": "clock cycles of the job",
    "busy_cycles": "cycles in which at least one EXECUTE was in progress",
    "stalls": "cycles without one, between the first EXECUTE and the last",
    "operations": "EXECUTEs completed",
    "bytes_read": "bytes read, in whole beats",
    "bytes_written": "bytes written of results",
    "bytes_list": "bytes read of the list, in whole beats",
    "bytes_left": "bytes read into the memories of rows, in whole beats",
    "bytes_top": "bytes read into the memories of columns, in whole beats",
    "bytes_result": "bytes read into the memories of results, in whole beats",
    "element_cycles": "element-cycles in lanes with an EXECUTE",
    "wait_list": "cycles without an EXECUTE: none had arrived from the list",
    "wait_loads": "cycles without an EXECUTE: the next one waited for LOADs",
    "wait_stores": "cycles without an EXECUTE: the next one waited for STOREs alone",
    "wait_results": "cycles in which a LOAD or a STORE waited for the array",
}
"""Events that are counted from the start of a job to its end."""

ERRORS = (
    Error("zero_size", 1, "register", "COMMANDS is 0"),
    Error("size_limit", 2, "register", f"COMMANDS is {1 << COMMANDS_BITS} or more"),
    Error("misaligned_base", 3, "register", f"LIST is not a multiple of {COMMAND_BYTES}"),
    Error("layout", 4, "register", "LAYOUT is more than log2 of `lanes`"),
    Error("address_range", 5, "register", "LIST has more than `addr_bits` bits"),
    Error("bus_read", 6, "address", "a response to a read was neither OKAY nor EXOKAY"),
    Error("bus_write", 7, "address", "a response to a write was neither OKAY nor EXOKAY"),
    Error("masks", 24, "lane", "the lanes with the mask of this lane do not form a rectangle"),
    Error("command", 25, "command", "unknown kind, or a field with an undefined value"),
    Error("command_order", 26, "command", "waits for more commands than precede it"),
    Error(
        "command_format",
        27,
        "command",
        "a format, function or width of results that is unknown or not in this dataflow",
    ),
    Error("command_lanes", 28, "command", "no lanes, or lanes that do not exist"),
    Error(
        "command_size",
        29,
        "command",
        "a size is 0, `rows_last` no rows of the lanes' elements, or a function has no such "
        "`chain` or `amount`",
    ),
    Error(
        "command_memory",
        30,
        "command",
        "does not fit the lanes' memories, or results of its folds overlap",
    ),
    Error("command_base", 31, "command", "a base or a stride is not a multiple of a beat"),
    Error("command_range", 32, "command", "a base has more than `addr_bits` bits"),
    Error("command_sum", 33, "command", "more products than `partial_bits` can add up"),
)
"""Codes that other accelerators have mean the same there."""

FAULTS = tuple(error.name for error in ERRORS if error.detail == "command")
"""Errors of a command; of several the first one is reported."""


def beat_bytes(config: GtaConfig) -> int:
    """Bytes of a beat; bases and strides of rows are multiples of it."""
    return config.data_bits // 8


def burst_beats(config: GtaConfig) -> int:
    """Beats of the longest burst."""
    rows = longest_row(config) // beat_bytes(config)
    return min(_LONGEST_BURST, _PAGE_BYTES // beat_bytes(config), rows)


def most_across(config: GtaConfig) -> int:
    """The largest LAYOUT: all lanes beside each other."""
    return config.lanes.bit_length() - 1


def mask_registers(config: GtaConfig) -> tuple[Register, ...]:
    """The masks of lanes, those of four in each register."""
    firsts = range(0, config.lanes, _REGISTER_LANES)
    return tuple(
        Register(
            name=f"MASKS_{index}",
            offset=0x210 + 4 * index,
            access="rw",
            fields=tuple(
                Field(
                    name=f"lane_{lane}",
                    low=_MASK_BITS * (lane - first),
                    width=config.mask_bits,
                    doc=f"mask of lane {lane}",
                )
                for lane in range(first, min(first + _REGISTER_LANES, config.lanes))
            ),
            doc="masks; the lanes of one mask form a rectangle of the layout",
        )
        for index, first in enumerate(firsts)
    )


def _masks(config: GtaConfig) -> dict[str, tuple[str, int]]:
    """Register and lane of each mask field, by the field's name."""
    fields = [(one, row.name) for row in mask_registers(config) for one in row.fields]
    return {field.name: (register, lane) for lane, (field, register) in enumerate(fields)}


def _constants(config: GtaConfig) -> tuple[Register, ...]:
    formats = sum(1 << FORMATS_OF_GTA.index(name) for name in (*config.integers, *config.floats))
    return (
        constants(
            "CONFIG0",
            0x08,
            "the array",
            ("lanes", 8, config.lanes, "lanes"),
            ("formats", 8, formats, "supported formats, one bit each"),
            ("float_adders", 8, config.float_adders, "fused adders of a lane"),
            ("partial_bits", 8, config.partial_bits, "width of a sum of products of limbs"),
        ),
        constants(
            "CONFIG1",
            0x0C,
            "memory",
            ("beat_bytes", 8, beat_bytes(config), "bytes of a beat"),
            ("addr_bits", 8, config.addr_bits, "width of an address"),
            ("managers", 8, config.managers, "AXI managers"),
            ("mask_bits", 8, config.mask_bits, "width of a lane's mask"),
        ),
        constants(
            "CONFIG2",
            0x10,
            "the memories of a lane",
            ("edge_bytes", 16, config.edge_bytes, "bytes of a bank that feeds a row or a column"),
            ("bank_bytes", 16, config.bank_bytes, "bytes of a bank of results"),
        ),
    )


def _job(config: GtaConfig) -> tuple[Register, ...]:
    most = most_across(config)
    rows = {f"rows_{config.lanes >> n}": n for n in range(most + 1)}
    return (
        number("LIST", 0x200, "rw", 64, f"address of the commands, a multiple of {COMMAND_BYTES}"),
        number("COMMANDS", 0x208, "rw", 32, "commands of the job"),
        number(
            "LAYOUT",
            0x20C,
            "rw",
            32,
            "log2 of the lanes in a row; lanes are numbered row by row from 0",
            rows,
        ),
        *mask_registers(config),
    )


def _checks(config: GtaConfig) -> tuple[Check, ...]:
    return (
        *checks_of("zero_size", ["COMMANDS"], Rule.NON_ZERO),
        *checks_of("size_limit", ["COMMANDS"], Rule.BELOW, 1 << COMMANDS_BITS),
        *checks_of("misaligned_base", ["LIST"], Rule.MULTIPLE_OF, COMMAND_BYTES),
        *checks_of("address_range", ["LIST"], Rule.BELOW, 1 << config.addr_bits),
        *checks_of("layout", ["LAYOUT"], Rule.AT_MOST, most_across(config)),
    )


def _traffic(config: GtaConfig) -> tuple[Traffic, ...]:
    """One manager for all, or one for reads and one for results."""
    longest, most = burst_beats(config), config.outstanding
    reads = BusSide(
        longest_beats=longest,
        outstanding=LIST_BURSTS + most,
        outstanding_per_id=max(LIST_BURSTS, most),
        id_parts=(IdPart(name="array", low=0, bits=ID_BITS, count=len(READS), names=READS),),
    )
    result = IdPart(name="array", low=0, bits=ID_BITS, count=1, names=("results",))
    writes = BusSide(
        longest_beats=longest, outstanding=most, outstanding_per_id=most, id_parts=(result,)
    )
    if config.managers == 1:
        return (Traffic(reads=reads, writes=writes),)
    return Traffic(reads=reads), Traffic(writes=writes)


def job_spec(config: GtaConfig) -> JobSpec:
    """The jobs of a GTA."""
    return JobSpec(
        accelerator="accelerator",
        letters=b"TWGT",
        version=0x0001_0001,
        constants=_constants(config),
        detail="wrong register, bus address, lane, or number of a command",
        counters=COUNTERS,
        errors=ERRORS,
        job=_job(config),
        checks=_checks(config),
        operations=operations(config, _masks(config)),
        traffic=_traffic(config),
    )
