"""From a computation with sparse operands to its design."""

from __future__ import annotations

from ....spec.t2s.arithmetic import LaneSum
from ....spec.t2s.config import T2sConfig
from ....spec.t2s.design import Design
from ....spec.t2s.loops import Loop
from ....spec.t2s.parts import Count, MemoryPart
from ....spec.t2s.program import Program
from ....spec.t2s.sparse_parts import CollectPart, EntriesPart, RowLoops, SparsePlan
from ....spec.t2s.tokens import Coordinate, TokenLayout
from ...compiler.passes import compiled
from ...language import Computation, MappingError
from ...language.isolated import Isolated
from ..arithmetic import arithmetic_of, sums_side_by_side
from ..completion import complete
from ..elements import word_bits
from ..memory import check_managers, memory_part, stored_lanes
from .elements import sparse_element
from .feeders import check_feeder, gather_part
from .loops import SparseLoops, loops_of
from .operands import SparseOperands, operands_of

__all__ = ["sparse_design"]


def sparse_design(computation: Computation, config: T2sConfig) -> Design:
    """What the hardware of a mapping with sparse operands is made of. Raises ValueError for one
    that has none, or that cannot be followed."""
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
                # What is merged comes in the order of loops.
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
