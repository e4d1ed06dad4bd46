"""What users may say about the accelerator of tensors, and the checks on it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from ...errors import UserError
from ...hw.spec.tensaurus import TENSAURUS, TensaurusConfig
from ...settings import read_config
from ...sim.tensaurus.work import STORES
from ...sim.timing.memories import MemoryModel
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
from ..sparse.options import (
    GIGAHERTZ,
    choose_memory,
    gigahertz_option,
    memory_option,
    named_semiring,
)

__all__ = ["TensorChoice", "TensorOptions", "choose_tensor_unit", "given_shape"]

_MODES = "ijkl"
_NAMES = {"f": "vectors", "f1": "scalars_1", "f2": "scalars_2"} | {
    letter: f"step_{mode}" for mode, letter in enumerate(_MODES)
}
"""What --tile may name, and what the planner calls it."""


@dataclass(frozen=True, kw_only=True)
class TensorOptions:
    """The accelerator a computation with tensors runs on, how, and where the report goes."""

    zero_based: Annotated[
        bool, typer.Option("--zero-based", help="Count indices of .tns files from 0.")
    ] = False
    shape: Annotated[
        str | None,
        typer.Option(
            metavar="N,N,...",
            help="Shape of the tensor in a .tns file; default: its largest indices.",
        ),
    ] = None
    dense: Annotated[
        bool,
        typer.Option(
            "--dense",
            help="Stream all elements of the tensor, zeros too, instead of its nonzeros in CISS.",
        ),
    ] = False
    tile: Annotated[
        str | None,
        typer.Option(
            metavar="NAME=N,...",
            help="Fix sizes of the tiles: i slices of an output (rows of the result); j, k, l "
            "indices of the other modes of a tile, in their order; f vectors of a row; f1, f2 "
            "scalars of a row; loops=kj, outermost first; store=buffer or store=memory: where the "
            "result is added up.",
            rich_help_panel=PANEL,
        ),
    ] = None
    explain: Annotated[
        bool,
        typer.Option("--explain", help="Print the cost of the tiles.", rich_help_panel=PANEL),
    ] = False
    config_file: ConfigOption = None
    settings: SettingsOption = None
    backend: BackendOption = "rtl"
    memory: Annotated[str | None, memory_option(PANEL)] = None
    gigahertz: Annotated[float | None, gigahertz_option(PANEL)] = None
    json_file: JsonOption = None


@dataclass(frozen=True, kw_only=True)
class TensorChoice:
    """The accelerator, checked. ``memory``: each channel, to the cycle model, whose clock is of so
    many ``gigahertz``; ``fixed``: of the tiles what the user chose; ``explain``: whether
    their cost is printed; ``dense``: whether all elements of a tensor are streamed."""

    config: TensaurusConfig
    backend: str
    memory: MemoryModel
    gigahertz: float
    json_file: Path | None
    fixed: Mapping[str, int | tuple[int, ...]]
    explain: bool
    dense: bool

    @property
    def unit(self) -> str:
        return TENSAURUS.name


def given_shape(options: TensorOptions) -> tuple[int, ...] | None:
    """What --shape says; UserError if it is no shape."""
    if options.shape is None:
        return None
    words = [word.strip() for word in options.shape.split(",")]
    if not all(re.fullmatch(r"[0-9]{1,10}", word) and 0 < int(word) < 1 << 32 for word in words):
        raise UserError(f"--shape must be sizes in 1..{(1 << 32) - 1}, not {options.shape!r}")
    return tuple(map(int, words))


def choose_tensor_unit(
    options: TensorOptions, *, order: int = 2, semiring: str | None = None, value: str | None = None
) -> TensorChoice:
    """Check what the command line says; UserError if it cannot be run.

    Parameters
    ----------
    order: modes of the tensor: the unit has as many unless the user sets the parameter
    semiring: that the user asks for; headers of streams are marked by a bit then, unless set
    value: a format that the application takes unless the user sets one
    """
    check_backend(options.backend)
    memory = choose_memory(options.memory, options.backend, options.gigahertz)
    semiring = named_semiring(semiring)
    fixed = _fixed(options.tile, order)
    given = list(options.settings or ())
    named = named_parameters(options.config_file, given)
    if semiring is not None:
        if "semiring" in named:
            raise UserError("--semiring and a setting of `semiring` exclude each other")
        given.append(f"semiring={semiring}")
    operators = semiring or named.get("semiring", "mma")
    if operators != "mma" and "marker" not in named:
        given.append("marker=bit")
    if order > 3 and "order" not in named:
        given.append(f"order={order}")
    if value is not None and "value" not in named:
        given.append(f"value={value}")
    config: Any = read_config(TENSAURUS, options.config_file, given)
    check_report_and_tools(options.json_file, options.backend)
    return TensorChoice(
        config=config,
        backend=options.backend,
        memory=memory,
        gigahertz=GIGAHERTZ if options.gigahertz is None else options.gigahertz,
        json_file=options.json_file,
        fixed=fixed,
        explain=options.explain,
        dense=options.dense,
    )


def _fixed(text: str | None, order: int) -> dict[str, int | tuple[int, ...]]:
    """What --tile says, as the planner takes it."""
    found: dict[str, int | tuple[int, ...]] = {}
    letters = _MODES[:order]
    names = [name for name in _NAMES if name not in _MODES or name in letters]
    names += ["loops", "store"]
    for part in text.split(",") if text is not None else ():
        name, equals, value = (word.strip() for word in part.partition("="))
        if not equals or name not in names:
            raise UserError(f"--tile must be of NAME=N, names {', '.join(names)}, not {part!r}")
        if name == "loops":
            if sorted(value) != list(letters[1:]):
                raise UserError(
                    f"loops of --tile must be {letters[1:]} in any order, not {value!r}"
                )
            found[name] = tuple(letters.index(letter) for letter in value)
            continue
        if name == "store":
            if value not in STORES:
                raise UserError(f"store of --tile must be {' or '.join(STORES)}, not {value!r}")
            found[name] = STORES.index(value)
            continue
        if not re.fullmatch(r"[0-9]{1,9}", value) or int(value) < 1:
            raise UserError(f"{name} of --tile must be an integer of at least 1, not {value!r}")
        found[_NAMES[name]] = int(value)
    return found
