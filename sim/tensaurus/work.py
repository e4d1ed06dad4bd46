"""A work of any size, and its division into tiles that fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from ...hw.spec.host.words import not_one_of
from ...hw.spec.tensaurus import KERNELS, TensaurusConfig
from .result.kernel import Kernel

__all__ = ["STORES", "Cut", "Regions", "Work", "balanced", "count_of", "most_slices"]

STORES = ("buffer", "memory")
"""The place where outputs are added up, by the value of register DIRECT."""


@dataclass(frozen=True, kw_only=True)
class Work:
    """A product of a tensor and matrices.

    Parameters
    ----------
    kernel: one of ``KERNELS``
    shape: of the tensor, slices first, which are the rows of the result
    ranks: of each other mode the values of a row of its operand: of mttkrp all alike, of mv 1
    dense: whether all elements of the tensor are streamed

    Raises
    ------
    ValueError if the parts do not fit each other.
    """

    kernel: str
    shape: tuple[int, ...]
    ranks: tuple[int, ...]
    dense: bool = False

    def __post_init__(self) -> None:
        if self.kernel not in KERNELS:
            raise ValueError(not_one_of("`kernel`", KERNELS, self.kernel))
        modes = (2,) if self.kernel in ("mm", "mv") else (3, 4)
        if len(self.shape) not in modes or len(self.ranks) != len(self.shape) - 1:
            wanted = " or ".join(map(str, modes))
            raise ValueError(
                f"`shape` must have {wanted} modes with kernel {self.kernel} and `ranks` one "
                f"fewer, not {len(self.shape)} and {len(self.ranks)}"
            )
        if min(self.shape) < 0 or min(self.ranks) < 1:
            raise ValueError(f"`ranks` must be at least 1, not {self.ranks}")
        if self.kernel == "mv" and self.ranks != (1,):
            raise ValueError(f"`ranks` must be 1 with kernel mv, not {self.ranks[0]}")
        if self.kernel == "mttkrp" and len(set(self.ranks)) != 1:
            raise ValueError(f"`ranks` must be alike with kernel mttkrp, not {self.ranks}")

    @property
    def order(self) -> int:
        """Modes of the tensor."""
        return len(self.shape)

    @property
    def result_shape(self) -> tuple[int, ...]:
        """The shape of the result."""
        ranks = {"ttmc": self.ranks, "mv": ()}.get(self.kernel, self.ranks[-1:])
        return (self.shape[0], *ranks)


class Regions(NamedTuple):
    """The first unit, or scalar, of each mode's operand in its scratchpad, and the ends of the last
    regions of units and of scalars."""

    begins: dict[int, int]
    units: int
    scalars: int


@dataclass(frozen=True, kw_only=True)
class Cut:
    """The tiles of a work, and the order in which they come.

    Groups of columns of the operands are the outermost loops, then ranges of slices, then those of
    the other modes. Every loop turns back where it ends, so that a tile differs from the one before
    it in one range only.

    Parameters
    ----------
    kernel: what all tiles have in common
    steps: slices of an output, then indices of each other mode that a tile has
    loops: the other modes, the outermost first
    store: one of ``STORES``
    """

    kernel: Kernel
    steps: tuple[int, ...]
    loops: tuple[int, ...]
    store: str = "buffer"

    def __post_init__(self) -> None:
        order = self.kernel.order
        if len(self.steps) != order or min(self.steps) < 1:
            raise ValueError(f"`steps` must be {order} of at least 1, not {self.steps}")
        if sorted(self.loops) != list(range(1, order)):
            raise ValueError(f"`loops` must have modes 1 to {order - 1}, not {self.loops}")
        stores = STORES[:1] if self.kernel.name == "mv" else STORES
        if self.store not in stores:
            raise ValueError(
                f"`store` must be {' or '.join(stores)} with kernel {self.kernel.name}, "
                f"not {self.store!r}"
            )

    def group_columns(self, config: TensaurusConfig) -> tuple[int, ...]:
        """Columns of the operands that are used together: of ttmc mode by mode, else one number."""
        kernel = self.kernel
        columns = [kernel.row_values(config, mode) for mode in range(1, kernel.order)]
        return tuple(columns if kernel.name == "ttmc" else columns[-1:])

    def group_counts(self, config: TensaurusConfig, work: Work) -> tuple[int, ...]:
        """Into how many groups the columns are cut: of ttmc mode by mode, else one number."""
        columns = self.group_columns(config)
        ranks = work.ranks[-len(columns) :]
        return tuple(count_of(rank, most) for rank, most in zip(ranks, columns, strict=True))

    def range_counts(self, work: Work) -> tuple[int, ...]:
        """Into how many ranges each mode of the tensor is cut, slices first."""
        return tuple(
            count_of(size, step) for size, step in zip(work.shape, self.steps, strict=True)
        )

    def regions(self, config: TensaurusConfig) -> Regions:
        """Returns the regions of the operands in the scratchpads."""
        units = scalars = 0
        found = {}
        for mode in range(1, self.kernel.order):
            step = self.steps[mode]
            if mode in self.kernel.array_modes:
                found[mode], units = units, units + step * self.kernel.vectors
            else:
                values = step * self.kernel.row_values(config, mode)
                found[mode] = scalars
                scalars += -(-values // config.vlen) * config.vlen
        return Regions(found, units, scalars)

    def check(self, config: TensaurusConfig) -> None:
        """Raise ValueError unless the tiles fit a device."""
        self.kernel.check(config)
        _, units, scalars = self.regions(config)
        for what, found, most in (
            ("units", units, config.spm_units), ("scalars", scalars, config.spm_scalars),
        ):  # fmt: skip
            if found > most:
                raise ValueError(f"a tile's operands must have at most {most} {what}, not {found}")
        slices = most_slices(config, self.kernel, self.store)
        if self.steps[0] > slices:
            raise ValueError(f"an output must have at most {slices} slices, not {self.steps[0]}")
        config.layout(self.kernel.order).check_shape(self.steps)


def most_slices(config: TensaurusConfig, kernel: Kernel, store: str = "buffer") -> int:
    """Slices that one side of the output buffer holds, or that there may be in memory."""
    if store == "memory":
        return config.memory_slices
    if kernel.name == "mv":
        return config.out_units * config.unit_values
    return config.out_units // kernel.units


def count_of(size: int, step: int) -> int:
    """Ranges of so many indices that a size needs."""
    return -(-size // step)


def balanced(size: int, most: int) -> int:
    """The least step of as few ranges as steps of ``most`` make."""
    return max(1, count_of(size, count_of(size, most))) if size else 1
