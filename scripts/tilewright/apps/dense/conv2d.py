"""Filters over a picture, as one matrix product (im2col).

Row ``f`` of the left matrix holds filter ``f``; column ``p`` of the right one the pixels under the
filter when it is centred on pixel ``p``, zero outside the picture. As in neural networks the filter
is not mirrored (a correlation).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..common.files import need
from ..common.limits import check_size
from ..common.matrix_files import write_array
from ..common.rounding import Rounded, warn_rounding
from ..common.units.matrix_unit import UnitChoice
from ..common.units.matrix_unit_runs import Errors, matrix_unit_report, measure, product_unit
from .filters import FILTERS
from .inputs import write_pictures

__all__ = ["filter_picture", "patches"]


def filter_picture(
    choice: UnitChoice,
    title: str,
    pixels: NDArray[Any],
    names: list[str],
    output: Path | None,
    pictures: Path | None,
) -> None:
    """Filter a picture by some of `FILTERS`, write the requested files, and report."""
    bank = _bank(names)
    check_size(f"the patches of {title}", bank[0].size, *pixels.shape)
    numbers = choice.numbers
    grey, taps = numbers.operands(pixels), numbers.operands(bank)
    warn_rounding(title, grey, numbers.element)
    for name in names:
        warn_rounding(f"filter {name}", numbers.operands(np.array(FILTERS[name])), numbers.element)
    right = patches(grey.words, *bank.shape[1:])
    left = taps.words.reshape(len(names), -1)
    shape = (len(names), right.shape[0], right.shape[1])
    with product_unit(choice, choice.operations(1, shape)) as (multiply, tally):
        d = numbers.results(multiply(left[np.newaxis], right[np.newaxis])[0])
    filtered = d.reshape(len(names), *pixels.shape)
    errors = _errors(filtered, grey, taps)
    lines = [("picture", " x ".join(map(str, pixels.shape))), ("filters", ", ".join(names))]
    if output:
        write_array(output, filtered)
        lines.append(("results", str(output)))
    if pictures:
        write_pictures(pictures, names, pixels, filtered)
        lines.append(("pictures", str(pictures)))
    details = {"picture": title, "shape": list(pixels.shape), "filters": names}
    matrix_unit_report(
        "conv2d", f"filters over {title}", lines, choice, tally, errors, details
    ).finish()


def _bank(names: list[str]) -> NDArray[np.float64]:
    """The filters, (filters, size, size), smaller ones in the middle of zeros."""
    size = max(len(FILTERS[name]) for name in names)
    bank = np.zeros((len(names), size, size))
    for place, name in zip(bank, names, strict=True):
        taps = np.array(FILTERS[name])
        margin = (size - taps.shape[0]) // 2
        place[margin : size - margin, margin : size - margin] = taps
    return bank


def patches(pixels: NDArray[Any], height: int, width: int) -> NDArray[Any]:
    """(height * width, pixels): what lies under a filter centred on each pixel, +0 outside."""
    padded = np.pad(pixels, ((height // 2, height // 2), (width // 2, width // 2)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (height, width))
    return np.ascontiguousarray(windows.transpose(2, 3, 0, 1)).reshape(height * width, -1)


def _errors(filtered: NDArray[Any], grey: Rounded, taps: Rounded) -> dict[str, Errors]:
    ndimage = need("scipy.ndimage", "SciPy")
    with np.errstate(all="ignore"):
        reference = np.stack(
            [ndimage.correlate(grey.values, kernel, mode="constant") for kernel in taps.values]
        )
        columns = patches(grey.values.astype(np.float32), *taps.values.shape[1:])
        flat = taps.values.astype(np.float32).reshape(len(taps.values), -1)
        single = (flat @ columns).reshape(reference.shape)
        return {"unit": measure(filtered, reference), "numpy_float32": measure(single, reference)}
