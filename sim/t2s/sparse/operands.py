"""Sparse operands of a design as they lie in memory, and its result's rows back in their places."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ....hw.spec.t2s.design import Design
from ....hw.spec.t2s.functions import pad_pattern
from ....hw.spec.t2s.sparse_timing import entry_timing
from ..sizes import walked_indices
from .entries import Entries
from .image import SparseImage, laid_out_entries, row_places, tile_steps

__all__ = ["SparseOperands", "laid_out_operands", "missing_word"]


@dataclass(frozen=True, kw_only=True, eq=False)
class SparseOperands:
    """All sparse operands of a job.

    Parameters
    ----------
    images: by tensor
    places: where each row lies, of them and of the result; none of a design without them
    bounds: of indices, that of rows up to a whole tile: rows may lie anywhere there
    """

    images: Mapping[str, SparseImage]
    places: npt.NDArray[np.int64]
    bounds: Mapping[str, int]

    @property
    def steps(self) -> dict[str, int]:
        """Vectors of tokens, by tensor."""
        return {name: image.steps for name, image in self.images.items()}

    def put_back(self, design: Design, words: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
        """The result, of what elements make of all rows up to a whole tile."""
        plan, program = design.sparse, design.program
        if plan is None:
            return words
        axis = walked_indices(program.tensor(program.result).dimensions).index(plan.rows.index)
        found: npt.NDArray[np.uint64] = np.take(words, self.places, axis=axis)
        return found


def missing_word(design: Design, tensor: str) -> int:
    """The pattern of a sparse tensor's words where it has no entry."""
    return pad_pattern((), design.program.tensor(tensor).pad, design.word_format(tensor))


def laid_out_operands(
    design: Design,
    bounds: Mapping[str, int],
    entries: Mapping[str, Entries],
    beat_bytes: int,
) -> SparseOperands:
    """The images of tensors. Of a design without sparse operands there are none, and rows stay.

    Parameters
    ----------
    bounds: of all indices
    entries: of all sparse tensors, dimensions as the tensors have them
    """
    plan = design.sparse
    if plan is None:
        return SparseOperands(images={}, places=np.zeros(0, np.int64), bounds=bounds)
    levels, turned = list(tile_steps(plan)), {}
    for name, one in entries.items():
        indices = walked_indices(design.program.tensor(name).dimensions)
        turned[name] = one.transposed(tuple(indices.index(level) for level in levels))
    rows = plan.rows
    places = row_places(plan, bounds, [turned[part.tensor] for part in plan.entries])
    apart = entry_timing(plan.element).again
    images = {
        part.tensor: laid_out_entries(
            plan, part, bounds, turned[part.tensor], places, beat_bytes=beat_bytes, apart=apart
        )
        for part in plan.entries
    }
    whole = -(-bounds[rows.index] // rows.tile) * rows.tile
    return SparseOperands(images=images, places=places, bounds={**bounds, rows.index: whole})
