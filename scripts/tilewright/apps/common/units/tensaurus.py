"""Tensaurus, the accelerator of tensors, as the command line has it, checked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ....errors import UserError
from ....hw.spec.tensaurus import TENSAURUS, TensaurusConfig
from ....hw.spec.unit import Unit
from ....settings import read_config
from ....sim.tensaurus.work import STORES
from ..options import (
    PANEL,
    Choice,
    DeviceOptions,
    check_report_and_tools,
    gigahertz_option,
    named_parameters,
    named_semiring,
)

if TYPE_CHECKING:
    from ....sim.sparse.tensor import Tensor

__all__ = [
    "TENSAURUS_GIGAHERTZ",
    "TensaurusOptions",
    "TensorChoice",
    "TensorOptions",
    "choose_tensor_unit",
    "read_some_tensor",
]

_MOST_VALUES = 1 << 27
"""Values of the largest tensor."""

TENSAURUS_GIGAHERTZ = 1.0
"""Its clock, unless a user sets it: as many operations a second as the paper's elements, which work
in every other cycle of 2 GHz."""

_MODES = "ijkl"
_NAMES = {"f": "vectors", "f1": "scalars_1", "f2": "scalars_2"} | {
    letter: f"step_{mode}" for mode, letter in enumerate(_MODES)
}
"""Names in --tile, and the planner's names for them."""


@dataclass(frozen=True, kw_only=True)
class TensaurusOptions(DeviceOptions):
    """Options of the accelerator, with its own clock."""

    gigahertz: Annotated[float | None, gigahertz_option(f"{TENSAURUS_GIGAHERTZ:g}")] = None


@dataclass(frozen=True, kw_only=True)
class TensorOptions:
    """Options for reading a tensor from a file and cutting it into tiles."""

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


@dataclass(frozen=True, kw_only=True)
class TensorChoice(Choice[TensaurusConfig]):
    """The accelerator, checked. ``fixed``: of the tiles what the user chose; ``explain``: whether
    their cost is printed; ``dense``: whether all elements of a tensor are streamed."""

    unit: Unit = TENSAURUS
    fixed: Mapping[str, int | tuple[int, ...]]
    explain: bool
    dense: bool


def _given_shape(how: TensorOptions) -> tuple[int, ...] | None:
    """Parses --shape; UserError if it is not a shape."""
    if how.shape is None:
        return None
    words = [word.strip() for word in how.shape.split(",")]
    if not all(re.fullmatch(r"[0-9]{1,10}", word) and 0 < int(word) < 1 << 32 for word in words):
        raise UserError(f"--shape must be sizes in 1..{(1 << 32) - 1}, not {how.shape!r}")
    return tuple(map(int, words))


def read_some_tensor(path: Path, how: TensorOptions, orders: tuple[int, ...]) -> Tensor:
    """A tensor of one of some numbers of modes. Raises UserError as ``read_tensor`` does."""
    from ..tensor_files import read_tensor

    shape = _given_shape(how)
    if shape is not None and len(shape) not in orders:
        wanted = " or ".join(map(str, orders))
        raise UserError(f"--shape must be of {wanted} modes, not {len(shape)}")
    found = read_tensor(path, zero_based=how.zero_based, shape=shape)
    if found.order not in orders:
        wanted = " or ".join(map(str, orders))
        raise UserError(f"{path}: must have {wanted} modes, not {found.order}")
    if found.nnz > _MOST_VALUES:
        raise UserError(f"{path}: {found.nnz} values are too many; at most {_MOST_VALUES}")
    return found


def choose_tensor_unit(
    how: TensorOptions,
    options: DeviceOptions,
    *,
    order: int = 2,
    semiring: str | None = None,
    value: str | None = None,
) -> TensorChoice:
    """Check what the command line says; UserError if it cannot be run.

    Parameters
    ----------
    order: modes of the tensor: the unit has as many unless the user sets the parameter
    semiring: that the user asks for; headers of streams are marked by a bit then, unless set
    value: a format that the application takes unless the user sets one
    """
    device = options.checked(TENSAURUS_GIGAHERTZ)
    semiring = named_semiring(semiring)
    fixed = _fixed(how.tile, order)
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
    check_report_and_tools(options.json_file, options.backend, options.wire)
    return TensorChoice(
        config=config,
        fixed=fixed,
        explain=how.explain,
        dense=how.dense,
        **device,
    )


def _fixed(text: str | None, order: int) -> dict[str, int | tuple[int, ...]]:
    """Parses --tile into arguments of the planner."""
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
