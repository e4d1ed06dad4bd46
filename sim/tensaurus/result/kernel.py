"""The settings that all tiles of a job share: the kernel, and the vectors used together."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from ....hw.spec.host.words import not_one_of
from ....hw.spec.tensaurus import KERNELS, TensaurusConfig

__all__ = ["Kernel"]


@dataclass(frozen=True, kw_only=True)
class Kernel:
    """A kernel as the registers of a job say it.

    Parameters
    ----------
    name: one of ``KERNELS``
    order: modes of the tensor
    vectors: units of a row of an array operand
    scalars: values of a row of the scalar operands of modes 1 and 2 that are used together; 1 where
        there is none

    Raises
    ------
    ValueError if the parts do not fit each other. What a device holds says :meth:`check`.
    """

    name: str
    order: int
    vectors: int = 1
    scalars: tuple[int, int] = (1, 1)

    def __post_init__(self) -> None:
        if self.name not in KERNELS:
            raise ValueError(not_one_of("`name`", KERNELS, self.name))
        fits = self.order == 2 if self.name in ("mm", "mv") else self.order in (3, 4)
        if not fits:
            orders = "2" if self.name in ("mm", "mv") else "3 or 4"
            raise ValueError(f"`order` must be {orders} with kernel {self.name}, not {self.order}")
        if self.vectors < 1 or (self.name == "mv" and self.vectors != 1):
            wanted = "1" if self.name == "mv" else "at least 1"
            raise ValueError(
                f"`vectors` must be {wanted} with kernel {self.name}, not {self.vectors}"
            )
        for mode, count in enumerate(self.scalars, 1):
            used = self.name == "ttmc" and mode in self.scalar_modes
            if count < 1 or (count != 1 and not used):
                wanted = "at least 1" if used else "1"
                raise ValueError(f"`scalars` of mode {mode} must be {wanted}, not {count}")

    def check(self, config: TensaurusConfig) -> None:
        """Raise ValueError unless a device can do this."""
        if self.name not in ("mm", "mv"):
            if config.semiring != "mma":
                raise ValueError(
                    f"`name` must be mm or mv with semiring {config.semiring}, not {self.name}"
                )
            if self.order > config.order:
                raise ValueError(f"`order` must be at most {config.order}, not {self.order}")
            if self.scalars[1] * self.vectors > config.tlen:
                raise ValueError(
                    f"a fiber must have at most {config.tlen} vectors, "
                    f"not {self.scalars[1] * self.vectors}"
                )
        if self.units > config.olen:
            raise ValueError(f"a slice must have at most {config.olen} vectors, not {self.units}")

    @property
    def number(self) -> int:
        """The value of register KERNEL."""
        return KERNELS.index(self.name)

    @property
    def units(self) -> int:
        """Units of a slice of the result."""
        return prod(self.scalars) * self.vectors

    @property
    def array_modes(self) -> tuple[int, ...]:
        """Modes whose operands are of units, in every column's scratchpad."""
        if self.name == "mv":
            return ()
        return tuple(range(1 if self.name == "mttkrp" else self.order - 1, self.order))

    @property
    def scalar_modes(self) -> tuple[int, ...]:
        """Modes whose operands are in the scratchpad of scalars."""
        if self.name == "mv":
            return (1,)
        return tuple(range(1, self.order - 1)) if self.name == "ttmc" else ()

    def row_values(self, config: TensaurusConfig, mode: int) -> int:
        """Values of a row of the operand of a mode."""
        if mode in self.array_modes:
            return self.vectors * config.unit_values
        return 1 if self.name == "mv" else self.scalars[mode - 1]

    def slice_values(self, config: TensaurusConfig) -> int:
        """Values of a slice of the result."""
        return 1 if self.name == "mv" else self.units * config.unit_values

    def group_vectors(self, mode: int) -> int:
        """Vectors of the groups whose summands are products with the operand of a mode."""
        if self.name != "ttmc":
            return self.vectors
        return prod(self.scalars[mode - 1 : self.order - 2]) * self.vectors
