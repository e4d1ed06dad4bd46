"""Tensors as the host lays them out for a design, and takes them out again.

An image has all iterations of its loops, outermost first: those that move a loader's place, then
those of a run, then lanes. A run begins with a beat.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...hw.spec.formats import Format
from ...hw.spec.t2s.affine import Affine
from ...hw.spec.t2s.expressions import Load
from ...hw.spec.t2s.functions import pad_pattern
from ...hw.spec.t2s.parts import Design, MemoryPart
from ...hw.spec.t2s.program import Program
from ...hw.spec.t2s.statements import Body, For, If, Store
from .sizes import check_bounds, shape_of, trip_count

__all__ = [
    "Image",
    "ImagePlacement",
    "image_of",
    "laid_out",
    "operand_names",
    "part_of",
    "placement",
    "taken_out",
]

Bytes = npt.NDArray[np.uint8]
Words = npt.NDArray[np.uint64]


@dataclass(frozen=True, kw_only=True)
class ImagePlacement:
    """What an image takes of memory.

    Parameters
    ----------
    strides: bytes from an iteration's place to the next one's, by loop
    size: bytes of it all
    """

    strides: Mapping[str, int]
    size: int


@dataclass(frozen=True, kw_only=True)
class Image:
    """An image of a tensor, for given bounds.

    Parameters
    ----------
    part: what reads or writes it
    extents: trip counts of its loops, in memory's order
    steps: of how many of them a run is the inside
    indices: of the tensor, in terms of these loops
    shape: of the tensor
    fmt: of its words
    pad: the pattern of its words where the tensor has none
    """

    part: MemoryPart
    extents: Mapping[str, int]
    steps: int
    indices: tuple[Affine, ...]
    shape: tuple[int, ...]
    fmt: Format
    pad: int

    @property
    def around(self) -> tuple[int, ...]:
        """Trip counts of the loops around a run."""
        return tuple(self.extents.values())[: self.steps]

    def placement(self, beat_bytes: int) -> ImagePlacement:
        """Where runs lie that follow each other, each from the beginning of a beat on."""
        size = self.part.run_beats(beat_bytes) * beat_bytes
        strides: dict[str, int] = {}
        for name, extent in reversed(list(self.extents.items())[: self.steps]):
            strides[name] = size
            size *= extent
        return ImagePlacement(strides=strides, size=size)

    def rows(self, words: Words) -> Bytes:
        """The bytes of all runs of a tensor of container words, (around..., bytes of a run).

        Raises ValueError for another shape.
        """
        if words.shape != self.shape:
            raise ValueError(f"{self.part.tensor} must be of shape {self.shape}, not {words.shape}")
        pad = self.pad << (self.fmt.container_bits - self.fmt.bits)
        padded = np.pad(words, [(0, 1)] * words.ndim, constant_values=np.uint64(pad))
        filled = np.broadcast_to(padded[self._places()], tuple(self.extents.values()))
        content = np.ascontiguousarray(filled, f"<u{self.fmt.container_bits // 8}")
        return content.reshape(*self.around, -1).view(np.uint8)

    def words(self, rows: Bytes) -> Words:
        """The tensor of which these are the bytes of all runs."""
        content = np.ascontiguousarray(rows).view(f"<u{self.fmt.container_bits // 8}")
        found = np.zeros([size + 1 for size in self.shape], np.uint64)
        whole = tuple(self.extents.values())
        # Loops that do not choose the element give the same word again.
        found[tuple(np.broadcast_to(one, whole) for one in self._places())] = content.reshape(whole)
        return found[tuple(slice(size) for size in self.shape)]

    def _places(self) -> tuple[npt.NDArray[np.int64], ...]:
        """The tensor's indices in each iteration, of a shape that loops broadcast to; the first one
        behind the end stands for all that lie outside."""
        names = list(self.extents)
        found = []
        for index, size in zip(self.indices, self.shape, strict=True):
            place = np.full([1] * len(names), index.constant, np.int64)
            for name, by in index.terms:
                shape = [self.extents[name] if one == name else 1 for one in names]
                place = place + by * np.arange(self.extents[name]).reshape(shape)
            found.append(np.where((place < 0) | (place >= size), size, place))
        return tuple(found)


def operand_names(program: Program) -> tuple[str, ...]:
    """The tensors that a program reads."""
    return tuple(
        one.name for one in program.tensors if not one.image and one.name != program.result
    )


def part_of(design: Design, tensor: str) -> MemoryPart:
    """What reads, or writes, a tensor's image. KeyError if nothing does."""
    for part in (*design.loaders, design.unloader):
        if part.tensor == tensor:
            return part
    raise KeyError(tensor)


def image_of(design: Design, tensor: str, bounds: Mapping[str, int]) -> Image:
    """A tensor's image. Raises ValueError for bounds that are not of the program's indices."""
    program = design.program
    check_bounds(program, bounds)
    part = part_of(design, tensor)
    declared = program.tensor(tensor)
    loops = program.tensor(f"{tensor}_image").image
    fmt = design.word_format(tensor)
    inside = {one.name for one in part.run}
    moved = [one for one in loops if one.name in part.strides]
    run = [one for one in loops if one.name in inside]
    lanes = [one for one in loops if one not in moved and one not in run]
    return Image(
        part=part,
        extents={one.name: trip_count(one, bounds) for one in (*moved, *run, *lanes)},
        steps=len(moved),
        indices=_indices(program, tensor),
        shape=shape_of(declared.dimensions, bounds),
        fmt=fmt,
        pad=pad_pattern(declared.functions, declared.pad, fmt),
    )


def placement(
    design: Design, tensor: str, bounds: Mapping[str, int], beat_bytes: int
) -> ImagePlacement:
    """Strides and bytes of a tensor's image whose runs follow each other."""
    return image_of(design, tensor, bounds).placement(beat_bytes)


def laid_out(
    design: Design, tensor: str, bounds: Mapping[str, int], words: Words, beat_bytes: int
) -> bytes:
    """An operand's image, placed as :func:`placement` says, of its container words.

    Raises ValueError for another shape than the bounds give it.
    """
    image = image_of(design, tensor, bounds)
    rows = image.rows(words)
    behind = image.part.run_beats(beat_bytes) * beat_bytes - image.part.run_bytes
    return np.pad(rows, [(0, 0)] * (rows.ndim - 1) + [(0, behind)]).tobytes()


def taken_out(design: Design, bounds: Mapping[str, int], content: bytes, beat_bytes: int) -> Words:
    """The result's container words, from its image placed as :func:`placement` says."""
    image = image_of(design, design.program.result, bounds)
    whole = np.frombuffer(content, np.uint8).reshape(*image.around, -1)
    assert whole.shape[-1] == image.part.run_beats(beat_bytes) * beat_bytes
    return image.words(whole[..., : image.part.run_bytes])


def _indices(program: Program, tensor: str) -> tuple[Affine, ...]:
    """The tensor's indices in terms of its image's loops, from what runs on the host."""
    for function in program.functions:
        for one in _stores(function.body) if function.host else ():
            if one.tensor == tensor:
                return one.indices
            if isinstance(one.value, Load) and one.value.tensor == tensor:
                return one.value.indices
    raise KeyError(tensor)


def _stores(body: Body) -> list[Store]:
    found: list[Store] = []
    for one in body:
        if isinstance(one, For):
            found += _stores(one.body)
        elif isinstance(one, If):
            found += _stores((*one.then, *one.otherwise))
        elif isinstance(one, Store):
            found.append(one)
    return found
