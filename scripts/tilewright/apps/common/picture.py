"""Plots matrices, a square of colour for each value, and opens pictures in files."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...errors import UserError
from ...hw.spec.host import inputs
from ...hw.spec.host.plots import plotted
from .files import need, write_whole
from .limits import check_size

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["MatrixPlot", "density", "opened_picture", "write_picture"]

_MOST = 512
"""Squares each way of a density."""
_FEW_TO_MANY = "#5fa8dc", "#1b6ca8", "#04162b"


@dataclass(frozen=True, kw_only=True)
class MatrixPlot:
    """A matrix as a plot: a square of colour for each value, the first row on top.

    Parameters
    ----------
    title, rows, columns, values: what it is, and what its axes and colours are
    matrix: the values; those that are not finite are white
    shape: rows and columns along the axes, where a square stands for several
    counts: whether values are counts: many are dark, and colours are by the logarithm; of other
        values large ones are light
    """

    title: str
    rows: str
    columns: str
    values: str
    matrix: NDArray[np.float64]
    shape: tuple[int, int] | None = None
    counts: bool = False

    def draw(self, figure: Figure) -> None:
        """Draws the matrix with axes, numbered from 1, and a colour bar into an empty figure."""
        from matplotlib.colors import LinearSegmentedColormap, LogNorm, Normalize
        from matplotlib.ticker import MaxNLocator

        figure.set_size_inches(6.4, 5.4)
        axes, shown = figure.subplots(), np.ma.masked_invalid(self.matrix)
        rows, columns = self.shape or self.matrix.shape
        low, high = (shown.min(), shown.max()) if shown.count() else (0.0, 1.0)
        logarithmic = self.counts and bool(shown.count()) and high > low
        norm = (LogNorm if logarithmic else Normalize)(low, high if high > low else low + 1)
        counted = LinearSegmentedColormap.from_list("counted", _FEW_TO_MANY)
        image = axes.imshow(
            shown, cmap=counted if self.counts else "viridis", norm=norm, aspect="auto",
            interpolation="nearest", extent=(0.5, columns + 0.5, rows + 0.5, 0.5),
        )  # fmt: skip
        if max(rows, columns) <= 4 * min(rows, columns):
            axes.set_aspect("equal")
        bar = figure.colorbar(image, label=self.values)
        if logarithmic or high <= low:
            ticks = np.geomspace(low, high, 5).round() if logarithmic else np.array([low])
            bar.set_ticks([*np.unique(ticks)], labels=[f"{tick:,g}" for tick in np.unique(ticks)])
            bar.ax.minorticks_off()
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
        axes.set(title=self.title, xlabel=self.columns, ylabel=self.rows)
        axes.grid(visible=False)


def write_picture(path: Path, plot: MatrixPlot) -> None:
    """Writes a matrix as a PNG picture with axes and a colour bar, by Matplotlib."""
    need("matplotlib", "Matplotlib")
    content = plotted("png", plot.title, plot.draw)
    write_whole(path, lambda file: file.write(content))


def density(matrix: Any, name: str) -> MatrixPlot:
    """Counts the entries of a sparse matrix in at most 512 squares each way: a square is darker the
    more entries are in it, and white where there is none.

    Parameters
    ----------
    matrix: of SciPy
    name: of it, for title and axes
    """
    rows, cols = (min(count, _MOST) for count in matrix.shape)
    entries = matrix.tocoo()
    place = (
        entries.row.astype(np.int64) * rows // matrix.shape[0] * cols
        + entries.col.astype(np.int64) * cols // matrix.shape[1]
    )
    counts = np.bincount(place, minlength=rows * cols).reshape(rows, cols).astype(np.float64)
    high, wide = (
        f"{size / count:.3g}" for size, count in zip(matrix.shape, (rows, cols), strict=True)
    )
    return MatrixPlot(
        title=f"entries of {name}, {matrix.shape[0]:,} x {matrix.shape[1]:,}, {matrix.nnz:,}",
        rows=f"row of {name}", columns=f"column of {name}",
        values=f"entries in a square of {high} x {wide}", shape=matrix.shape,
        matrix=np.where(counts > 0, counts, np.nan), counts=True,
    )  # fmt: skip


@contextmanager
def opened_picture(path: Path) -> Iterator[Any]:
    """The picture of a file, Pillow's. Raises UserError if it is none, is too large, or is damaged,
    which may be found when its pixels are asked for."""
    image = need("PIL.Image", "Pillow")
    try:
        with image.open(io.BytesIO(inputs.read_bytes(path))) as opened:
            check_size(path, *opened.size)
            yield opened
    except (OSError, ValueError, SyntaxError, image.DecompressionBombError) as error:
        reason = getattr(error, "strerror", None) or str(error).splitlines()[0]
        if isinstance(error, image.UnidentifiedImageError):  # which names what it cannot name
            reason = "cannot identify image file"
        raise UserError(f"{path}: not a picture that can be read: {reason}") from None
