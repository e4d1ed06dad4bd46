"""Tensors from files, as commands of some orders take them."""

from __future__ import annotations

from pathlib import Path

from ...errors import UserError
from ...sim.sparse.tensor import Tensor
from ..common.tensor_files import read_tensor
from .options import TensorOptions, given_shape

__all__ = ["read_some_tensor"]

_MOST_VALUES = 1 << 27
"""Values of the largest tensor."""


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
    if found.nnz > _MOST_VALUES:
        raise UserError(f"{path}: {found.nnz} values are too many; at most {_MOST_VALUES}")
    return found
