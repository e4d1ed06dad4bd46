"""Lowers a computation with sparse operands to its design."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

from ....spec.t2s.arithmetic import LaneSum
from ....spec.t2s.config import T2sConfig
from ....spec.t2s.design import Design
from ....spec.t2s.loops import Loop
from ....spec.t2s.parts import Count, ElementPart, MemoryPart, OperandPart
from ....spec.t2s.program import Program
from ....spec.t2s.sparse_parts import (
    CollectPart,
    Coordinate,
    EntriesPart,
    GatherPart,
    RowLoops,
    SparseElementPart,
    SparsePlan,
    TokenLayout,
)
from ....spec.t2s.timing import entry_timing
from ...compiler.passes import compiled
from ...language import Computation, MappingError
from ...language.isolated import Isolated
from ...language.tensors import Element
from ..completion import complete
from ..elements import arithmetic_of, check_products, sums_side_by_side, word_bits
from ..moving import check_managers, memory_part, stored_lanes
from .loops import SparseLoops, loops_of, refused


@dataclass(frozen=True)
class SparseOperands:
    """Operands, and indices of sparse ones.

    Parameters
    ----------
    sparse, dense: operands
    merge: of two sparse ones: "intersection" or "union"; empty of one
    row: the index of their rows
    coordinates: their other indices, in the order of their modes
    """

    sparse: tuple[Element, ...]
    dense: tuple[Element, ...]
    merge: str
    row: str
    coordinates: tuple[str, ...]


def operands_of(computation: Computation) -> SparseOperands:
    """Returns the operands of a computation with sparse tensors, and their indices.

    Raises MappingError for a computation that has no hardware.
    """
    sparse = computation.sparse
    names = [one.tensor.name for one in sparse]
    if len(sparse) > 2:
        raise refused(computation, f"{', '.join(names)} are sparse: two at most")
    merge = ""
    if len(sparse) == 2:
        merge = "intersection" if len(computation.products) == 1 else "union"
    row, *coordinates = _indices(computation, sparse[0])
    for one in sparse[1:]:
        if _indices(computation, one) != [row, *coordinates]:
            raise refused(computation, f"{names[0]} and {names[1]} have other indices")
    _check_indices(computation, names[0], row, coordinates)
    dense = tuple(one for one in computation.factors if not one.tensor.sparse)
    for one in dense:
        used = {index for subscript in one.subscripts for index in subscript.variables}
        if row in used:
            raise refused(
                computation, f"index `{row}`, of rows, chooses words of {one.tensor.name}"
            )
        if not used & set(coordinates):
            raise refused(computation, f"no index of entries chooses words of {one.tensor.name}")
    if merge:
        _check_merged(computation, names, merge)
    return SparseOperands(sparse, dense, merge, row, tuple(coordinates))


def _indices(computation: Computation, element: Element) -> list[str]:
    """Returns the indices of a sparse tensor, one per mode."""
    found: list[str] = []
    for subscript in element.subscripts:
        if subscript.constant or [by for _, by in subscript.terms] != [1]:
            raise refused(
                computation,
                f"`{subscript}` is not an index alone, in {element.tensor.name}, which is sparse",
            )
        found += subscript.variables
    for index in found:
        if found.count(index) > 1:
            raise refused(
                computation, f"index `{index}` stands in {element.tensor.name} more than once"
            )
    return found


def _check_indices(computation: Computation, tensor: str, row: str, coordinates: list[str]) -> None:
    if row not in computation.result:
        raise refused(computation, f"index `{row}`, of rows of {tensor}, is summed over")
    for index in coordinates:
        if index in computation.result:
            raise refused(
                computation,
                f"index `{index}` of {tensor}, which is not that of rows, is not summed over",
            )
    for index in computation.sum_over:
        if index not in coordinates:
            raise refused(
                computation, f"index `{index}`, which is summed over, is none of {tensor}"
            )


def _check_merged(computation: Computation, names: list[str], merge: str) -> None:
    for loop, place in computation.unrolled:
        why = f"loop `{loop}` is unrolled: {names[0]} and {names[1]} are merged for one element"
        raise refused(computation, why, place)
    if merge == "union" and computation.vectorised:
        loop, place = computation.vectorised
        why = f"loop `{loop}` is vectorised: {names[0]} and {names[1]} are lanes"
        raise refused(computation, why, place)


_MOST_FACTORS = 3


def sparse_element(
    computation: Computation,
    operands: SparseOperands,
    loops: SparseLoops,
    layout: TokenLayout,
    arithmetic: LaneSum,
    vector: int,
) -> SparseElementPart:
    """Lowers the elements.

    Parameters
    ----------
    layout: of tokens, after merging
    arithmetic: of a sum of one lane
    vector: sums side by side

    Raises ValueError for elements that have no hardware, or that wait for sums where the mapping
    refuses that.
    """
    union = operands.merge == "union"
    factors = (*operands.sparse, *operands.dense)
    if len(factors) - union > _MOST_FACTORS:
        raise refused(computation, f"a product of {len(factors) - union} tensors")
    ring = tuple(Count(one.name, one.extent) for one in loops.ring)
    wide = computation.vectorised[0] if computation.vectorised else ""
    parts = tuple(
        OperandPart(one.tensor.name, vector if wide in computation.loops_of(one.tensor.name) else 1)
        for one in factors
    )
    overlaps = computation.overlap[0]
    element = ElementPart(
        name=computation.name,
        operands=parts,
        arithmetic=replace(arithmetic, lanes=layout.words if union else 1),
        inner=tuple(one.name for one in parts),
        outer=(),
        sums=layout.slots * prod(one.extent or 1 for one in ring),
        overlaps=overlaps,
        vector=vector,
    )
    found = SparseElementPart(
        element=element, layout=layout, ring=ring, halves=1 + overlaps, union=union
    )
    check_products(found.factors)
    _check_stalls(computation, found)
    return found


def _check_stalls(computation: Computation, part: SparseElementPart) -> None:
    """Refuse elements whose operations may wait for sums, if the mapping does."""
    said, place = computation.stall or ("", "")
    timing = entry_timing(part)
    if said == "refused" and timing.waits(part.ring_words):
        each = "1 operation" if part.ring_words == 1 else f"{part.ring_words} operations"
        raise MappingError(
            f"{place}: {computation.name}.accumulate: an entry has {each}, and a sum can be taken "
            f"again after {timing.again} cycles: an entry of the same row waits"
        )


def check_feeder(feeder: Isolated, loops: SparseLoops) -> None:
    """Raises MappingError for a feeder that has no hardware."""
    assert feeder.buffered
    level, _, place = feeder.buffered
    if level not in [one.name for one in loops.levels]:
        names = ", ".join(one.name for one in loops.levels)
        raise _refused(place, feeder, f"its buffer must be at one of loops {names}, not `{level}`")
    elements = loops.elements.name if loops.elements else ""
    for loop, place in feeder.unrolled:
        if loop != elements:
            raise _refused(place, feeder, f"loop `{loop}` is unrolled, and not in elements")
    for loop, step, place in feeder.forwarded:
        if step != 1:
            raise _refused(place, feeder, f"words must go to higher numbers of `{loop}`")


def _refused(place: str, feeder: Isolated, why: str) -> MappingError:
    return MappingError(f"{place}: {feeder.name} has no hardware yet: {why}")


def gather_part(
    program: Program,
    feeder: Isolated,
    loops: SparseLoops,
    layout: TokenLayout,
    word_bits: int,
) -> GatherPart:
    """Lowers a feeder that :func:`check_feeder` accepts.

    Parameters
    ----------
    layout: of the tokens that come to it
    word_bits: width of a word
    """
    (buffer,) = program.function(feeder.name).buffers
    assert buffer.level
    # All loops of a block choose its words, those of coordinates outside of those of the ring.
    digits = buffer.dimensions
    chosen = [one for one in digits if one in loops.coordinates.values()]
    assert digits[: len(chosen)] == tuple(chosen)
    return GatherPart(
        name=feeder.name,
        tensor=feeder.tensor,
        word_bits=word_bits,
        layout=layout,
        fill=tuple(Count(one.name, one.extent) for one in digits),
        fill_place=tuple(one.name for one in digits),
        coordinates=tuple(one.index for one in chosen),
        read=tuple(Count(one.name, one.extent) for one in loops.ring),
        read_place=tuple(one.name for one in digits[len(chosen) :]),
        extents=tuple(one.extent or 1 for one in digits),
        double=buffer.double,
        level=buffer.level,
    )


def sparse_design(computation: Computation, config: T2sConfig) -> Design:
    """Lowers a mapping with sparse operands to its design.

    Raises ValueError for a mapping that has no hardware, or that cannot be followed.
    """
    operands = operands_of(computation)
    loops = loops_of(computation, operands.row, operands.coordinates)
    _check_queues(computation)
    complete(computation)
    feeders = {
        name: _function(computation, name, "feeder")
        for name in (one.tensor.name for one in operands.dense)
    }
    for one in feeders.values():
        check_feeder(one, loops)
    program = compiled(computation)
    arithmetic = arithmetic_of(
        program, computation, config.format, config.accumulator, config.pipeline
    )
    check_managers(program, len(computation.operands), config.managers)
    plan = _plan(computation, program, operands, loops, arithmetic, feeders)
    element = plan.element.element
    unloader = program.function(f"{program.name}_unloader")
    bits = stored_lanes(unloader) * arithmetic.result.container_bits
    return Design(
        program=program,
        element=element,
        feeders=(),
        movers=(),
        loaders=tuple(_loader(program, plan, name) for name in feeders),
        unloader=memory_part(program, unloader, program.name, bits, arithmetic.result),
        sparse=plan,
    )


def _check_queues(computation: Computation) -> None:
    for name, (_, place) in computation.depths.items():
        raise MappingError(
            f"{place}: {name}.fifo: it has no hardware yet where a tensor is sparse: queues are "
            "of fixed depths"
        )


def _function(computation: Computation, tensor: str, role: str) -> Isolated:
    return next(one for one in computation.chain(tensor) if one.role == role)


def _loader(program: Program, plan: SparsePlan, tensor: str) -> MemoryPart:
    element = plan.element.element
    loader = program.function(f"{tensor}_loader")
    fmt = element.word_format(element.operand(tensor))
    return memory_part(program, loader, tensor, word_bits(element, tensor), fmt)


def _plan(
    computation: Computation,
    program: Program,
    operands: SparseOperands,
    loops: SparseLoops,
    arithmetic: LaneSum,
    feeders: dict[str, Isolated],
) -> SparsePlan:
    coordinates = loops.coordinates.items()
    layout = TokenLayout(
        word=arithmetic.element,
        coordinates=tuple(Coordinate(name, one.name, one.extent or 1) for name, one in coordinates),
        slots=_extent(loops.slots),
        levels=tuple(one.name for one in loops.levels),
    )
    union = operands.merge == "union"
    merged = layout.merged(len(operands.sparse), lacking=union)
    part = sparse_element(
        computation, operands, loops, merged, arithmetic, sums_side_by_side(computation)
    )
    return SparsePlan(
        entries=tuple(
            EntriesPart(
                name=f"{one.tensor.name}_loader",
                tensor=one.tensor.name,
                layout=layout,
                elements=_extent(loops.elements),
                again=tuple(Count(loop.name, None) for loop in loops.around),
                # Merged entries arrive in the order of loops.
                style="csr" if operands.merge else one.tensor.sparse,
            )
            for one in operands.sparse
        ),
        merge=operands.merge,
        order=tuple(one.name for one in loops.order),
        rows=_rows(loops, operands.row),
        gathers=tuple(
            gather_part(program, one, loops, merged, word_bits(part.element, name))
            for name, one in feeders.items()
        ),
        element=part,
        collect=CollectPart(
            word_bits=part.element.result_bits,
            nest=tuple(Count(one.name, one.extent) for one in loops.rows),
            elements=loops.elements.name if loops.elements else "",
            words=part.ring_words,
        ),
    )


def _rows(loops: SparseLoops, index: str) -> RowLoops:
    slots, elements = loops.slots, loops.elements
    return RowLoops(
        index=index,
        slots=slots.name if slots else "",
        elements=elements.name if elements else "",
        slot_step=slots.step if slots else 1,
        element_step=elements.step if elements else 1,
        slot_extent=_extent(slots),
        element_extent=_extent(elements),
    )


def _extent(loop: Loop | None) -> int:
    return loop.extent or 1 if loop else 1
