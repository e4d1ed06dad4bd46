"""Functions of a program as Python: generators that wait by ``yield``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...hw.spec.t2s.affine import Affine
from ...hw.spec.t2s.expressions import (
    Apply,
    BufferRead,
    Fold,
    Load,
    Name,
    Neutral,
    Pack,
    Value,
)
from ...hw.spec.t2s.loops import Loop
from ...hw.spec.t2s.program import Function
from ...hw.spec.t2s.statements import Body, BufferWrite, For, If, Receive, Send, Store
from .sizes import trip_count

__all__ = ["python_text"]


def python_text(function: Function, bounds: Mapping[str, int]) -> str:
    """The source of a generator function ``run`` whose parameters are the instance's loops.

    It uses names of the machine that runs it: ``queues``, ``depth_of``, ``moved``, ``load``,
    ``store``, ``plus``, ``times``, ``fold``, ``pack``, ``identity``, and functions of one word.
    """
    parameters = ", ".join(f"v_{one.name}" for one in function.instances)
    instances = {one.name for one in function.instances}
    lines = [f"def run({parameters}):"]
    lines += [
        f"    v_last_{one.name} = {trip_count(one, bounds) - 1}"
        for one in _loops(function.body)
        if one.extent is None
    ]
    lines += [f"    b_{one.name} = {{}}" for one in function.buffers]
    lines += list(_body(function.body, instances, bounds, 1))
    lines += ["    return", "    yield"]
    return "\n".join(lines)


def _body(body: Body, instances: set[str], bounds: Mapping[str, int], depth: int) -> Iterator[str]:
    indent = "    " * depth
    if not body:
        yield f"{indent}pass"
    for one in body:
        if isinstance(one, For):
            if one.loop.name in instances:
                yield from _body(one.body, instances, bounds, depth)
                continue
            if one.first is None:
                span = str(trip_count(one.loop, bounds))
            else:
                span = f"{_sum(one.first)}, {_sum(one.last or Affine())} + 1"
            yield f"{indent}for v_{one.loop.name} in range({span}):"
            yield from _body(one.body, instances, bounds, depth + 1)
        elif isinstance(one, If):
            yield f"{indent}if {_sum(one.condition.left)} == {_sum(one.condition.right)}:"
            yield from _body(one.then, instances, bounds, depth + 1)
            yield f"{indent}else:"
            yield from _body(one.otherwise, instances, bounds, depth + 1)
        elif isinstance(one, Receive):
            yield f"{indent}q = queues[{one.channel!r}, {_tuple(one.at)}]"
            yield f"{indent}while not q:"
            yield f"{indent}    yield ({one.channel!r}, {_tuple(one.at)}, 'empty')"
            yield f"{indent}n_{one.name} = q.popleft()"
            yield f"{indent}moved[0] += 1"
        elif isinstance(one, Send):
            yield f"{indent}value = {_value(one.value, bounds)}"
            yield f"{indent}q = queues[{one.channel!r}, {_tuple(one.at)}]"
            yield f"{indent}while len(q) >= depth_of[{one.channel!r}]:"
            yield f"{indent}    yield ({one.channel!r}, {_tuple(one.at)}, 'full')"
            yield f"{indent}q.append(value)"
            yield f"{indent}moved[0] += 1"
        elif isinstance(one, Store):
            places = (
                f"[{_tuple(one.indices)}]"
                if not one.lanes
                else _lanes(one.indices, one.lanes, bounds)
            )
            value = _value(one.value, bounds)
            value = value if one.lanes else f"({value},)"
            yield f"{indent}store({one.tensor!r}, {places}, {value})"
        elif isinstance(one, BufferWrite):
            yield f"{indent}b_{one.buffer}[{_tuple(one.indices)}] = {_value(one.value, bounds)}"


def _loops(body: Body) -> Iterator[Loop]:
    for one in body:
        if isinstance(one, For):
            yield one.loop
            yield from _loops(one.body)


def _value(value: Value, bounds: Mapping[str, int]) -> str:
    if isinstance(value, Neutral):
        return "identity"
    if isinstance(value, Name):
        return f"n_{value.name}"
    if isinstance(value, Load):
        if value.lanes is None:
            return f"load({value.tensor!r}, {_tuple(value.indices)})"
        places = _lanes(value.indices, value.lanes, bounds)
        return f"tuple(load({value.tensor!r}, place) for place in {places})"
    if isinstance(value, BufferRead):
        return f"b_{value.buffer}[{_tuple(value.indices)}]"
    if isinstance(value, Pack):
        return f"pack({', '.join(_value(one, bounds) for one in value.parts)})"
    if isinstance(value, Fold):
        return f"fold({_value(value.start, bounds)}, {_value(value.vector, bounds)})"
    assert isinstance(value, Apply)
    arguments = ", ".join(_value(one, bounds) for one in value.arguments)
    return f"{value.operator}({arguments})"


def _sum(given: Affine) -> str:
    terms = [f"{by} * v_{name}" if by != 1 else f"v_{name}" for name, by in given.terms]
    return " + ".join([*terms, str(given.constant)] if given.constant or not terms else terms)


def _tuple(indices: tuple[Affine, ...]) -> str:
    return "(" + "".join(f"{_sum(one)}, " for one in indices) + ")"


def _lanes(indices: tuple[Affine, ...], lanes: Loop, bounds: Mapping[str, int]) -> str:
    return f"[{_tuple(indices)} for v_{lanes.name} in range({trip_count(lanes, bounds)})]"
