"""A sparse tensor times matrices on the accelerator, held against NumPy in float64."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ...sim.sparse.tensor import Tensor, modes_from
from ...sim.tensaurus.work import Work
from ..common.matrix_files import write_array
from ..common.units.tensaurus import TensorChoice
from ..common.units.tensaurus_products import (
    TensorProducts,
    as_stored,
    dense_words,
    everything,
    numbers_of,
    tensor_report,
)
from .agreement import TensorAgreement, compare, verdict, warn_result
from .factors import Factor

__all__ = ["multiply_tensor"]


def multiply_tensor(
    kernel: str, file: Path, tensor: Tensor, mode: int, factors: list[Factor],
    choice: TensorChoice, output: Path | None,
) -> None:  # fmt: skip
    """Multiply a tensor with matrices, write the result if that is asked for, and report.

    ``kernel``: mttkrp or ttmc. Raises UserError for values that the unit does not take.
    """
    tensor = as_stored(file, tensor, choice.config, mode)
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
    tensor_report(
        f"sp{kernel}", title, rows, choice, tally, details, wrong=bool(agreement.wrong)
    ).finish()


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
