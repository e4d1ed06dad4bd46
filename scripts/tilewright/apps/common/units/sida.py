"""SIDA, the accelerator of iterations, as the command line has it, checked."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, cast

from ....errors import UserError, user_errors
from ....hw.spec.formats import FloatFormat
from ....hw.spec.sida import SIDA, ModelSidaConfig, SidaConfig
from ....hw.spec.unit import Unit
from ....settings import read_config
from ....sim.sida.fit import check_modelled
from ..files import ARRAYS, check_output
from ..options import (
    Choice,
    DeviceOptions,
    check_report_and_tools,
    gigahertz_option,
    named_parameters,
)
from ..sizing import Sized, cure, sized

__all__ = ["SIDA_GIGAHERTZ", "SidaChoice", "SidaOptions", "choose_sida"]

_ROUNDINGS = 16
"""Default stop limit of iterations: a change of so many roundings of the format, or of 1e-6."""

SIDA_GIGAHERTZ = 1.0
"""The clock, unless another one is asked for."""


@dataclass(frozen=True, kw_only=True)
class SidaOptions(DeviceOptions):
    """Options like `DeviceOptions`, with the accelerator's own clock."""

    gigahertz: Annotated[float | None, gigahertz_option(f"{SIDA_GIGAHERTZ:g}")] = None


@dataclass(frozen=True, kw_only=True)
class SidaChoice(Choice[SidaConfig]):
    """The accelerator, checked, and where results go.

    Parameters
    ----------
    output: where values go
    named: the parameters that the user sets
    sizes: those that the data has set
    """

    unit: Unit = SIDA
    output: Path | None
    named: Collection[str] = ()
    sizes: tuple[Sized, ...] = ()

    @property
    def tolerance(self) -> float:
        """The change at which iterations of floats end by default, relative to the values:
        what roundings alone may change, if that is more than 1e-6."""
        fmt = self.config.format
        assert isinstance(fmt, FloatFormat)
        return max(1e-6, _ROUNDINGS * 2.0**-fmt.significand_bits)

    def check_vertices(self, what: object, vertices: int) -> None:
        """Raise UserError if a graph has too many."""
        self.check_rows(what, vertices, "vertices")

    def check_rows(self, what: object, count: int, kind: str = "rows") -> None:
        """Raise UserError if a matrix has too many rows."""
        config = self.sized(count, kind).config
        if count <= config.most_rows:
            return
        limit = f"`vector_words` {config.most_rows}, elements of a vector on chip"
        if config.windowed:
            limit = f"`rows_limit` {config.most_rows}"
        # Longer vectors are in memory, which the cycle model does not have.
        names = ["vector_words"] * (not config.windowed) + ["rows_limit"] * (
            self.backend != "cycles"
        )
        said = next(filter(None, (cure(config, name, count) for name in names)), "")
        if said and self.backend == "rtl" and "vector_words" not in self.named:
            said += "; --backend cycles and model choose it"
        raise UserError(f"{what}: {count} {kind} are too many for {limit}{said}")

    def sized(self, count: int, kind: str) -> SidaChoice:
        """The accelerator for a matrix of so many rows, called ``kind``."""
        if self.config.windowed:
            return self
        return self.with_least("vector_words", count, f"{count} {kind}")

    def with_least(self, name: str, needed: int, why: str) -> SidaChoice:
        """The accelerator with a parameter of ``needed`` or more, which are ``why`` in words, if it
        is a model and the user does not set the parameter."""
        if self.backend == "rtl":
            return self
        config, chosen = sized(self.config, name, needed, why, self.named)
        return replace(self, config=config, sizes=(*self.sizes, *chosen))

    def check_matrix(self, what: object, rows: int, cols: int) -> None:
        """Raise UserError if a matrix is not square, is empty, or has too many rows."""
        if rows != cols or not rows:
            raise UserError(f"{what}: must be square, of a row at least, not {rows} x {cols}")
        self.check_rows(what, rows)

    def check_points(self, what: object, rows: int, cols: int) -> None:
        """Raise UserError if a matrix of any shape is empty, or has too many rows or columns."""
        if not rows or not cols:
            raise UserError(f"{what}: must have a row and a column at least, not {rows} x {cols}")
        self.check_rows(what, rows)
        self.check_rows(what, cols, "columns")


def _config(options: DeviceOptions, given: Sequence[str]) -> SidaConfig:
    """Reads the user's configuration: one that can be built, or for models also a larger one."""
    built, modelled = SIDA, replace(SIDA, config=ModelSidaConfig)
    unit = built if options.backend == "rtl" else modelled
    try:
        found = read_config(unit, options.config_file, given)
    except UserError as error:
        if unit is modelled:
            raise
        try:
            read_config(modelled, options.config_file, given)
        except UserError:
            raise error from None
        raise UserError(f"{error}; models take it: --backend cycles") from None
    return cast(SidaConfig, found)


def choose_sida(
    options: DeviceOptions,
    app: str,
    semiring: str,
    *,
    output: Path | None,
    floats: bool,
    value: str | None = None,
    suffixes: tuple[str, ...] = ARRAYS,
) -> SidaChoice:
    """Check what the command line says; UserError if it cannot be run.

    Parameters
    ----------
    semiring: of the products of ``app``
    output: where values go
    floats: whether it takes a format of floats
    value: a format that it takes unless the user sets one
    suffixes: of the output's name
    """
    device = options.checked(SIDA_GIGAHERTZ)
    given = list(options.settings or ())
    named = named_parameters(options.config_file, given)
    if value is not None and "value" not in named:
        given.append(f"value={value}")
    config = _config(options, given)
    if semiring not in config.semirings:
        raise UserError(
            f"`semirings` must have {semiring} for {app}, not {', '.join(config.semirings)} alone"
        )
    if floats and config.value == "int32":
        raise UserError(f"`value` must be a format of floats for {app}, not 'int32'")
    if options.backend == "cycles":
        with user_errors(ValueError):
            check_modelled(config)
    if output:
        check_output(output, suffixes)
    check_report_and_tools(options.json_file, options.backend, options.wire)
    return SidaChoice(config=config, output=output, named=frozenset(named), **device)
