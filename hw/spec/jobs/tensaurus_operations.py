"""What jobs of a Tensaurus compute, as far as it is a product of two matrices: a tile each."""

from __future__ import annotations

from ..sidecar.operation import Compute, Factor, JobList, Limit, Operand, OperationEntry, Size
from ..sidecar.placement import CissPlacement, MatrixPlacement, Part, Setting
from ..tensaurus import KERNELS, TensaurusConfig
from ..tensaurus_tiles import TILE_BYTES, TILE_WORDS

__all__ = ["MATRIX_OPERATIONS", "operations"]

MATRIX_OPERATIONS = {
    "spmm": ("mm", False),
    "gemm": ("mm", True),
    "spmv": ("mv", False),
    "gemv": ("mv", True),
}
"""Kernel, and whether the tensor is dense. Products of tensors of more modes have no matrices."""


def operations(config: TensaurusConfig) -> tuple[OperationEntry, ...]:
    """Products of a matrix, sparse or dense, and a unit's columns, or a vector."""
    return tuple(
        _operation(config, name, kernel, dense)
        for name, (kernel, dense) in MATRIX_OPERATIONS.items()
    )


def _operation(config: TensaurusConfig, name: str, kernel: str, dense: bool) -> OperationEntry:
    single = kernel == "mv"
    settings = {
        "KERNEL": KERNELS.index(kernel), "ORDER": 2, "DENSE": int(dense), "DIRECT": 0,
        "VECTORS": 1, "SCALARS_1": 1, "SCALARS_2": 1,
    }  # fmt: skip
    return OperationEntry(
        name=name,
        select=tuple(Setting(register=key, value=value) for key, value in settings.items()),
        compute=_compute(config, dense),
        sizes=(
            Size(name="M", doc="rows of a and c", part="slices"),
            Size(name="N", doc="columns of b and c", value=1 if single else config.unit_values),
            Size(name="K", doc="columns of a, rows of b", part="size_1"),
        ),
        operands=_operands(config, single, dense),
        limits=_limits(config, single),
        list=JobList(
            base="LIST",
            count="TILES",
            bytes=TILE_BYTES,
            align=config.line_bytes,
            read_bytes=config.interleave,
            parts={key: Part(low=low, bits=bits) for key, (low, bits) in TILE_WORDS.items()},
            values={"load": 1, "last": 1},
        ),
    )


def _compute(config: TensaurusConfig, dense: bool) -> Compute:
    plus, times = config.operators.plus, config.operators.times
    identity = config.operators.identity_in(config.sum_format)
    assert identity is not None
    what = "all elements take part" if dense else "absent elements of a take no part"
    return Compute(
        kind="product",
        plus=plus,
        times=times,
        identity=identity,
        doc=f"c = a (x) b with (+) {plus} and (x) {times}; {what}, each product and each sum is "
        "rounded once, in the order of a's columns dealt out to partial sums",
    )


def _operands(config: TensaurusConfig, single: bool, dense: bool) -> tuple[Operand, ...]:
    element = config.format.bits // 8
    block = config.interleave
    a: MatrixPlacement | CissPlacement = MatrixPlacement(
        base="tensor",
        stride="pitch",
        align=config.line_bytes,
        element_bytes=element,
        read_bytes=block,
    )
    if not dense:
        a = config.layout(2).placement(
            base="tensor", count="entries", align=config.line_bytes, read_bytes=block
        )
    b, c = (
        MatrixPlacement(
            base=base,
            row_bytes=bytes_ if single else bytes_ * config.unit_values,
            align=config.line_bytes,
            element_bytes=bytes_,
            read_bytes=read,
        )
        for base, bytes_, read in (
            ("operand_1", element, block),
            ("output", config.sum_format.bits // 8, None),
        )
    )
    return (
        Operand(name="a", direction="in", rows="M", columns="K", format=config.format, placement=a),
        Operand(name="b", direction="in", rows="K", columns="N", format=config.format, placement=b),
        Operand(
            name="c", direction="out", rows="M", columns="N", format=config.sum_format, placement=c
        ),
    )


def _limits(config: TensaurusConfig, single: bool) -> tuple[Limit, ...]:
    rows = config.spm_scalars if single else config.spm_units
    slices = config.out_units * (config.unit_values if single else 1)
    return (
        Limit(
            product_of=(Factor(size="K"),),
            at_most=rows,
            error="tile",
            doc="b fits the scratchpad",
        ),
        Limit(
            product_of=(Factor(size="M"),),
            at_most=slices,
            error="tile",
            doc="c fits the output buffer",
        ),
    )
