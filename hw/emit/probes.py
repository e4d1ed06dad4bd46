"""Components whose modules may have parameters, and further values of those that try the formulas.

A component class names its Verilog parameters in ``verilog_parameters``: by the name of each, the
argument of ``__init__`` that it is, a number or a payload's shape, of which the width counts. The
component keeps each argument ``x`` as ``_x``.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from amaranth.hdl import Shape, unsigned
from amaranth.lib import wiring

from .blocks import Block

__all__ = ["add_probes", "parameters_of"]


def _declared(component: wiring.Component) -> Mapping[str, str]:
    declared: Mapping[str, str] = getattr(component, "verilog_parameters", {})
    return declared


def parameters_of(component: wiring.Component) -> dict[str, int]:
    """The values of a component's Verilog parameters, by their names."""
    arguments = {name: vars(component)[f"_{argument}"] for name, argument in
                 _declared(component).items()}  # fmt: skip
    return {
        name: value if isinstance(value, int) else Shape.cast(value).width
        for name, value in arguments.items()
    }


def _arguments(component: wiring.Component) -> dict[str, Any]:
    """Arguments with which a component was constructed."""
    names = [*inspect.signature(type(component).__init__).parameters][1:]
    return {name: vars(component)[f"_{name}"] for name in names}


def _outline(component: wiring.Component, block: Block) -> tuple[type, str, str]:
    """Equal for components that may be variants of one: their text without numbers, and the
    arguments that are no parameters."""
    declared = _declared(component).values()
    fixed = {name: value for name, value in _arguments(component).items() if name not in declared}
    text = block.rtlil.replace(f"\\{block.module}", "")
    text = re.sub(r" \[\d+(:\d+)?\]|(?<=')[01x]+|(?<=[a-z])_\d+\b|\b\d+\b", "", text)
    return type(component), repr(fixed), re.sub(r"( \S+)\1+\b", r"\1", text)


def _candidates(
    component: wiring.Component, used: Sequence[Mapping[str, int]]
) -> Iterator[Mapping[str, Any]]:
    """Arguments with values of all parameters that none of the used ones has.

    The double of a power of two is one, too: a memory of so many words has no more logic.
    """
    known = {name: {one[name] for one in used} for name in _declared(component)}
    for choice in (lambda high: 2 * high, lambda high: high + 1, lambda high: high - 1):
        arguments = _arguments(component)
        values = {name: choice(max(numbers)) for name, numbers in known.items()}
        if any(value in known[name] or value < 1 for name, value in values.items()):
            continue
        for name, argument in _declared(component).items():
            number = isinstance(arguments[argument], int)
            arguments[argument] = values[name] if number else unsigned(values[name])
        yield arguments


def add_probes(
    variants: Sequence[tuple[wiring.Component, Block]],
    convert: Callable[[wiring.Component], Block],
) -> list[str]:
    """Convert a further component for each group of variants, with values that none of them has.

    Returns the modules of groups for which there are no such values: the component refuses them.
    """
    groups: dict[tuple[type, str, str], list[tuple[wiring.Component, Block]]] = {}
    for component, block in variants:
        groups.setdefault(_outline(component, block), []).append((component, block))
    exhausted: list[str] = []
    for outline, group in groups.items():
        if len(group) < 2:
            continue
        component, used = group[0][0], [block.parameters for _, block in group]
        accepted = False
        for arguments in _candidates(component, used):
            kind: Any = type(component)
            probe = kind.__new__(kind, **arguments)
            try:
                probe.__init__(**arguments)
            except ValueError:
                probe._MustUse__silence = True
                continue
            accepted = True
            if _outline(probe, convert(probe)) == outline:
                break
        if not accepted:
            exhausted += [block.module for _, block in group]
    return exhausted
