"""Operations of SIDA's jobs, the places of their operands in memory, and the words of their
programs."""

from __future__ import annotations

from ..elementwise import instructions as core
from ..formats import FloatFormat
from ..sida import DELAY, SidaConfig
from ..sidecar.operation import (
    Choice,
    Compute,
    Condition,
    Entry,
    Instruction,
    Named,
    Operand,
    OperandKind,
    OperationEntry,
    Parameter,
    ProgramLayout,
    Size,
)
from ..sidecar.placement import CompressedPlacement, Late, MatrixPlacement, Part, Records

__all__ = ["ROWS_ARE_READ", "TWICE", "operations"]

TWICE = Condition(register="SECOND_PRODUCT")
"""Condition that a job has a second product."""

ROWS_ARE_READ = Condition(register="SECOND_PRODUCT", also=Condition(register="TRANSPOSED", value=0))
"""Condition that a job reads the matrix by rows, too."""

_INDEX_BYTES = 4

_COMPUTE = """\
PASSES times, or until a reduction stops it: y[j] = (+) over i of x[i] (x) L[i, j] by the semiring \
FIRST, z[j] is what part e1 of the program makes of y[j]; with SECOND_PRODUCT w[j] = (+) over i of \
z[i] (x) L[i, j] by the semiring SECOND, with TRANSPOSED w[i] = (+) over j of z[j] (x) L[i, j]; \
and x of the next pass is what part e2 makes of w; without it x of the next pass is z. Elements \
that L does not have take no part. Each product and each sum is rounded once; the order of sums is \
on the page of the dataflow"""

_KINDS = {
    "d": OperandKind(
        part="d",
        doc="a register that is written",
        numbers=(Named(of="registers", first=0, count=core.REGISTERS),),
    ),
    **{
        name: OperandKind(
            part=name,
            doc="a register or a scalar that is read; register 0 holds y, or w, at the start",
            numbers=(
                Named(of="registers", first=0, count=core.REGISTERS),
                Named(of="scalars", first=core.scalar_operand(0), count=core.SCALARS),
            ),
        )
        for name in "abc"
    },
    "v": OperandKind(
        part="c",
        doc="a vector: operand vector_n",
        numbers=(Named(of="vectors", first=0, count=core.VECTORS),),
    ),
    "s": OperandKind(
        part="d",
        doc="a scalar that is a reduction",
        numbers=(Named(of="scalars", first=0, count=core.SCALARS),),
    ),
}

_FIELD_BITS = 6

_RULES = (
    "a part has at most one `out`, whose operand is what it makes of the element; without one that "
    "is register 0 as the part leaves it",
    "a register is read only if the part has written it before; register 0 is written at the begin",
    "a part stores a vector at most once; a load before that reads the old element",
    "a part does not read a scalar that it reduces; the other part reads what the pass, or the one "
    "before, made of it, and in the first pass what is in memory",
    "words are at most as many as the rules of WORDS say",
)


def _instructions(config: SidaConfig) -> tuple[Instruction, ...]:
    """Those that the unit has, in the order of opcodes."""
    fmt = config.format
    found = []
    for one in core.INSTRUCTIONS.values():
        if one.name == "dot" or (one.floats and not isinstance(fmt, FloatFormat)):
            continue
        identity = fmt.constant(core.REDUCTIONS[one.name]) if one.name in core.REDUCTIONS else None
        found.append(
            Instruction(
                name=one.name,
                opcode=one.opcode,
                operands=tuple(one.operands),
                identity=identity,
                doc=one.doc,
            )
        )
    return tuple(found)


def _program(config: SidaConfig) -> ProgramLayout:
    places = ("opcode", "d", "a", "b", "c")
    return ProgramLayout(
        base="PROGRAM_BASE",
        count="WORDS",
        bytes=core.WORD_BITS // 8,
        align=config.line_bytes,
        read_bytes=config.interleave,
        parts={
            name: Part(low=_FIELD_BITS * number, bits=_FIELD_BITS)
            for number, name in enumerate(places)
        },
        kinds=_KINDS,
        instructions=_instructions(config),
        entries=(
            Entry(name="e1", at=0, doc="runs on every element of the first product"),
            Entry(name="e2", register="ENTRY", doc="runs on every element of the second, if it is"),
        ),
        ends_with="end",
        rules=_RULES,
    )


def _semirings(config: SidaConfig) -> tuple[Choice, ...]:
    return tuple(
        Choice(
            name=row.name,
            value=row.opcode,
            plus=row.plus,
            times=row.times,
            identity=row.identity_in(config.format),
            doc="the operand of the vector, then that of the matrix",
        )
        for row in config.operators
    )


def _parameters(config: SidaConfig) -> tuple[Parameter, ...]:
    semirings = _semirings(config)
    no, yes = (Choice(name=name, value=n, doc=name) for n, name in enumerate(("no", "yes")))
    docs = {
        "PASSES": "largest number of passes",
        "FIRST": "the semiring of the first product",
        "SECOND": "the semiring of the second product; any, if there is none",
        "SECOND_PRODUCT": "whether a pass has a second product",
        "TRANSPOSED": "whether the second product is with the transpose",
        "STOPS": "whether a job ends after a product whose reduction is below the limit",
        "STOP_1": "the scalar that is tested after the first product",
        "STOP_2": "the scalar that is tested after the second product",
        "LIMIT": "the scalar that both are compared with",
    }
    choices = {
        "FIRST": semirings,
        "SECOND": semirings,
        **dict.fromkeys(("SECOND_PRODUCT", "TRANSPOSED", "STOPS"), (no, yes)),
    }
    return tuple(
        Parameter(register=name, doc=doc, choices=choices.get(name)) for name, doc in docs.items()
    )


def _matrix(config: SidaConfig, major: str) -> Operand:
    """The matrix by columns, or by rows."""
    number = {"columns": "row", "rows": "column"}[major]
    names = {
        "columns": ("COLUMN_POINTERS", "ROW_NUMBERS", "COLUMN_VALUES"),
        "rows": ("ROW_POINTERS", "COLUMN_NUMBERS", "ROW_VALUES"),
    }[major]
    element = config.format.bits // 8
    pointers, numbers, values = (
        Records(base=base, bytes=size, parts={part: Part(low=0, bits=8 * size)})
        for base, size, part in zip(
            names, (_INDEX_BYTES, _INDEX_BYTES, element), ("start", number, "value"), strict=True
        )
    )
    late = Late(step=config.subtensor, behind=DELAY)
    return Operand(
        name=f"matrix_by_{major}",
        direction="in",
        rows="N",
        columns="N",
        format=config.format,
        used_when=ROWS_ARE_READ if major == "rows" else None,
        placement=CompressedPlacement(
            major=major,
            align=config.line_bytes,
            read_bytes=config.interleave,
            pointers=pointers,
            numbers=numbers,
            values=values,
            late=late if major == "rows" else None,
        ),
    )


def _vector(
    config: SidaConfig,
    name: str,
    direction: str,
    size: str = "N",
    used_when: Condition | None = None,
    may_be: tuple[str, ...] = (),
    row_bytes: int | None = None,
) -> Operand:
    return Operand(
        name=name,
        direction=direction,
        rows=size,
        columns="one" if row_bytes is None else "lanes",
        format=config.format,
        used_when=used_when,
        placement=MatrixPlacement(
            base=name.upper(),
            row_bytes=row_bytes,
            align=config.line_bytes,
            element_bytes=config.format.bits // 8,
            read_bytes=config.interleave,
            may_be=may_be,
        ),
    )


def _windows(config: SidaConfig) -> tuple[Operand, ...]:
    """Memory that a job needs if x, z and w are in memory."""
    if not config.windowed:
        return ()
    return (
        _vector(config, "x_spill", "work"),
        _vector(config, "z_spill", "work"),
        _vector(config, "w_spill", "work", "w_rows", used_when=TWICE, row_bytes=config.piece_bytes),
    )


def operations(config: SidaConfig) -> tuple[OperationEntry, ...]:
    """One operation: passes over a matrix, with a program between the products."""
    vectors = tuple(f"vector_{n}" for n in range(core.VECTORS))
    sizes = [
        Size(name="N", doc="rows and columns of the matrix, elements of a vector", register="ROWS"),
        Size(name="scalars", doc="scalars", value=core.SCALARS),
        Size(name="one", doc="columns of a vector", value=1),
    ]
    if config.windowed:
        sizes += [
            Size(name="lanes", doc="elements of a row of w_spill", value=config.pes),
            Size(
                name="w_rows", doc="rows of w_spill: N / lanes, rounded up", most=config.most_rows
            ),
        ]
    return (
        OperationEntry(
            name="passes",
            select=(),
            compute=Compute(kind="other", doc=_COMPUTE),
            sizes=tuple(sizes),
            operands=(
                _matrix(config, "columns"),
                _matrix(config, "rows"),
                _vector(config, "x", "in", may_be=vectors),
                _vector(config, "scalars", "inout", "scalars"),
                *(_vector(config, name, "program") for name in vectors),
                *_windows(config),
            ),
            parameters=_parameters(config),
            program=_program(config),
        ),
    )
