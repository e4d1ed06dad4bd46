"""Shared parts of CP and Tucker factorisations: products on the accelerator, and in float64."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import UserError
from ...sim.sparse.tensor import Tensor, canonical
from ...sim.tensaurus.work import Work
from ..common.files import write_whole
from ..common.matrix_files import read_array
from ..common.rounding import round_to
from ..common.units.tensaurus import TensorChoice
from ..common.units.tensaurus_products import (
    TensorProducts,
    as_stored,
    dense_words,
    everything,
    numbers_of,
)
from .agreement import reference

__all__ = ["Multiplied", "fit_row", "start_factorising", "write_archive"]


Ints = NDArray[np.int64]


@dataclass(frozen=True)
class MissingValues:
    """Entries of a tensor that stand for missing values.

    Parameters
    ----------
    entries: their numbers
    places: their indices, (entries, order)
    """

    entries: Ints
    places: Ints

    def __len__(self) -> int:
        return len(self.entries)

    def of_terms(self, weights: Floats, factors: list[Floats]) -> Floats:
        """Returns the values of a sum of outer products in these places."""
        products = np.broadcast_to(weights, (len(self), len(weights)))
        for mode, factor in enumerate(factors):
            products = products * factor[self.places[:, mode]]
        found: Floats = products.sum(axis=1)
        return found


def split_missing(path: Path, tensor: Tensor, mask: Path | None) -> tuple[Tensor, Ints]:
    """Splits a tensor into its known values and the places of the missing ones: NaN, and where
    ``mask``, an array of the tensor's shape, is 0.

    Raises UserError if the mask is no such array, or nothing is known.
    """
    places = np.zeros((0, tensor.order), np.int64)
    if mask is not None:
        known = read_array(mask)
        if known.shape != tensor.shape:
            raise UserError(
                f"{mask}: must be {_shape(tensor.shape)}, as {path} is, not {_shape(known.shape)}"
            )
        if not ((known == 0) | (known == 1)).all():
            raise UserError(f"{mask}: must hold 1 where a value is known and 0 where it is missing")
        places = np.argwhere(known == 0)
        tensor = _only(tensor, known[tuple(tensor.indices.T)] != 0)
    if tensor.values.dtype.kind == "f" and np.isnan(tensor.values).any():
        # One entry per place is enough, as entries of one place are added.
        tensor = canonical(tensor)
        nan = np.isnan(tensor.values)
        places = np.concatenate([places, tensor.indices[nan]])
        tensor = _only(tensor, ~nan)
    if len(places) and not tensor.values.any():
        raise UserError(f"{path}: has no values but zeros and missing ones; nothing to factorise")
    return tensor, places


def _only(tensor: Tensor, which: NDArray[np.bool_]) -> Tensor:
    return Tensor(shape=tensor.shape, indices=tensor.indices[which], values=tensor.values[which])


def _shape(sizes: tuple[int, ...]) -> str:
    return " x ".join(map(str, sizes))


def with_missing(tensor: Tensor, places: Ints, *, dense: bool) -> tuple[Tensor, MissingValues]:
    """The tensor with an entry of 0 for each missing value; of a ``dense`` one these are there."""
    if dense:
        entries = np.ravel_multi_index(tuple(places.T), tensor.shape).astype(np.int64)
        return tensor, MissingValues(entries, places)
    entries = np.arange(tensor.nnz, tensor.nnz + len(places))
    values = np.concatenate([tensor.values, np.zeros(len(places), tensor.values.dtype)])
    indices = np.concatenate([tensor.indices, places])
    found = Tensor(shape=tensor.shape, indices=indices, values=values)
    return found, MissingValues(entries, places)


Floats = NDArray[np.float64]

_APART = {"fp64": 1e-12, "fp32": 1e-5, "fp16": 0.05, "bf16": 0.3}
"""Largest difference of fits, relative to that in float64, by the format of the products."""

_LEAST_FIT = 0.01
"""Smaller fits are compared as if they were this one: they are differences of large numbers."""

_ROUNDING = {"fp64": 2**-47, "fp32": 2**-18, "fp16": 2**-5, "bf16": 2**-2}
"""Largest difference of the squares of 1 - fit: 64 roundings, as they are differences of numbers
near 1. It decides for nearly exact fits, where 1 - fit is the root of rounding errors."""


@dataclass(kw_only=True, eq=False)
class Multiplied:
    """A tensor whose products are made on the accelerator, or in float64.

    Parameters
    ----------
    missing: which of the tensor's entries stand for missing values; they are 0 at first
    """

    kernel: str
    tensor: Tensor
    choice: TensorChoice
    products: TensorProducts
    missing: MissingValues

    @property
    def norm(self) -> float:
        return sqrt(float((self.tensor.values.astype(np.float64) ** 2).sum()))

    def on_unit(self, mode: int, factors: Sequence[Floats]) -> Floats:
        """The product along a mode; factors are rounded to the accelerator's format. Raises
        UserError if it overflows."""
        config, shape = self.choice.config, self.tensor.shape
        order = (mode, *(other for other in range(len(shape)) if other != mode))
        work = Work(
            kernel=self.kernel,
            shape=tuple(shape[one] for one in order),
            ranks=tuple(factor.shape[1] for factor in factors),
            dense=self.choice.dense,
        )
        operands = {
            number: round_to(factor, config.format).words
            for number, factor in enumerate(factors, 1)
        }
        if self.choice.dense:
            words = dense_words(self.tensor, config.format, mode)
            found = self.products.multiply(work, words, operands)
        else:
            found = self.products.multiply(work, self.tensor, operands, mode)
        numbers = np.asarray(numbers_of(found, config.sum_format), np.float64)
        if not np.isfinite(numbers).all():
            raise UserError(
                f"a product along mode {mode + 1} is beyond {config.value}, or of no number; a "
                "wider `value` may do"
            )
        return numbers

    def in_float64(self, mode: int, factors: Sequence[Floats]) -> Floats:
        """Computes the product in float64, without the accelerator."""
        kronecker = self.kernel == "ttmc"
        found = reference(self.tensor, mode, list(factors), kronecker=kronecker)
        ranks = [factor.shape[1] for factor in factors]
        return found.reshape(len(found), *(ranks if kronecker else ranks[:1]))

    def fill(self, weights: Floats, factors: list[Floats]) -> tuple[float, float]:
        """Set missing values to those of a sum of outer products. Returns the tensor's norm then,
        and by how much its inner product with that sum has grown."""
        entries = self.missing.entries
        values = self.tensor.values.astype(np.float64)
        made = self.missing.of_terms(weights, factors)
        more = float(((made - values[entries]) * made).sum())
        values[entries] = made
        self.tensor = replace(self.tensor, values=values)
        return self.norm, more

    def in_words(self) -> str:
        """Describes the tensor for the report: shape and values."""
        shape = " x ".join(f"{size:,}" for size in self.tensor.shape)
        missing = f", {len(self.missing):,} missing" if len(self.missing) else ""
        return f"{shape}, {self.tensor.nnz - len(self.missing):,} values{missing}"

    def in_json(self, file: Path) -> dict[str, Any]:
        """Describes the tensor for the JSON report."""
        return {"file": str(file), "shape": list(self.tensor.shape),
                "values": self.tensor.nnz - len(self.missing),
                "missing": len(self.missing)}  # fmt: skip


def start_factorising(
    file: Path, kernel: str, tensor: Tensor, choice: TensorChoice, *, mask: Path | None = None,
    may_miss: bool = False,
) -> Multiplied:  # fmt: skip
    """The tensor of a file, as the chosen unit has it.

    Parameters
    ----------
    kernel: mttkrp or ttmc
    mask: an array that is 0 where the tensor's values are missing
    may_miss: NaN are missing values, too
    """
    config = choice.config
    places = np.zeros((0, tensor.order), np.int64)
    if may_miss:
        tensor, places = split_missing(file, tensor, mask)
    # Before a warning says so, too.
    _check_finite(file, tensor, config.value)
    stored = as_stored(file, tensor, config, 0)
    _check_finite(file, stored, config.value)
    if not stored.values.any():
        raise UserError(f"{file}: has no values but zeros; there is nothing to factorise")
    if choice.dense:
        stored = everything(file, stored)
    stored, missing = with_missing(stored, places, dense=choice.dense)
    return Multiplied(
        kernel=kernel,
        tensor=stored,
        choice=choice,
        products=TensorProducts(choice),
        missing=missing,
    )


def _check_finite(file: Path, tensor: Tensor, value: str) -> None:
    if not np.isfinite(tensor.values).all():
        raise UserError(f"{file}: values must be finite in {value} to be factorised")


def fit_row(
    fits: list[float], expected: list[float], value: str
) -> tuple[list[tuple[str, str]], bool, float]:
    """Lines about a fit and the same in float64, whether they are too far apart for a format, and
    by how much they differ, relative to the latter."""
    apart = abs(fits[-1] - expected[-1]) / max(abs(expected[-1]), _LEAST_FIT)
    left = abs((1 - fits[-1]) ** 2 - (1 - expected[-1]) ** 2)
    wrong = not (apart <= _APART[value] or left <= _ROUNDING[value])
    verdict = "DIFFERENT: " if wrong else ""
    rows = [
        ("fit", f"{fits[-1]:.9f} after {len(fits)} iterations"),
        ("reference", f"{verdict}{expected[-1]:.9f} after as many in float64 from the same start; "
                      f"relative difference {apart:.1e}"),
    ]  # fmt: skip
    return rows, wrong, apart


def write_archive(path: Path, arrays: dict[str, Any]) -> None:
    """Write arrays by name, .npz."""
    write_whole(path, lambda file: np.savez(file, **arrays))
