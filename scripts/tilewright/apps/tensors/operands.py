"""Tensors and factor matrices from files, rounded to the accelerator's format."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...errors import UserError
from ...hw.spec.formats import Format
from ...hw.spec.tensaurus import TensaurusConfig
from ...sim.sparse.ciss import rounded
from ...sim.sparse.rounding import values_of
from ...sim.sparse.tensor import Tensor, canonical
from ..common.limits import check_size
from ..common.rounding import round_to, warn_rounding

__all__ = ["as_stored", "dense_words", "everything"]


Patterns = NDArray[np.uint64]


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
    check_size(
        what, *tensor.shape, instead="run spmm and spmv take sparse matrices, without --dense"
    )
    found = np.zeros(tensor.shape, tensor.values.dtype)
    found[tuple(tensor.indices.T)] = tensor.values
    places = np.indices(tensor.shape).reshape(tensor.order, -1)
    return Tensor(shape=tensor.shape, indices=np.ascontiguousarray(places.T), values=found.ravel())


def dense_words(tensor: Tensor, fmt: Format, mode: int) -> Patterns:
    """Patterns of a tensor that has ``everything``, the slices' mode first."""
    words = round_to(tensor.values, fmt).words.reshape(tensor.shape)
    return np.ascontiguousarray(np.moveaxis(words, mode, 0))
