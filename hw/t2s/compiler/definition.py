"""The temporal definition: what is computed, an element at a time (section 3.3.1)."""

from __future__ import annotations

from ...spec.semirings import SEMIRINGS
from ...spec.t2s.affine import Affine, variable
from ...spec.t2s.expressions import Apply, Load, Neutral, Value
from ...spec.t2s.loops import Loop
from ...spec.t2s.program import Function, Program, TensorDeclaration
from ...spec.t2s.statements import Body, Store
from ..language import Computation
from ..language.tensors import Element
from .rewriting import nest

__all__ = ["define", "tile"]


def define(computation: Computation) -> Program:
    """The computation in its own indices: an initial definition, and an update."""
    loops = {
        name: Loop(name, name, None, 1, name in computation.sum_over)
        for name in (*computation.result, *computation.sum_over)
    }
    plain = {name: variable(name) for name in loops}
    body = _body(computation, plain, list(loops.values()))
    return Program(
        name=computation.name,
        indices=tuple(loops),
        semiring=computation.semiring,
        number_format=computation.number_format,
        result=computation.name,
        tensors=_tensors(computation),
        functions=(Function(computation.name, body),),
    )


def tile(program: Program, computation: Computation) -> Program:
    """The same in the loops that indices are cut into, in their order."""
    by_loops = {name: computation.index_of_loops(name) for name in program.indices}
    body = _body(computation, by_loops, list(computation.loops))
    return program.with_function(computation.name, lambda one: Function(one.name, body))


def _tensors(computation: Computation) -> tuple[TensorDeclaration, ...]:
    paddings = SEMIRINGS[computation.semiring].padding
    operands = [
        TensorDeclaration(one.tensor.name, one.subscripts, paddings[min(place, 1)])
        for place, one in enumerate(computation.factors)
    ]
    result = tuple(variable(name) for name in computation.result)
    identity = SEMIRINGS[computation.semiring].identity
    return (*operands, TensorDeclaration(computation.name, result, identity))


def _body(computation: Computation, indices: dict[str, Affine], loops: list[Loop]) -> Body:
    place = tuple(indices[name] for name in computation.result)
    start = nest(
        [one for one in loops if not one.reduces], (Store(computation.name, place, Neutral()),)
    )
    product = product_of([loaded(one, indices) for one in computation.factors])
    update = Apply("plus", (Load(computation.name, place), product))
    return (*start, *nest(loops, (Store(computation.name, place, update),)))


def loaded(element: Element, indices: dict[str, Affine]) -> Load:
    """An element as a load from memory, its indices replaced."""
    return Load(element.tensor.name, tuple(one.substitute(indices) for one in element.subscripts))


def product_of(values: list[Value]) -> Value:
    """Values joined by (x), left to right."""
    total = values[0]
    for one in values[1:]:
        total = Apply("times", (total, one))
    return total
