"""Tensors and factor matrices from files, rounded to the accelerator's format."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import UserError
from ...hw.spec.formats import Format, IntFormat
from ...hw.spec.tensaurus import TensaurusConfig
from ...sim.sparse.ciss import rounded
from ...sim.sparse.rounding import values_of
from ...sim.sparse.tensor import Tensor, canonical
from ..common.limits import check_size
from ..common.matrix_files import read_matrix
from ..common.rounding import round_to, warn_rounding
from ..common.tensor_files import read_tensor
from .options import TensorOptions, given_shape

__all__ = [
    "MOST_VALUES",
    "Factor",
    "as_stored",
    "dense_words",
    "everything",
    "random_factor",
    "read_factor",
    "read_some_tensor",
]

MOST_VALUES = 1 << 27
"""Values of the largest tensor."""

Patterns = NDArray[np.uint64]


@dataclass(frozen=True)
class Factor:
    """A dense operand: its patterns, what they stand for, and where it comes from."""

    words: Patterns
    values: NDArray[Any]
    source: str


def read_some_tensor(path: Path, options: TensorOptions, orders: tuple[int, ...]) -> Tensor:
    """A tensor of one of some numbers of modes. Raises UserError as ``read_tensor`` does."""
    shape = given_shape(options)
    if shape is not None and len(shape) not in orders:
        wanted = " or ".join(map(str, orders))
        raise UserError(f"--shape must be of {wanted} modes, not {len(shape)}")
    found = read_tensor(path, zero_based=options.zero_based, shape=shape)
    if found.order not in orders:
        wanted = " or ".join(map(str, orders))
        raise UserError(f"{path}: must have {wanted} modes, not {found.order}")
    if found.nnz > MOST_VALUES:
        raise UserError(f"{path}: {found.nnz} values are too many; at most {MOST_VALUES}")
    return found


def as_stored(path: Path, tensor: Tensor, config: TensaurusConfig, mode: int) -> Tensor:
    """The tensor as a stream has it: values of one place added, rounded to the format, zeros left
    out if they mark headers. Says on stderr what rounding destroyed."""
    layout = config.layout(tensor.order)
    warn_rounding(path, round_to(canonical(tensor, mode).values, config.format), config.format)
    try:
        found = rounded(tensor, layout, mode)
    except ValueError as error:
        raise UserError(f"{path}: {error}") from None
    values = values_of(found.values, config.format)
    return Tensor(shape=tensor.shape, indices=tensor.indices[found.order], values=values)


def everything(what: object, tensor: Tensor) -> Tensor:
    """The tensor with every element an entry, zeros too, in the order of its modes. Raises
    UserError if these are too many."""
    check_size(what, *tensor.shape)
    found = np.zeros(tensor.shape, tensor.values.dtype)
    found[tuple(tensor.indices.T)] = tensor.values
    places = np.indices(tensor.shape).reshape(tensor.order, -1)
    return Tensor(shape=tensor.shape, indices=np.ascontiguousarray(places.T), values=found.ravel())


def dense_words(tensor: Tensor, fmt: Format, mode: int) -> Patterns:
    """Patterns of a tensor that has ``everything``, the slices' mode first."""
    words = round_to(tensor.values, fmt).words.reshape(tensor.shape)
    return np.ascontiguousarray(np.moveaxis(words, mode, 0))


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


def random_factor(rng: np.random.Generator, rows: int, columns: int, fmt: Format) -> Factor:
    """Whole numbers of -8 to 8 in an integer format, else normally distributed numbers."""
    if isinstance(fmt, IntFormat):
        numbers: NDArray[Any] = rng.integers(-8, 9, (rows, columns))
    else:
        numbers = rng.standard_normal((rows, columns))
    found = round_to(numbers, fmt)
    return Factor(found.words, found.values, "random")
