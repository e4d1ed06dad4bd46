"""CISS once more, from its rules alone: dicts, lists and whole numbers, no NumPy, no layout."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

Entries = Sequence[tuple[tuple[int, ...], float | int]]
"""Coordinates and values."""

_FLOATS = {"fp16": (5, 10), "bf16": (8, 7), "fp32": (8, 23), "fp64": (11, 52)}
BITS = {"fp16": 16, "bf16": 16, "fp32": 32, "fp64": 64, "int8": 8, "int32": 32}


class Refused(Exception):
    """Raised for an illegal stream, with the reason."""


def pattern(value: float | int, fmt: str) -> int:
    """The bits of a number, rounded to nearest, ties to even; integers modulo ``2**bits``."""
    if fmt not in _FLOATS:
        return (value if isinstance(value, int) else round(Fraction(value))) % (1 << BITS[fmt])
    value = float(value)
    exponent_bits, fraction_bits = _FLOATS[fmt]
    bias = (1 << (exponent_bits - 1)) - 1
    infinity = ((1 << exponent_bits) - 1) << fraction_bits
    if math.isnan(value):
        return infinity | 1 << (fraction_bits - 1)
    sign = (math.copysign(1.0, value) < 0) << (exponent_bits + fraction_bits)
    if math.isinf(value):
        return sign | infinity
    exponent = max(math.frexp(value)[1] - 1, 1 - bias) if value else 1 - bias
    steps = round(Fraction(abs(value)) / Fraction(2) ** (exponent - fraction_bits))
    # A carry out of the fraction raises the exponent, and out of the exponent is infinity.
    return sign | min(steps + ((exponent - 1 + bias) << fraction_bits), infinity)


def decode(bits: int, fmt: str) -> float | int:
    if fmt not in _FLOATS:
        return bits - (1 << BITS[fmt]) if bits >> (BITS[fmt] - 1) else bits
    exponent_bits, fraction_bits = _FLOATS[fmt]
    sign = -1.0 if bits >> (exponent_bits + fraction_bits) else 1.0
    exponent = bits >> fraction_bits & ((1 << exponent_bits) - 1)
    fraction = bits & ((1 << fraction_bits) - 1)
    if exponent == (1 << exponent_bits) - 1:
        return math.nan if fraction else sign * math.inf
    steps = fraction + (1 << fraction_bits if exponent else 0)
    scale = max(exponent, 1) - (1 << (exponent_bits - 1)) + 1 - fraction_bits
    return math.copysign(math.ldexp(steps, scale), sign)


def add_up(entries: Entries, fmt: str) -> dict[tuple[int, ...], float | int]:
    """Adds the values of each position in order, as whole numbers if the entries and the format are
    integers."""
    whole = fmt.startswith("int") and all(isinstance(value, int) for _, value in entries)
    found: dict[tuple[int, ...], float | int] = {}
    for place, value in entries:
        number = value if whole else float(value)
        found[place] = found[place] + number if place in found else number
    return found


def stream(
    entries: Entries, *, rows: int, order: int, fmt: str, iw: int, marker: str, mode: int
) -> tuple[bytes, int]:
    """The bytes of a stream, and how many values were dropped."""
    slices: dict[int, list[tuple[tuple[int, ...], int]]] = {}
    dropped = 0
    for place, value in add_up(entries, fmt).items():
        bits = pattern(value, fmt)
        if marker == "zero" and decode(bits, fmt) == 0:
            dropped += 1
            continue
        rest = place[:mode] + place[mode + 1 :]
        slices.setdefault(place[mode], []).append((rest, bits))
    top = 1 << (iw - 1) if marker == "bit" else 0

    def header(i: int) -> list[int]:
        return [0, i | top] + [0] * (order - 2)

    queues: list[list[list[int]]] = [[] for _ in range(rows)]
    for i in sorted(slices):
        shortest = min(len(queue) for queue in queues)
        mine = next(queue for queue in queues if len(queue) == shortest)
        mine.append(header(i))
        for rest, bits in sorted(slices[i]):
            mine.append([bits, *rest])
    longest = max(len(queue) for queue in queues)
    for queue in queues:
        while len(queue) < longest + 1:
            queue.append(header((1 << iw) - 1))
    memory = bytearray()
    for entry in zip(*queues, strict=True):
        for slot in entry:
            memory += slot[0].to_bytes(BITS[fmt] // 8, "little")
            for index in slot[1:]:
                memory += index.to_bytes(iw // 8, "little")
    return bytes(memory), dropped


def tensor_of(
    memory: bytes, shape: tuple[int, ...], *, rows: int, fmt: str, iw: int, marker: str, mode: int
) -> dict[tuple[int, ...], int]:
    """The patterns in a stream of a tensor of this shape, by place; ``Refused`` for the first wrong
    slot."""
    order, value_bytes, index_bytes = len(shape), BITS[fmt] // 8, iw // 8
    sizes = [shape[mode], *shape[:mode], *shape[mode + 1 :]]
    slot_bytes = value_bytes + (order - 1) * index_bytes
    entries = len(memory) // (slot_bytes * rows)
    all_ones = (1 << (iw - (marker == "bit"))) - 1
    current: list[int | None] = [None] * rows
    ended = [False] * rows
    before: list[list[int] | None] = [None] * rows
    named: set[int] = set()
    found: dict[tuple[int, ...], int] = {}
    for number in range(entries * rows):
        entry, row = divmod(number, rows)
        raw = memory[number * slot_bytes : (number + 1) * slot_bytes]
        bits = int.from_bytes(raw[:value_bytes], "little")
        rest = [
            int.from_bytes(raw[at : at + index_bytes], "little")
            for at in range(value_bytes, slot_bytes, index_bytes)
        ]
        is_header = bits == 0 if marker == "zero" else rest[0] >> (iw - 1) == 1
        i = rest[0] & all_ones
        no_op = is_header and i == all_ones

        def refuse(what: str, where: tuple[int, int] = (entry, row)) -> Refused:
            return Refused(f"entry {where[0]}, slot {where[1]}: {what}")

        if is_header:
            if bits or any(rest[1:]):
                raise refuse("a header's other fields must be zero")
            if ended[row] and not no_op:
                raise refuse("behind the no-op that ends its row")
            if not no_op:
                if i >= sizes[0]:
                    raise refuse(f"slice {i} must be in 0..{sizes[0] - 1}")
                if i in named:
                    raise refuse(f"slice {i} is named a second time")
                named.add(i)
            current[row], before[row], ended[row] = i, None, no_op
        else:
            if ended[row]:
                raise refuse("behind the no-op that ends its row")
            if current[row] is None:
                raise refuse("a value before the first slice of its row")
            if marker == "zero" and decode(bits, fmt) == 0:
                raise refuse("-0 is no value with marker zero")
            for n, (index, size) in enumerate(zip(rest, sizes[1:], strict=True)):
                if index >= size:
                    raise refuse(f"index {n} must be in 0..{size - 1}, not {index}")
            last = before[row]
            if last is not None and rest <= last:
                raise refuse("indices must ascend within a slice")
            before[row] = rest
            place = [*rest]
            place.insert(mode, current[row])  # type: ignore[arg-type]
            found[tuple(place)] = bits
        if entry == entries - 1 and not no_op:
            raise refuse("the last entry must be of no-ops")
    return found
