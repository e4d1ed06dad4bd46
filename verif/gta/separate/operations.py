"""Operations of the separate units of GTA, mixed in one list."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from tilewright.hw.spec.formats import FORMATS
from tilewright.hw.spec.gta import FORMATS_OF_GTA
from tilewright.hw.spec.gta_lane.separate import GtaSeparateConfig
from tilewright.hw.spec.gta_lane.widths import elements, sum_format, sum_words
from tilewright.sim.gta.separate import Words, multiply_add


def mixed_operations(
    config: GtaSeparateConfig,
    format: npt.ArrayLike,
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    c: npt.ArrayLike,
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint8]]:
    """Results (operations, words) and error flags of operations as they are in the unit's stream.

    Parameters
    ----------
    config: the unit
    format: numbers of formats, (operations,); one that the unit was not built with gives zeros and
        the flag
    a, b: the datapath's bits, (operations,)
    c: words of 32 bits, (operations, words)
    """
    number = np.asarray(format)
    left, right = (np.asarray(x, np.uint64) for x in (a, b))
    addends = np.ascontiguousarray(c, "<u4")
    d = np.zeros_like(addends)
    for name in config.formats:
        here = np.flatnonzero(number == FORMATS_OF_GTA.index(name))
        result = _multiply_adds(name, left[here], right[here], addends[here])
        d[here, : result.shape[1]] = result
    error = ~np.isin(number, list(config.opcodes.values()))
    return d, error.astype(np.uint8)


def _multiply_adds(
    format: str, a: Words, b: Words, c: npt.NDArray[np.uint32]
) -> npt.NDArray[np.uint32]:
    """Of operations in one format: the words that its results take."""
    bits, count = FORMATS[format].bits, elements(format)
    shifts = np.arange(count, dtype=np.uint64) * np.uint64(bits)
    mask = np.uint64((1 << bits) - 1)
    factors = [(x[:, np.newaxis] >> shifts) & mask for x in (a, b)]
    words = sum_words(format)
    word = np.dtype(f"<u{sum_format(format).bits // 8}")
    taken = c.view(word)[:, : count * words].reshape(len(c), count, words)
    sums = multiply_add(format, factors[0], factors[1], np.moveaxis(taken.astype(np.uint64), -1, 0))
    flat = np.moveaxis(sums, 0, -1).reshape(len(c), count * words).astype(word)
    return np.ascontiguousarray(flat).view("<u4")
