"""A p-GEMM whose operands are on chip, as the array takes it."""

from __future__ import annotations

from dataclasses import dataclass

from ...hw.spec.gta import COLS, ROWS, GtaConfig, is_float, limbs
from ...hw.spec.host.words import not_one_of


def layouts(lanes: int) -> list[tuple[int, int]]:
    """Rows and columns of all, the widest first: 1 x 4, 2 x 2, 4 x 1."""
    return [(rows, lanes // rows) for rows in range(1, lanes + 1) if lanes % rows == 0]


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """A point of the space.

    Parameters
    ----------
    dataflow: ws, is, os or simd
    rows, cols: lanes of a region, down and across
    segments: parts of K: of integers at the same time, a region each; of floats one after another
    lateral: whether blocks and folds go along rows of D first, else along columns
    filled: whether what is left over in the tiling direction, less than the array takes, does not
        leave the rest of the array idle, but comes together as a part of its own, on the layout
        and in the dataflow that suit it
    along: of simd: elements lie along rows of D (lateral) or columns, not as they stand in lanes
    """

    dataflow: str
    rows: int
    cols: int
    segments: int = 1
    lateral: bool = True
    filled: bool = False
    along: bool = False

    @property
    def words(self) -> str:
        """Its printed name: "ws 2x2, lateral", "os 1x2, 2 segments, vertical, filled", "simd along
        rows"."""
        if self.along:
            return f"{self.dataflow} along {'rows' if self.lateral else 'columns'}"
        more = f", {self.segments} segments" if self.segments > 1 else ""
        direction = "lateral" if self.lateral else "vertical"
        filled = ", filled" if self.filled else ""
        return f"{self.dataflow} {self.rows}x{self.cols}{more}, {direction}{filled}"


DATAFLOWS = ("ws", "is", "os", "simd")
"""Weight, input and output stationary, and vector operations."""

_COUNTS = ("m", "n", "k", "rows", "cols", "segments")


@dataclass(frozen=True, kw_only=True)
class ArrayJob:
    """D = A B of M x K and K x N elements on a region of lanes.

    Parameters
    ----------
    m, n, k: sizes, from 1
    format: of A and B
    dataflow: one of ``DATAFLOWS``. Inputs stationary is weights stationary of the transposed
        problem. Floats flow ``os`` or ``simd``: their sums are chains
    rows, cols: lanes of the region, down and across
    segments: parts that K is cut into. Those of integers run at the same time, each on a region of
        ``rows`` x ``cols`` lanes of its own; those of floats one after the other, each from the
        last one's sums
    lateral: folds go along a row of D first, else along columns
    overlap: the next fold begins while this one ends; else when its last element has multiplied
    """

    m: int
    n: int
    k: int
    format: str
    dataflow: str = "ws"
    rows: int = 1
    cols: int = 1
    segments: int = 1
    lateral: bool = True
    overlap: bool = True

    def __post_init__(self) -> None:
        for name in _COUNTS:
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int):
                raise TypeError(f"`{name}` must be an integer, not {value!r}")
            if value < 1:
                raise ValueError(f"`{name}` must be at least 1, not {value}")
        if self.dataflow not in DATAFLOWS:
            raise ValueError(not_one_of("`dataflow`", DATAFLOWS, self.dataflow))
        if is_float(self.format) and self.dataflow in ("ws", "is"):
            raise ValueError(
                f"`dataflow` must be os or simd with {self.format}, not {self.dataflow!r}"
            )
        if self.segments > self.k:
            raise ValueError(f"`segments` must be at most K, {self.k}, not {self.segments}")

    def check(self, config: GtaConfig) -> None:
        """Raise ValueError if the configuration has not the format, or too few lanes."""
        known = (*config.integers, *config.floats)
        if self.format not in known:
            raise ValueError(not_one_of("`format`", known, self.format))
        if self.lanes > config.lanes:
            raise ValueError(f"lanes of a job must be at most {config.lanes}, not {self.lanes}")

    @property
    def regions(self) -> int:
        """Regions that run at the same time."""
        return 1 if is_float(self.format) else self.segments

    @property
    def lanes(self) -> int:
        """Lanes of all regions."""
        return self.rows * self.cols * self.regions

    @property
    def array(self) -> tuple[int, int]:
        """Rows and columns of a region's array, in elements."""
        return ROWS * self.rows, COLS * self.cols

    @property
    def segment_sizes(self) -> tuple[int, ...]:
        """K of each segment: equal, but for the last ones, which have one product less."""
        each, more = divmod(self.k, self.segments)
        return tuple(each + (part < more) for part in range(self.segments))

    def extent(self, config: GtaConfig, k: int | None = None) -> tuple[int, int, int]:
        """Returns the lengths laid over rows and columns of the array and the cycles of a fold, for
        ``k`` products a sum instead of all.

        ``ws``: rows K, columns N L, time M L; ``is``: rows K, columns M L, time N L; ``os``: rows
        M L, columns N L, time K, and of floats rows M, columns N, time K I. Raises ValueError for
        ``simd``, which has no folds.
        """
        k = self.k if k is None else k
        length = limbs(self.format)
        if self.dataflow == "ws":
            return k, self.n * length, self.m * length
        if self.dataflow == "is":
            return k, self.m * length, self.n * length
        if self.dataflow != "os":
            raise ValueError("a job of vectors has no folds")
        if is_float(self.format):
            return self.m, self.n, k * config.interval(self.format)
        return self.m * length, self.n * length, k
