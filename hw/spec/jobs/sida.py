"""Jobs of a SIDA: registers, counters, errors, and the rules of a job."""

from __future__ import annotations

from ..elementwise.instructions import SCALARS, VECTORS
from ..registers.job_spec import Check, Error, JobSpec, Rule, checks_of
from ..registers.register_map import Register, constants, number
from ..sida import VALUES, SidaConfig
from .sida_operations import ROWS_ARE_READ, TWICE, operations

__all__ = [
    "BASES",
    "BY_ROWS",
    "COUNTERS",
    "ERRORS",
    "VECTOR_BASES",
    "WINDOW_BASES",
    "WINDOW_COUNTERS",
    "job_spec",
]

COUNTERS: dict[str, str] = {
    "cycles": "clock cycles of the job",
    "busy_cycles": "cycles in which elements entered the first product",
    "stalls": "cycles without one, between the first element and the last",
    "operations": "multiplications, and as many additions, of both products",
    "bytes_read": "bytes read, in whole beats",
    "bytes_written": "bytes written",
    "bytes_pointers": "bytes read of the ends of columns, in whole beats",
    "bytes_rows": "bytes read of row numbers, in whole beats",
    "bytes_values": "bytes read of values, in whole beats",
    "bytes_again": "bytes read to refetch evicted panels, in whole beats",
    "bytes_vectors": "bytes read of vectors and scalars, in whole beats",
    "bytes_program": "bytes read of the program, in whole beats",
    "elements": "elements that entered the first product",
    "held": "largest number of elements resident on chip",
    "lost": "panels evicted",
    "column_cycles": "cycles in which columns were read or waited to be accepted",
    "wait_columns": "cycles without elements from memory",
    "wait_z": "cycles in which elements waited for z",
    "wait_held": "cycles in which elements waited for a free entry of the buffer",
    "conflicts": "operands that waited for a bank of the vectors, summed over cycles",
    "instructions": "instructions executed on a row of elements, and rows accepted",
    "wait_elementwise": "cycles in which a row or an instruction waited",
    "passes_done": "passes over the matrix",
    "ended": "product of the last pass that met the limit, 1 or 2; 0: neither",
}
"""Events that are counted from the start of a job to its end."""

ERRORS = (
    Error("zero_size", 1, "register", "ROWS, PASSES or WORDS is 0"),
    Error("size_limit", 2, "register", "ROWS is above `rows_limit`, or `vector_words` where "
          "that is 0, or WORDS or ENTRY above what `program_words` allows"),
    Error("misaligned_base", 3, "register", "a base is not a multiple of a line"),
    Error("semiring", 4, "register", "a semiring is not one of this unit"),
    Error("address_range", 5, "register", "a base has more than `addr_bits` bits"),
    Error("bus_read", 6, "address", "a response to a read was neither OKAY nor EXOKAY"),
    Error("bus_write", 7, "address", "a response to a write was neither OKAY nor EXOKAY"),
    Error("index", 8, "column", "a row of the column's elements is not below ROWS"),
    Error("unsorted", 9, "column", "the rows of the column's elements do not ascend"),
    Error("pointers", 16, "column", "the column's end is before its start or after the last one"),
    Error("rows_index", 17, "row", "a column of the row's elements is not below ROWS"),
    Error("rows_unsorted", 18, "row", "the columns of the row's elements do not ascend"),
    Error("rows_pointers", 19, "row", "the row's end is before its start or after its panel's"),
    Error("program", 20, "instruction", "unknown instruction, a second out, or no end"),
    Error("disagree", 21, "row", "refetched elements, of `subtensor` rows from this row on, differ "
          "from those of the columns"),
)  # fmt: skip
"""Codes that other accelerators have mean the same there."""

BASES = {
    "column_pointers": "the columns' ends, from 0 (CSC)",
    "row_numbers": "the elements' rows, by columns",
    "column_values": "the elements' values, by columns",
    "row_pointers": "the rows' ends, from 0 (CSR)",
    "column_numbers": "the elements' columns, by rows",
    "row_values": "the elements' values, by rows",
    "x": "the operand of the first product",
    "scalars": f"the {SCALARS} scalars, written back at the end",
    "program_base": "the program's words",
}
"""Registers with addresses, and the array at each."""

BY_ROWS = ("row_pointers", "column_numbers", "row_values")
"""Those that a job uses only if it has a second product, and that not with the transpose."""

WINDOW_COUNTERS = {
    "bytes_windows_read": "part of BYTES_READ: x, z and w",
    "bytes_windows_written": "part of BYTES_WRITTEN: x, z and w",
}
"""Events that are counted where x, z and w are in memory."""

WINDOW_BASES = {
    "x_spill": "of the operand x",
    "z_spill": "of z, the result of E1",
    "w_spill": "of w, the sums of the second product",
}
"""Registers with addresses where x, z and w are in memory."""

VECTOR_BASES = tuple(f"vector_{n}" for n in range(VECTORS))
"""Registers with the addresses of the arrays that programs load and store."""

_FIRST_BASE = 0x140


def _checks(config: SidaConfig) -> tuple[Check, ...]:
    built = tuple(row.opcode for row in config.operators)
    bases = [name.upper() for name in (*BASES, *VECTOR_BASES)]
    if config.windowed:
        bases += [name.upper() for name in WINDOW_BASES]
    when = {name.upper(): ROWS_ARE_READ for name in BY_ROWS} | {"W_SPILL": TWICE}
    return (
        *checks_of("zero_size", ("ROWS", "PASSES", "WORDS"), Rule.NON_ZERO),
        *checks_of("size_limit", ("ROWS",), Rule.AT_MOST, config.most_rows),
        *checks_of("size_limit", ("WORDS",), Rule.AT_MOST, config.program_words),
        *checks_of("size_limit", ("ENTRY",), Rule.AT_MOST, config.program_words - 1),
        Check(register="FIRST", rule=Rule.ONE_OF, choices=built, error="semiring"),
        Check(register="SECOND", rule=Rule.ONE_OF, choices=built, error="semiring", when=TWICE),
        *checks_of("misaligned_base", bases, Rule.MULTIPLE_OF, config.line_bytes, when=when),
        *checks_of("address_range", bases, Rule.BELOW, 1 << config.addr_bits, when=when),
    )


def _constants(config: SidaConfig) -> tuple[Register, ...]:
    built = sum(1 << row.opcode for row in config.operators)
    return (
        constants(
            "CONFIG0",
            0x08,
            "the cores",
            ("pes", 12, config.pes, "elements of each core"),
            (
                "partials",
                4,
                config.partials,
                "partial sums over which the sets of a column are distributed round robin",
            ),
            ("channels", 8, config.channels, "memory channels"),
            (
                "line_blocks",
                8,
                config.line_blocks,
                "blocks of a line, the alignment of bases",
            ),
        ),
        constants(
            "CONFIG1",
            0x0C,
            "the values",
            ("format", 8, VALUES.index(config.value), f"of the values: {', '.join(VALUES)}"),
            ("beat_bytes", 8, config.geometry.beat_bytes, "bytes of a beat"),
            ("semirings", 16, built, "bit n: semiring n is built"),
        ),
        constants(
            "CONFIG2",
            0x10,
            "memory",
            ("interleave", 16, config.interleave, "bytes of a block of the interleaving"),
            ("addr_bits", 8, config.addr_bits, "width of an address"),
        ),
        constants(
            "CONFIG3",
            0x14,
            "steps and programs",
            ("subtensor", 16, config.subtensor, "columns of a step"),
            ("program_words", 16, config.program_words, "instructions of a program"),
        ),
        constants("CONFIG4", 0x18, "vectors", ("words", 32, config.most_rows, "elements of each")),
        constants(
            "CONFIG5",
            0x1C,
            "the buffer",
            ("words", 32, config.buffer_words, "capacity, in elements of the matrix"),
        ),
    )


def _job(config: SidaConfig) -> list[Register]:
    built = {row.name: row.opcode for row in config.operators}
    job = [
        number("ROWS", 0x100, "rw", 32, "rows of the matrix, and columns"),
        number("PASSES", 0x104, "rw", 32, "largest number of passes"),
        number("FIRST", 0x108, "rw", 8, "opcode of the first product's semiring", built),
        number("SECOND", 0x10C, "rw", 8, "opcode of the second product's semiring", built),
        number(
            "SECOND_PRODUCT", 0x110, "rw", 1, "1: two products per pass, 0: the first one alone"
        ),
        number("WORDS", 0x114, "rw", 32, "words of the program"),
        number("ENTRY", 0x118, "rw", 32, "first word of E2; E1 starts at 0"),
        number("STOPS", 0x11C, "rw", 1, "1: the job ends when a reduction is below the limit"),
        number("STOP_1", 0x120, "rw", 5, "the scalar that is tested for the first product"),
        number("STOP_2", 0x124, "rw", 5, "the scalar that is tested for the second product"),
        number("LIMIT", 0x128, "rw", 5, "the scalar that both are compared with"),
        number("TRANSPOSED", 0x12C, "rw", 1, "1: the second product is with the transpose"),
    ]
    line = config.line_bytes
    for index, (name, what) in enumerate(BASES.items()):
        doc = f"address of {what}, a multiple of {line}"
        job.append(number(name.upper(), _FIRST_BASE + 8 * index, "rw", 64, doc))
    first = _FIRST_BASE + 8 * len(BASES)
    for index, name in enumerate(VECTOR_BASES):
        doc = f"address of the program's vector {index}, a multiple of {line}"
        job.append(number(name.upper(), first + 8 * index, "rw", 64, doc))
    first += 8 * len(VECTOR_BASES)
    for index, (name, what) in enumerate(WINDOW_BASES.items() if config.windowed else ()):
        doc = f"address {what}, a multiple of {line}"
        job.append(number(name.upper(), first + 8 * index, "rw", 64, doc))
    return job


def job_spec(config: SidaConfig) -> JobSpec:
    """The jobs of a SIDA."""
    return JobSpec(
        accelerator="accelerator",
        letters=b"TWSD",
        version=0x0001_0001,
        constants=_constants(config),
        detail="wrong register, bus address, column, row, or instruction",
        counters=COUNTERS | (WINDOW_COUNTERS if config.windowed else {}),
        errors=ERRORS,
        job=tuple(_job(config)),
        checks=_checks(config),
        operations=operations(config),
        traffic=config.traffic,
    )
