"""The jobs of an array that a mapping describes: registers, counters, errors, rules."""

from __future__ import annotations

from math import prod

from ..registers.job_spec import Check, Error, JobSpec, Rule, checks_of
from ..registers.register_map import Register, constants, number
from ..semirings import SEMIRINGS
from ..sidecar.operation import Compute, Operand, OperationEntry, Size
from ..sidecar.placement import (
    ImageLoop,
    ImagePlacement,
    Part,
    TokenLevel,
    TokenPlacement,
    TokenRows,
)
from ..t2s.arithmetic import pad_pattern
from ..t2s.config import T2sConfig
from ..t2s.loops import Loop
from ..t2s.parts import MemoryPart
from ..t2s.program import TensorDeclaration
from ..t2s.sparse_parts import STEPS_BITS, EntriesPart


def memory_parts(config: T2sConfig) -> tuple[MemoryPart, ...]:
    """The loaders of dense operands, and the unloader, of a design."""
    return (*config.plan.loaders, config.plan.unloader)


def entries_parts(config: T2sConfig) -> tuple[EntriesPart, ...]:
    """The loaders of sparse operands of a design."""
    return config.plan.sparse.entries if config.plan.sparse else ()


def image_parts(config: T2sConfig) -> tuple[EntriesPart | MemoryPart, ...]:
    """Parts of the design that have an image in memory, in the order of their registers."""
    return (*entries_parts(config), *memory_parts(config))


def trips_register(index: str) -> str:
    """The register of the trip count of an index's outermost loop."""
    return f"TRIPS_{index.upper()}"


def base_register(part: EntriesPart | MemoryPart) -> str:
    """The register of an image's address."""
    return f"{part.tensor.upper()}_BASE"


def steps_register(part: EntriesPart) -> str:
    """The register of the number of vectors of a sparse operand's image."""
    return f"{part.tensor.upper()}_STEPS"


def stride_register(part: MemoryPart, loop: str) -> str:
    """The register of the distance between an image's places in two iterations of a loop."""
    return f"{part.tensor.upper()}_STRIDE_{loop.upper()}"


_SINGLE = "single"
"""The size of the columns of vectors."""


def operations(config: T2sConfig) -> tuple[OperationEntry, ...]:
    """The computation of a design.

    An operand has a mode for each index that chooses its words, so that it is the tensor itself
    unless a dimension is a sum of indices, as of a convolution.
    """
    design = config.plan
    parts = image_parts(config)
    modes = {part.tensor: _modes(config, part) for part in parts}
    sizes = _sizes(config)
    if any(len(one) < 2 for one in modes.values()):
        sizes = (*sizes, Size(name=_SINGLE, doc="columns of a vector", value=1))
    return (
        OperationEntry(
            name=design.program.result,
            select=(),
            compute=_compute(config),
            sizes=sizes,
            operands=tuple(_operand(config, part, modes[part.tensor]) for part in parts),
        ),
    )


def _modes(config: T2sConfig, part: EntriesPart | MemoryPart) -> tuple[str, ...]:
    """Indices that choose a word of a tensor, in the order in which they stand."""
    dimensions = config.plan.program.tensor(part.tensor).dimensions
    return tuple(dict.fromkeys(name for one in dimensions for name in one.variables))


def _loops(config: T2sConfig, part: MemoryPart) -> tuple[Loop, ...]:
    moved, inside = config.plan.image_loops(part)
    return (*moved, *inside)


def _sizes(config: T2sConfig) -> tuple[Size, ...]:
    """Sizes of a job: one for each index that tiles must fill."""
    design = config.plan
    outermost: dict[str, tuple[int, int | None]] = {}
    # An index' first loop in an image is its outermost one.
    for part in memory_parts(config):
        for loop in _loops(config, part):
            outermost.setdefault(loop.index, (loop.step, loop.extent))
    for entries in entries_parts(config):
        for name, step in _level_steps(config, entries).items():
            outermost.setdefault(name, (step, None))
    found = []
    for name in design.program.indices:
        if name not in outermost:
            continue
        step, extent = outermost[name]
        doc = f"index {name}, filled up to whole tiles"
        if name in design.indices:
            found.append(Size(name=name, doc=doc, register=trips_register(name), scale=step))
        elif extent is not None:
            found.append(Size(name=name, doc=doc, value=step * extent))
        else:
            # Only entries have it: the ends of their tiles say how far it goes.
            found.append(Size(name=name, doc=doc, most=step << STEPS_BITS))
    return tuple(found)


def _level_steps(config: T2sConfig, part: EntriesPart) -> dict[str, int]:
    """Steps of the index for an iteration of each level around a tile."""
    plan = config.plan.sparse
    assert plan is not None
    extents = {one.index: one.extent for one in part.layout.coordinates}
    return {name: extents.get(name, plan.rows.tile) for name in part.layout.levels}


def _operand(config: T2sConfig, part: EntriesPart | MemoryPart, modes: tuple[str, ...]) -> Operand:
    design = config.plan
    declared, fmt = design.program.tensor(part.tensor), design.word_format(part.tensor)
    comes_out = part.tensor == design.program.result
    rows, columns, *more = (*modes, _SINGLE) if len(modes) < 2 else modes
    pad = None
    place: ImagePlacement | TokenPlacement
    if isinstance(part, EntriesPart):
        place = _tokens(config, part)
    else:
        if not comes_out:
            pad = pad_pattern(declared.functions, declared.pad, fmt)
            pad <<= fmt.container_bits - fmt.bits
        place = ImagePlacement(
            base=base_register(part),
            align=config.beat_bytes,
            element_bytes=fmt.container_bits // 8,
            read_bytes=None if comes_out else config.beat_bytes,
            loops=tuple(_image_loop(part, loop) for loop in _loops(config, part)),
        )
    return Operand(
        name=part.tensor, direction="out" if comes_out else "in", rows=rows,
        columns=columns, more=tuple(more) or None, format=fmt, padding=pad, placement=place,
    )  # fmt: skip


def _tokens(config: T2sConfig, part: EntriesPart) -> TokenPlacement:
    plan, layout = config.plan.sparse, part.layout
    assert plan is not None
    rows = plan.rows
    names = {at.loop: f"at_{at.index}" for at in layout.coordinates}
    order = [names.get(loop, "slot") for loop in plan.order]
    if part.style == "ciss" and len(plan.entries) == 1:
        order = ["slot", *(name for name in order if name != "slot")]
    return TokenPlacement(
        base=base_register(part),
        count=steps_register(part),
        align=config.beat_bytes,
        read_bytes=config.beat_bytes,
        token_bytes=layout.bytes,
        parts={field.name: Part(low=field.low, bits=field.bits) for field in layout.fields},
        levels=tuple(
            TokenLevel(
                name=name,
                size=name,
                step=step,
                trips=trips_register(name) if name in config.plan.indices else None,
            )
            for name, step in _level_steps(config, part).items()
        ),
        rows=TokenRows(
            size=rows.index,
            elements=rows.element_extent,
            element_step=rows.element_step,
            slots=rows.slot_extent,
            slot_step=rows.slot_step,
        ),
        coordinates={at.index: f"at_{at.index}" for at in layout.coordinates},
        order=tuple(order),
    )


def _image_loop(part: MemoryPart, loop: Loop) -> ImageLoop:
    stride = stride_register(part, loop.name) if loop.name in part.strides else None
    return ImageLoop(size=loop.index, step=loop.step, count=loop.extent, stride=stride)


def _compute(config: T2sConfig) -> Compute:
    """A contraction, unless sums start from a tensor, words go through functions, or several
    products are added."""
    program = config.plan.program
    operators = SEMIRINGS[program.semiring]
    declared = [program.tensor(part.tensor) for part in image_parts(config)]
    plain = not program.start and not any(one.functions for one in declared)
    single = plain and len(program.products) == 1
    kept = {name for one in program.tensor(program.result).dimensions for name in one.variables}
    summed = [name for name in program.indices if name not in kept]
    products = [" (x) ".join(_said(program.tensor(x)) for x in one) for one in program.products]
    start = f"{_said(program.tensor(program.start))} (+) " if program.start else ""
    after = "".join(f"{name} of " for name in reversed(program.tensor(program.result).functions))
    over = f" over {', '.join(summed)}" if summed else ""
    doc = (
        f"{_said(program.tensor(program.result), result=True)} = {after}{start}the (+) sum{over} "
        f"of {' (+) '.join(products)} with (+) {operators.plus} and (x) {operators.times}"
    )
    windows = [one for one in declared if any(len(x.variables) > 1 for x in one.dimensions)]
    for one in windows:
        names = ",".join(dict.fromkeys(x for d in one.dimensions for x in d.variables))
        doc += f"; operand {one.name}({names}) is {_said(one)}"
    if program.sparse:
        who = "all sparse operands have" if len(program.products) == 1 else "any of them has"
        doc += f"; only places count of which {who} an entry"
    if not single:
        return Compute(kind="other", doc=doc)
    identity = None
    if program.sparse:
        fmt = config.plan.word_format(program.result)
        pattern = operators.identity_in(fmt)
        assert pattern is not None
        identity = pattern << fmt.container_bits - fmt.bits
    return Compute(
        kind="contraction",
        plus=operators.plus,
        times=operators.times,
        identity=identity,
        doc=doc,
    )


def _said(tensor: TensorDeclaration, *, result: bool = False) -> str:
    """A(i,k), with the functions that words go through before they are multiplied."""
    text = f"{tensor.name}({','.join(str(one) for one in tensor.dimensions)})"
    for name in () if result else tensor.functions:
        text = f"{name}({text})"
    return text


COUNTERS: dict[str, str] = {
    "cycles": "clock cycles of the job",
    "busy_cycles": "cycles in which the last element started products",
    "stalls": "cycles in which it did not, between the first product and the last",
    "operations": "iterations of the last element; with dense operands, of any element",
    "bytes_read": "bytes read, in whole beats",
    "bytes_written": "bytes written of results",
}
"""Events that an array counts from the start of a job to its end."""

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
"""Bytes of the registers of an image: its base, strides of indices, and of loops inside of them."""

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
            ("lanes", 8, element.lanes, "products that an element starts per cycle"),
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
    """Registers of a job: trip counts, then those of each image. Their offsets do not depend on the
    images that a design has."""
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
