"""A host that does all that is legal: images of tokens in any order with nothings anywhere, and the
result in exact numbers. Nothing of the project's own host is used for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import prod

import numpy as np
import numpy.typing as npt

from .mapping_files import DrawnFile

FLOATS = {"fp16": (5, 10), "bf16": (8, 7), "fp32": (8, 23)}
"""Bits of exponents and of fractions."""

_INTEGERS = {"int8": 8, "int16": 16, "int32": 32}


@dataclass(frozen=True)
class _Number:
    """A float: NaN, an infinity, or a value; of zero the sign counts.

    Parameters
    ----------
    kind: "nan", "inf" or "finite"
    """

    kind: str
    negative: bool = False
    value: Fraction = Fraction(0)

    @property
    def order(self) -> tuple[int, Fraction, int]:
        """Key for comparisons; -0 is below +0."""
        if self.kind == "inf":
            return (-1 if self.negative else 1, Fraction(0), 0)
        return (0, self.value, 0 if self.negative else 1)


_NAN = _Number("nan")


def _infinity(negative: bool) -> _Number:
    return _Number("inf", negative)


def _finite(value: Fraction, zero_negative: bool = False) -> _Number:
    return _Number("finite", value < 0 or (value == 0 and zero_negative), value)


def _decoded(pattern: int, fmt: str) -> _Number:
    exponent_bits, fraction_bits = FLOATS[fmt]
    negative = bool(pattern >> (exponent_bits + fraction_bits))
    exponent = (pattern >> fraction_bits) & ((1 << exponent_bits) - 1)
    fraction = pattern & ((1 << fraction_bits) - 1)
    if exponent == (1 << exponent_bits) - 1:
        return _NAN if fraction else _infinity(negative)
    significand = fraction | ((1 << fraction_bits) if exponent else 0)
    scale = max(exponent, 1) - ((1 << (exponent_bits - 1)) - 1) - fraction_bits
    value = Fraction(significand) * Fraction(2) ** scale
    return _Number("finite", negative, -value if negative else value)


def _encoded(number: _Number, fmt: str) -> int:
    """Encodes a number, rounded to the nearest with ties to even."""
    exponent_bits, fraction_bits = FLOATS[fmt]
    sign = int(number.negative) << (exponent_bits + fraction_bits)
    top = ((1 << exponent_bits) - 1) << fraction_bits
    if number.kind == "nan":
        return top | 1 << (fraction_bits - 1)
    if number.kind == "inf":
        return sign | top
    magnitude = abs(number.value)
    if not magnitude:
        return sign
    bias = (1 << (exponent_bits - 1)) - 1
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    exponent -= magnitude < Fraction(2) ** exponent
    exponent = max(exponent, 1 - bias)
    # Python rounds fractions to even.
    steps = round(magnitude / Fraction(2) ** (exponent - fraction_bits))
    # A carry goes on into the exponent; below the smallest normal number there is no hidden one.
    pattern = ((exponent + bias - 1) << fraction_bits) + steps
    return sign | min(pattern, top)


def _product(factors: Sequence[_Number]) -> _Number:
    if any(one.kind == "nan" for one in factors):
        return _NAN
    negative = sum(one.negative for one in factors) % 2 == 1
    if any(one.kind == "inf" for one in factors):
        zero = any(one.kind == "finite" and one.value == 0 for one in factors)
        return _NAN if zero else _infinity(negative)
    return _finite(prod((one.value for one in factors), start=Fraction(1)), negative)


def _total(terms: Sequence[_Number]) -> _Number:
    signs = {one.negative for one in terms if one.kind == "inf"}
    if any(one.kind == "nan" for one in terms) or len(signs) == 2:
        return _NAN
    if signs:
        return _infinity(signs.pop())
    value = sum((one.value for one in terms), Fraction(0))
    return _finite(value, all(one.value == 0 and one.negative for one in terms))


class ExactSums:
    """Computes the sums of elements from entries; inputs and outputs are bit patterns.

    Parameters
    ----------
    format: of words
    semiring: its name
    """

    def __init__(self, format: str, semiring: str) -> None:
        self._format, self._semiring = format, semiring
        self.floats = format in FLOATS
        self.sum_format = "fp32" if self.floats else "int32"

    @property
    def identity(self) -> int:
        """Identity of sums, which is the result of a row without entries."""
        least = self._semiring in ("maxplus", "maxmin")
        if self._semiring in ("mma", "orand"):
            return 0
        if self.floats:
            return _encoded(_infinity(least), self.sum_format)
        return 1 << 31 if least else (1 << 31) - 1

    def added(self, total: int, products: Sequence[Sequence[int]]) -> int:
        """``total (+) products``, each of one to three words; one rounding, but for the product of
        the first two of three."""
        if self.floats:
            return self._floats(total, products)
        bits = _INTEGERS[self._format]
        numbers = [[_signed(word, bits) for word in words] for words in products]
        terms = [_signed(total, 32), *map(self._whole, numbers)]
        if self._semiring == "mma":
            return sum(terms) % (1 << 32)
        if self._semiring == "orand":
            return int(any(terms))
        chosen = max(terms) if self._semiring.startswith("max") else min(terms)
        return chosen % (1 << 32)

    def _whole(self, words: Sequence[int]) -> int:
        if self._semiring == "mma":
            return prod(words)
        if self._semiring == "orand":
            return int(all(words))
        if self._semiring.endswith("plus"):
            return sum(words)
        return max(words) if self._semiring == "minmax" else min(words)

    def _floats(self, total: int, products: Sequence[Sequence[int]]) -> int:
        wide = self.sum_format
        so_far = _decoded(total, wide)
        terms = []
        for words in products:
            numbers = [_decoded(word, self._format) for word in words]
            if self._semiring == "mma" and len(numbers) == 3:
                first = _total([_finite(Fraction(0)), _product(numbers[:2])])
                numbers = [_decoded(_encoded(first, wide), wide), numbers[2]]
            terms.append(self._term(numbers))
        if self._semiring == "mma":
            return _encoded(_total([so_far, *terms]), wide)
        if self._semiring == "orand":
            true = any(_true(one) for one in (so_far, *terms))
            return _encoded(_finite(Fraction(int(true))), wide)
        rounded = [so_far, *(_decoded(_encoded(one, wide), wide) for one in terms)]
        return _encoded(_extreme(rounded, most=self._semiring.startswith("max")), wide)

    def _term(self, numbers: Sequence[_Number]) -> _Number:
        if self._semiring == "mma":
            return _product(numbers)
        if self._semiring == "orand":
            return _finite(Fraction(int(all(map(_true, numbers)))))
        if self._semiring.endswith("plus"):
            return _total(numbers)
        return _extreme(numbers, most=self._semiring == "minmax")


def _true(number: _Number) -> bool:
    return number.kind != "finite" or number.value != 0


def _extreme(numbers: Sequence[_Number], *, most: bool) -> _Number:
    if any(one.kind == "nan" for one in numbers):
        return _NAN
    return (
        max(numbers, key=lambda one: one.order) if most else min(numbers, key=lambda one: one.order)
    )


def _signed(pattern: int, bits: int) -> int:
    return pattern - (1 << bits) if pattern >> (bits - 1) else pattern


Place = tuple[int, ...]
_BITS = {"int8": 8, "int16": 16, "fp16": 16, "bf16": 16, "fp32": 32, "int32": 32}


@dataclass(frozen=True)
class Token:
    """Fields of a token.

    Parameters
    ----------
    at: a place within a tile for each coordinate
    """

    value: int
    at: tuple[int, ...]
    slot: int
    ends: int
    present: int


def _bits(extent: int) -> int:
    return max(1, (extent - 1).bit_length())


def token_bytes(drawn: DrawnFile) -> int:
    fields = [_BITS[drawn.format], *(_bits(drawn.tiles[one]) for one in drawn.coordinates)]
    return -(-(sum(fields) + _bits(drawn.slots) + len(drawn.levels) + 1) // 8)


def vector_bytes(drawn: DrawnFile) -> int:
    """Bytes of a vector, a token an element."""
    return drawn.elements * token_bytes(drawn)


def packed(drawn: DrawnFile, vectors: list[list[Token]]) -> bytes:
    """Tokens as bytes: fields from the lowest bit on."""
    size = token_bytes(drawn)
    found = bytearray()
    for vector in vectors:
        for one in vector:
            word, low = one.value, _BITS[drawn.format]
            for place, name in zip(one.at, drawn.coordinates, strict=True):
                word |= place << low
                low += _bits(drawn.tiles[name])
            word |= one.slot << low
            low += _bits(drawn.slots)
            word |= one.ends << low
            low += len(drawn.levels)
            word |= one.present << low
            found += word.to_bytes(size, "little")
    return bytes(found)


class Host:
    """Draws a job's operands, lays them out, and computes."""

    def __init__(self, rng: np.random.Generator, drawn: DrawnFile, most: int, dense: float) -> None:
        self._rng, self._drawn = rng, drawn
        names = ("i", *drawn.coordinates, *drawn.across)
        self.trips = {one: int(rng.integers(1, most + 1)) for one in names}
        self.bounds = {one: self.trips[one] * drawn.tiles[one] for one in names}
        self.entries = {one: self._entries(dense) for one in drawn.sparse}
        self.words: dict[str, npt.NDArray[np.uint64]] = {}
        self._order: dict[Place, list[Place]] = {}
        """Places of each row's tile, in the order in which its element receives them."""

    def word(self) -> int:
        """A pattern: floats near one, now and then any; integers that no padding is."""
        rng, fmt = self._rng, self._drawn.format
        bits = _BITS[fmt]
        if fmt not in FLOATS:
            low = 0 if self._drawn.semiring == "mma" else 1
            most = (1 << (bits - 1)) - low
            return int(rng.integers(-most, most)) % (1 << bits) * int(rng.random() < 0.9)
        exponent_bits, fraction_bits = FLOATS[fmt]
        if rng.random() < 0.03 and self._drawn.kind != "union":
            return int(rng.integers(0, 1 << bits))
        bias = (1 << (exponent_bits - 1)) - 1
        fraction = int(rng.integers(0, 1 << fraction_bits))
        if self._drawn.kind == "union":
            fraction &= ~((1 << max(0, fraction_bits - 9)) - 1)
        exponent = bias + int(rng.integers(-3, 4))
        return int(rng.integers(2)) << (bits - 1) | exponent << fraction_bits | fraction

    def _entries(self, density: float) -> dict[Place, int]:
        shape = [self.bounds[one] for one in ("i", *self._drawn.coordinates)]
        every = int(np.prod(shape))
        count = min(int(self._rng.binomial(every, density)), 400)
        places = self._rng.choice(every, count, replace=False)
        if self._rng.random() < 0.3:  # One element, or one row, has nearly all.
            rows = every // shape[0]
            few = int(self._rng.integers(shape[0])) + self._drawn.tiles["i"] * np.arange(shape[0])
            few = few[few < shape[0]]
            mine = (few[:, np.newaxis] * rows + np.arange(rows)).ravel()
            places = np.union1d(places[: count // 8], mine[: int(self._rng.integers(200))])
        found = np.stack(np.unravel_index(places, shape), axis=1)
        return {tuple(map(int, one)): self.word() for one in found}

    def image(self, tensor: str) -> tuple[bytes, int]:
        """An image, and its vectors; sets the order of entries of one tensor."""
        drawn, rng = self._drawn, self._rng
        quiet = float(rng.choice([0, 0, 0.1, 0.5]))
        vectors: list[list[Token]] = []
        for tile in product(*(range(self.trips[one]) for one in drawn.levels)):
            at = dict(zip(drawn.levels, tile, strict=True))
            streams = [
                self._stream(tensor, at, element, quiet) for element in range(drawn.elements)
            ]
            longest = max(map(len, streams)) + int(rng.integers(3)) * int(rng.random() < 0.2)
            for one in streams:
                while len(one) < longest:
                    one.insert(int(rng.integers(len(one) + 1)), self._nothing())
            vectors += [list(one) for one in zip(*streams, strict=True)]
            ends = sum(
                all(at[inner] == self.trips[inner] - 1 for inner in drawn.levels[n + 1 :]) << n
                for n in range(len(drawn.levels))
            )
            end = self._nothing()
            vectors.append([Token(end.value, end.at, end.slot, ends, 0)] * drawn.elements)
        return packed(drawn, vectors), len(vectors)

    def _nothing(self) -> Token:
        """Returns a token that is not present; only two of its fields have a meaning."""
        rng, drawn = self._rng, self._drawn
        at = tuple(int(rng.integers(1 << _bits(drawn.tiles[one]))) for one in drawn.coordinates)
        value = int(rng.integers(1 << _BITS[drawn.format]))
        return Token(value, at, int(rng.integers(1 << _bits(drawn.slots))), 0, 0)

    def _stream(
        self, tensor: str, at: Mapping[str, int], element: int, quiet: float
    ) -> list[Token]:
        drawn, rng = self._drawn, self._rng
        mine = []
        for place, word in self.entries[tensor].items():
            row, within = divmod(place[0], drawn.tiles["i"])
            slot = within // drawn.slot_step % drawn.slots
            if within // drawn.element_step % drawn.elements != element or row != at["i"]:
                continue
            parts = [
                divmod(n, drawn.tiles[one])
                for n, one in zip(place[1:], drawn.coordinates, strict=True)
            ]
            if all(at[name] == parts[n][0] for n, name in enumerate(drawn.coordinates)):
                mine.append((place, Token(word, tuple(n for _, n in parts), slot, 0, 1)))
        if len(drawn.sparse) > 1:
            mine.sort(key=lambda one: self._key(one[1]))
        else:
            rng.shuffle(mine)  # type: ignore[arg-type]
        for place, _ in mine:
            tile = tuple(at[one] for one in drawn.levels)
            self._order.setdefault((place[0], *tile), []).append(place)
        found = []
        for _, token in mine:
            while rng.random() < quiet:
                found.append(self._nothing())
            found.append(token)
        return found

    def _key(self, token: Token) -> Place:
        drawn = self._drawn
        at = {2 * one: place for one, place in zip(drawn.coordinates, token.at, strict=True)}
        return tuple(({"iii": token.slot} | at)[one] for one in drawn.order)

    def result(self) -> npt.NDArray[np.uint64]:
        """Returns the result, by the result's indices."""
        drawn = self._drawn
        sums = ExactSums(drawn.format, drawn.semiring)
        across = drawn.across
        shape = [self.bounds[one] for one in drawn.result]
        found = np.full(shape, sums.identity, np.uint64)
        for row in range(self.bounds["i"]):
            places = self._places_of(row)
            for others in product(*(range(self.bounds[one]) for one in across)):
                numbers = dict(zip(across, others, strict=True)) | {"i": row}
                total = sums.identity
                for place in places:
                    at = numbers | dict(zip(drawn.coordinates, place[1:], strict=True))
                    total = sums.added(total, self._products(place, at))
                found[tuple(numbers[one] for one in drawn.result)] = total
        return found

    def _places_of(self, row: int) -> list[Place]:
        drawn = self._drawn
        found = []
        for tile in product(*(range(self.trips[one]) for one in drawn.levels)):
            here = list(dict.fromkeys(self._order.get((row, *tile), [])))
            if len(drawn.sparse) > 1:
                walked = [one for one in drawn.order if one != "iii"]
                axes = [1 + drawn.coordinates.index(one[0]) for one in walked]
                here.sort(key=lambda place: tuple(place[axis] for axis in axes))
            found += here
        if drawn.kind == "intersection":
            found = [one for one in found if all(one in some for some in self.entries.values())]
        return found

    def _products(self, place: Place, at: Mapping[str, int]) -> list[list[int]]:
        drawn = self._drawn
        words = [
            int(self.words[name][tuple(sum(at[n] for n in by) for by in subscripts)])
            for name, subscripts in drawn.dense.items()
        ]
        values = [self.entries[one][place] for one in drawn.sparse if place in self.entries[one]]
        if drawn.kind == "union":
            return [[value, *words] for value in values]
        return [[*values, *words]]
