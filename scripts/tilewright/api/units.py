"""Describes the units of the catalogue to Python programs."""

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
    """Returns the registered unit of a name. Raises UnknownName, a ValueError, if there is none."""
    known = entries()
    if not isinstance(name, str) or name not in known:
        raise UnknownName(unknown("unit", name, known, "tilewright.units"))
    return known[name]


def configured(entry: Entry, config: Any, parameters: Mapping[str, Any]) -> Any:
    """Returns a configuration of a unit: ``config``, or the default one, with parameters changed.

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
    """A unit of the catalogue, as ``tilewright.units[NAME]`` returns it.

    Members
    -------
    name: name of the unit, and of its top module by default
    summary: one line on what the unit does
    source: the paper that the unit follows, and the section
    config: the configuration class, whose parameters are keyword arguments; ``config.parameters()``
        returns their names, defaults and ranges
    pages: file names of its pages in ``docs``
    backends: backends that :func:`tilewright.device` accepts for it; empty for a unit of streams

    Example
    -------
        import tilewright

        unit = tilewright.units["matraptor"]
        assert unit.backends == ("rtl", "model", "cycles")
        assert unit.config(lanes=2, channels=2).lanes == 2
    """

    name: str
    summary: str
    source: str
    config: type[Any]
    pages: tuple[str, ...]
    backends: tuple[str, ...]
    _entry: Entry = field(repr=False, compare=False)

    def registers(self, config: Config | None = None, /, **parameters: Any) -> RegisterMap:
        """Returns the registers of an accelerator, by name and in order.

        Parameters
        ----------
        config, parameters: as for :func:`tilewright.generate`

        Raises
        ------
        ValueError: the unit has no registers
        ValueError, TypeError: as :func:`tilewright.generate`

        Example
        -------
            import tilewright

            registers = tilewright.units["matraptor"].registers(lanes=2, channels=2)
            offsets = {register.name: register.offset for register in registers}
            assert offsets["ROWS"] == registers["ROWS"].offset == 0x100
        """
        return self._entry.unit.job_spec(configured(self._entry, config, parameters)).registers

    def component(self, config: Config | None = None, /, **parameters: Any) -> Component:
        """Returns the unit as a new Amaranth component, a submodule for a design of your own.

        Raises as :func:`tilewright.generate`.
        """
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
        """Computes the results of one operation by the unit's golden model.

        Parameters
        ----------
        operation: name of an operation of the sidecar
        operands: input operands by name. A matrix is an array of words (rows, columns), see
            :func:`tilewright.formats.to_words`; one in structured sparsity is a dictionary,
            ``{(row, column): word}``
        config, parameters: as for :func:`tilewright.generate`
        sizes: sizes by name, if the operation's sizes are not constant

        Returns
        -------
        The output operands by name, as matrices of words, dtype uint64.

        Raises
        ------
        ValueError: an unknown operation; a missing or unknown operand; a unit that runs programs
        ValueError, TypeError: as :func:`tilewright.generate`

        Example
        -------
            import tilewright
            from tilewright import formats

            words = {
                "a": formats.to_words([[1, 2], [3, 4]], "fp16"),
                "b": formats.to_words([[5, 6], [7, 8]], "fp16"),
                "c": formats.to_words([[0, 0], [0, 0]], "fp32"),
            }
            found = tilewright.units["simd2"].compute("mma", words, tile=2)
            assert formats.from_words(found["d"], "fp32").tolist() == [[19, 22], [43, 50]]
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
    """All units of the catalogue by name, a mapping in the order of ``tilewright list``.

    Example
    -------
        import tilewright

        accelerators = [name for name, unit in tilewright.units.items() if unit.backends]
        assert "matraptor" in accelerators and "simd2" not in accelerators
    """

    def __getitem__(self, name: str) -> UnitInfo:
        """Returns a unit by name. Raises UnknownName, a ValueError and a KeyError, if there is
        none."""
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
