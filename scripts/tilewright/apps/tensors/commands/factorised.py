"""Defines the options of the factorisation commands; reads their tensor and chooses the unit."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ....errors import UserError
from ....hw.spec.formats import FloatFormat
from ....numbers_given import real, whole
from ...common.files import TENSOR_NAMES, check_readable
from ...common.units.tensaurus import (
    TensaurusOptions,
    TensorChoice,
    TensorOptions,
    choose_tensor_unit,
)

if TYPE_CHECKING:
    from ....sim.sparse.tensor import Tensor

__all__ = ["Iterations", "Seed", "TensorFile", "Tolerance", "read_factorised"]

TensorFile = Annotated[Path, typer.Argument(metavar="FILE", help=f"The tensor, {TENSOR_NAMES}.")]
Iterations = Annotated[
    int,
    typer.Option(
        parser=whole("--iterations", 1, 1000), metavar="N", help="Stop after N iterations."
    ),
]
Tolerance = Annotated[
    float,
    typer.Option(
        parser=real("--tolerance", 0, 1), metavar="T",
        help="Stop when the fit changes by less than T.",
    ),
]  # fmt: skip
Seed = Annotated[
    int, typer.Option(parser=whole("--seed", 0), metavar="N", help="Seed of the random start.")
]


def read_factorised(
    file: Path, app: str, how: TensorOptions, options: TensaurusOptions
) -> tuple[Tensor, TensorChoice]:
    """The tensor of a file, and the unit that ``app`` runs on."""
    choose_tensor_unit(how, options, order=4)
    check_readable(file)
    from ...common.units.tensaurus import read_some_tensor

    tensor = read_some_tensor(file, how, (3, 4))
    choice = choose_tensor_unit(how, options, order=tensor.order)
    config = choice.config
    if config.semiring != "mma" or not isinstance(config.format, FloatFormat):
        raise UserError(
            f"{app} takes `semiring` mma and a float format, not {config.semiring!r} and "
            f"{config.value!r}"
        )
    if config.order < tensor.order:
        raise UserError(f"`order` must be at least {tensor.order} for {file}, not {config.order}")
    return tensor, choice
