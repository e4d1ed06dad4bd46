"""The units by name, as the modules of ``hw/spec`` declare them beside their configurations.

Units from elsewhere are given as what they are, a :class:`~tilewright.hw.spec.unit.Unit`.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from . import spec
from .spec.unit import Unit

__all__ = ["UNITS", "find_unit"]


def _declared() -> dict[str, Unit]:
    """The ``UNITS`` of all modules that have any."""
    modules = (
        import_module(f"{spec.__name__}.{found.name}") for found in iter_modules(spec.__path__)
    )
    return {unit.name: unit for module in modules for unit in getattr(module, "UNITS", ())}


UNITS: dict[str, Unit] = _declared()


def find_unit(unit: Unit | str) -> Unit:
    """The unit of a name; a unit is itself. Raises KeyError if there is none of that name."""
    return UNITS[unit] if isinstance(unit, str) else unit
