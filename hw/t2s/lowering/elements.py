"""Lowers the processing elements of a program."""

from __future__ import annotations

from dataclasses import replace

from ...spec.formats import FORMATS
from ...spec.semirings import SEMIRINGS
from ...spec.t2s.arithmetic import LaneSum
from ...spec.t2s.loops import Loop
from ...spec.t2s.parts import ElementPart, OperandPart
from ...spec.t2s.program import Function, Program
from ...spec.t2s.statements import (
    Apply,
    BufferRead,
    BufferWrite,
    Fold,
    Load,
    Name,
    Receive,
    Send,
    Value,
)
from ...spec.t2s.timing import interval_of
from ..compiler.counting.rotation import summed_inside
from ..language import Computation
from .transfers import Done, done_by

_SUMS = {"fp64": "fp64", "int8": "int32", "int16": "int32", "int32": "int32"}

_STAGES = 4
"""Pipeline stages of an element, unless the mapping gives another number."""

_STAGES_OF_FLOATS = 8
"""The same of floats, if the element has enough sums."""


def arithmetic_of(
    program: Program,
    computation: Computation,
    number_format: str = "auto",
    accumulator: str = "auto",
    stages: int = 0,
) -> LaneSum:
    """Returns lanes, formats and stages of an element.

    Parameters
    ----------
    number_format, accumulator: of words and of sums; auto: those of the mapping, and what is usual
    stages: of its pipeline; 0: as the mapping says

    Raises ValueError for formats that do not fit.
    """
    words = program.number_format if number_format == "auto" else number_format
    sums = _SUMS.get(words, "fp32") if accumulator == "auto" else accumulator
    semiring = SEMIRINGS[program.semiring]
    for name in (words, sums):
        if semiring.identity_in(FORMATS[name]) is None or not semiring.padding_in(FORMATS[name]):
            raise ValueError(
                f"`format` must hold {semiring.identity} for {program.semiring}, not {name!r}"
            )
    said = computation.stages[0] if computation.stages else _STAGES
    return LaneSum(
        ops=(program.semiring,),
        format=words,
        accumulator=sums,
        pipeline=stages or said,
        lanes=_lanes(computation),
    )


def staged(part: ElementPart) -> ElementPart:
    """Returns an element of floats with more stages if it then never waits for a sum, else the
    given one."""
    more = replace(part.arithmetic, pipeline=_STAGES_OF_FLOATS)
    found = replace(part, arithmetic=more)
    return found if more.is_float and interval_of(found) == (1, 1) else part


def sums_side_by_side(computation: Computation) -> int:
    """Lanes of an element that are of the result: each has sums of its own."""
    loop = _vectorised(computation)
    return loop.extent or 1 if loop and not loop.reduces else 1


def _lanes(computation: Computation) -> int:
    """Lanes that are summed over."""
    loop = _vectorised(computation)
    return loop.extent or 1 if loop and loop.reduces else 1


def _vectorised(computation: Computation) -> Loop | None:
    return computation.loop(computation.vectorised[0]) if computation.vectorised else None


def summed_loops(function: Function) -> tuple[Loop, ...]:
    """Loops of an element that are summed over, outermost first."""
    found = [loop.loop for one in done_by(function) for loop in one.loops if loop.loop.reduces]
    return tuple(dict.fromkeys(found))


def lanes_of(program: Program, tensor: str) -> int:
    """Returns how many words of a tensor arrive at once."""
    for function in program.functions:
        for one in done_by(function):
            if function.host or not isinstance(one.what, Send):
                continue
            value = one.what.value
            if isinstance(value, Load) and value.tensor in (tensor, f"{tensor}_image"):
                return 1 if value.lanes is None else value.lanes.extent or 1
    raise KeyError(tensor)


def element_part(program: Program, arithmetic: LaneSum, vector: int = 1) -> ElementPart:
    """Lowers the element of a program, with a number of sums side by side.

    Raises ValueError for an element that has no hardware yet.
    """
    function = program.function(program.name)
    done = done_by(function)
    names = dict.fromkeys(one.what.name for one in done if isinstance(one.what, Receive))
    forwards: dict[str, list[str]] = {name: [] for name in names}
    for one in done:
        if isinstance(one.what, Send) and isinstance(one.what.value, Name):
            name = one.what.value.name
            loop = one.what.channel.removeprefix(f"{name}_").removesuffix("_forward")
            if loop not in forwards[name]:
                forwards[name].append(loop)
    # The operand that sums start from is received after all factors.
    operands = tuple(
        OperandPart(
            name, lanes_of(program, name), tuple(forwards[name]), starts=name == program.start
        )
        for name in names
    )
    _check_ring(function)
    (update,) = (one for one in done if isinstance(one.what, BufferWrite) and _adds(one.what.value))
    assert isinstance(update.what, BufferWrite)
    inner, outer = _products(program.name, update.what.value)
    (sums,) = function.buffers
    part = ElementPart(
        name=program.name,
        operands=operands,
        arithmetic=arithmetic,
        inner=inner,
        outer=outer,
        sums=sums.words,
        overlaps=all(one.loops == update.loops for one in done if _sends_sum(one)),
        vector=vector,
    )
    check_products(part)
    return part


def word_bits(element: ElementPart, tensor: str) -> int:
    """Width of the words of an operand that come at once, or of those that an element sends."""
    if tensor == element.name:
        return element.result_bits
    operand = element.operand(tensor)
    return operand.lanes * element.word_format(operand).container_bits


def _sends_sum(done: Done) -> bool:
    return isinstance(done.what, Send) and isinstance(done.what.value, BufferRead)


def _adds(value: Value) -> bool:
    """Tells whether a value adds to a sum, rather than being the start of one."""
    return isinstance(value, Fold) or (isinstance(value, Apply) and value.operator == "plus")


def _check_ring(function: Function) -> None:
    """Refuse sums that are not visited in turn, all of them before any again."""
    if stands := summed_inside(function):
        summed, kept = stands
        raise ValueError(
            f"{function.name} has no hardware yet: loop `{summed.name}`, which is summed over, "
            f"stands inside `{kept.name}`, whose sums are kept"
        )


def check_products(part: ElementPart) -> None:
    """Refuse sums of a format that words have not, where products are multiplied once more."""
    try:
        if part.outer:
            part.arithmetic.of_sums()
        if len(part.inner) > 2:
            part.arithmetic.of_products()
    except ValueError as error:
        raise ValueError(
            f"`accumulator` must be a format of words for {part.name}, which multiplies products "
            f"once more, not {part.arithmetic.result.name!r}"
        ) from error


def _products(name: str, update: Value) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Returns the operands multiplied in lanes, and those multiplied by the sum over lanes."""
    if isinstance(update, Fold) and isinstance(update.start, BufferRead):
        return _names(name, update.vector), ()
    assert isinstance(update, Apply)
    product = update.arguments[1]
    folds = [one for one in _factors(product) if isinstance(one, Fold)]
    if not folds:
        return _names(name, product), ()
    outer = tuple(_word(one) for one in _factors(product) if not isinstance(one, Fold))
    return _names(name, folds[0].vector, most=2), outer


def _names(name: str, product: Value, most: int = 3) -> tuple[str, ...]:
    factors = _factors(product)
    if not 0 < len(factors) <= most:
        raise ValueError(
            f"{name} has no hardware yet: a product of {len(factors)} tensors in each lane; "
            "factor one out"
        )
    return tuple(_word(one) for one in factors)


def _word(value: Value) -> str:
    """Returns the operand of a factor that is one of its words, or a function of one."""
    while isinstance(value, Apply):
        (value,) = value.arguments
    assert isinstance(value, Name)
    return value.name


def _factors(value: Value) -> list[Value]:
    if isinstance(value, Apply) and value.operator == "times":
        return [found for one in value.arguments for found in _factors(one)]
    return [value]
