"""Computes the hardware's result from the definition and the order of its additions, on arrays."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping

import numpy as np
import numpy.typing as npt

from ...hw.spec.formats import Format
from ...hw.spec.t2s.arithmetic import pad_pattern
from ...hw.spec.t2s.design import Design
from ...hw.spec.t2s.loops import Loop
from ...hw.spec.t2s.parts import ElementPart
from ...hw.spec.t2s.program import Program
from ...hw.spec.t2s.statements import Body, For, If, Send
from ..numbers.scalars import through
from .element_sums import ElementSums
from .sizes import check_bounds, shape_of, trip_count, walked, walked_indices

Words = npt.NDArray[np.uint64]
Places = dict[str, npt.NDArray[np.int64]]


def result_of_walked(
    design: Design, bounds: Mapping[str, int], operands: Mapping[str, Words]
) -> Words:
    """:func:`hardware_result` of patterns by the computation's indices, as :func:`walked` has
    them."""
    check_bounds(design.program, bounds)
    return _results(design.program, design.element, bounds, operands)


def ordered_sums(
    program: Program,
    element: ElementPart,
    bounds: Mapping[str, int],
    operands: Mapping[str, npt.ArrayLike],
) -> Words:
    """:func:`hardware_result` of a program after all passes and its elements."""
    check_bounds(program, bounds)
    words = {
        name: walked(program.tensor(name).dimensions, bounds, np.asarray(one).astype(np.uint64))
        for name, one in operands.items()
    }
    return _results(program, element, bounds, words)


def _results(
    program: Program, element: ElementPart, bounds: Mapping[str, int], words: Mapping[str, Words]
) -> Words:
    sums, formats = ElementSums(element.arithmetic), element.arithmetic
    result = program.tensor(program.result)
    shape = shape_of(result.dimensions, bounds)
    total = nothing = np.full(shape, sums.identity, np.uint64)
    if start := program.start:
        here = _result_places(program, bounds)
        total = np.broadcast_to(
            _loaded(program, start, formats.result, words[start], here)[0], shape
        )
    for places in _iterations(program, bounds):
        loaded = {
            name: _loaded(program, name, formats.element, words[name], places)
            for name in (*element.inner, *element.outer)
        }
        inner = [loaded[name] for name in element.inner]
        outer = [np.broadcast_to(loaded[name][0], shape) for name in element.outer]
        if outer:
            total = sums.outer(outer, sums.inner(inner, nothing), total)
        else:
            total = sums.inner(inner, total)
    return through(result.functions, total, formats.result)


def _iterations(program: Program, bounds: Mapping[str, int]) -> Iterator[Places]:
    """Indices in each operation, along an axis of lanes and those of the result."""
    element = program.function(program.name)
    loops = [one for one in _loops(element.body) if one.reduces]
    lanes = _vectorised(program, loops)
    fixed = _result_places(program, bounds)
    rank = len(fixed)
    summed = [name for name in program.indices if name not in fixed]
    for digits in itertools.product(*(range(trip_count(one, bounds)) for one in loops)):
        places = dict(fixed)
        for name in summed:
            start = sum(
                digit * one.step
                for digit, one in zip(digits, loops, strict=True)
                if one.index == name
            )
            span = np.zeros(1, np.int64)
            if lanes is not None and lanes.index == name:
                span = np.arange(trip_count(lanes, bounds)) * lanes.step
            places[name] = (start + span).reshape(-1, *[1] * rank)
        yield places


def _result_places(program: Program, bounds: Mapping[str, int]) -> Places:
    """Indices of the result, along its axes."""
    result = [one.variables[0] for one in program.tensor(program.result).dimensions]
    return {
        name: np.arange(bounds[name]).reshape(-1, *[1] * (len(result) - 1 - axis))
        for axis, name in enumerate(result)
    }


def _loaded(program: Program, name: str, fmt: Format, words: Words, places: Places) -> Words:
    """Words of a tensor in an operation, (lanes, result...), through its functions; of what pads
    it, where an index is beyond its bound."""
    tensor = program.tensor(name)
    pad = pad_pattern(tensor.functions, tensor.pad, fmt)
    axes = [1] * (1 + len(program.tensor(program.result).dimensions))
    inside = np.ones(axes, np.bool_)
    at = []
    for index, bound in zip(walked_indices(tensor.dimensions), words.shape, strict=True):
        place = places[index]
        inside = inside & (place < bound)
        at.append(np.minimum(place, bound - 1))
    return through(tensor.functions, np.where(inside, words[tuple(at)], np.uint64(pad)), fmt)


def _vectorised(program: Program, counted: list[Loop]) -> Loop | None:
    """The loop over lanes: all of its iterations are loaded at once."""
    for function in program.functions:
        for one in _sends(function.body):
            lanes = getattr(one.value, "lanes", None)
            if isinstance(lanes, Loop) and lanes.reduces and lanes not in counted:
                return lanes
    return None


def _loops(body: Body) -> Iterator[Loop]:
    for one in body:
        if isinstance(one, For):
            yield one.loop
            yield from _loops(one.body)
        elif isinstance(one, If):
            yield from _loops((*one.then, *one.otherwise))


def _sends(body: Body) -> Iterator[Send]:
    for one in body:
        if isinstance(one, For):
            yield from _sends(one.body)
        elif isinstance(one, If):
            yield from _sends((*one.then, *one.otherwise))
        elif isinstance(one, Send):
            yield one
