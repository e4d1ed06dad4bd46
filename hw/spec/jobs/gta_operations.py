"""Operations of GTA's jobs: the bits of its commands, and the meaning of their numbers."""

from __future__ import annotations

from ..formats import FORMATS
from ..gta import BANKS, COLS, FORMATS_OF_GTA, LEFT_WORD_BYTES, ROWS, GtaConfig, is_float, limbs
from ..sidecar.operation import (
    Choice,
    CommandField,
    CommandKind,
    CommandList,
    Compute,
    Deal,
    LaneMemory,
    ListedFormat,
    OperationEntry,
    Parameter,
    VectorFunctionEntry,
)
from .gta_commands import (
    COMMAND_BYTES,
    DEALS,
    FIELDS,
    KINDS,
    MEMORIES,
    NARROWINGS,
    OPERATIONS,
    lane_words,
    widths_of_results,
)
from .gta_vector import VECTOR_FUNCTIONS, functions_of

__all__ = ["operations"]

_COMPUTE = (
    "what the commands say. 2^LAYOUT lanes stand beside each other: lane n is in row n / 2^LAYOUT "
    f"and column n % 2^LAYOUT; a lane has {ROWS} x {COLS} elements. The lanes of one mask are a "
    "rectangle, a region of R rows and C columns of elements, in which an EXECUTE works. Operands "
    f"of row, or column, n are in bank n % {BANKS} of lane n / {BANKS} of the region's left, or "
    "upper, edge; results are in the lanes at its lower edge, those of floats where they are "
    "computed. L are the format's limbs, of floats 1. ws: K along the rows, N L along the columns, "
    "M in time; os: M L along the rows, N L along the columns, K in time; simd: a function of "
    "vectors in each lane. Each product and each sum of floats is rounded once; sums of integers "
    "are exact modulo their width"
)

_COMMANDS = {
    "load": "brings rows from memory into the lanes",
    "execute": "has lanes compute; complete when its results are in the lanes",
    "store": "writes rows of results to memory; complete when memory has acknowledged them",
}

_DOCS = {
    "kind": "the kind's number",
    "loads": "starts when at least this many LOADs of the job are complete",
    "executes": "and this many EXECUTEs",
    "stores": "and this many STOREs",
    "memory": "destination of the rows",
    "narrow": "what is done to elements of 8 or 16 bytes; rows in memory are half as long then",
    "deal": "how the elements of a row are distributed to banks",
    "rows": "rows",
    "row_bytes": "bytes of a row in the lanes",
    "base": "address of row 0",
    "stride": "bytes from a row to the next in memory",
    "first": "the first lane",
    "step": "from a lane to the next",
    "lanes": "how many lanes: first, first + step, ...",
    "word": "start of the first rows in each bank, in words",
    "words": "offset, in words, of rows that continue after the last bank of the last lane",
    "operation": "the dataflow",
    "format": "of the operands",
    "group": "the mask of the lanes that work",
    "use_c": "1: sums start from the memory of results; in simd, those of dot and sum",
    "lateral": "1: folds of columns are the inner ones; 0: those of rows",
    "overlap": "1: a fold starts before the previous one has ended",
    "result_size": "an element of the results has 4 << result_size bytes",
    "rows_last": "rows of elements that the last fold of rows uses; in os a multiple of L",
    "row_folds": "folds downwards",
    "col_folds": "folds across",
    "time": "M of ws, K of os; in simd octets of results in each bank",
    "left_base": "start of the operands of rows in each bank, in words",
    "top_base": "start of the operands of columns",
    "result_base": "start of the results; an even number",
    "left_stride": "words of the left memory from a fold of rows to the next",
    "top_stride": "words of the top memory from a fold of columns to the next",
    "result_stride": "words of results from a fold of columns to the next; an even number",
    "function": "function of simd",
    "amount": "of slide: places, below 8",
    "chain": "in simd: octets of operands per octet of results, for dot and sum; else 1",
}

_VALUES = {"narrow": NARROWINGS, "operation": OPERATIONS}

_TABLES = {"memory": "memories", "deal": "deals", "format": "formats", "function": "functions"}

_FUNCTION_DOCS = {
    "mul": "a b, the lower half",
    "mulh": "a b, the upper half, signed",
    "fma": "a b + c",
    "dot": "the sum of products of a chain of octets, as wide as in a product of matrices",
    "sll": "a shifted left by b modulo the bits",
    "srl": "a shifted right, zeros from the left",
    "sra": "a shifted right, the sign from the left",
    "add": "a + b",
    "sub": "a - b",
    "min": "the smaller one; a NaN wins, -0 is below +0",
    "max": "the larger one; a NaN wins, +0 is above -0",
    "eq": "1 where a = b, else 0",
    "ne": "1 where they differ, else 0",
    "lt": "1 where a < b, else 0",
    "le": "1 where a <= b, else 0",
    "select": "b where a is not 0, else c",
    "slide": "element `amount` + r of the octet a followed by the octet b",
    "sum": "the sum of a chain of octets, in ascending order, rounded each time",
}

_RULES = (
    "commands of a kind are done in order; across kinds only `loads`, `executes` and `stores` say "
    "what a command waits for, and they name no command behind it",
    f"row p of a LOAD or STORE begins at bank p b, b being the banks of its deal, counted through "
    f"the {BANKS} banks of each of its lanes, and through all of them again, `words` further on",
    "a STORE takes rows of the memory of results; deals of elements of 1 byte are of LOADs",
    "a vector is cut into octets of 8 elements; in a bank an octet has first the lowest byte of "
    "each of its elements, then the next one, and so on, 8 bytes each; octets follow each other, "
    "and those of all banks are worked on side by side",
    "operands of ws and os: a row of elements has those of A in ws, a limb of each of them in os "
    "of integers; a column has a limb of each element of B; of floats both have elements",
    "bits of no field, and fields that a dataflow does not use, are 0",
)


def _fields(kind: str) -> dict[str, CommandField]:
    return {
        name: CommandField(
            low=low,
            bits=bits,
            doc=_DOCS[name],
            values={value: n for n, value in enumerate(_VALUES[name])} if name in _VALUES else None,
            of=_TABLES.get(name),
        )
        for name, (low, bits) in FIELDS[kind].items()
    }


def _formats(config: GtaConfig) -> tuple[ListedFormat, ...]:
    return tuple(
        ListedFormat(
            name=name,
            value=FORMATS_OF_GTA.index(name),
            format=FORMATS[name],
            limbs=1 if is_float(name) else limbs(name),
            result_bytes=widths_of_results(name),
        )
        for name in FORMATS_OF_GTA
        if name in config.formats
    )


def _functions(config: GtaConfig) -> tuple[VectorFunctionEntry, ...]:
    built = {name for one in config.formats for name in functions_of(one)}
    return tuple(
        VectorFunctionEntry(
            name=name,
            value=value,
            integers=found.integers,
            floats=found.floats,
            doc=_FUNCTION_DOCS[name],
        )
        for value, (name, found) in enumerate(VECTOR_FUNCTIONS.items())
        if name in built
    )


def _list(config: GtaConfig) -> CommandList:
    beat = config.data_bits // 8
    edges = {"left": "operands of rows", "top": "operands of columns", "result": "results"}
    return CommandList(
        base="LIST",
        count="COMMANDS",
        bytes=COMMAND_BYTES,
        align=COMMAND_BYTES,
        read_bytes=COMMAND_BYTES,
        row_align=beat,
        kinds=tuple(
            CommandKind(name=name, value=value, doc=_COMMANDS[name], fields=_fields(name))
            for value, name in enumerate(KINDS, 1)
        ),
        memories=tuple(
            LaneMemory(
                name=name,
                value=value,
                banks=BANKS,
                words=lane_words(config, name),
                word_bytes=LEFT_WORD_BYTES,
                doc=edges[name],
            )
            for value, name in enumerate(MEMORIES)
        ),
        deals=tuple(
            Deal(value=value, element_bytes=deal.element, banks=deal.banks)
            for value, deal in enumerate(DEALS)
        ),
        formats=_formats(config),
        functions=_functions(config),
        rules=_RULES,
    )


def _parameters(config: GtaConfig, masks: dict[str, tuple[str, int]]) -> tuple[Parameter, ...]:
    across = config.lanes.bit_length()
    layouts = tuple(
        Choice(
            name=f"rows_{config.lanes >> n}",
            value=n,
            doc=f"{config.lanes >> n} rows of {1 << n} lanes",
        )
        for n in range(across)
    )
    lanes = tuple(
        Parameter(register=register, field=field, doc=f"the mask of lane {lane}")
        for field, (register, lane) in masks.items()
    )
    return (Parameter(register="LAYOUT", doc="how the lanes stand", choices=layouts), *lanes)


def operations(config: GtaConfig, masks: dict[str, tuple[str, int]]) -> tuple[OperationEntry, ...]:
    """One operation: a list of commands.

    Parameters
    ----------
    masks: by field of the masks of lanes its register, and its lane
    """
    return (
        OperationEntry(
            name="commands",
            select=(),
            compute=Compute(kind="other", doc=_COMPUTE),
            sizes=(),
            operands=(),
            parameters=_parameters(config, masks),
            commands=_list(config),
        ),
    )
