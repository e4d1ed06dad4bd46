"""An array's computation whose operands are given element by element."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...hw.spec.t2s.config import T2sConfig
from .hardware_result import result_of_walked
from .sizes import walked_indices
from .sparse.entries import Entries
from .sparse.ordered_sums import sums_of_entries
from .sparse.running import entries_of_images, laid_out_operands

__all__ = ["golden"]


def golden(
    config: T2sConfig, operation: str, sizes: Mapping[str, int], operands: Mapping[str, Any]
) -> dict[str, Any]:
    """Computes one job from all operands; see :class:`tilewright.registry.Entry`."""
    design = config.plan
    assert operation == design.program.result
    bounds = {name: sizes[name] for name in design.program.indices}
    words, entries = {}, {}
    for name, given in operands.items():
        fmt = design.word_format(name)
        modes = walked_indices(design.program.tensor(name).dimensions)
        if isinstance(given, Mapping):
            shape = tuple(sizes[mode] for mode in modes)
            # A vector has a column.
            places = np.array([at[: len(shape)] for at in given], np.int64)
            entries[name] = Entries(
                shape=shape,
                places=places.reshape(-1, len(shape)),
                words=np.array(list(given.values()), np.uint64),
            )
            continue
        shaped = given if len(modes) == given.ndim else given[..., 0]
        words[name] = shaped >> np.uint64(fmt.container_bits - fmt.bits)
    fmt = design.word_format(operation)
    if design.sparse is None:
        found = result_of_walked(design, bounds, words)
    else:
        laid_out = laid_out_operands(design, bounds, entries, config.beat_bytes)
        images = {name: image.content for name, image in laid_out.images.items()}
        merged = entries_of_images(design, images, laid_out.steps)
        sums = sums_of_entries(design.program, design.sparse, laid_out.bounds, merged, words)
        found = laid_out.put_back(design, sums)
    found = found << np.uint64(fmt.container_bits - fmt.bits)
    return {operation: found if found.ndim > 1 else found[:, np.newaxis]}
