"""``tilewright run spmttkrp`` and ``spttmc``: a sparse tensor times matrices on Tensaurus."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from ...errors import UserError
from ...numbers_given import whole
from ...sim.sparse.tensor import Tensor, modes_from
from ...sim.tensaurus.work import Work
from ..common.files import check_output
from ..common.matrix_files import write_array
from .agreement import TensorAgreement, compare, verdict, warn_result
from .operands import (
    Factor,
    as_stored,
    dense_words,
    everything,
    random_factor,
    read_factor,
    read_some_tensor,
)
from .options import TensorChoice, TensorOptions, choose_tensor_unit
from .report import finish_tensors
from .session import TensorProducts, numbers_of

__all__ = ["spmttkrp", "spttmc"]

_ModeOption = Annotated[
    int,
    typer.Option(
        parser=whole("--mode", 0), metavar="N", help="The mode of the result's rows, from 0 on."
    ),
]
_FactorOption = Annotated[
    list[str] | None,
    typer.Option(
        "--factor", metavar="N=FILE", help="The matrix of mode N, .npy or .mtx; else random."
    ),
]
_SeedOption = Annotated[
    int, typer.Option(parser=whole("--seed", 0), metavar="N", help="Of random matrices.")
]


def spmttkrp(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The tensor, .tns.")],
    mode: _ModeOption = 0,
    rank: Annotated[
        int | None,
        typer.Option(parser=whole("--rank", 1, 4096), metavar="F",
                     help="Columns of the matrices; default 32, or those of the files."),
    ] = None,
    factor: _FactorOption = None,
    seed: _SeedOption = 0,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="The result, .npy or .mtx.")
    ] = None,
    *,
    options: TensorOptions,
) -> None:  # fmt: skip
    """Multiply a sparse tensor with the Khatri-Rao product of matrices (MTTKRP), along any mode.

    Y(i,:) = sum over j, k of a(i,j,k) times the Hadamard product of B(j,:) and C(k,:); orders 3 and
    4; checked against NumPy in float64.
    """
    if output:
        check_output(output)
    tensor, choice = _start(file, mode, options)
    given = _given(factor, tensor, mode)
    others = modes_from(tensor.order, mode)[1:]
    factors = _factors(given, tensor, others, [rank] * len(others), seed, choice)
    ranks = {found.values.shape[1] for found in factors}
    if len(ranks) > 1:
        wrong = next(f for f in factors if f.values.shape[1] != factors[0].values.shape[1])
        raise UserError(
            f"{wrong.source}: must have {factors[0].values.shape[1]} columns, as "
            f"{factors[0].source} has, not {wrong.values.shape[1]}"
        )
    _run("spmttkrp", "mttkrp", file, tensor, mode, factors, choice, output)


def spttmc(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The tensor, .tns.")],
    mode: _ModeOption = 0,
    rank: Annotated[
        str | None,
        typer.Option(metavar="F[,F...]",
                     help="Columns of the matrices of the other modes, one number for all or one "
                     "each; default 16, or those of the files."),
    ] = None,
    factor: _FactorOption = None,
    seed: _SeedOption = 0,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="The result, a tensor, .npy.")
    ] = None,
    *,
    options: TensorOptions,
) -> None:  # fmt: skip
    """Multiply a sparse tensor with a matrix in each mode but one (TTMc).

    Y(i,f,g) = sum over j, k of a(i,j,k) B(j,f) C(k,g); orders 3 and 4; checked against NumPy in
    float64.
    """
    if output:
        check_output(output, (".npy",))
    tensor, choice = _start(file, mode, options)
    given = _given(factor, tensor, mode)
    others = modes_from(tensor.order, mode)[1:]
    factors = _factors(given, tensor, others, _ranks(rank, len(others)), seed, choice)
    _run("spttmc", "ttmc", file, tensor, mode, factors, choice, output)


def _start(file: Path, mode: int, options: TensorOptions) -> tuple[Tensor, TensorChoice]:
    """The tensor as the chosen unit has it."""
    # Before a large file is read.
    choose_tensor_unit(replace(options, tile=None), order=4)
    tensor = read_some_tensor(file, options, (3, 4))
    if mode >= tensor.order:
        raise UserError(f"--mode must be in 0..{tensor.order - 1}, as {file} has {tensor.order} "
                        f"modes, not {mode}")  # fmt: skip
    choice = choose_tensor_unit(options, order=tensor.order)
    config = choice.config
    if config.semiring != "mma":
        raise UserError(f"`semiring` must be mma for tensors of {tensor.order} modes, "
                        f"not {config.semiring!r}")  # fmt: skip
    if config.order < tensor.order:
        raise UserError(f"`order` must be at least {tensor.order} for {file}, not {config.order}")
    return as_stored(file, tensor, config, mode), choice


def _given(texts: list[str] | None, tensor: Tensor, mode: int) -> dict[int, Path]:
    """Files of factor matrices, by mode."""
    found: dict[int, Path] = {}
    others = modes_from(tensor.order, mode)[1:]
    for text in texts or ():
        name, equals, path = text.partition("=")
        if not equals or not path or not re.fullmatch(r"[0-9]{1,3}", name.strip()):
            raise UserError(f"--factor must be N=FILE, N a mode, not {text!r}")
        if (number := int(name)) not in others:
            wanted = " or ".join(map(str, others))
            raise UserError(f"--factor must be of mode {wanted}, not {number}")
        if number in found:
            raise UserError(f"--factor must name mode {number} once")
        found[number] = Path(path)
    return found


def _ranks(text: str | None, count: int) -> list[int | None]:
    """Of spttmc's option."""
    if text is None:
        return [None] * count
    words = text.split(",")
    read = whole("--rank", 1, 4096)
    numbers: list[int | None] = [read(word.strip()) for word in words]
    if len(numbers) not in (1, count):
        raise UserError(f"--rank must be 1 or {count} numbers, not {len(numbers)}")
    return numbers * (count // len(numbers))


def _factors(
    given: dict[int, Path], tensor: Tensor, others: tuple[int, ...], ranks: list[int | None],
    seed: int, choice: TensorChoice,
) -> list[Factor]:  # fmt: skip
    """Those from files, and random ones as wide as asked for, or as the first file."""
    rng, fmt = np.random.default_rng(seed), choice.config.format
    read = {}
    for other, rank in zip(others, ranks, strict=True):
        if other not in given:
            continue
        path = given[other]
        why = f"as mode {other} has {tensor.shape[other]} indices"
        read[other] = read_factor(path, tensor.shape[other], why, fmt)
        columns = read[other].values.shape[1]
        if rank is not None and columns != rank:
            raise UserError(f"{path}: must have {rank} columns, as --rank says, not {columns}")
    default = 32 if len(set(ranks)) == 1 and not read else 16
    if read:
        default = next(iter(read.values())).values.shape[1]
    return [
        read.get(other) or random_factor(rng, tensor.shape[other], rank or default, fmt)
        for other, rank in zip(others, ranks, strict=True)
    ]


def _run(
    app: str, kernel: str, file: Path, tensor: Tensor, mode: int, factors: list[Factor],
    choice: TensorChoice, output: Path | None,
) -> None:  # fmt: skip
    config, modes = choice.config, modes_from(tensor.order, mode)
    ranks = tuple(found.values.shape[1] for found in factors)
    shape = tuple(tensor.shape[one] for one in modes)
    work = Work(kernel=kernel, shape=shape, ranks=ranks, dense=choice.dense)
    operands = {number: found.words for number, found in enumerate(factors, 1)}
    tensor = everything(file, tensor) if choice.dense else tensor
    with TensorProducts(choice) as products:
        if choice.dense:
            words = products.multiply(work, dense_words(tensor, config.format, mode), operands)
        else:
            words = products.multiply(work, tensor, operands, mode)
    result = numbers_of(words, config.sum_format)
    tally = products.tally
    agreement = _agreement(choice, tensor, mode, factors, result, kernel == "ttmc", tally.tiles)
    warn_result(f"the result of {file.name}", agreement, config.sum_format)
    rows = [
        ("tensor", f"{_shape(tensor.shape)}, {tensor.nnz:,} values, along mode {mode}"),
        ("matrices", "; ".join(
            f"mode {one}: {_shape(found.words.shape)}, {found.source}"
            for one, found in zip(modes[1:], factors, strict=True)
        )),
        ("result", _shape(result.shape)),
        ("reference", verdict(agreement)),
    ]  # fmt: skip
    if output:
        write_array(output, result)
        rows.append(("written", str(output)))
    details = {
        "tensor": {"file": str(file), "shape": list(tensor.shape), "values": tensor.nnz},
        "mode": mode,
        "matrices": [{"mode": one, "source": found.source, "shape": list(found.words.shape)}
                     for one, found in zip(modes[1:], factors, strict=True)],
        "result": list(result.shape),
        "reference": agreement.to_json(),
    }  # fmt: skip
    title = f"{'TTMc' if kernel == 'ttmc' else 'MTTKRP'} of {file.name} along mode {mode}"
    finish_tensors(app, title, rows, choice, tally, details, wrong=bool(agreement.wrong))


def _agreement(
    choice: TensorChoice, tensor: Tensor, mode: int, factors: list[Factor], result: Any,
    kronecker: bool, tiles: int,
) -> TensorAgreement:  # fmt: skip
    return compare(
        choice.config.sum_format, tensor, mode, [found.values for found in factors],
        result.reshape(len(result), -1), kronecker=kronecker, tiles=tiles,
    )  # fmt: skip


def _shape(shape: tuple[int, ...]) -> str:
    return " x ".join(f"{size:,}" for size in shape)
