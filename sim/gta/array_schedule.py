"""One way to lay a p-GEMM out over lanes and time."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Schedule"]


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
