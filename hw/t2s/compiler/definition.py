"""The temporal definition: what is computed, an element at a time (section 3.3.1)."""

from __future__ import annotations

from collections.abc import Iterable

from ...spec.semirings import SEMIRINGS
from ...spec.t2s.arithmetic import padded_before
from ...spec.t2s.loops import Affine, Loop, variable
from ...spec.t2s.program import Function, Program, TensorDeclaration
from ...spec.t2s.statements import Apply, Body, Load, Neutral, Store, Value
from ..language import Computation
from ..language.tensors import Element
from .rewriting import nest


def define(computation: Computation) -> Program:
    """Defines the computation in its own indices: an initial definition, and an update."""
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
        start=computation.started.tensor.name if computation.started else "",
        products=tuple(
            tuple(one.tensor.name for one in product) for product in computation.products
        ),
    )


def tile(program: Program, computation: Computation) -> Program:
    """Rewrites the definition to the loops that indices are cut into, in their order."""
    by_loops = {name: computation.index_of_loops(name) for name in program.indices}
    body = _body(computation, by_loops, list(computation.loops))
    return program.with_function(computation.name, lambda one: Function(one.name, body))


def _tensors(computation: Computation) -> tuple[TensorDeclaration, ...]:
    paddings = SEMIRINGS[computation.semiring].padding
    operands = []
    for place, one in enumerate(computation.factors):
        pad = padded_before(one.functions, paddings[min(place, 1)])
        assert pad is not None
        operands.append(
            TensorDeclaration(
                one.tensor.name,
                one.subscripts,
                pad,
                functions=one.functions,
                sparse=one.tensor.sparse,
            )
        )
    identity = SEMIRINGS[computation.semiring].identity
    if computation.started:
        one = computation.started
        operands.append(
            TensorDeclaration(one.tensor.name, one.subscripts, identity, functions=one.functions)
        )
    result = tuple(variable(name) for name in computation.result)
    done = TensorDeclaration(computation.name, result, identity, functions=computation.applied)
    return (*operands, done)


def _body(computation: Computation, indices: dict[str, Affine], loops: list[Loop]) -> Body:
    place = tuple(indices[name] for name in computation.result)
    kept = [one for one in loops if not one.reduces]
    start = nest(kept, (Store(computation.name, place, start_of(computation, indices)),))
    read = Load(computation.name, place)
    update = nest(loops, (Store(computation.name, place, added(computation, read, indices)),))
    if not computation.applied:
        return (*start, *update)
    result = applied(computation.applied, read)
    return (*start, *update, *nest(kept, (Store(computation.name, place, result),)))


def start_of(computation: Computation, indices: dict[str, Affine]) -> Value:
    """Returns the value that sums start from."""
    return loaded(computation.started, indices) if computation.started else Neutral()


def added(computation: Computation, total: Value, indices: dict[str, Affine]) -> Value:
    """Returns a sum to which the products are added, one after the other."""
    for product in computation.products:
        term = product_of([loaded(one, indices) for one in product])
        total = Apply("plus", (total, term))
    return total


def loaded(element: Element, indices: dict[str, Affine]) -> Value:
    """Returns an element as a load from memory, its indices replaced, through its functions."""
    load = Load(element.tensor.name, tuple(one.substitute(indices) for one in element.subscripts))
    return applied(element.functions, load)


def applied(functions: Iterable[str], value: Value) -> Value:
    """Applies functions to a value, the first one first."""
    for name in functions:
        value = Apply(name, (value,))
    return value


def product_of(values: list[Value]) -> Value:
    """Values joined by (x), left to right."""
    total = values[0]
    for one in values[1:]:
        total = Apply("times", (total, one))
    return total
