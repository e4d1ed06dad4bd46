"""Small configurations of every unit that differ in one parameter: each choice of each option."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tilewright.hw.catalogue import UNITS
from tilewright.hw.spec.config import Allowed, Config, Flag, IntRange, OneOf, SubsetOf

__all__ = ["OPTIONS", "SMALL", "choices", "small"]

_BLOCK = {"block_rows": 2, "block_cols": 4, "block_depth": 4, "outstanding": 2}

SMALL: dict[str, dict[str, Any]] = {
    "m3xu": {"rows": 2, "cols": 2, "depth": 4},
    "m3xu_baseline": {"rows": 2, "cols": 2, "depth": 4},
    "m3xu_wide": {"rows": 2, "cols": 2, "depth": 4},
    "m3xu_sequencer": {"rows": 4, "cols": 1, "depth": 4},
    "simd2": {"tile": 2},
    "engine_simd2": {"tile": 2, "ops": ("mma", "minplus"), **_BLOCK},
    "engine_m3xu": {"rows": 2, "cols": 2, "depth": 2, "modes": ("fp16", "fp32"), **_BLOCK},
    "matraptor": {"lanes": 2, "channels": 2, "queues": 3, "queue_depth": 8, "outstanding": 4},
    "c2sr_converter": {"channels": 2, "outstanding": 2, "value": "fp16", "index_bits": 16},
}
"""Parameters of each unit with which it is small; the default of a unit that is not here."""

_SIZES = {"rows", "cols", "depth", "tile"}
"""More of the same hardware, which takes long to build."""

_MOST_VALUES = 8
"""Of an integer whose range is walked from end to end."""

_STRUCTURES: dict[str, tuple[dict[str, Any], ...]] = {
    "m3xu": ({"rows": 1, "cols": 1}, {"depth": 8}),
    "simd2": ({"format": "fp32", "multiplier_bits": 12}, {"tile": 3}),
    "engine_simd2": ({"format": "fp32", "multiplier_bits": 12}, {"outstanding": 1}),
    "engine_m3xu": ({"outstanding": 1}, {"addr_bits": 64}),
    "matraptor": (
        {"lanes": 1, "channels": 1},
        {"lanes": 1, "channels": 4},
        {"lanes": 3, "channels": 1},
        {"lanes": 4, "channels": 2},
        {"queues": 16, "queue_depth": 100},
        {"outer_product": True, "lanes": 1, "channels": 1},
        {"outer_product": True, "value": "int32", "index_bits": 16},
        {"outer_product": True, "queues": 10, "queue_depth": 1024},
    ),
    "c2sr_converter": ({"channels": 1}, {"channels": 3}, {"addr_bits": 64}),
}
"""Further configurations whose structure is another one."""

_COMPANIONS: tuple[dict[str, Any], ...] = (
    {},
    {"depth": 4},
    {"format": "int8"},
    {"format": "fp8e4m3"},
    {"block_rows": 0, "block_cols": 0, "block_depth": 0},
)
"""What a choice may need to be allowed: the first that does is taken."""


def choices(allowed: Allowed) -> tuple[Any, ...]:
    """The values of an option, or the ends of a short range of integers; of a set each member
    alone, and all."""
    match allowed:
        case OneOf(words):
            return words
        case Flag():
            return (False, True)
        case SubsetOf(words):
            return (*((word,) for word in words), tuple(words))
        case IntRange(low, high):
            values = [n for n in range(low, high + 1) if _fits(allowed, n)]
            return (low, high) if len(values) <= _MOST_VALUES else ()
    return ()


def _fits(allowed: Allowed, value: int) -> bool:
    try:
        allowed.check("", value)
    except ValueError:
        return False
    return True


def small(unit: str, **changes: Any) -> Config:
    """A small configuration of a unit, with changes."""
    return UNITS[unit].config(**{**SMALL.get(unit, {}), **changes})


def _chosen(unit: str, name: str, value: Any) -> dict[str, Any]:
    """The changes of the small configuration with which a parameter has a value."""
    known = {item.name for item in UNITS[unit].config.parameters()}
    for companions in _COMPANIONS:
        changes = {**companions, name: value}
        try:
            small(unit, **{key: changes[key] for key in changes if key in known})
        except ValueError:
            continue
        return {key: changes[key] for key in changes if key in known}
    raise ValueError(f"`{name}` of {unit} cannot be {value!r} with any of the companions")


def _options(unit: str) -> Iterator[tuple[str, dict[str, Any]]]:
    base = small(unit)
    for item in UNITS[unit].config.parameters():
        for value in choices(item.metadata["allowed"]) if item.name not in _SIZES else ():
            if value != getattr(base, item.name):
                text = "+".join(value) if isinstance(value, tuple) else str(value)
                yield f"{unit}-{item.name}-{text}", _chosen(unit, item.name, value)
    for changes in _STRUCTURES.get(unit, ()):
        yield "-".join([unit, *(f"{n}-{v}" for n, v in changes.items())]), changes


OPTIONS: dict[str, tuple[str, dict[str, Any]]] = {
    name: (unit, changes) for unit in UNITS for name, changes in _options(unit)
}
"""By name: a unit, and in what its small configuration is changed."""
