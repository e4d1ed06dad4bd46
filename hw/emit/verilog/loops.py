"""Instances that differ in regular steps only, written as a loop."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from itertools import chain, count, product

from .expressions import Node
from .statements import Instance, Item, Raw, written

__all__ = ["free_name", "with_loops"]

FEWEST = 4
"""Instances that make a loop worth while."""

_Indices = tuple[int, ...]
_RANGE = re.compile(r"(\w+)\[(\d+)(?::(\d+))?\]")


def _position(values: Mapping[_Indices, int], variables: Sequence[str]) -> Node | None:
    """The values as a sum of multiples of the loop variables, if they are one."""
    origin = (0,) * len(variables)
    start = values[origin]
    steps = []
    for place in range(len(variables)):
        second = (*origin[:place], 1, *origin[place + 1 :])
        steps.append(values[second] - start if second in values else 0)
    for indices, value in values.items():
        if value != start + sum(s * i for s, i in zip(steps, indices, strict=True)):
            return None
    terms = [Node("constant", str(start))] if start else []
    for step, variable in zip(steps, variables, strict=True):
        factor = Node("name", variable)
        if step > 1:
            factor = Node("binary", "*", (Node("constant", str(step)), factor))
        terms += [factor] if step > 0 else []
    if min(steps) < 0:
        return None
    total = terms[0] if terms else Node("constant", "0")
    for term in terms[1:]:
        total = Node("binary", "+", (total, term))
    return total


def _common(nodes: Mapping[_Indices, Node], variables: Sequence[str]) -> Node | None:
    """One expression of the loop variables for the expressions of all instances, if there is."""
    every = list(nodes.values())
    first = every[0]
    if all(node == first for node in every):
        return first
    if any(node.kind != first.kind or len(node.parts) != len(first.parts) for node in every):
        return None
    if first.kind == "range":
        found = {at: _RANGE.fullmatch(node.word) for at, node in nodes.items()}
        bounds = {at: (int(m[2]), int(m[3] or m[2])) for at, m in found.items() if m}
        shapes = {(node.signal, high - low) for node, (high, low) in zip(
            every, bounds.values(), strict=True)}  # fmt: skip
        position = _position({at: low for at, (_, low) in bounds.items()}, variables)
        if len(shapes) > 1 or position is None:
            return None
        size = shapes.pop()[1] + 1
        if size == 1:
            return Node("index", first.signal, (position,))
        return Node("window", f"{first.signal} {size}", (position,))
    if not first.parts or any(node.word != first.word for node in every):
        return None
    parts: list[Node] = []
    for place in range(len(first.parts)):
        part = _common({at: node.parts[place] for at, node in nodes.items()}, variables)
        if part is None:
            return None
        parts.append(part)
    return Node(first.kind, first.word, tuple(parts))


def _template(family: Mapping[_Indices, Instance], variables: Sequence[str]) -> Instance | None:
    """Returns the common form of all instances of a family, as an instance called ``unit``."""
    first = next(iter(family.values()))
    pins: list[tuple[str, Node | None]] = []
    for place, (pin, _) in enumerate(first.pins):
        values: dict[_Indices, Node] = {}
        for at, instance in family.items():
            own = instance.pins[place] if len(instance.pins) == len(first.pins) else (None, None)
            if own[0] != pin or own[1] is None:
                return None
            values[at] = own[1]
        common = _common(values, variables)
        if common is None:
            return None
        pins.append((pin, common))
    return Instance(f"{first.head.split()[0]} unit", pins)


def free_name(name: str, taken: Set[str]) -> str:
    """The name, or one made from it that is not taken."""
    return next(n for n in chain([name], (f"{name}_{k}" for k in count(2))) if n not in taken)


def _loop(base: str, family: Mapping[_Indices, Instance], taken: set[str]) -> Raw | None:
    lengths = [max(at[place] for at in family) + 1 for place in range(len(next(iter(family))))]
    if len(family) < FEWEST or set(family) != set(product(*map(range, lengths))):
        return None
    wanted = ("row", "column") if len(lengths) == 2 else ("index",)
    variables = [free_name(name, taken) for name in wanted]
    template = _template({at: family[at] for at in sorted(family)}, variables)
    if template is None:
        return None
    label = free_name(base, taken)
    taken.add(label)
    lines = written(template).splitlines()
    for place in reversed(range(len(lengths))):
        variable, length, name = variables[place], lengths[place], "at" if place else label
        head = f"  for (genvar {variable} = 0; {variable} < {length}; {variable}++) begin : {name}"
        lines = [head, *("  " + line for line in lines), "  end"]
    return Raw("\n".join(lines))


def with_loops(items: Sequence[Item], taken: Set[str]) -> list[Item]:
    """The items with loops instead of instances called ``name_0`` or ``name_0_0`` and so on.

    Parameters
    ----------
    items: a module's body
    taken: names of all signals of the module
    """
    used = set(taken) | {item.head.split()[1] for item in items if isinstance(item, Instance)}
    families: dict[tuple[str, str, int], dict[_Indices, Instance]] = {}
    for item in items:
        match = re.fullmatch(r"(\w+) (\w*?[a-z])((?:_\d+){1,2})", getattr(item, "head", ""))
        if isinstance(item, Instance) and match:
            indices = tuple(int(number) for number in match[3][1:].split("_"))
            key = (match[1], match[2], len(indices))
            families.setdefault(key, {})[indices] = item
    loops: dict[int, Raw | None] = {}
    for (_, base, _), family in families.items():
        loop = _loop(base, family, used)
        if loop is not None:
            loops.update({id(instance): None for instance in family.values()})
            loops[id(next(iter(family.values())))] = loop
    replaced = [loops.get(id(item), item) for item in items]
    return [item for item in replaced if item is not None]
