"""The catalogue's units, with default parameters but for the largest, emitted once a process."""

from __future__ import annotations

from functools import cache
from typing import Any

from tilewright.hw.emit.unit import Emitted, emit
from tilewright.registry import entries
from tilewright.verif.kit.sampling import by_size, slow_but

_SLOWEST = "engine_m3xu"
"""The unit that takes longest to emit; its parts are those of `engine_simd2` and of `m3xu`."""

EVERY_UNIT: list[Any] = slow_but(
    ["simd2"], entries(), [name for name in entries() if name != _SLOWEST]
)
"""Parameters of a test over the catalogue; the quick test takes one unit, the default test
all but one."""


_LARGE = ("tensaurus", "sida", "gta")
"""Units that take longest to emit and other tools longest to read: by default their small
configurations."""


@cache
def _emitted(name: str, parameters: tuple[tuple[str, Any], ...]) -> Emitted:
    unit = entries()[name].unit
    return emit(unit, unit.config(**dict(parameters)))


def emitted_unit(name: str, **parameters: Any) -> Emitted:
    """A unit of the catalogue, emitted; the same object for the same parameters."""
    if name in _LARGE and not parameters:
        few = dict(entries()[name].small)
        parameters = by_size(few, few, {})
    return _emitted(name, tuple(sorted(parameters.items())))
