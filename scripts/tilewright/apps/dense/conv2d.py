"""``tilewright run conv2d``: filters over a picture, as one matrix product (im2col).

Row ``f`` of the left matrix holds filter ``f``; column ``p`` of the right one the pixels under the
filter when it is centred on pixel ``p``, zero outside the picture. As in neural networks the filter
is not mirrored (a correlation).
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from ...errors import UserError
from ..common.extras import need
from ..common.files import check_output, read_matrix, write_array, write_whole
from ..common.limits import check_size
from ..common.options import RunOptions
from ..common.rounding import Rounded, warn_rounding
from .report import Errors, finish, measure
from .session import choose_product_unit, product_unit

__all__ = ["FILTERS", "conv2d", "patches"]

_BINOMIAL = np.array([1.0, 4.0, 6.0, 4.0, 1.0])
_SOBEL = np.outer([1.0, 2.0, 1.0], [-1.0, 0.0, 1.0])

FILTERS: dict[str, NDArray[np.float64]] = {
    "gaussian": np.outer(_BINOMIAL, _BINOMIAL) / 256,
    "box": np.full((3, 3), 1 / 9),
    "sobel_x": _SOBEL,
    "sobel_y": _SOBEL.T,
    "laplacian": np.array([[0.0, 1.0, 0.0], [1.0, -4.0, 1.0], [0.0, 1.0, 0.0]]),
    "sharpen": np.array([[0.0, -1.0, 0.0], [-1.0, 5.0, -1.0], [0.0, -1.0, 0.0]]),
    "emboss": np.array([[-2.0, -1.0, 0.0], [-1.0, 1.0, 1.0], [0.0, 1.0, 2.0]]),
}
_REAL_PICTURES = (".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff")


def conv2d(
    image: Annotated[
        Path | None,
        typer.Argument(help="Picture (PNG, JPEG, ...), .npy or .mtx; default: a photograph."),
    ] = None,
    filters: Annotated[
        list[str] | None,
        typer.Option("--filter", help="One of " + ", ".join(FILTERS) + "; default all."),
    ] = None,
    mode: Annotated[
        str | None,
        typer.Option(help="Format on m3xu: fp16, bf16, tf32 or fp32; default fp32."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Results (filter, row, column), .npy.")
    ] = None,
    pictures: Annotated[
        Path | None, typer.Option(help="Directory for PNG pictures of input and results.")
    ] = None,
    *,
    options: RunOptions,
) -> None:
    """Filter a grey picture on a matrix unit, every operation checked.

    Without a picture it is the sample photograph that ships with scikit-learn (427 x 640).
    """
    choice = choose_product_unit(options, mode)
    if choice.numbers.pairs:
        raise UserError(f"mode must be fp16, bf16, tf32 or fp32 for pictures, not {mode!r}")
    names = filters or list(FILTERS)
    for name in names:
        if name not in FILTERS:
            raise UserError(f"filter must be one of {', '.join(FILTERS)}, not {name!r}")
    _check_outputs(output, pictures, names)
    title, pixels = _picture(image)
    bank = _bank(names)
    check_size(f"the patches of {title}", bank[0].size, *pixels.shape)
    numbers = choice.numbers
    grey, taps = numbers.operands(pixels), numbers.operands(bank)
    warn_rounding(title, grey, numbers.element)
    for name in names:
        warn_rounding(f"filter {name}", numbers.operands(FILTERS[name]), numbers.element)
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
        _write_pictures(pictures, names, pixels, filtered)
        lines.append(("pictures", str(pictures)))
    details = {"picture": title, "shape": list(pixels.shape), "filters": names}
    finish("conv2d", f"filters over {title}", lines, choice, tally, errors, details)


def _check_outputs(output: Path | None, pictures: Path | None, names: list[str]) -> None:
    if output:
        check_output(output, (".npy",))
    if pictures:
        need("PIL.Image", "Pillow")
        if not pictures.is_dir():
            raise UserError(f"{pictures}: must be an existing directory")
        for name in ("input", *names):
            check_output(pictures / f"{name}.png", (".png",))


def _picture(path: Path | None) -> tuple[str, NDArray[Any]]:
    """Grey values: 0..255 of a picture file, or the numbers of a matrix file as they are."""
    if path is None:
        loader = need("sklearn.datasets", "scikit-learn")
        image = need("PIL.Image", "Pillow")
        colours = loader.load_sample_image("china.jpg")
        return "china.jpg", np.asarray(image.fromarray(colours).convert("L"), np.float64)
    if path.suffix.lower() not in _REAL_PICTURES:
        matrix = read_matrix(path)
        if np.iscomplexobj(matrix):
            raise UserError(f"{path}: holds complex numbers; a picture must be real")
        return str(path), matrix
    image = need("PIL.Image", "Pillow")
    try:
        with image.open(path) as opened:
            check_size(path, *opened.size)
            return str(path), np.asarray(opened.convert("L"), np.float64)
    except (OSError, ValueError, SyntaxError, image.DecompressionBombError) as error:
        reason = getattr(error, "strerror", None) or str(error).splitlines()[0]
        raise UserError(f"{path}: not a picture that can be read: {reason}") from None


def _bank(names: list[str]) -> NDArray[np.float64]:
    """The filters, (filters, size, size), smaller ones in the middle of zeros."""
    size = max(FILTERS[name].shape[0] for name in names)
    bank = np.zeros((len(names), size, size))
    for place, name in zip(bank, names, strict=True):
        taps = FILTERS[name]
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


def _write_pictures(
    directory: Path, names: list[str], pixels: NDArray[Any], filtered: NDArray[Any]
) -> None:
    """Grey pictures: magnitudes, clipped to 0..255."""
    image = need("PIL.Image", "Pillow")
    for name, values in [("input", pixels), *zip(names, filtered, strict=True)]:
        finite = np.nan_to_num(np.abs(values), nan=0.0, posinf=255.0)
        grey = image.fromarray(np.clip(np.rint(finite), 0, 255).astype(np.uint8))
        write_whole(directory / f"{name}.png", partial(grey.save, format="PNG"))
