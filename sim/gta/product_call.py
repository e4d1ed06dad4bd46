"""Products that are to run at the same time, and which lanes they ask for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy.typing as npt

from ...hw.spec.gta import GtaConfig
from .given_product import GivenProduct, given_product
from .tiles.side_by_side import region_of_lanes

__all__ = ["ProductCall", "check_lanes"]


@dataclass(frozen=True, kw_only=True)
class ProductCall:
    """A product on some lanes.

    Parameters
    ----------
    format, a, b, c, result, dataflow: see ``GtaDriver.pgemm``; not "simd"
    lanes: the numbers of its lanes, which are a rectangle of the layout; None: the driver's choice
    """

    format: str
    a: npt.ArrayLike
    b: npt.ArrayLike
    c: npt.ArrayLike | None = None
    result: str = "wrap"
    dataflow: str = "auto"
    lanes: tuple[int, ...] | None = None

    def checked(self, config: GtaConfig) -> GivenProduct:
        """The operands. Raises TypeError and ValueError."""
        if self.dataflow == "simd":
            raise ValueError("`dataflow` must be ws, is, os or auto on lanes of its own, not "
                             "'simd'")  # fmt: skip
        return given_product(
            config,
            self.format,
            self.a,
            self.b,
            self.c,
            result=self.result,
            dataflow=self.dataflow,
        )


def check_lanes(
    config: GtaConfig,
    first: tuple[int, ...] | None,
    second: tuple[int, ...] | None,
    layout: tuple[int, int] | None,
) -> None:
    """Raise ValueError unless two products can have these lanes, in this layout or in any."""
    if config.lanes == 1:
        raise ValueError("`lanes` must be at least 2 for two products at the same time, not 1")
    if (first is None) != (second is None):
        raise ValueError("`lanes` must be given of both products, or of neither")
    if first is None or second is None:
        return
    for lanes in (first, second):
        wrong = [lane for lane in lanes if not 0 <= lane < config.lanes]
        if wrong:
            raise ValueError(f"`lanes` must be in 0..{config.lanes - 1}, not {wrong[0]}")
        if not lanes:
            raise ValueError("`lanes` must be at least one, not none")
    both = sorted(set(first) & set(second))
    if both:
        raise ValueError(f"`lanes` must be of one product each, not {_named(both)} of both")
    allowed = [number for number in range(config.lanes.bit_length())
               if layout in (None, (config.lanes >> number, 1 << number))]  # fmt: skip
    where = "any layout" if layout is None else f"the layout {layout[0]}x{layout[1]}"
    for lanes in (first, second):
        if not any(region_of_lanes(config, number, lanes) for number in allowed):
            raise ValueError(f"`lanes` must be a rectangle of {where}, not {_named(lanes)}")
    if not any(
        region_of_lanes(config, number, first) and region_of_lanes(config, number, second)
        for number in allowed
    ):
        raise ValueError(
            f"`lanes` must be rectangles of one layout, not {_named(first)} and {_named(second)}"
        )


def _named(lanes: tuple[int, ...] | list[int]) -> str:
    return "+".join(map(str, lanes))
