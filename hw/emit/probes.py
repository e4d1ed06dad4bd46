"""Components whose modules may have parameters, and further values of those that try the formulas.

A component class names its Verilog parameters in ``verilog_parameters``: by the name of each, the
argument of ``__init__`` that it is, a number or a payload's shape, of which the width counts, or
``argument.field``, a number in an argument that is a dataclass. The component keeps each argument
``x`` as ``_x``.
"""

from __future__ import annotations

import inspect
import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any

from amaranth.hdl import Shape, unsigned
from amaranth.lib import data, wiring

from .blocks import Block

__all__ = ["Variants", "add_probes", "parameters_of"]


def _declared(component: wiring.Component) -> Mapping[str, str]:
    declared: Mapping[str, str] = getattr(component, "verilog_parameters", {})
    return declared


def parameters_of(component: wiring.Component) -> dict[str, int]:
    """The values of a component's Verilog parameters, by their names."""
    found: dict[str, int] = {}
    for name, path in _declared(component).items():
        argument, _, field = path.partition(".")
        value = vars(component)[f"_{argument}"]
        value = getattr(value, field) if field else value
        found[name] = value if isinstance(value, int) else Shape.cast(value).width
    return found


def _arguments(component: wiring.Component) -> dict[str, Any]:
    """Arguments with which a component was constructed."""
    names = [*inspect.signature(type(component).__init__).parameters][1:]
    return {name: vars(component)[f"_{name}"] for name in names}


def _outline(component: wiring.Component, block: Block) -> tuple[type, str, str]:
    """Equal for components that may be variants of one: their text without numbers, and the
    arguments that are no parameters."""
    declared = {path.partition(".")[0] for path in _declared(component).values()}
    fixed = {name: value for name, value in _arguments(component).items() if name not in declared}
    text = re.sub(rf"\\{block.module}\b", "", block.rtlil)
    text = re.sub(r" \[\d+(:\d+)?\]|(?<=')[01x]+|(?<=[a-z])_\d+\b|\b\d+\b", "", text)
    return type(component), repr(fixed), re.sub(r"( \S+)\1+(?!\S)", r"\1", text)


def _resized(shape: Any, width: int) -> Any:
    """A payload of another width: of a structure the first number that is a field changes."""
    if isinstance(shape, data.StructLayout):
        fields = {name: field.shape for name, field in shape}
        grown = width - shape.size
        for name, field in fields.items():
            if isinstance(field, int) and field + grown > 0:
                return data.StructLayout({**fields, name: field + grown})
    return unsigned(width)


def _with_value(arguments: dict[str, Any], path: str, value: int) -> None:
    """Gives one of a component's arguments the value of a parameter."""
    argument, _, field = path.partition(".")
    old = arguments[argument]
    if field:
        arguments[argument] = replace(old, **{field: value})
    else:
        arguments[argument] = value if isinstance(old, int) else _resized(old, value)


def _free_power(used: Set[int]) -> int:
    """The smallest power of two above the smallest used value that is not used."""
    powers = (1 << bits for bits in itertools.count(min(used).bit_length()))
    return next(power for power in powers if power not in used)


_CHOICES: tuple[Callable[[Set[int], int], int], ...] = (
    lambda used, place: 2 * max(used),
    lambda used, place: _free_power(used),
    lambda used, place: max(used) + 1 + place,
    lambda used, place: max(used) + 1,
    lambda used, place: max(used) - 1 - place,
    lambda used, place: min(used) // 2,
    lambda used, place: min(used) - 1 - place,
)
"""Further values of a parameter, from those that are used and from its place among the parameters:
two that grow by the same could stand for each other in a formula."""


def _candidates(
    component: wiring.Component, used: Sequence[Mapping[str, int]]
) -> Iterator[Mapping[str, Any]]:
    """Arguments with values of all parameters that none of the used ones has.

    The double of a power of two is one, too: a memory of so many words has no more logic.
    """
    known = {name: {one[name] for one in used} for name in _declared(component)}
    for choice in _CHOICES:
        arguments = _arguments(component)
        values = {name: choice(found, place) for place, (name, found) in enumerate(known.items())}
        if any(value in known[name] or value < 1 for name, value in values.items()):
            continue
        for name, path in _declared(component).items():
            _with_value(arguments, path, values[name])
        yield arguments


@dataclass(frozen=True)
class Variants:
    """Modules that may be variants of one, the probe included.

    Parameters
    ----------
    modules: their names
    exhausted: whether there is no probe because the component refuses all other values
    """

    modules: tuple[str, ...]
    exhausted: bool


def add_probes(
    variants: Sequence[tuple[wiring.Component, Block]],
    convert: Callable[[wiring.Component], Block],
) -> list[Variants]:
    """Converts a further component for each group of variants, with values that none of them has.

    Returns the groups.
    """
    groups: dict[tuple[type, str, str], list[tuple[wiring.Component, Block]]] = {}
    for component, block in variants:
        groups.setdefault(_outline(component, block), []).append((component, block))
    own = {block.module for _, block in variants}
    found: list[Variants] = []
    for outline, group in groups.items():
        if len(group) < 2:
            continue
        component, used = group[0][0], [block.parameters for _, block in group]
        modules = [block.module for _, block in group]
        accepted = False
        for arguments in _candidates(component, used):
            kind: Any = type(component)
            probe = kind.__new__(kind, **arguments)
            try:
                probe.__init__(**arguments)
            except ValueError:
                probe._MustUse__silence = True
                continue
            block = convert(probe)
            if block.module in own:
                continue
            accepted = True
            if _outline(probe, block) == outline:
                modules.append(block.module)
                break
        found.append(Variants(tuple(modules), not accepted))
    return found
