"""The units of the catalogue, as Python programs see them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..hw.spec.config import Config
from ..hw.spec.host.words import UnknownName, unknown
from ..hw.spec.registers.register_map import RegisterMap
from ..hw.spec.unit import named_object
from ..registry import Entry, entries, systems

if TYPE_CHECKING:
    from amaranth.lib.wiring import Component

__all__ = ["UnitInfo", "Units", "configured", "entry_named", "units"]


def entry_named(name: str) -> Entry:
    """The registered unit of a name. Raises UnknownName, a ValueError, if there is none."""
    known = entries()
    if not isinstance(name, str) or name not in known:
        raise UnknownName(unknown("unit", name, known, "tilewright.units"))
    return known[name]


def configured(entry: Entry, config: Any, parameters: Mapping[str, Any]) -> Any:
    """A configuration of a unit: the default one, or ``config``, with parameters by name.

    Raises TypeError if ``config`` is of another unit, TypeError or ValueError for an unknown
    parameter or a value that is not allowed.
    """
    kind = entry.unit.config
    if config is None:
        return kind.from_settings(parameters, entry.unit.name)
    if type(config) is not kind:
        raise TypeError(f"`config` must be a {kind.__name__}, not {config!r}")
    if not parameters:
        return config
    return kind.from_settings(config.resolved() | dict(parameters), entry.unit.name)


@dataclass(frozen=True, kw_only=True)
class UnitInfo:
    """A unit of the catalogue.

    Parameters
    ----------
    name: of the unit and, unless it is generated under another one, of its top module
    summary: one line
    source: where the idea comes from
    config: its configuration class, whose parameters are keyword arguments; ``config.parameters()``
        says what they may be
    pages: its pages below ``docs``
    backends: of an accelerator, what :func:`tilewright.device` makes of it; else none
    """

    name: str
    summary: str
    source: str
    config: type[Any]
    pages: tuple[str, ...]
    backends: tuple[str, ...]
    _entry: Entry = field(repr=False, compare=False)

    def registers(self, config: Config | None = None, /, **parameters: Any) -> RegisterMap:
        """The registers of an accelerator: an iterable, and by name. Raises ValueError if the unit
        has none, and as :func:`tilewright.generate`."""
        return self._entry.unit.job_spec(configured(self._entry, config, parameters)).registers

    def component(self, config: Config | None = None, /, **parameters: Any) -> Component:
        """The unit as an Amaranth component, to be a part of a design of one's own; every call
        makes a new one. Raises as :func:`tilewright.generate`."""
        return self._entry.unit.build(configured(self._entry, config, parameters))

    def compute(
        self,
        operation: str,
        operands: Mapping[str, Any],
        config: Config | None = None,
        sizes: Mapping[str, int] | None = None,
        /,
        **parameters: Any,
    ) -> dict[str, Any]:
        """The results of an operation of the sidecar by name, from the unit's golden model.

        Parameters
        ----------
        operation: its name
        operands: by name. A matrix is an array of container words, see
            :func:`tilewright.formats.to_words`, a sparse one ``{(row, column): word}``
        sizes: by name, of an operation whose sizes are no constants

        Raises ValueError for an unknown operation, for operands that it has not or that are
        missing, and for a unit that runs programs; and as :func:`tilewright.generate`.
        """
        import numpy as np

        chosen, unit = configured(self._entry, config, parameters), self._entry.unit
        if not self._entry.golden:
            raise ValueError(f"{self.name} runs programs, not single operations")
        entries: Any = (
            unit.job_spec(chosen).operations if unit.jobs else chosen.stream_operations  # type: ignore[attr-defined]
        )
        known = {one.name: one for one in entries}
        if operation not in known:
            raise ValueError(f"`operation` must be one of {', '.join(known)}, not {operation!r}")
        incoming = [one for one in known[operation].operands if one.direction == "in"]
        needed = {one.name for one in incoming if one.used_when is None}
        if not needed <= set(operands) <= {one.name for one in incoming}:
            names = ", ".join(one.name for one in incoming)
            raise ValueError(f"`operands` must be {names}, not {', '.join(operands)}")
        given = {
            name: one if isinstance(one, Mapping) else np.asarray(one, np.uint64)
            for name, one in operands.items()
        }
        golden: Callable[..., dict[str, Any]] = named_object(self._entry.golden)
        return golden(chosen, operation, sizes or {}, given)


class Units(Mapping[str, UnitInfo]):
    """The registered units by name, in the order of ``tilewright list``."""

    def __getitem__(self, name: str) -> UnitInfo:
        """A unit by name. Raises UnknownName, a ValueError and a KeyError, if there is none."""
        entry = entry_named(name)
        pages = next(system.pages for system in systems() if entry in system.entries)
        return _info(entry, pages)

    def __iter__(self) -> Iterator[str]:
        return iter(entries())

    def __len__(self) -> int:
        return len(entries())

    def __repr__(self) -> str:
        return f"<units {', '.join(self)}>"


def _info(entry: Entry, pages: tuple[str, ...]) -> UnitInfo:
    unit = entry.unit
    return UnitInfo(
        name=unit.name,
        summary=unit.summary,
        source=unit.source,
        config=unit.config,
        pages=pages,
        backends=entry.backends,
        _entry=entry,
    )


units = Units()
