"""Operations of a Tensaurus' jobs: products of a tensor, or a matrix, and matrices; one tile."""

from __future__ import annotations

from typing import NamedTuple

from ..sidecar.operation import (
    Compute,
    Factor,
    JobList,
    Limit,
    Operand,
    OperationEntry,
    Region,
    Size,
)
from ..sidecar.placement import CissPlacement, MatrixPlacement, Part, Setting
from ..tensaurus import KERNELS, TensaurusConfig

OPERANDS = 3
"""Dense operands that a tile names at most: those of modes 1, 2 and 3."""

TILE_BYTES = 128
"""Bytes of a tile's description, and from one to the next."""

TILE_WORDS: dict[str, tuple[int, int]] = {
    "load": (0, 32),
    "last": (32, 32),
    "slices": (64, 32),
    "entries": (96, 32),
    "tensor": (128, 64),
    "output": (192, 64),
    "pitch": (256, 32),
    **{f"size_{mode}": (288 + 32 * (mode - 1), 32) for mode in range(1, OPERANDS + 1)},
    **{f"operand_{mode}": (384 + 64 * (mode - 1), 64) for mode in range(1, OPERANDS + 1)},
}
"""Lowest bit and width of each field.

load: bit m - 1: the operand of mode m is loaded; else the one that the job has loaded last is used
    again, as many of its rows or fewer
last: bit 0: behind this tile the output's slices are complete, and are written
slices: slices of the output, from its first one on
entries: of the stream, that which ends it included; of a dense tensor nothing
tensor: address of the stream, or of the dense tensor's first slice
output: address of the output's first slice; the same for all tiles of an output
pitch: bytes from a dense slice to the next
size_m: rows of the operand of mode m, which are the indices that mode m may have
operand_m: its address
"""


def tile_words(fields: dict[str, int]) -> bytes:
    """A tile in memory; fields that are not named are 0. Raises KeyError and ValueError."""
    number = 0
    for name, value in fields.items():
        low, bits = TILE_WORDS[name]
        if not 0 <= value < 1 << bits:
            raise ValueError(f"`{name}` must have {bits} bits, not {value}")
        number |= value << low
    return number.to_bytes(TILE_BYTES, "little")


class Described(NamedTuple):
    """Kind of an operation's job: kernel, modes of the tensor, whether it is dense."""

    kernel: str
    order: int
    dense: bool

    @property
    def result(self) -> str:
        """Name of the result operand."""
        return "y" if self.order > 2 else "c"

    @property
    def factors(self) -> tuple[str, ...]:
        """The matrices, mode by mode."""
        return tuple("bcd"[: self.order - 1])


_MATRIX_OPERATIONS = {
    "spmm": Described("mm", 2, False),
    "gemm": Described("mm", 2, True),
    "spmv": Described("mv", 2, False),
    "gemv": Described("mv", 2, True),
}

_INDICES, _RANKS = "IJKL", "FGH"
"""Sizes of the modes of a tensor; and of the rows of its matrices, where these are not alike."""


def kernels(config: TensaurusConfig) -> tuple[str, ...]:
    """Those that a unit has: a fiber's sum is multiplied again by + and * only."""
    chained = config.semiring == "mma" and config.order > 2
    return KERNELS if chained else tuple(name for name in KERNELS if name in ("mm", "mv"))


def described(config: TensaurusConfig) -> dict[str, Described]:
    """Kind of each of a unit's operations, by name."""
    found = dict(_MATRIX_OPERATIONS)
    for kernel in kernels(config):
        if kernel not in ("mm", "mv"):
            for order in range(3, config.order + 1):
                found[f"sp{kernel}_{order}"] = Described(kernel, order, False)
                found[f"d{kernel}_{order}"] = Described(kernel, order, True)
    return found


def operations(config: TensaurusConfig) -> tuple[OperationEntry, ...]:
    """Products of a matrix and a unit's columns, or a vector; and those of tensors."""
    return tuple(_operation(config, name, what) for name, what in described(config).items())


def _operation(config: TensaurusConfig, name: str, what: Described) -> OperationEntry:
    sizes = _sizes(config, what)
    settings = {
        "KERNEL": KERNELS.index(what.kernel), "ORDER": what.order, "DENSE": int(what.dense),
        "DIRECT": 0, "VECTORS": 1, "SCALARS_1": 1, "SCALARS_2": 1,
    }  # fmt: skip
    chosen = {size.register for size in sizes}
    return OperationEntry(
        name=name,
        select=tuple(
            Setting(register=key, value=value)
            for key, value in settings.items()
            if key not in chosen
        ),
        compute=_compute(config, what),
        sizes=sizes,
        operands=_operands(config, what),
        limits=_limits(config, what),
        list=JobList(
            base="LIST",
            count="TILES",
            bytes=TILE_BYTES,
            align=config.line_bytes,
            read_bytes=config.interleave,
            parts={key: Part(low=low, bits=bits) for key, (low, bits) in TILE_WORDS.items()},
            values={"load": (1 << what.order - 1) - 1, "last": 1},
        ),
    )


def _compute(config: TensaurusConfig, what: Described) -> Compute:
    plus, times = config.operators.plus, config.operators.times
    identity = config.operators.identity_in(config.sum_format)
    assert identity is not None
    who = "all elements take part" if what.dense else "absent elements of a take no part"
    if what.order == 2:
        kind = "product"
        doc = (
            f"c = a (x) b with (+) {plus} and (x) {times}; {who}, each product and each sum is "
            "rounded once, in the order of a's columns distributed to partial sums"
        )
    else:
        kind = "contraction"
        doc = (
            f"{_equation(what)}; {who}, a's innermost mode is summed first, each product and each "
            "sum is rounded once, in the order of indices distributed to partial sums"
        )
    return Compute(kind=kind, plus=plus, times=times, identity=identity, doc=doc)


def _equation(what: Described) -> str:
    """Writes an operation's equation: Y(i,f) = sum over j, k of a(i,j,k) b(j,f) c(k,f)."""
    indices = _INDICES[: what.order].lower()
    ranks = _ranks(what)
    factors = " ".join(
        f"{name}({index},{rank.lower()})"
        for name, index, rank in zip(what.factors, indices[1:], ranks, strict=True)
    )
    result = ",".join((indices[0], *dict.fromkeys(rank.lower() for rank in ranks)))
    return f"y({result}) = sum over {', '.join(indices[1:])} of a({','.join(indices)}) {factors}"


def _ranks(what: Described) -> tuple[str, ...]:
    """Sizes of the columns of each mode's matrix, for tensors."""
    return tuple(_RANKS[: what.order - 1] if what.kernel == "ttmc" else "F" * (what.order - 1))


def _sizes(config: TensaurusConfig, what: Described) -> tuple[Size, ...]:
    if what.order == 2:
        columns = 1 if what.kernel == "mv" else config.unit_values
        return (
            Size(name="M", doc="rows of a and c", part="slices"),
            Size(name="N", doc="columns of b and c", value=columns),
            Size(name="K", doc="columns of a, rows of b", part="size_1"),
        )
    modes = zip(_INDICES[1:], what.factors, strict=False)
    found = [
        Size(name=_INDICES[0], doc="slices of a and y", part="slices"),
        *(
            Size(name=name, doc=f"mode {mode} of a, rows of {owner}", part=f"size_{mode}")
            for mode, (name, owner) in enumerate(modes, 1)
        ),
    ]
    *scalars, last = dict.fromkeys(_ranks(what))
    found += [
        Size(name=name, doc=f"columns of {owner}, and of y", register=f"SCALARS_{mode}")
        for mode, (name, owner) in enumerate(zip(scalars, what.factors, strict=False), 1)
    ]
    owners = ", ".join(what.factors) if what.kernel == "mttkrp" else what.factors[-1]
    doc = f"columns of {owners}, and of y"
    return (*found, Size(name=last, doc=doc, register="VECTORS", scale=config.unit_values))


def _tensor(config: TensaurusConfig, what: Described) -> Operand:
    """a."""
    place: MatrixPlacement | CissPlacement = MatrixPlacement(
        base="tensor",
        stride="pitch",
        align=config.line_bytes,
        element_bytes=config.format.bits // 8,
        read_bytes=config.interleave,
    )
    if not what.dense:
        place = config.layout(what.order).placement(
            base="tensor",
            count="entries",
            align=config.line_bytes,
            read_bytes=config.interleave,
        )
    rows, columns, *more = tuple(_INDICES[: what.order] if what.order > 2 else "MK")
    return Operand(
        name="a", direction="in", rows=rows, columns=columns, more=tuple(more) or None,
        format=config.format, placement=place,
    )  # fmt: skip


def _factor(config: TensaurusConfig, what: Described, mode: int) -> Operand:
    """b, c or d."""
    rows, columns = "K", "N"
    if what.order > 2:
        rows, columns = _INDICES[mode], _ranks(what)[mode - 1]
    single = what.kernel == "mv" or (what.kernel == "ttmc" and mode < what.order - 1)
    per_place = 1 if single else config.unit_values
    element = config.format.bits // 8
    place = MatrixPlacement(
        base=f"operand_{mode}",
        row_bytes=element * per_place if what.order == 2 else None,
        align=config.line_bytes,
        element_bytes=element,
        read_bytes=config.interleave,
    )
    region = Region(
        register=f"REGION_{mode}",
        memory="scalars" if single else "units",
        product_of=(Factor(size=rows), Factor(size=columns, divided_by=per_place)),
        multiple_of=config.vlen if single else 1,
        at_most=config.spm_scalars if single else config.spm_units,
        error="tile",
    )
    return Operand(
        name=what.factors[mode - 1], direction="in", rows=rows, columns=columns,
        format=config.format, placement=place, region=region,
    )  # fmt: skip


def _result(config: TensaurusConfig, what: Described) -> Operand:
    """c, or y of tensors."""
    rows, columns, *more = ("I", *dict.fromkeys(_ranks(what))) if what.order > 2 else ("M", "N")
    element = config.sum_format.bits // 8
    per_row = 1 if what.kernel == "mv" else config.unit_values
    place = MatrixPlacement(
        base="output",
        row_bytes=element * per_row if what.order == 2 else None,
        align=config.line_bytes,
        element_bytes=element,
    )
    return Operand(
        name=what.result, direction="out", rows=rows, columns=columns, more=tuple(more) or None,
        format=config.sum_format, placement=place,
    )  # fmt: skip


def _operands(config: TensaurusConfig, what: Described) -> tuple[Operand, ...]:
    factors = (_factor(config, what, mode) for mode in range(1, what.order))
    return (_tensor(config, what), *factors, _result(config, what))


def _limits(config: TensaurusConfig, what: Described) -> tuple[Limit, ...]:
    if what.order > 2:
        *scalars, last = dict.fromkeys(_ranks(what))
        units = (
            Factor(size="I"),
            *(Factor(size=name) for name in scalars),
            Factor(size=last, divided_by=config.unit_values),
        )
        doc = "y fits the output buffer"
        return (Limit(product_of=units, at_most=config.out_units, error="tile", doc=doc),)
    single = what.kernel == "mv"
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
