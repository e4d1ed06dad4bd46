"""``tilewright run gemm``: the product of two matrices from files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from ..errors import UserError
from ..hw.spec.m3xu import MODES
from .files import check_output, read_matrix, write_array, write_json
from .limits import check_size
from .operands import Rounded, accumulators, operands, results
from .options import BackendOption, ConfigOption, JsonOption, SetOption, UnitOption, WavesOption
from .report import Errors, as_json, measure, show
from .session import choose_unit, product_unit, warn_rounding
from .tiled_product import TiledProduct

__all__ = ["gemm"]


def gemm(
    a: Annotated[Path, typer.Argument(metavar="A", help="Left matrix, .npy or .mtx.")],
    b: Annotated[Path, typer.Argument(metavar="B", help="Right matrix, .npy or .mtx.")],
    c: Annotated[Path | None, typer.Option("--c", help="Matrix to add, .npy or .mtx.")] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Result, .npy or .mtx.")
    ] = None,
    mode: Annotated[str, typer.Option(help="fp16, bf16, tf32, fp32 or fp32c.")] = "fp32",
    unit: UnitOption = "m3xu",
    config_file: ConfigOption = None,
    settings: SetOption = None,
    backend: BackendOption = "rtl",
    waves: WavesOption = None,
    json_file: JsonOption = None,
) -> None:
    """Multiply matrices on a matrix unit: D = A B + C, every operation checked.

    Files are rounded to the mode's format first (to nearest even); errors are those of the
    arithmetic on the rounded matrices, beside NumPy's float32 on the same.
    """
    choice = choose_unit(
        unit, mode, config_file=config_file, settings=settings or (), backend=backend, waves=waves
    )
    if output:
        check_output(output)
    if json_file:
        check_output(json_file, (".json",))
    left, right = _matrix(a, mode), _matrix(b, mode)
    addend = _matrix(c, mode, addend=True) if c else None
    rows, depth, cols = _shape(a, b, c, left, right, addend)
    count = TiledProduct.operations(choice.config, mode, 1, (rows, depth, cols))
    with product_unit(choice, count) as (multiply, tally):
        start = addend.words[np.newaxis] if addend else None
        words = multiply(left.words[np.newaxis], right.words[np.newaxis], start)[0]
    d = results(words, mode)
    errors = _errors(d, left, right, addend)
    report = {"shape": [rows, depth, cols]}
    if output:
        write_array(output, d)
    if json_file:
        write_json(json_file, as_json("gemm", choice, tally, errors, report))
    lines = [("shape", f"{rows} x {depth} x {cols}")]
    if output:
        lines.append(("result", str(output)))
    show(f"{a.name} x {b.name}", lines, choice, tally, errors)
    if tally.mismatches:
        raise typer.Exit(1)


def _matrix(path: Path, mode: str, *, addend: bool = False) -> Rounded:
    """A file's matrix rounded to the mode's operand format, or to fp32 as the addend."""
    matrix = read_matrix(path)
    if np.iscomplexobj(matrix) and MODES[mode].results == 1:
        raise UserError(f"{path}: holds complex numbers, which mode {mode} does not take; "
                        f"only mode fp32c does")  # fmt: skip
    rounded = (accumulators if addend else operands)(matrix, mode)
    warn_rounding(path, rounded, "fp32" if addend else mode)
    return rounded


def _shape(
    a: Path, b: Path, c: Path | None, left: Rounded, right: Rounded, addend: Rounded | None
) -> tuple[int, int, int]:
    (rows, depth), (deep, cols) = left.values.shape, right.values.shape
    if depth != deep:
        raise UserError(f"{b}: must have {depth} rows, as {a} is {rows} x {depth}, not {deep}")
    if addend and addend.values.shape != (rows, cols):
        shape = " x ".join(map(str, addend.values.shape))
        raise UserError(f"{c}: must be {rows} x {cols}, as A B is, not {shape}")
    check_size(f"the product of {a} and {b}", rows, cols)
    return rows, depth, cols


def _errors(
    d: NDArray[Any], left: Rounded, right: Rounded, addend: Rounded | None
) -> dict[str, Errors]:
    with np.errstate(all="ignore"):
        narrow = np.complex64 if np.iscomplexobj(left.values) else np.float32
        reference = left.values @ right.values
        single = left.values.astype(narrow) @ right.values.astype(narrow)
        if addend:
            reference = reference + addend.values
            single = single + addend.values.astype(narrow)
        return {"unit": measure(d, reference), "numpy_float32": measure(single, reference)}
