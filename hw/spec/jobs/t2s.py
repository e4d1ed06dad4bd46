"""The jobs of an array that a mapping describes: registers, counters, errors, rules."""

from __future__ import annotations

from math import prod

from ..registers.job_spec import Check, Error, JobSpec, Rule, checks_of
from ..registers.register_map import Register
from ..registers.register_rows import constants, number
from ..t2s.config import T2sConfig
from ..t2s.sparse_parts import EntriesPart
from ..t2s.tokens import STEPS_BITS
from .t2s_operations import operations
from .t2s_registers import (
    base_register,
    entries_parts,
    image_parts,
    memory_parts,
    steps_register,
    stride_register,
    trips_register,
)

__all__ = [
    "COUNTERS",
    "ERRORS",
    "base_register",
    "entries_parts",
    "image_parts",
    "job_spec",
    "memory_parts",
    "steps_register",
    "stride_register",
    "trips_register",
]

COUNTERS: dict[str, str] = {
    "cycles": "clock cycles of the job",
    "busy_cycles": "cycles in which the last element began products",
    "stalls": "cycles in which it did not, between the first and the last of them",
    "operations": "iterations of that element: of dense operands, all have as many",
    "bytes_read": "bytes of the beats that were read",
    "bytes_written": "bytes of results that were written",
}
"""What an array counts, from the start of a job to its end."""

ERRORS = (
    Error("zero_size", 1, "register", "a trip count, or a number of vectors, is 0"),
    Error("size_limit", 2, "register", "a trip count has more than `trip_bits` bits"),
    Error("misaligned_base", 3, "register", "a base is not a multiple of a beat"),
    Error("misaligned_stride", 4, "register", "a stride is not a multiple of a beat"),
    Error("address_range", 5, "register", "a base or a stride has more than `addr_bits` bits"),
    Error("bus_read", 6, "address", "a response to a read was neither OKAY nor EXOKAY"),
    Error("bus_write", 7, "address", "a response to a write was neither OKAY nor EXOKAY"),
)

_TRIPS = 0x80
"""Offset of the first index's trip count."""

_IMAGES = 0x100
"""Offset of the first image's registers."""

_IMAGE_BYTES = 0x100
"""Of the registers of an image: its base, strides of indices, and of loops inside of them."""

_INDICES = 16
"""Indices of a computation at most."""


def _checks(config: T2sConfig) -> tuple[Check, ...]:
    trips = [trips_register(index) for index in config.plan.indices]
    steps = [steps_register(part) for part in entries_parts(config)]
    bases = [base_register(part) for part in image_parts(config)]
    strides = [
        stride_register(part, loop) for part in memory_parts(config) for loop in part.strides
    ]
    beat, addresses = config.beat_bytes, 1 << config.addr_bits
    return (
        *checks_of("zero_size", (*trips, *steps), Rule.NON_ZERO),
        *checks_of("size_limit", trips, Rule.BELOW, 1 << config.trip_bits),
        *checks_of("misaligned_base", bases, Rule.MULTIPLE_OF, beat),
        *checks_of("misaligned_stride", strides, Rule.MULTIPLE_OF, beat),
        *checks_of("address_range", (*bases, *strides), Rule.BELOW, addresses),
    )


def _constants(config: T2sConfig) -> tuple[Register, ...]:
    element = config.plan.element
    arithmetic, sums = element.arithmetic, element.sums * element.vector
    copies = config.plan.program.function(element.name).instances
    images = len(image_parts(config))
    return (
        constants(
            "CONFIG0",
            0x08,
            "the array",
            ("elements", 24, prod(loop.extent or 1 for loop in copies), "processing elements"),
            ("lanes", 8, element.lanes, "products that an element begins at once"),
        ),
        constants("CONFIG1", 0x0C, "sums of an element", ("value", 32, sums, "")),
        constants(
            "CONFIG2",
            0x10,
            "memory",
            ("beat_bytes", 8, config.beat_bytes, "bytes of a beat"),
            ("addr_bits", 8, config.addr_bits, "width of an address"),
            ("managers", 8, config.managers, "AXI managers"),
            ("trip_bits", 8, config.trip_bits, "width of a trip count"),
        ),
        constants(
            "CONFIG3",
            0x14,
            "words",
            ("word_bits", 8, arithmetic.word.container_bits, "width of an operand's word"),
            ("sum_bits", 8, arithmetic.result.container_bits, "width of a sum"),
            ("images", 8, images, "images that a job reads and writes"),
        ),
    )


def _job(config: T2sConfig) -> tuple[Register, ...]:
    """Trip counts, then what belongs to each image: places that do not depend on which of them a
    design has."""
    beat, indices = config.beat_bytes, config.plan.program.indices
    rows = [
        number(
            trips_register(index),
            _TRIPS + 4 * indices.index(index),
            "rw",
            32,
            f"trip count of the outermost loop of {index}",
        )
        for index in config.plan.indices
    ]
    for place, part in enumerate(image_parts(config)):
        first = _IMAGES + _IMAGE_BYTES * place
        doc = f"byte address of the image of {part.tensor}, a multiple of {beat}"
        rows.append(number(base_register(part), first, "rw", 64, doc))
        if isinstance(part, EntriesPart):
            doc = f"vectors of tokens in the image of {part.tensor}"
            rows.append(number(steps_register(part), first + 8, "rw", STEPS_BITS, doc))
            continue
        inner = [loop for loop in part.strides if loop not in indices]
        for loop in part.strides:
            doc = f"bytes from an iteration of {loop} to the next, a multiple of {beat}"
            after = indices.index(loop) if loop in indices else _INDICES + inner.index(loop)
            rows.append(number(stride_register(part, loop), first + 8 + 8 * after, "rw", 64, doc))
    names = [row.name for row in rows]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"names must differ in more than case: two registers are {name}")
    return tuple(sorted(rows, key=lambda row: row.offset))


def job_spec(config: T2sConfig) -> JobSpec:
    """The jobs of an array. Raises ValueError for a design that cannot be built."""
    return JobSpec(
        accelerator="array",
        letters=b"TWT2",
        version=0x0001_0001,
        constants=_constants(config),
        detail="offset of the wrong register, or the bus address",
        counters=COUNTERS,
        errors=ERRORS,
        job=_job(config),
        checks=_checks(config),
        operations=operations(config),
        traffic=config.traffic,
    )
