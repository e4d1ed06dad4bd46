"""Words as bit patterns of a unit's formats, and back; integers that a unit does not hold are an
error."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ....hw.spec.formats import FORMATS
from ...numbers.values import decode, encode
from ..words import Array, WordOverflow, Words
from ..words.exact_products import largest
from ..words.integers import Integers
from ..words.modular import Residues
from .held import Held
from .tally import HardwareTally

__all__ = ["BackendOverflow", "Patterns", "check_operands", "patterns", "results"]

Patterns = npt.NDArray[np.uint64]

_PAIRS = "fp32c"


class BackendOverflow(WordOverflow):
    """An integer that a backend does not hold exactly, though words do.

    Parameters
    ----------
    backend: its name
    what: "operands" or "sums"
    needed, bits: of signed words: that would hold it, and that the backend has
    """

    def __init__(self, backend: str, what: str, needed: int, bits: int) -> None:
        super().__init__(needed, bits)
        self.args = (f"{what} of backend {backend} must be integers of at most {bits} bits, "
                     f"not of {needed}",)  # fmt: skip


def patterns(x: Array, format: str) -> Patterns:
    """Patterns of words in a format that holds them."""
    if format == _PAIRS:
        return np.ascontiguousarray(x, np.complex64).view(np.uint64).reshape(x.shape)
    return encode(x.astype(np.int64 if format.startswith("int") else np.float64), FORMATS[format])


def check_operands(backend: str, held: Held, *operands: Array) -> None:
    """Raise a BackendOverflow if integers do not fit the unit's operands."""
    if held.operand_bits:
        needed = max(_bits(x) for x in operands)
        if needed > held.operand_bits:
            raise BackendOverflow(backend, "operands", needed, held.operand_bits)


def results(
    backend: str,
    held: Held,
    found: Patterns,
    words: Words,
    a: Array,
    b: Array,
    c: Array | None,
    tally: HardwareTally,
) -> Array:
    """Words of the patterns that a unit gave for ``a b (+) c``; remainders are counted.

    Raises a BackendOverflow if the unit's sums do not hold it, a WordOverflow if words do not.
    """
    if held.result == _PAIRS:
        return np.ascontiguousarray(found).view(np.complex64)
    numbers = decode(found, FORMATS[held.result])
    if not held.operand_bits:
        return np.asarray(numbers.astype(words.dtype))
    bound = largest(a) * largest(b) * a.shape[1] + (0 if c is None else largest(c))
    wraps = held.result.startswith("int") and bound >> (held.result_bits - 1)
    if wraps or float(np.abs(numbers).max()) >= 2.0 ** (held.result_bits - 1):
        exact = np.asarray(a.astype(object) @ b.astype(object))
        exact = exact if c is None else exact + c
        needed = _bits(exact)
        if needed > held.result_bits:
            if isinstance(words, Integers) and words.bits < held.result_bits:
                words.array(exact)
            raise BackendOverflow(backend, "sums", needed, held.result_bits)
    if isinstance(words, Residues):
        tally.remainders += numbers.size
    return words.array(numbers.astype(np.int64))


def _bits(x: Array) -> int:
    """Width of the signed integers that hold all values."""
    least, most = int(x.min()), int(x.max())
    return 1 + max((n if n >= 0 else ~n).bit_length() for n in (least, most))
