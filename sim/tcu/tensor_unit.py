"""The reference: products as the words define them, of any side and any words."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol

import numpy as np

from .cost import Cost, UnitWork
from .words import Array, Words

# A left operand of any number of rows against one block: the call that algorithms are made of.
#
# A tall unit takes it whole, padded to s rows if there are fewer; a weak one in squares, which
# costs a latency each (section 4 of the paper).


# The tensor unit of the model: checks what an algorithm asks of it, and counts it.
#
# Source: section 2 of the paper; the weak unit is section 4's.


class Backend(Protocol):
    """Products of (n, s) by (s, s) words, n >= s of any size.

    Operands are checked before they come here (see :class:`TensorUnit`): arrays of the words'
    dtype and of right shapes, of words that the backend holds; views, not contiguous, are allowed.

    Members
    -------
    name: as the command line has it
    side: s
    held: the names of the words that it holds, for messages; ("any",) of the reference
    cycles: measured so far, None where nothing measures any
    """

    @property
    def name(self) -> str: ...
    @property
    def side(self) -> int: ...
    @property
    def held(self) -> tuple[str, ...]: ...
    @property
    def cycles(self) -> int | None: ...

    def holds(self, words: Words) -> bool:
        """True if the unit multiplies such words."""
        ...

    def multiply(self, a: Array, b: Array, words: Words) -> Array:
        """``a b``, a new array. Raises a WordOverflow if integers do not fit the unit's words."""
        ...

    def multiply_add(self, a: Array, b: Array, c: Array, words: Words) -> Array:
        """``a b (+) c``, a new array, ``c`` of shape (n, s)."""
        ...


class TensorUnit:
    """A backend with words and a latency, and the cost of everything done with it.

    One thing runs at a time: costs add up. An algorithm charges its own work by :meth:`cpu`.

    Parameters
    ----------
    backend: what multiplies
    words: what is multiplied
    latency: l, in the time of a word, from 0
    weak: left operands are square, as right ones are

    Members
    -------
    s: side of right operands; ``m = s * s``
    cost: of everything so far, that of units beside it (see :meth:`beside`) with it
    on_call: what is told of each call when it is counted, if anything

    Raises
    ------
    TypeError for words that are none or a latency that is no number; ValueError for words that the
    backend does not hold, and a latency below 0.
    """

    def __init__(
        self, backend: Backend, words: Words, latency: float = 0, weak: bool = False
    ) -> None:
        if not isinstance(words, Words):
            raise TypeError(f"`words` must be Words, not {type(words).__name__}")
        if isinstance(latency, bool) or not isinstance(latency, int | float):
            raise TypeError(f"`latency` must be a number, not {type(latency).__name__}")
        if not 0 <= latency < math.inf:
            raise ValueError(f"`latency` must be 0 or more, and finite, not {latency}")
        if not backend.holds(words):
            held = ", ".join(backend.held)
            raise ValueError(f"words of backend {backend.name} must be {held}, not {words.name}")
        self.backend, self.words = backend, words
        self.latency, self.weak = latency, weak
        self.cost = Cost()
        self.on_call: Callable[[], None] | None = None
        self._own = Cost()
        self._beside: list[TensorUnit] = []

    @property
    def s(self) -> int:
        return self.backend.side

    @property
    def m(self) -> int:
        return self.s * self.s

    @property
    def own(self) -> UnitWork:
        """Calls and rows on these words, without those of units beside it."""
        return self._own.work

    @property
    def units(self) -> tuple[TensorUnit, ...]:
        """This one, and those beside it that were called."""
        return (self, *(one for one in self._beside if one.own.calls))

    @property
    def unit_time(self) -> float:
        """Time of the unit so far, in words: ``rows * s + calls * latency``, of each kind of words
        with its latency."""
        return sum(one.own.unit_time(one.s, one.latency) for one in self.units)

    def beside(self, words: Words, latency: float | None = None) -> TensorUnit:
        """Returns a unit on this backend with other words, for a part of an algorithm, sharing
        costs.

        ``latency`` is this unit's unless given. Raises what a TensorUnit raises.
        """
        other = self._of(words, self.latency if latency is None else latency)
        other.cost, other.on_call = self.cost, self.on_call
        self._beside.append(other)
        return other

    def multiply(self, a: Array, b: Array) -> Array:
        """``a b``: (n, s) by (s, s), n >= s; n = s on a weak unit. Takes ``n s + l``.

        Raises TypeError for what are no arrays of the words' dtype, ValueError for other shapes,
        and a WordOverflow if integers do not fit; nothing is counted then.
        """
        self._check(a, b)
        found = self.backend.multiply(a, b, self.words)
        self._count(a)
        return found

    def multiply_add(self, a: Array, b: Array, c: Array) -> Array:
        """``a b (+) c``, which the paper's unit cannot: counted as a call, and apart.

        Raises what :meth:`multiply` raises, of ``c`` (n, s) as well.
        """
        self._check(a, b)
        self._check_dtype("c", c)
        if c.shape != a.shape:
            raise ValueError(f"`c` must be of shape {a.shape}, not {c.shape}")
        found = self.backend.multiply_add(a, b, c, self.words)
        self._count(a)
        self.cost.fused_calls += 1
        return found

    def cpu(self, *, adds: int = 0, multiplies: int = 0, moves: int = 0) -> None:
        """Charge work of the CPU, in words."""
        self.cost.cpu_adds += adds
        self.cost.cpu_multiplies += multiplies
        self.cost.cpu_moves += moves

    def _of(self, words: Words, latency: float) -> TensorUnit:
        return TensorUnit(self.backend, words, latency, self.weak)

    def _count(self, a: Array) -> None:
        for cost in (self.cost, self._own):
            cost.calls += 1
            cost.rows += a.shape[0]
        if self.on_call is not None:
            self.on_call()

    def _check(self, a: Array, b: Array) -> None:
        self._check_dtype("a", a)
        self._check_dtype("b", b)
        s = self.s
        if b.shape != (s, s):
            raise ValueError(f"`b` must be of shape ({s}, {s}), not {b.shape}")
        if self.weak and a.shape != (s, s):
            raise ValueError(f"`a` of a weak unit must be of shape ({s}, {s}), not {a.shape}")
        if a.ndim != 2 or a.shape[1] != s or a.shape[0] < s:
            raise ValueError(f"`a` must be of shape (n, {s}), n >= {s}, not {a.shape}")

    def _check_dtype(self, name: str, x: Array) -> None:
        if not isinstance(x, np.ndarray):
            raise TypeError(f"`{name}` must be an array, not {type(x).__name__}")
        if x.dtype != self.words.dtype:
            raise TypeError(f"`{name}` must be of {self.words.dtype}, not {x.dtype}")


def require(
    unit: TensorUnit,
    algorithm: str,
    *,
    subtraction: bool = False,
    division: bool = False,
    exact: bool = False,
    kinds: tuple[str, ...] = (),
) -> None:
    """Refuse a unit whose words an algorithm cannot use, before anything runs.

    Parameters
    ----------
    algorithm: its name, for the message
    subtraction, division, exact: what its words must do
    kinds: of words, one of which it takes; empty if any will do

    Raises ValueError.
    """
    words = unit.words
    if kinds and words.kind not in kinds:
        raise ValueError(f"words of {algorithm} must be {' or '.join(kinds)}, not {words.name}")
    if subtraction and not words.subtracts:
        raise ValueError(f"words of {algorithm} must subtract, which {words.name} does not")
    if division and not words.divides:
        raise ValueError(f"words of {algorithm} must divide, which {words.name} does not")
    if exact and not words.exact:
        raise ValueError(f"words of {algorithm} must be exact, which {words.name} is not")


def side_of(m: int) -> int:
    """The side of a unit of ``m`` words. Raises ValueError if ``m`` is no square from 1."""
    if m < 1 or math.isqrt(m) ** 2 != m:
        raise ValueError(f"`m` must be a square, 1 or more, not {m}")
    return math.isqrt(m)


def multiple(length: int, s: int) -> int:
    """The least multiple of ``s`` that is ``length`` or more, from ``s``."""
    return max(1, -(-length // s)) * s


def padded(unit: TensorUnit, x: Array, *shape: int) -> Array:
    """``x`` in the first corner of an array of ``shape``, zeros of the words elsewhere.

    ``x`` itself, which costs nothing, if it has the shape; a copy otherwise, a move a word of it.
    """
    if x.shape == shape:
        return x
    wide = np.full(shape, unit.words.zero, unit.words.dtype)
    wide[tuple(slice(length) for length in x.shape)] = x
    unit.cpu(moves=wide.size)
    return wide


def block(x: Array, i: int, j: int, s: int) -> Array:
    """Block (i, j) of a matrix in blocks of (s, s): a view."""
    return x[i * s : (i + 1) * s, j * s : (j + 1) * s]


def stream(unit: TensorUnit, a: Array, b: Array) -> Array:
    """``a b``: (n, s) by (s, s) for any n from 1, as ``formulas.streaming.stream`` counts it."""
    n, s = a.shape[0], unit.s
    if not unit.weak:
        return unit.multiply(padded(unit, a, max(n, s), s), b)[:n]
    wide = padded(unit, a, multiple(n, s), s)
    squares = [unit.multiply(wide[row : row + s], b) for row in range(0, len(wide), s)]
    return np.concatenate(squares)[:n]


def add(unit: TensorUnit, x: Array, y: Array) -> Array:
    """``x (+) y``: an add a word."""
    found = unit.words.add(x, y)
    unit.cpu(adds=found.size)
    return found


def subtract(unit: TensorUnit, x: Array, y: Array) -> Array:
    """``x - y``: an add a word."""
    found = unit.words.subtract(x, y)
    unit.cpu(adds=found.size)
    return found


def multiply(unit: TensorUnit, x: Array, y: Array) -> Array:
    """``x (x) y``, element by element: a multiply a word."""
    found = unit.words.multiply(x, y)
    unit.cpu(multiplies=found.size)
    return found


def divide(unit: TensorUnit, x: Array, y: Array) -> Array:
    """``x / y``, element by element: a multiply a word."""
    found = unit.words.divide(x, y)
    unit.cpu(multiplies=found.size)
    return found


class NumpyBackend:
    """A unit of side ``side`` in NumPy; it measures no cycles.

    Parameters
    ----------
    side: s, from 1

    Raises
    ------
    TypeError or ValueError for a side that is no integer, or below 1.
    """

    name = "numpy"
    held: tuple[str, ...] = ("any",)
    cycles: int | None = None

    def __init__(self, side: int) -> None:
        if isinstance(side, bool) or not isinstance(side, int):
            raise TypeError(f"`side` must be an integer, not {type(side).__name__}")
        if side < 1:
            raise ValueError(f"`side` must be 1 or more, not {side}")
        self.side = side

    def holds(self, words: Words) -> bool:
        return True

    def multiply(self, a: Array, b: Array, words: Words) -> Array:
        return words.product(a, b)

    def multiply_add(self, a: Array, b: Array, c: Array, words: Words) -> Array:
        return words.add(words.product(a, b), c)
