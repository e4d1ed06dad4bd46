"""Dense operands beside a tensor, from files or drawn, rounded to the accelerator's format."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import UserError
from ...hw.spec.formats import Format, IntFormat
from ...sim.sparse.tensor import Tensor
from ..common.matrix_files import numeric, read_matrix, read_matrix_file
from ..common.rounding import round_to, warn_rounding

__all__ = ["Factor", "drawn_factor", "read_factor", "read_factors", "read_vector"]

Patterns = NDArray[np.uint64]


@dataclass(frozen=True)
class Factor:
    """A dense operand: its patterns, what they stand for, and where it comes from."""

    words: Patterns
    values: NDArray[Any]
    source: str


def read_factor(path: Path, rows: int, why: str, fmt: Format) -> Factor:
    """A matrix of so many rows. Raises UserError that says ``why`` they must be so many."""
    matrix = read_matrix(path)
    if np.iscomplexobj(matrix):
        raise UserError(f"{path}: holds complex numbers; values must be real")
    if len(matrix) != rows:
        raise UserError(f"{path}: must have {rows} rows, {why}, not {len(matrix)}")
    found = round_to(matrix, fmt)
    warn_rounding(path, found, fmt)
    return Factor(found.words, found.values, str(path))


def read_vector(path: Path, rows: int, why: str, fmt: Format) -> Factor:
    """A vector, or a matrix of one column. Raises UserError that says ``why`` it is so long."""
    found = read_matrix_file(path)
    array = numeric(found if isinstance(found, np.ndarray) else found.toarray(), path)
    if np.iscomplexobj(array):
        raise UserError(f"{path}: holds complex numbers; values must be real")
    if array.shape not in ((rows,), (rows, 1)):
        shape = " x ".join(map(str, array.shape))
        raise UserError(f"{path}: must be a vector of {rows} values, {why}, not {shape}")
    rounded = round_to(array.reshape(-1, 1), fmt)
    warn_rounding(path, rounded, fmt)
    return Factor(rounded.words, rounded.values, str(path))


def _random_factor(rng: np.random.Generator, rows: int, columns: int, fmt: Format) -> Factor:
    """Whole numbers of -8 to 8 in an integer format, else normally distributed numbers."""
    if isinstance(fmt, IntFormat):
        numbers: NDArray[Any] = rng.integers(-8, 9, (rows, columns))
    else:
        numbers = rng.standard_normal((rows, columns))
    found = round_to(numbers, fmt)
    return Factor(found.words, found.values, "random")


def drawn_factor(seed: int, rows: int, columns: int, fmt: Format) -> Factor:
    """A matrix drawn from a seed."""
    return _random_factor(np.random.default_rng(seed), rows, columns, fmt)


def read_factors(
    given: dict[int, Path], tensor: Tensor, others: tuple[int, ...], ranks: list[int | None],
    seed: int, fmt: Format,
) -> list[Factor]:  # fmt: skip
    """Reads factors from files, and draws the others as wide as requested, or as the first file."""
    rng = np.random.default_rng(seed)
    read = {}
    for other, rank in zip(others, ranks, strict=True):
        if other not in given:
            continue
        path = given[other]
        why = f"as mode {other + 1} has {tensor.shape[other]} indices"
        read[other] = read_factor(path, tensor.shape[other], why, fmt)
        columns = read[other].values.shape[1]
        if rank is not None and columns != rank:
            raise UserError(f"{path}: must have {rank} columns, as --rank says, not {columns}")
    default = 32 if len(set(ranks)) == 1 and not read else 16
    if read:
        default = next(iter(read.values())).values.shape[1]
    return [
        read.get(other) or _random_factor(rng, tensor.shape[other], rank or default, fmt)
        for other, rank in zip(others, ranks, strict=True)
    ]
