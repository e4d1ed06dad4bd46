"""Jobs of a Tensaurus: registers, counters, errors, and the rules of a job."""

from __future__ import annotations

from collections.abc import Iterator

from ..ciss import MARKERS, VALUES
from ..registers.job_spec import Check, Condition, Error, JobSpec, Rule, checks_of
from ..registers.register_map import Register, constants, number
from ..tensaurus import KERNELS, TensaurusConfig
from .tensaurus_operations import OPERANDS, kernels, operations

__all__ = ["COUNTERS", "ERRORS", "job_spec"]

COUNTERS: dict[str, str] = {
    "cycles": "clock cycles of the job",
    "busy_cycles": "cycles in which at least one row started a product",
    "stalls": "cycles without one, between the first product and the last",
    "operations": "multiplications of active lanes, and as many additions",
    "bytes_read": "bytes read, in whole beats",
    "bytes_written": "bytes written of the result",
    "bytes_tensor": "bytes read of tensors, in whole beats",
    "bytes_matrices": "bytes read of operands, in whole beats",
    "bytes_list": "bytes read of the list of tiles, in whole beats",
    "products": "products of a scalar and a vector, each in all columns",
    "conflicts": "rows that waited for a bank of a scratchpad, summed over cycles",
    "wait_slots": "row-cycles without a product: waiting for values of the tensor",
    "wait_operands": "row-cycles without a product: waiting for operands",
    "wait_sums": "row-cycles without a product: waiting for the sum of a fiber",
    "wait_output": "row-cycles without a product: waiting for a free register of sums",
    "drains": "vectors sent from the rows to the output",
    "bytes_output": "bytes of earlier outputs read to add to them, in whole beats",
}
"""Events that are counted from the start of a job to its end."""

ERRORS = (
    Error("zero_size", 1, "register", "VECTORS, SCALARS_1, SCALARS_2 or TILES is 0"),
    Error(
        "size_limit",
        2,
        "register",
        "vectors of a row are more than a register of sums holds, or a region begins behind the "
        "scratchpad",
    ),
    Error("misaligned_base", 3, "register", "LIST is not a multiple of a line"),
    Error(
        "kernel",
        4,
        "register",
        "KERNEL is not one of this unit, or ORDER, SCALARS or DIRECT do not fit it",
    ),
    Error("address_range", 5, "register", "a base has more than `addr_bits` bits"),
    Error("bus_read", 6, "address", "a response to a read was neither OKAY nor EXOKAY"),
    Error("bus_write", 7, "address", "a response to a write was neither OKAY nor EXOKAY"),
    Error("index", 8, "entry", "an index of the stream is not below its mode's size"),
    Error(
        "tile",
        9,
        "tile",
        "a tile has a misaligned address, does not fit the buffers, or uses an operand that is not "
        "loaded",
    ),
    Error(
        "slice", 10, "entry", "a slice of the stream is not below SLICES or not in ascending order"
    ),
    Error(
        "stream", 11, "entry", "a value precedes the first header, or the end of a row is missing"
    ),
)
"""Codes that other accelerators have mean the same there."""


def _is(kernel: str) -> Condition:
    return Condition(register="KERNEL", value=KERNELS.index(kernel))


def _kernel_checks(config: TensaurusConfig) -> Iterator[Check]:
    """Yields the checks of kernels, of the modes that each has, and of operands of scalars."""
    found = kernels(config)
    numbers = tuple(KERNELS.index(name) for name in found)
    yield Check(register="KERNEL", rule=Rule.ONE_OF, choices=numbers, error="kernel")
    # In memory whole units are added.
    units = tuple(number for number in numbers if KERNELS[number] != "mv")
    in_memory = Condition(register="DIRECT", value=1)
    yield Check(register="KERNEL", rule=Rule.ONE_OF, choices=units, error="kernel", when=in_memory)
    for name in found:
        orders = (2,) if name in ("mm", "mv") else tuple(range(3, config.order + 1))
        yield Check(
            register="ORDER", rule=Rule.ONE_OF, choices=orders, error="kernel", when=_is(name)
        )
    yield from checks_of("zero_size", ("VECTORS", "SCALARS_1", "SCALARS_2", "TILES"), Rule.NON_ZERO)
    without = {
        "SCALARS_1": [_is(name) for name in found if name != "ttmc"],
        "SCALARS_2": [
            *(_is(name) for name in found if name != "ttmc"),
            *([Condition(register="ORDER", value=3)] if "ttmc" in found else []),
        ],
    }
    for register, conditions in without.items():
        for when in conditions:
            yield from checks_of("kernel", (register,), Rule.AT_MOST, 1, when={register: when})


def _size_checks(config: TensaurusConfig) -> Iterator[Check]:
    """Vectors of a row of the operands fit the registers for sums."""
    most = {
        "mttkrp": min(config.tlen, config.olen),
        "mm": config.olen,
        "mv": 1,
    }
    for name in kernels(config):
        if name in most:
            yield Check(
                register="VECTORS",
                rule=Rule.AT_MOST,
                number=most[name],
                error="size_limit",
                when=_is(name),
            )
    if "ttmc" in kernels(config):
        yield Check(
            register="VECTORS",
            factors=("SCALARS_2",),
            rule=Rule.AT_MOST,
            number=min(config.tlen, config.olen),
            error="size_limit",
            when=_is("ttmc"),
        )
        yield Check(
            register="SCALARS_1",
            factors=("SCALARS_2", "VECTORS"),
            rule=Rule.AT_MOST,
            number=config.olen,
            error="size_limit",
            when=_is("ttmc"),
        )
    regions = [f"REGION_{mode}" for mode in range(1, OPERANDS + 1)]
    yield from checks_of("size_limit", regions, Rule.AT_MOST, config.spm_scalars - 1)


def _checks(config: TensaurusConfig) -> tuple[Check, ...]:
    line = config.line_bytes
    return (
        *_kernel_checks(config),
        *_size_checks(config),
        *checks_of("misaligned_base", ("LIST",), Rule.MULTIPLE_OF, line),
        *checks_of("address_range", ("LIST",), Rule.BELOW, 1 << config.addr_bits),
    )


def _constants(config: TensaurusConfig) -> tuple[Register, ...]:
    geometry = config.geometry
    return (
        constants(
            "CONFIG0",
            0x08,
            "the array",
            ("rows", 8, config.rows, "rows of elements"),
            ("cols", 8, config.cols, "columns of elements"),
            ("vlen", 8, config.vlen, "values of a vector"),
            ("order", 8, config.order, "modes of the largest tensor"),
        ),
        constants(
            "CONFIG1",
            0x0C,
            "the values",
            ("format", 8, VALUES.index(config.value), f"of the values: {', '.join(VALUES)}"),
            ("semiring", 8, config.operators.opcode, "opcode of the semiring in the SIMD2 unit"),
            ("marker", 8, MARKERS.index(config.marker), f"of headers: {', '.join(MARKERS)}"),
            ("index_bits", 8, config.index_bits, "width of an index"),
        ),
        constants(
            "CONFIG2",
            0x10,
            "registers for sums",
            ("tlen", 8, config.tlen, "vectors of a fiber"),
            ("olen", 8, config.olen, "vectors of a slice"),
            ("sum_latency", 8, config.sum_latency, "cycles between two summands of a sum"),
            ("channels", 8, config.channels, "memory channels"),
        ),
        constants(
            "CONFIG3",
            0x14,
            "memory",
            ("interleave", 16, config.interleave, "bytes of a block of the interleaving"),
            ("addr_bits", 8, config.addr_bits, "width of an address"),
            (
                "line_blocks",
                8,
                config.line_blocks,
                "blocks of a line, the alignment of bases",
            ),
        ),
        constants(
            "CONFIG4",
            0x18,
            "the scratchpads",
            (
                "spm_units",
                32,
                config.spm_units,
                "units per side; a unit holds one vector in each column",
            ),
        ),
        constants(
            "CONFIG5",
            0x1C,
            "the output buffer",
            ("out_units", 24, config.out_units, "units per side"),
            ("beat_bytes", 8, geometry.beat_bytes, "bytes of a beat"),
        ),
    )


def _job(config: TensaurusConfig) -> list[Register]:
    names = ", ".join(f"{index}: {name}" for index, name in enumerate(KERNELS))
    region = "where mode {}'s operand begins in its scratchpad: a unit, or a scalar"
    return [
        number("KERNEL", 0x100, "rw", 32, names, {name: n for n, name in enumerate(KERNELS)}),
        number("ORDER", 0x104, "rw", 32, "modes of the tensor; 2 for a matrix"),
        number("DENSE", 0x108, "rw", 1, "0: tensors are streams; 1: tensors are dense"),
        number("VECTORS", 0x10C, "rw", 8, "units of a row of the operands"),
        *(
            number(
                f"SCALARS_{mode}",
                0x10C + 4 * mode,
                "rw",
                8,
                f"values of a row of mode {mode}'s operand of scalars; 1 if it has none",
            )
            for mode in (1, 2)
        ),
        *(
            number(f"REGION_{mode}", 0x114 + 4 * mode, "rw", 32, region.format(mode))
            for mode in range(1, OPERANDS + 1)
        ),
        number("TILES", 0x124, "rw", 32, "tiles of the job"),
        number(
            "LIST",
            0x128,
            "rw",
            64,
            f"byte address of the tiles' descriptions, a multiple of {config.line_bytes}",
        ),
        number(
            "DIRECT", 0x130, "rw", 1, "0: slices are added up in the output buffer; 1: in memory"
        ),
    ]


def job_spec(config: TensaurusConfig) -> JobSpec:
    """The jobs of a Tensaurus."""
    return JobSpec(
        accelerator="accelerator",
        letters=b"TWTS",
        version=0x0001_0002,
        constants=_constants(config),
        detail="wrong register, bus address, tile, or entry of a tile's stream",
        counters=COUNTERS,
        errors=ERRORS,
        job=tuple(_job(config)),
        checks=_checks(config),
        operations=operations(config),
        traffic=config.traffic,
    )
