"""Words as bit patterns of a unit's formats, and back; integers that a unit does not hold are an
error."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from ....hw.spec.formats import FORMATS
from ....hw.spec.gta import GtaConfig, result_bytes
from ....hw.spec.m3xu import MODES, M3xuConfig
from ....hw.spec.simd2 import Simd2Config
from ...numbers.values import decode, encode
from ..tensor_unit import Backend
from ..words import BOOLEAN, COMPLEX64, FP32, FP64, MINPLUS, Array, WordOverflow, Words
from ..words.integers import Integers, largest
from ..words.modular import Residues


@dataclass(frozen=True, kw_only=True)
class Held:
    """Words as a unit has them.

    Parameters
    ----------
    operation: of the unit, by name
    element, result: formats of operands and of sums: a name of ``FORMATS``, or "fp32c"
    operand_bits, result_bits: of signed integers that are exact as an operand and as a sum; 0 for
        words that are none
    """

    operation: str
    element: str
    result: str
    operand_bits: int = 0
    result_bits: int = 0


@dataclass(frozen=True, kw_only=True)
class UnitKind:
    """Hardware that can be a backend.

    Parameters
    ----------
    name: of the unit
    config: of its configuration
    held: what it holds, for messages
    others: how it holds words that are neither integers nor residues
    integers: how it holds those, the narrowest first
    settings: the parameters that words and the side of the unit decide
    """

    name: str
    config: Callable[..., Any]
    held: tuple[str, ...]
    others: Mapping[Words, Held]
    integers: tuple[Held, ...]
    settings: Callable[[Held, int], dict[str, Any]]

    def holds(self, words: Words, side: int) -> Held | None:
        """Returns how a unit of this side holds words; None if it does not.

        Integers as narrow as words are, or else as wide as there are: what does not fit is told
        when it comes. Of residues all sums of products must fit, as their remainders are taken
        later.
        """
        if isinstance(words, Integers):
            enough = (held for held in self.integers if held.operand_bits >= words.bits)
            return next(enough, self.integers[-1])
        if isinstance(words, Residues):
            largest = words.modulus - 1
            return next((held for held in self.integers if _fits(held, largest, side)), None)
        return self.others.get(words)


def _fits(held: Held, largest: int, side: int) -> bool:
    """Tells whether 0 to ``largest`` fit operands, and sums of ``side`` products are exact."""
    total = side * largest * largest
    return largest >> (held.operand_bits - 1) == 0 == total >> (held.result_bits - 1)


def _real(operation: str, format: str) -> Held:
    return Held(operation=operation, element=format, result=format)


def _whole(operation: str, bits: int, sums: int) -> Held:
    return Held(operation=operation, element=f"int{bits}", result=f"int{sums}",
                operand_bits=bits, result_bits=sums)  # fmt: skip


_WHOLE_FP32 = Held(operation="fp32", element="fp32", result="fp32", operand_bits=25, result_bits=25)
"""Integers below 2**24: products are whole and below 2**48, within any window of 56 bits; a sum is
exact below 2**24, as no larger one is rounded to less."""


USUAL = {"pipeline": 4}
"""Parameters of a matrix unit unless others are asked for: a call ends before the next one begins,
so that its latency counts with each."""


def _simd2_settings(held: Held, side: int) -> dict[str, Any]:
    return {
        "tile": side, "format": held.element, "accumulator": held.result, "ops": (held.operation,),
    }  # fmt: skip


def _m3xu_settings(held: Held, side: int) -> dict[str, Any]:
    mode = held.operation
    return {"rows": side, "cols": side, "depth": side * MODES[mode].lanes, "modes": (mode,)}


def _gta_settings(held: Held, side: int) -> dict[str, Any]:
    return {"formats": (held.element,)}


SIMD2_KIND = UnitKind(
    name="simd2",
    config=Simd2Config,
    held=("fp32", "fp64", "boolean", "minplus", "integers (operands of 32 bits)",
          "residues (of which sums of s products fit)"),
    others={
        FP32: _real("mma", "fp32"),
        FP64: _real("mma", "fp64"),
        MINPLUS: _real("minplus", "fp64"),
        BOOLEAN: Held(operation="orand", element="int8", result="int32"),
    },
    integers=tuple(_whole("mma", bits, 64) for bits in (8, 16, 32)),
    settings=_simd2_settings,
)  # fmt: skip
M3XU_KIND = UnitKind(
    name="m3xu",
    config=M3xuConfig,
    held=("fp32", "complex64", "integers (of 25 bits)",
          "residues (of which sums of s products fit)"),
    others={FP32: _real("fp32", "fp32"), COMPLEX64: _real("fp32c", "fp32c")},
    integers=(_WHOLE_FP32,),
    settings=_m3xu_settings,
)  # fmt: skip
GTA_KIND = UnitKind(
    name="gta",
    config=GtaConfig,
    held=("fp32", "fp64", "integers (of 64 bits)", "residues (of which sums of s products fit)"),
    others={FP32: _real("os", "fp32"), FP64: _real("os", "fp64")},
    integers=tuple(
        _whole("ws", bits, 8 * result_bytes(f"int{bits}")) for bits in (8, 16, 32, 64)
    ),
    settings=_gta_settings,
)  # fmt: skip
"""Its operations are dataflows: blocks of B stay in the array, but of floats sums do."""

KINDS = {kind.name: kind for kind in (SIMD2_KIND, M3XU_KIND)}
"""Matrix units by name."""


@dataclass
class HardwareTally:
    """Sums over the calls so far.

    Parameters
    ----------
    cycles: from the first operand of a call to its last result
    operations: of the matrix unit
    sent: words that operations were given: blocks of B again with each
    bytes_read, bytes_written: of memory, where there is one
    remainders: of results that the CPU takes, where words are residues
    checked, mismatches: results and counters of Verilog beside the model's, and those that differ
    """

    cycles: int = 0
    operations: int = 0
    sent: int = 0
    bytes_read: int = 0
    bytes_written: int = 0
    remainders: int = 0
    checked: int = 0
    mismatches: int = 0


@runtime_checkable
class HardwareBackend(Backend, Protocol):
    """A backend that measures.

    Members
    -------
    tally: what was counted so far
    rtl: whether Verilog is simulated, and compared with the model
    kind: what it is, and which words it holds
    """

    @property
    def tally(self) -> HardwareTally: ...
    @property
    def rtl(self) -> bool: ...
    @property
    def kind(self) -> UnitKind: ...

    def call_cycles(self, rows: int, words: Words) -> int:
        """Cycles of a call of so many rows, by the model, without values."""
        ...

    def why_off_line(self, rows: int, words: Words) -> str:
        """Explains why calls of so many rows take other cycles than ``a n s + l``."""
        ...


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
