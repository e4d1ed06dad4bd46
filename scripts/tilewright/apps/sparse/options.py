"""What users may say about the accelerator of sparse products, and the checks on it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from ...errors import UserError
from ...hw.spec.host.words import not_one_of
from ...hw.spec.matraptor import MATRAPTOR, MODES, MatRaptorConfig
from ...hw.spec.semirings import SEMIRINGS
from ...numbers_given import real, whole
from ...settings import read_config
from ...sim.timing.memories import MEMORIES, MemoryModel
from ..common.memory import check_memory
from ..common.options import (
    PANEL,
    BackendOption,
    ConfigOption,
    JsonOption,
    SettingsOption,
    check_backend,
    check_report_and_tools,
    named_parameters,
)
from ..common.sizing import cure

__all__ = ["GIGAHERTZ", "LINE_BYTES", "SparseChoice", "SparseOptions", "choose_memory",
           "choose_sparse_unit", "gigahertz_option", "lanes_option",
           "memory_option", "named_semiring"]  # fmt: skip

GIGAHERTZ = 2.0
LINE_BYTES = 150
"""Bytes that a product takes, at its peak, for each row and each column of an operand, an empty one
too."""

_ALIASES = {"plustimes": "mma", "plus-times": "mma"}


def lanes_option(panel: str) -> Any:
    """The option ``--lanes``, in a panel of the help."""
    return typer.Option(
        parser=whole("--lanes"), metavar="N", rich_help_panel=panel,
        help="Number of lanes, and of memory channels unless `channels` is set.",
    )  # fmt: skip


def memory_option(panel: str) -> Any:
    """The option ``--memory``, likewise."""
    names = ", ".join(MEMORIES)
    return typer.Option(
        help=f"Memory of the cycle model: {names}; default hbm.", rich_help_panel=panel
    )


def gigahertz_option(panel: str, default: str = f"{GIGAHERTZ:g}") -> Any:
    """The option ``--gigahertz``, likewise; what its help says of the default."""
    return typer.Option(
        parser=real("--gigahertz", 0.01, 100), metavar="F", rich_help_panel=panel,
        help=f"Clock frequency in GHz, in 0.01..100; default {default}.",
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class SparseOptions:
    """The accelerator a sparse computation runs on, how, and where the report goes."""

    lanes: Annotated[int | None, lanes_option(PANEL)] = None
    config_file: ConfigOption = None
    settings: SettingsOption = None
    backend: BackendOption = "rtl"
    memory: Annotated[str | None, memory_option(PANEL)] = None
    gigahertz: Annotated[float | None, gigahertz_option(PANEL)] = None
    json_file: JsonOption = None


@dataclass(frozen=True, kw_only=True)
class SparseChoice:
    """The accelerator, checked. ``memory``: each channel, to the cycle model; ``mode``: by rows or
    by outer products."""

    config: MatRaptorConfig
    backend: str
    memory: MemoryModel
    gigahertz: float
    json_file: Path | None
    mode: str = "rows"

    @property
    def unit(self) -> str:
        return MATRAPTOR.name

    def check_shape(self, what: object, rows: int, cols: int) -> None:
        """Raise UserError if an operand has no row or column, more than indices can tell apart, or
        so many that there is no memory for them."""
        index_bits = self.config.layout.index_bits
        for name, count in (("row", rows), ("column", cols)):
            if not 0 < count <= 1 << index_bits:
                wider = cure(self.config, "index_bits", (count - 1).bit_length()) if count else ""
                raise UserError(
                    f"{what}: must have between 1 and {1 << index_bits} {name}s with `index_bits` "
                    f"{index_bits}, not {count}{wider}"
                )
        check_memory(f"{what}: a product of {rows} x {cols}", LINE_BYTES * (rows + cols))


def choose_memory(name: str | None, backend: str, gigahertz: float | None) -> MemoryModel:
    """What --memory says; UserError if it cannot be, or if it, or the clock, is given to a backend
    to which nothing takes time."""
    if backend == "model":
        for option, given in (("--memory", name), ("--gigahertz", gigahertz)):
            if given is not None:
                raise UserError(
                    f"{option} must come with a backend that takes time, rtl or cycles, not with "
                    f"model"
                )
    memory = name or ("flat" if backend == "rtl" else "hbm")
    if memory not in MEMORIES:
        raise UserError(not_one_of("memory", MEMORIES, memory))
    if backend == "rtl" and memory != "flat":
        raise UserError(f"memory must be flat with the rtl backend, not {memory!r}")
    return MEMORIES[memory]


def named_semiring(name: str | None) -> str | None:
    """The semiring that the user or the application asks for, by the name of its row; UserError if
    there is none."""
    found = _ALIASES.get(name or "", name)
    if found is not None and found not in SEMIRINGS:
        raise UserError(not_one_of("semiring", SEMIRINGS, found))
    return found


def choose_sparse_unit(
    options: SparseOptions,
    semiring: str | None = None,
    *,
    app: str = "",
    value: str | None = None,
    mode: str = "rows",
) -> SparseChoice:
    """Check what the command line says; UserError if it cannot be run.

    ``semiring``, ``mode``: what the application or the user asks for; ``app``: the application's
    name, if it takes no other semiring; ``value``: a format that it takes unless the user sets one.
    """
    if mode not in MODES:
        raise UserError(not_one_of("mode", MODES, mode))
    semiring = named_semiring(semiring)
    check_backend(options.backend)
    memory = choose_memory(options.memory, options.backend, options.gigahertz)
    given = list(options.settings or ())
    names = named_parameters(options.config_file, given)
    chosen = {"lanes": options.lanes, "semiring": semiring}
    for name, wanted in chosen.items():
        fixed = name == "semiring" and app != ""
        if wanted is None or (fixed and name in names):
            continue
        if name in names:
            raise UserError(f"--{name} and a setting of `{name}` exclude each other")
        given.append(f"{name}={wanted}")
    if options.lanes is not None and "channels" not in names:
        given.append(f"channels={options.lanes}")
    if value is not None and "value" not in names:
        given.append(f"value={value}")
    if mode == "outer" and "outer_product" not in names:
        given.append("outer_product=true")
    config: Any = read_config(MATRAPTOR, options.config_file, given)
    if app and config.semiring != semiring:
        raise UserError(f"`semiring` must be {semiring} for {app}, not {config.semiring!r}")
    if mode == "outer" and not config.outer_product:
        raise UserError("`outer_product` must be true for mode outer, not false")
    check_report_and_tools(options.json_file, options.backend)
    return SparseChoice(
        config=config,
        backend=options.backend,
        memory=memory,
        gigahertz=GIGAHERTZ if options.gigahertz is None else options.gigahertz,
        json_file=options.json_file,
        mode=mode,
    )
