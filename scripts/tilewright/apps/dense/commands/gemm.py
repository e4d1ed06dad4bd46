"""``tilewright run gemm``: the product of two matrices from files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from ....errors import UserError
from ....hw.spec.unit import named_object
from ....registry import also_on
from ...common.files import ARRAY_NAMES, check_output
from ...common.first_lines import check_first_lines
from ...common.limits import check_operations, check_size
from ...common.units.gta import FlowOptions, refuse_flow
from ...common.units.matrix_unit import (
    EngineOptions,
    UnitChoice,
    choose_product_unit,
    refuse_values,
)

__all__ = ["gemm"]


def gemm(
    a: Annotated[Path, typer.Argument(metavar="A", help=f"Left matrix, {ARRAY_NAMES}.")],
    b: Annotated[Path, typer.Argument(metavar="B", help=f"Right matrix, {ARRAY_NAMES}.")],
    c: Annotated[Path | None, typer.Option("--c", help=f"Matrix to add, {ARRAY_NAMES}.")] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help=f"Result, {ARRAY_NAMES}.")
    ] = None,
    mode: Annotated[
        str | None,
        typer.Option(
            help="Format on m3xu: fp16, bf16, tf32, fp32 or fp32c; on gta: int8, int16, int32, "
            "int64, bf16, fp16, fp32 or fp64; default fp32. On simd2 it is the parameter `format`."
        ),
    ] = None,
    *,
    flow: FlowOptions,
    options: EngineOptions,
) -> None:
    """Multiply matrices on a matrix unit or on gta: D = A B + C, every operation checked; or
    D = A B on tensaurus.

    The operands are first rounded to their format (to nearest even). The errors are those of the
    arithmetic on the rounded matrices, with NumPy's float32 beside them.
    """
    others = also_on("gemm")
    if options.unit in others:
        named_object(others[options.unit])(a, b, c, mode, output, options, flow)
        return
    refuse_flow(flow, options.unit)
    known = tuple(others) if options.on == "unit" else ()
    choice = choose_product_unit(options, mode, others=known)
    if choice.backend == "cycles":
        refuse_values({"--output": output})
        _gemm_timed(choice, a, b, c)
        return
    if output:
        check_output(output)
    files = a, b, c
    check = partial(check_size, instead="run spgemm multiplies sparse matrices")
    _check_shapes(files, [check_first_lines(file, check) if file else None for file in files])
    from ..inputs import read_rounded

    left, right = read_rounded(choice, a), read_rounded(choice, b)
    addend = read_rounded(choice, c, addend=True) if c else None
    _check_shapes(files, [one.values.shape if one else None for one in (left, right, addend)])
    (rows, depth), cols = left.values.shape, right.values.shape[1]
    operations = choice.operations(1, (rows, depth, cols))
    check_operations(f"the product of {a} and {b}", operations, "choose a larger tile")
    from ..gemm import multiply_matrices

    multiply_matrices(choice, f"{a.name} x {b.name}", left, right, addend, operations, output)


def _gemm_timed(choice: UnitChoice, a: Path, b: Path, c: Path | None) -> None:
    """Predicts the time of a product, of which only shapes matter."""
    from ...common.shapes import shape_of

    shapes = [shape_of(file) if file else None for file in (a, b, c)]
    _check_shapes((a, b, c), shapes, lambda *_: None)
    from ...common.units.matrix_unit_runs import time_product

    left, right, _ = shapes
    assert left
    assert right
    shape = left[0], left[1], right[1]
    time_product("gemm", f"{a.name} x {b.name}", choice, shape, use_c=c is not None)


def _check_shapes(
    files: tuple[Path, Path, Path | None],
    shapes: Sequence[tuple[int, ...] | None],
    check: Callable[..., None] = check_size,
) -> None:
    """Raise UserError unless A B + C is a product, as far as shapes are known."""
    (a, b, c), (left, right, addend) = files, shapes
    if left is None or right is None:
        return
    (rows, depth), (deep, cols) = left, right
    if depth != deep:
        raise UserError(f"{b}: must have {depth} rows, as {a} is {rows} x {depth}, not {deep}")
    if addend and addend != (rows, cols):
        shape = " x ".join(map(str, addend))
        raise UserError(f"{c}: must be {rows} x {cols}, as A B is, not {shape}")
    check(f"the product of {a} and {b}", rows, cols)
