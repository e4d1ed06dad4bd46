"""Products of sparse tensors that are measured on a mapped array and on a Tensaurus."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from .sparse_inputs import drawn, skewed
from .sparse_sides import Kernel

if TYPE_CHECKING:
    from ...sim.sparse.tensor import Tensor

__all__ = ["DENSITIES", "KERNELS", "Case", "cases_of"]

_MEMORY: dict[str, Any] = {"data_bits": 128, "outstanding": 8}
_MAPPED: dict[str, Any] = {"largest": 0, "format": "fp32", "managers": 1, "pipeline": 6, **_MEMORY}
_TENSAURUS: dict[str, Any] = {"rows": 4, "channels": 1, "index_bits": 16, **_MEMORY}
_ALONE: dict[str, Any] = {
    **_TENSAURUS, "order": 2, "cols": 1, "vlen": 1, "spm_bytes": 2048, "out_bytes": 1024,
}  # fmt: skip
_VECTORS: dict[str, Any] = {
    **_TENSAURUS, "order": 3, "cols": 2, "vlen": 4, "spm_bytes": 8192, "out_bytes": 32768,
}  # fmt: skip

KERNELS = {
    "spmv": Kernel(
        kernel="mv", shape=(256, 256), columns=1, tensaurus=_ALONE,
        mapped={"design": "sparse/spmv_ciss", **_MAPPED},
    ),
    "spmm": Kernel(
        kernel="mm", shape=(256, 256), columns=64, tensaurus=_VECTORS,
        mapped={"design": "sparse/spmm", **_MAPPED},
    ),
    "spmm, half sums": Kernel(
        kernel="mm", shape=(256, 256), columns=64,
        tensaurus={**_VECTORS, "out_bytes": 16384},
        mapped={"design": "sparse/spmm", **_MAPPED},
    ),
    "spmttkrp": Kernel(
        kernel="mttkrp", shape=(64, 64, 64), columns=64, tensaurus=_VECTORS,
        mapped={"design": "sparse/spmttkrp", **_MAPPED},
    ),
    "spmttkrp of 4 lanes": Kernel(
        kernel="mttkrp", shape=(64, 64, 64), columns=64, tensaurus=_VECTORS,
        mapped={"design": "sparse/spmttkrp", "sizes": "JJJ=4,JJ=8", **_MAPPED},
    ),
}  # fmt: skip
"""Columns are those of dense operands."""

DENSITIES = (0.01, 0.05, 0.2)

_SKEWED = 0.05
"""Density of matrices with rows of very different lengths."""


class Case(NamedTuple):
    """A product: of the kernel of this name, of a tensor, which is dealt to elements or not."""

    name: str
    said: str
    make: Callable[[tuple[int, ...]], Tensor]
    dealt: bool = True

    @property
    def label(self) -> str:
        return f"cycles, {self.name}, {self.said}"


def cases_of(kernels: Mapping[str, Kernel]) -> list[Case]:
    found = []
    for name, kernel in kernels.items():
        for density in DENSITIES:
            found.append(Case(name, f"{density:.0%}", _drawn_of(density)))
        if len(kernel.shape) == 2:
            found.append(Case(name, f"{_SKEWED:.0%} skewed", _skewed))
        if kernel.columns == 1:
            found.append(Case(name, f"{_SKEWED:.0%} skewed, csr", _skewed, dealt=False))
    return found


def _drawn_of(density: float) -> Callable[[tuple[int, ...]], Tensor]:
    return lambda shape: drawn(shape, density)


def _skewed(shape: tuple[int, ...]) -> Tensor:
    return skewed(shape, _SKEWED)
