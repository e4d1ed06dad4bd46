"""Products of sparse tensors on a mapped array and on a Tensaurus: what each took."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from ...errors import UserError

if TYPE_CHECKING:
    from ...sim.sparse.tensor import Tensor

__all__ = ["LATENCY", "Kernel", "Sides", "Took", "dense_of", "drawn", "product", "skewed"]


LATENCY = 20
"""Latency of the memory, in cycles."""

_MEMORY_BYTES = 1 << 22
_DENSE = "BC"
"""Names of the dense operands of mappings, but for a vector, X."""


class Took(NamedTuple):
    """Cycles, utilisation and traffic of a product.

    Parameters
    ----------
    cycles: of the job
    busy: multiplications over those that all multipliers could do in the job's cycles
    bytes_read: from memory
    """

    cycles: int
    busy: float
    bytes_read: int


@dataclass(frozen=True, kw_only=True)
class Kernel:
    """A product, and what computes it.

    Parameters
    ----------
    kernel: Tensaurus' name for it
    shape: of the sparse tensor
    columns: of the dense operands; 1: they are vectors
    mapped: parameters of the mapped array
    tensaurus: of the Tensaurus
    """

    kernel: str
    shape: tuple[int, ...]
    columns: int
    mapped: dict[str, Any]
    tensaurus: dict[str, Any]

    def operands(self, seed: int = 2) -> list[Any]:
        """Dense operands of whole numbers, one a mode that is summed over."""
        import numpy as np

        rng = np.random.default_rng(seed)
        return [
            rng.integers(-8, 8, (size, self.columns), endpoint=True).astype(np.float64)
            for size in self.shape[1:]
        ]


def product(tensor: Tensor, operands: list[Any]) -> Any:
    """Computes the product with SciPy, or with NumPy for more than two modes."""
    import numpy as np

    from ...sim.sparse.tensor import to_csr

    if tensor.order == 2:
        return to_csr(tensor) @ operands[0]
    return np.einsum("ikl,kj,lj->ij", dense_of(tensor), *operands, optimize=True)


class Sides:
    """Devices, built when they are first asked for; a context manager.

    Parameters
    ----------
    progress: is told what is built
    """

    def __init__(self, progress: Callable[[str], None]) -> None:
        self._progress, self._open = progress, ExitStack()
        self._devices: dict[Any, Any] = {}

    def __enter__(self) -> Sides:
        return self

    def __exit__(self, *error: object) -> None:
        self._open.close()

    def mapped(self, kernel: Kernel, parameters: dict[str, Any], tensor: Tensor) -> Took:
        """Runs a kernel on the array of a mapping. Raises UserError if the result is wrong."""
        from ...hw.spec.t2s.config import T2S, T2sConfig
        from ...sim.t2s.driver import Driver

        config = T2sConfig(**parameters)
        driver = Driver(self._device(T2S, config))
        operands = kernel.operands()
        given = dict(zip(_DENSE, operands, strict=False))
        if kernel.columns == 1:
            given = {"X": operands[0][:, 0]}
        found = driver.compute(A=tensor, **given)
        _check(T2S.name, found, product(tensor, operands))
        plan = config.plan
        assert plan.sparse is not None
        lanes = plan.sparse.rows.element_extent * plan.element.lanes
        counts = driver.counts
        # Each lane has a multiplier for every dense operand, and each entry uses all.
        busy = tensor.nnz * kernel.columns / (lanes * counts.cycles)
        return Took(counts.cycles, busy, counts.bytes_read)

    def tensaurus(self, kernel: Kernel, tensor: Tensor) -> Took:
        """Runs a kernel on the Tensaurus. Raises UserError if the result is wrong."""
        from ...hw.spec.tensaurus import TENSAURUS, TensaurusConfig
        from ...sim.numbers.values import decode, encode
        from ...sim.tensaurus.driver import TensorDriver, plan_of
        from ...sim.tensaurus.work import Work

        config = TensaurusConfig(**kernel.tensaurus)
        driver = TensorDriver(self._device(TENSAURUS, config))
        ranks = (kernel.columns,) * (tensor.order - 1)
        work = Work(kernel=kernel.kernel, shape=kernel.shape, ranks=ranks)
        operands = kernel.operands()
        words = {mode: encode(one, config.format) for mode, one in enumerate(operands, 1)}
        cut = plan_of(config, work, tensor).cut
        found = decode(driver.sparse(work, cut, tensor, words), config.sum_format)
        _check(TENSAURUS.name, found, product(tensor, operands))
        counts = driver.counts
        multiplications = counts["operations"] / 2
        multipliers = config.rows * config.unit_values
        busy = multiplications / (multipliers * counts["cycles"])
        return Took(counts["cycles"], busy, counts["bytes_read"])

    def _device(self, unit: Any, config: Any) -> Any:
        from ...apps.common.session import rtl_device

        if config not in self._devices:
            self._progress(f"building {unit.name}")
            device = rtl_device(unit, config, _MEMORY_BYTES)
            self._devices[config] = self._open.enter_context(device)
        return self._devices[config]


def _check(unit: str, found: Any, wanted: Any) -> None:
    import numpy as np

    if not np.array_equal(np.ravel(found), np.ravel(wanted)):
        raise UserError(f"the result of {unit} is not that of SciPy and NumPy")


_LARGEST = 8
"""Largest magnitude of the numbers, which are of both signs; 0 is not among them."""


def drawn(shape: tuple[int, ...], density: float, seed: int = 1) -> Tensor:
    """A tensor in which all places are as likely to have an entry."""
    import numpy as np

    rng = np.random.default_rng(seed)
    size = int(np.prod(shape))
    places = np.sort(rng.choice(size, round(size * density), replace=False))
    return _tensor(shape, places, rng)


def skewed(shape: tuple[int, ...], density: float, seed: int = 1) -> Tensor:
    """A tensor with as many entries, whose n-th longest row has an n-th of the longest one's, as
    far as a row has places; in no order."""
    import numpy as np

    rng = np.random.default_rng(seed)
    rows, places = shape[0], int(np.prod(shape[1:]))
    share = 1 / (1 + rng.permutation(rows))
    lengths = np.minimum(places, np.rint(share * rows * places * density / share.sum()))
    kept = [
        np.sort(rng.choice(places, int(length), replace=False)) + row * places
        for row, length in enumerate(lengths)
    ]
    return _tensor(shape, np.concatenate(kept), rng)


def dense_of(tensor: Tensor) -> Any:
    """Returns a tensor as a dense array, zeros included."""
    import numpy as np

    dense = np.zeros(tensor.shape)
    dense[tuple(tensor.indices.T)] = tensor.values
    return dense


def _tensor(shape: tuple[int, ...], places: Any, rng: Any) -> Tensor:
    import numpy as np

    from ...sim.sparse.tensor import Tensor

    indices = np.stack(np.unravel_index(places, shape), axis=1).astype(np.int64)
    values = rng.integers(1, _LARGEST, len(places), endpoint=True)
    signs = rng.choice([-1.0, 1.0], len(places))
    return Tensor(shape=shape, indices=indices, values=values * signs)
