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
from ...hw.spec.t2s.arithmetic import pad_pattern
from ...hw.spec.t2s.design import Design
from ...hw.spec.t2s.loops import Affine, Loop, variable
from ...hw.spec.t2s.parts import MemoryPart
from ...hw.spec.t2s.program import Program
from .sizes import check_bounds, index_numbers, places_of, shape_of, trip_count, walked_indices

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
    """Strides and size of an image in memory.

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
    dimensions: of the tensor, in terms of the computation's indices
    indices: those that choose a word, in terms of these loops
    bounds: of these indices
    fmt: of its words
    pad: the pattern of its words where an index is beyond its bound
    """

    part: MemoryPart
    extents: Mapping[str, int]
    steps: int
    dimensions: tuple[Affine, ...]
    indices: Mapping[str, Affine]
    bounds: Mapping[str, int]
    fmt: Format
    pad: int

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the tensor."""
        return shape_of(self.dimensions, self.bounds)

    @property
    def around(self) -> tuple[int, ...]:
        """Trip counts of the loops around a run."""
        return tuple(self.extents.values())[: self.steps]

    def placement(self, beat_bytes: int) -> ImagePlacement:
        """Places consecutive runs one after the other; each begins at the start of a beat."""
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
        numbers, outside = self._numbers()
        inside = {name: np.minimum(one, self.bounds[name] - 1) for name, one in numbers.items()}
        found = words[places_of(self.dimensions, inside, len(self.extents))]
        filled = np.broadcast_to(
            np.where(outside, np.uint64(pad), found), tuple(self.extents.values())
        )
        content = np.ascontiguousarray(filled, f"<u{self.fmt.container_bits // 8}")
        return content.reshape(*self.around, -1).view(np.uint8)

    def words(self, rows: Bytes) -> Words:
        """The tensor's words by its indices, an axis each: of images of these bytes of all runs."""
        content = np.ascontiguousarray(rows).view(f"<u{self.fmt.container_bits // 8}")
        found = np.zeros([size + 1 for size in self.bounds.values()], np.uint64)
        whole = tuple(self.extents.values())
        # Loops that choose no word give the same one again; one place more takes what is outside.
        numbers, outside = self._numbers()
        places = tuple(
            np.broadcast_to(np.where(outside, self.bounds[name], one), whole)
            for name, one in numbers.items()
        )
        found[places] = content.reshape(whole)
        return found[tuple(slice(size) for size in self.bounds.values())]

    def _numbers(self) -> tuple[dict[str, npt.NDArray[np.int64]], npt.NDArray[np.bool_]]:
        """The indices in each iteration, and whether one of them is beyond its bound; of shapes
        that loops broadcast to."""
        numbers = {name: index_numbers(one, self.extents) for name, one in self.indices.items()}
        outside = np.zeros([1] * len(self.extents), np.bool_)
        for name, one in numbers.items():
            outside = outside | (one >= self.bounds[name])
        return numbers, outside


def operand_names(program: Program) -> tuple[str, ...]:
    """The tensors that a program reads."""
    return tuple(
        one.name for one in program.tensors if not one.image and one.name != program.result
    )


def part_of(design: Design, tensor: str) -> MemoryPart:
    """Returns the part that reads, or writes, a tensor's image. KeyError if nothing does."""
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
    moved, inside = design.image_loops(part)
    names = walked_indices(declared.dimensions)
    return Image(
        part=part,
        extents={one.name: trip_count(one, bounds) for one in (*moved, *inside)},
        steps=len(moved),
        dimensions=declared.dimensions,
        indices={name: _by_loops(name, loops) for name in names},
        bounds={name: bounds[name] for name in names},
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


def _by_loops(index: str, loops: tuple[Loop, ...]) -> Affine:
    """An index as a sum of the loops that it is cut into."""
    mine = (variable(one.name).times(one.step) for one in loops if one.index == index)
    return sum(mine, Affine())
