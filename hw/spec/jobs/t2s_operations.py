"""What the jobs of an array compute, and in which order its images have their words."""

from __future__ import annotations

from ..semirings import SEMIRINGS
from ..sidecar.operation import Compute, Operand, OperationEntry, Size
from ..sidecar.placement import ImageLoop, ImagePlacement
from ..t2s.config import T2sConfig
from ..t2s.functions import pad_pattern
from ..t2s.loops import Loop
from ..t2s.parts import MemoryPart
from ..t2s.program import TensorDeclaration
from .t2s_registers import base_register, memory_parts, stride_register, trips_register

__all__ = ["operations"]

_SINGLE = "single"
"""The size of the columns of vectors."""


def operations(config: T2sConfig) -> tuple[OperationEntry, ...]:
    """The computation of a design; nothing of designs with sparse operands.

    An operand has a mode for each index that chooses its words, so that it is the tensor itself
    unless a dimension is a sum of indices, as of a convolution.
    """
    design = config.plan
    if design.sparse is not None:
        return ()
    parts = memory_parts(config)
    modes = {part.tensor: _modes(config, part) for part in parts}
    sizes = _sizes(config, parts)
    if any(len(one) < 2 for one in modes.values()):
        sizes = (*sizes, Size(name=_SINGLE, doc="columns of a vector", value=1))
    return (
        OperationEntry(
            name=design.program.result,
            select=(),
            compute=_compute(config),
            sizes=sizes,
            operands=tuple(_operand(config, part, modes[part.tensor]) for part in parts),
        ),
    )


def _modes(config: T2sConfig, part: MemoryPart) -> tuple[str, ...]:
    """Indices that choose a word of a tensor, in the order in which they stand."""
    dimensions = config.plan.program.tensor(part.tensor).dimensions
    return tuple(dict.fromkeys(name for one in dimensions for name in one.variables))


def _loops(config: T2sConfig, part: MemoryPart) -> tuple[Loop, ...]:
    moved, inside = config.plan.image_loops(part)
    return (*moved, *inside)


def _sizes(config: T2sConfig, parts: tuple[MemoryPart, ...]) -> tuple[Size, ...]:
    """Of each index what tiles fill up."""
    found = {}
    design = config.plan
    # An index' first loop in an image is its outermost one.
    for part in parts:
        for loop in _loops(config, part):
            if loop.index in found:
                continue
            doc = f"index {loop.index}, filled up to whole tiles"
            if loop.index in design.indices:
                register = trips_register(loop.index)
                size = Size(name=loop.index, doc=doc, register=register, scale=loop.step)
            else:
                value = loop.step * (loop.extent or 1)
                size = Size(name=loop.index, doc=doc, value=value)
            found[loop.index] = size
    return tuple(found[index] for index in design.program.indices if index in found)


def _operand(config: T2sConfig, part: MemoryPart, modes: tuple[str, ...]) -> Operand:
    design = config.plan
    declared, fmt = design.program.tensor(part.tensor), design.word_format(part.tensor)
    comes_out = part.tensor == design.program.result
    pad = None
    if not comes_out:
        pad = pad_pattern(declared.functions, declared.pad, fmt) << fmt.container_bits - fmt.bits
    rows, columns, *more = (*modes, _SINGLE) if len(modes) < 2 else modes
    place = ImagePlacement(
        base=base_register(part),
        align=config.beat_bytes,
        element_bytes=fmt.container_bits // 8,
        read_bytes=None if comes_out else config.beat_bytes,
        loops=tuple(_image_loop(part, loop) for loop in _loops(config, part)),
    )
    return Operand(
        name=part.tensor, direction="out" if comes_out else "in", rows=rows,
        columns=columns, more=tuple(more) or None, format=fmt, padding=pad, placement=place,
    )  # fmt: skip


def _image_loop(part: MemoryPart, loop: Loop) -> ImageLoop:
    stride = stride_register(part, loop.name) if loop.name in part.strides else None
    return ImageLoop(size=loop.index, step=loop.step, count=loop.extent, stride=stride)


def _compute(config: T2sConfig) -> Compute:
    """A contraction, unless sums start from a tensor, words go through functions, or several
    products are added."""
    program = config.plan.program
    operators = SEMIRINGS[program.semiring]
    declared = [program.tensor(part.tensor) for part in memory_parts(config)]
    plain = not program.start and not any(one.functions for one in declared)
    single = plain and len(program.products) == 1
    kept = {name for one in program.tensor(program.result).dimensions for name in one.variables}
    summed = [name for name in program.indices if name not in kept]
    products = [" (x) ".join(_said(program.tensor(x)) for x in one) for one in program.products]
    start = f"{_said(program.tensor(program.start))} (+) " if program.start else ""
    after = "".join(f"{name} of " for name in reversed(program.tensor(program.result).functions))
    over = f" over {', '.join(summed)}" if summed else ""
    doc = (
        f"{_said(program.tensor(program.result), result=True)} = {after}{start}the (+) sum{over} "
        f"of {' (+) '.join(products)} with (+) {operators.plus} and (x) {operators.times}"
    )
    windows = [one for one in declared if any(len(x.variables) > 1 for x in one.dimensions)]
    for one in windows:
        names = ",".join(dict.fromkeys(x for d in one.dimensions for x in d.variables))
        doc += f"; operand {one.name}({names}) is {_said(one)}"
    if not single:
        return Compute(kind="other", doc=doc)
    return Compute(kind="contraction", plus=operators.plus, times=operators.times, doc=doc)


def _said(tensor: TensorDeclaration, *, result: bool = False) -> str:
    """A(i,k), with the functions that words go through before they are multiplied."""
    text = f"{tensor.name}({','.join(str(one) for one in tensor.dimensions)})"
    for name in () if result else tensor.functions:
        text = f"{name}({text})"
    return text
