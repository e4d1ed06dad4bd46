"""Real and complex floats, as NumPy computes them: every elementwise result is rounded once, a sum
of products in NumPy's own order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from .kind import Array, need_matrices

__all__ = ["COMPLEX", "COMPLEX64", "FP32", "FP64", "Floats"]


@dataclass(frozen=True)
class Floats:
    """Floats of one dtype, real or complex."""

    name: str
    dtype: np.dtype[Any]

    subtracts: ClassVar[bool] = True
    exact: ClassVar[bool] = False

    @property
    def kind(self) -> str:
        return self.name

    @property
    def divides(self) -> bool:
        return True

    @property
    def zero(self) -> Any:
        return self.dtype.type(0)

    @property
    def one(self) -> Any:
        return self.dtype.type(1)

    @property
    def roundoff(self) -> float:
        """Half the distance from one to the next float: the error of one rounding."""
        return float(np.finfo(self.dtype).eps) / 2

    def array(self, x: npt.ArrayLike) -> Array:
        """Does as :meth:`Words.array`; a number is rounded, and may not become infinite by that."""
        given = np.asarray(x)
        kinds = "biufc" if self.dtype.kind == "c" else "biuf"
        if given.dtype.kind not in kinds:
            wanted = "numbers" if self.dtype.kind == "c" else "real numbers"
            raise TypeError(f"words of {self.name} must be {wanted}, not {given.dtype}")
        with np.errstate(over="ignore"):
            held = given.astype(self.dtype, copy=False)
        if held is not given and bool(np.any(np.isfinite(given) & ~np.isfinite(held))):
            raise ValueError(f"words of {self.name} do not hold the largest of the numbers given")
        return held

    def add(self, x: Array, y: Array) -> Array:
        return np.asarray(x + y)

    def subtract(self, x: Array, y: Array) -> Array:
        return np.asarray(x - y)

    def multiply(self, x: Array, y: Array) -> Array:
        return np.asarray(x * y)

    def divide(self, x: Array, y: Array) -> Array:
        return np.asarray(x / y)

    def product(self, a: Array, b: Array) -> Array:
        need_matrices(a, b)
        return np.asarray(a @ b)


FP32 = Floats("fp32", np.dtype(np.float32))
FP64 = Floats("fp64", np.dtype(np.float64))
COMPLEX64 = Floats("complex64", np.dtype(np.complex64))
COMPLEX = Floats("complex", np.dtype(np.complex128))
