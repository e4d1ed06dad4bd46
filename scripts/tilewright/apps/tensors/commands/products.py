"""``tilewright run spmttkrp`` and ``spttmc``: a sparse tensor times matrices on Tensaurus."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ....errors import UserError
from ....numbers_given import whole
from ...common.files import ARRAY_NAMES, check_output, check_readable
from ...common.units.tensaurus import (
    TensaurusOptions,
    TensorChoice,
    TensorOptions,
    choose_tensor_unit,
)

if TYPE_CHECKING:
    from ....sim.sparse.tensor import Tensor

__all__ = ["spmttkrp", "spttmc"]

_ModeOption = Annotated[
    int,
    typer.Option(
        parser=whole("--mode", 1), metavar="N", help="Mode of the result's rows, counted from 1."
    ),
]
_FactorOption = Annotated[
    list[str] | None,
    typer.Option(
        "--factor",
        metavar="N=FILE",
        help=f"The matrix of mode N, counted from 1, {ARRAY_NAMES}; else random.",
    ),
]
_SeedOption = Annotated[
    int, typer.Option(parser=whole("--seed", 0), metavar="N", help="Seed of the random matrices.")
]


def spmttkrp(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The tensor, .tns.")],
    mode: _ModeOption = 1,
    rank: Annotated[
        int | None,
        typer.Option(parser=whole("--rank", 1, 4096), metavar="F",
                     help="Columns of the matrices; default 32, or those of the files."),
    ] = None,
    factor: _FactorOption = None,
    seed: _SeedOption = 0,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help=f"Write the result, {ARRAY_NAMES}.")
    ] = None,
    *,
    how: TensorOptions,
    options: TensaurusOptions,
) -> None:  # fmt: skip
    """Multiply a sparse tensor with the Khatri-Rao product of matrices (MTTKRP), along any mode.

    Y(i,:) = sum over j, k of a(i,j,k) times the Hadamard product of B(j,:) and C(k,:); orders 3 and
    4; checked against NumPy in float64.
    """
    if output:
        check_output(output)
    tensor, choice = _start(file, mode, how, options)
    others = _others(tensor, mode - 1)
    given = _given(factor, others)
    from ..factors import read_factors

    fmt = choice.config.format
    factors = read_factors(given, tensor, others, [rank] * len(others), seed, fmt)
    ranks = {found.values.shape[1] for found in factors}
    if len(ranks) > 1:
        wrong = next(f for f in factors if f.values.shape[1] != factors[0].values.shape[1])
        raise UserError(
            f"{wrong.source}: must have {factors[0].values.shape[1]} columns, as "
            f"{factors[0].source} has, not {wrong.values.shape[1]}"
        )
    from ..products import multiply_tensor

    multiply_tensor("mttkrp", file, tensor, mode - 1, factors, choice, output)


def spttmc(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The tensor, .tns.")],
    mode: _ModeOption = 1,
    rank: Annotated[
        str | None,
        typer.Option(metavar="F[,F...]",
                     help="Columns of the matrices of the other modes, one number for all or one "
                     "each; default 16, or those of the files."),
    ] = None,
    factor: _FactorOption = None,
    seed: _SeedOption = 0,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write the result, a tensor, .npy or "
                                                         ".npz.")
    ] = None,
    *,
    how: TensorOptions,
    options: TensaurusOptions,
) -> None:  # fmt: skip
    """Multiply a sparse tensor with a matrix in each mode but one (TTMc).

    Y(i,f,g) = sum over j, k of a(i,j,k) B(j,f) C(k,g); orders 3 and 4; checked against NumPy in
    float64.
    """
    if output:
        check_output(output, (".npy", ".npz"))
    tensor, choice = _start(file, mode, how, options)
    others = _others(tensor, mode - 1)
    given, ranks = _given(factor, others), _ranks(rank, len(others))
    from ..factors import read_factors

    factors = read_factors(given, tensor, others, ranks, seed, choice.config.format)
    from ..products import multiply_tensor

    multiply_tensor("ttmc", file, tensor, mode - 1, factors, choice, output)


def _start(
    file: Path, mode: int, how: TensorOptions, options: TensaurusOptions
) -> tuple[Tensor, TensorChoice]:
    """A tensor, and the unit that takes it."""
    choose_tensor_unit(replace(how, tile=None), options, order=4)
    check_readable(file)
    from ...common.units.tensaurus import read_some_tensor

    tensor = read_some_tensor(file, how, (3, 4))
    if mode > tensor.order:
        raise UserError(f"--mode must be in 1..{tensor.order}, as {file} has {tensor.order} "
                        f"modes, not {mode}")  # fmt: skip
    choice = choose_tensor_unit(how, options, order=tensor.order)
    config = choice.config
    if config.semiring != "mma":
        raise UserError(f"`semiring` must be mma for tensors of {tensor.order} modes, "
                        f"not {config.semiring!r}")  # fmt: skip
    if config.order < tensor.order:
        raise UserError(f"`order` must be at least {tensor.order} for {file}, not {config.order}")
    return tensor, choice


def _others(tensor: Tensor, mode: int) -> tuple[int, ...]:
    """The modes that have matrices, in their order."""
    from ....sim.sparse.tensor import modes_from

    return modes_from(tensor.order, mode)[1:]


def _given(texts: list[str] | None, others: tuple[int, ...]) -> dict[int, Path]:
    """Files of factor matrices, by mode, which users count from 1."""
    found: dict[int, Path] = {}
    for text in texts or ():
        name, equals, path = text.partition("=")
        if not equals or not path or not re.fullmatch(r"[0-9]{1,3}", name.strip()):
            raise UserError(f"--factor must be N=FILE, N a mode, not {text!r}")
        if (number := int(name)) - 1 not in others:
            wanted = " or ".join(str(other + 1) for other in others)
            raise UserError(f"--factor must be of mode {wanted}, not {number}")
        if number - 1 in found:
            raise UserError(f"--factor must name mode {number} once")
        found[number - 1] = Path(path)
    return found


def _ranks(text: str | None, count: int) -> list[int | None]:
    """Parses spttmc's option --rank."""
    if text is None:
        return [None] * count
    words = text.split(",")
    read = whole("--rank", 1, 4096)
    numbers: list[int | None] = [read(word.strip()) for word in words]
    if len(numbers) not in (1, count):
        raise UserError(f"--rank must be 1 or {count} numbers, not {len(numbers)}")
    return numbers * (count // len(numbers))
