"""Jobs of the tile engine: registers, counters, errors, and the rules of a job."""

from __future__ import annotations

from dataclasses import replace

from ..engine import OPERANDS, SIZE_BITS, EngineConfig
from ..matrix_unit import Operation, matrix_operand
from ..registers.job_spec import Check, Condition, Error, JobSpec, Rule, checks_of
from ..registers.register_map import Field, Register, constants, number
from ..sidecar.operation import Operand, OperationEntry, Size
from ..sidecar.placement import MatrixPlacement, Setting

__all__ = ["COUNTERS", "ERRORS", "FLAGS", "WITH_C", "job_spec"]

COUNTERS: dict[str, str] = {
    "cycles": "clock cycles of the job",
    "busy_cycles": "cycles in which the unit had an operation at its input",
    "stalls": "cycles without one, between the first operation and the last",
    "operations": "operations of the unit",
    "bytes_read": "bytes read, in whole beats",
    "bytes_written": "bytes written of D",
}
"""Events that the engine counts from the start of a job to its end."""

ERRORS = (
    Error("opcode", 1, "register", "OP is not an operation of this engine"),
    Error("zero_size", 2, "register", "M, N or K is 0"),
    Error("size_limit", 3, "register", f"M, N or K is {1 << SIZE_BITS} or more"),
    Error("misaligned_base", 4, "register", "a base is not a multiple of a beat"),
    Error("misaligned_stride", 5, "register", "a stride is not a multiple of a beat"),
    Error("address_range", 6, "register", "a base has more than `addr_bits` bits"),
    Error("bus_read", 7, "address", "a response to a read was neither OKAY nor EXOKAY"),
    Error("bus_write", 8, "address", "a response to a write was neither OKAY nor EXOKAY"),
)

FLAGS = Register(
    name="FLAGS",
    offset=0x84,
    access="rw",
    fields=(
        Field(name="transposed_b", low=0, doc="B is stored by columns: N x K in memory"),
        Field(name="use_c", low=1, doc="1: C is added; 0: nothing is added"),
    ),
    doc="variants of the job",
)

WITH_C = Condition(register="FLAGS", field="use_c")
"""C's registers are checked only for jobs that read C."""


def _checks(config: EngineConfig) -> tuple[Check, ...]:
    bases, strides = (
        [f"{operand.upper()}_{what}" for operand in OPERANDS] for what in ("BASE", "STRIDE")
    )
    when = {"C_BASE": WITH_C, "C_STRIDE": WITH_C}
    beat, addresses = config.beat_bytes, 1 << config.addr_bits
    opcodes = tuple(config.opcodes.values())
    return (
        Check(register="OP", rule=Rule.ONE_OF, choices=opcodes, error="opcode"),
        *checks_of("zero_size", "MNK", Rule.NON_ZERO),
        *checks_of("size_limit", "MNK", Rule.BELOW, 1 << SIZE_BITS),
        *checks_of("misaligned_base", bases, Rule.MULTIPLE_OF, beat, when=when),
        *checks_of("misaligned_stride", strides, Rule.MULTIPLE_OF, beat, when=when),
        *checks_of("address_range", bases, Rule.BELOW, addresses, when=when),
    )


def _constants(config: EngineConfig) -> tuple[Register, ...]:
    unit, block = config.unit, config.block
    mask = sum(1 << opcode for opcode in config.opcodes.values())
    return (
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
        constants("CONFIG2", 0x10, "supported opcodes, one bit each", ("value", 32, mask, "")),
        constants(
            "CONFIG3",
            0x14,
            "the block",
            ("block_rows", 8, block[0], "tiles downwards"),
            ("block_cols", 8, block[1], "tiles across"),
            ("block_depth", 8, block[2], "k tiles that are loaded at a time"),
            ("size_bits", 8, SIZE_BITS, "width of M, N and K"),
        ),
    )


def _job(config: EngineConfig) -> list[Register]:
    rows = [
        number("OP", 0x80, "rw", 32, "opcode of the operation", config.opcodes),
        FLAGS,
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


_SIZES = tuple(
    Size(name=name, doc=doc, register=name)
    for name, doc in (
        ("M", "rows of a, c and d"),
        ("N", "columns of b, c and d"),
        ("K", "columns of a, rows of b"),
    )
)


def _operand(config: EngineConfig, operation: Operation, name: str) -> Operand:
    bits = operation.operand_bits if name in "ab" else operation.result_bits
    transposed = Setting(register="FLAGS", field="transposed_b", value=1)
    used = Setting(register="FLAGS", field="use_c", value=1)
    placement = MatrixPlacement(
        base=f"{name.upper()}_BASE",
        stride=f"{name.upper()}_STRIDE",
        align=config.beat_bytes,
        element_bytes=bits // 8,
        read_bytes=None if name == "d" else config.beat_bytes,
        transposed=transposed if name == "b" else None,
        may_be=("c",) if name == "d" else (),
    )
    found = matrix_operand(name, operation, placement)
    return replace(found, used_when=used) if name == "c" else found


def _operations(config: EngineConfig) -> tuple[OperationEntry, ...]:
    """Those of the unit, on matrices in memory."""
    return tuple(
        OperationEntry(
            name=operation.name,
            select=(Setting(register="OP", value=operation.opcode),),
            compute=replace(operation.compute, doc=f"{operation.compute.doc}; {_CHAIN}"),
            sizes=_SIZES,
            operands=tuple(_operand(config, operation, name) for name in OPERANDS),
        )
        for operation in config.unit.operations.values()
    )


_CHAIN = "a chain of the unit's operations over tiles of K, in ascending order"


def job_spec(config: EngineConfig) -> JobSpec:
    """The jobs of an engine."""
    return JobSpec(
        accelerator="engine",
        letters=b"TWTE",
        version=0x0001_0001,
        constants=_constants(config),
        detail="offset of the wrong register, or the bus address",
        counters=COUNTERS,
        errors=ERRORS,
        job=tuple(_job(config)),
        checks=_checks(config),
        operations=_operations(config),
        traffic=config.traffic,
    )
