"""Which dataflow, layout and tiles a product takes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ....hw.spec.gta import GtaConfig, is_float, result_bytes
from ..regions import Region
from .tiling import Problem, Tiling, tilings

__all__ = ["DATAFLOWS", "Choice", "choose"]

DATAFLOWS = ("auto", "ws", "is", "os")
"""What stays in the array: weights, inputs or sums; or what takes fewest cycles."""


@dataclass(frozen=True)
class Choice:
    """How a product is done.

    Parameters
    ----------
    dataflow: one of ``DATAFLOWS`` but "auto"
    layout: the number of the lanes' layout
    tiling: tiles, of IS those of the transposed product
    """

    dataflow: str
    layout: int
    tiling: Tiling


def _regions(config: GtaConfig, layout: tuple[int, int] | None) -> Iterator[tuple[int, Region]]:
    """Layouts by number, with all lanes as one region."""
    for number in range(config.lanes.bit_length()):
        rows, cols = config.lanes >> number, 1 << number
        if layout is None or layout == (rows, cols):
            yield number, Region(cols, 0, rows, cols)


def choose(
    config: GtaConfig,
    format: str,
    sizes: tuple[int, int, int],
    *,
    result: str = "wrap",
    dataflow: str = "auto",
    layout: tuple[int, int] | None = None,
    segments: int = 1,
    lateral: bool = True,
    overlap: bool = True,
) -> Choice | None:
    """What takes fewest cycles by the estimate of :class:`Tiling`; None if no tile fits.

    Parameters
    ----------
    sizes: M, N and K
    others: see ``GtaDriver.pgemm``
    """
    m, n, k = sizes
    flows = (dataflow,) if dataflow != "auto" else ("os",) if is_float(format) else DATAFLOWS[1:]
    best: tuple[tuple[int, int], Choice] | None = None
    for flow in flows:
        problem = Problem(
            m=n if flow == "is" else m,
            n=m if flow == "is" else n,
            k=k,
            format=format,
            operation="os" if flow == "os" else "ws",
            width=result_bytes(format) * (1 if result == "wrap" else 2),
            segments=segments,
            lateral=lateral,
            overlap=overlap,
        )
        for number, region in _regions(config, layout):
            for tiling in tilings(problem, region, config):
                cost = tiling.cycles, tiling.loaded
                if best is None or cost < best[0]:
                    best = cost, Choice(flow, number, tiling)
    return None if best is None else best[1]
