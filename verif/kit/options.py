"""Small configurations of every unit that differ in one parameter: each choice of each option."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

from tilewright.hw.emit.unit import Emitted, emit
from tilewright.hw.spec.config import Allowed, Config, Flag, IntRange, OneOf, SubsetOf
from tilewright.hw.spec.t2s.config import DesignName, Sizes
from tilewright.hw.t2s.lowering.design import DESIGNS
from tilewright.registry import Entry, entries
from tilewright.verif.kit.sampling import by_size, slow_but

_SLOWEST = "engine_m3xu"
"""The unit that takes longest to emit; its parts are those of `engine_simd2` and of `m3xu`."""

EVERY_UNIT: list[Any] = slow_but(
    ["simd2"], entries(), [name for name in entries() if name != _SLOWEST]
)
"""Parameters of a test over the catalogue; the quick test takes one unit, the default test
all but one."""


@cache
def _emitted(name: str, parameters: tuple[tuple[str, Any], ...]) -> Emitted:
    unit = entries()[name].unit
    return emit(unit, unit.config(**dict(parameters)))


def emitted_unit(name: str, **parameters: Any) -> Emitted:
    """A unit of the catalogue, emitted; the same object for the same parameters. An accelerator
    without any is a small one, which other tests emit, too, but in the long test."""
    if entries()[name].unit.jobs is not None and not parameters:
        few = dict(entries()[name].small)
        parameters = by_size(few, few, {})
    return _emitted(name, tuple(sorted(parameters.items())))


_SIZES = {"pes", "rows", "cols", "depth", "tile"}
"""More of the same hardware, which takes long to build."""

_MOST_VALUES = 8
"""Greatest number of values of an integer range whose ends are options; longer ranges give none."""


def choices(allowed: Allowed) -> tuple[Any, ...]:
    """The values of an option, or the ends of a short range of integers; of a set each member
    alone, and all."""
    match allowed:
        case OneOf(words):
            return words
        case Flag():
            return (False, True)
        case DesignName():
            return DESIGNS
        case Sizes():
            return ("", "II=3", "II=1,JJ=1")
        case SubsetOf(words):
            return (*((word,) for word in words), tuple(words))
        case IntRange(low, high) if len(_values(allowed)) <= _MOST_VALUES:
            return (low, high)
    return ()


def _values(allowed: IntRange) -> list[int]:
    within = range(allowed.low, allowed.high + 1)
    powers = [0, *(1 << bit for bit in range(within.stop.bit_length()))]
    every: Iterable[int] = (n for n in powers if n in within) if allowed.power_of_two else within
    return [n for n in every if n % allowed.multiple_of == 0]


def small(entry: Entry, changes: Mapping[str, Any]) -> Config:
    """The small configuration of a unit, with changes."""
    return entry.unit.config(**{**entry.small, **changes})


def _chosen(entry: Entry, name: str, value: Any) -> dict[str, Any]:
    """A parameter's value, with the changes of the first variant that allows it."""
    for variant in ({}, *entry.variants):
        changes = {**variant, name: value}
        try:
            small(entry, changes)
        except ValueError:
            continue
        return changes
    raise ValueError(f"`{name}` of {entry.unit.name} is {value!r} in no variant")


def _options(entry: Entry) -> Iterator[dict[str, Any]]:
    for item in entry.unit.config.parameters():
        for value in choices(item.metadata["allowed"]) if item.name not in _SIZES else ():
            if value != getattr(entry.small_config, item.name):
                yield _chosen(entry, item.name, value)
    yield from map(dict, entry.variants)


def _label(unit: str, changes: Mapping[str, Any]) -> str:
    texts = {
        name: "+".join(value) if isinstance(value, tuple) else value
        for name, value in changes.items()
    }
    return "-".join([unit, *(f"{name}:{text}" for name, text in texts.items())])


OPTIONS: dict[str, tuple[str, dict[str, Any]]] = {
    _label(unit, changes): (unit, changes)
    for unit, entry in entries().items()
    for changes in _options(entry)
}
"""A unit, and the changes to its small configuration, by label."""
