"""Packs operations of units of streams into payloads, and unpacks results, by the sidecar.

An input stream carries an operation's operands in one or more transfers; a payload is the bits of
one transfer as an integer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .sim.engine.matrices import to_words

__all__ = ["pack", "random_operands", "transfers", "unpack"]

_ANY_BITS = 0.1
"""Share of random words with random bits, instead of small numbers."""

_LARGEST = 99
"""Largest absolute value of a small random number."""


class _Element(NamedTuple):
    """A stored element: its transfer and the position of its bits.

    ``parts`` are (first bit in the payload, first bit in the word, number of bits). ``place`` is,
    for a structured operand, the first bit of the element's position in its group.
    """

    transfer: int
    parts: tuple[tuple[int, int, int], ...]
    place: int


def _operation(sidecar: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    if not sidecar.get("streams") or not sidecar.get("operations"):
        raise ValueError("`sidecar` must be of a unit with streams and operations")
    found = {one["name"]: one for one in sidecar["operations"]}
    if name not in found:
        raise ValueError(f"`operation` must be one of {', '.join(found)}, not {name!r}")
    chosen: Mapping[str, Any] = found[name]
    return chosen


def _operands(operation: Mapping[str, Any], direction: str) -> list[Mapping[str, Any]]:
    return [one for one in operation["operands"] if one["direction"] == direction]


def _shape(operation: Mapping[str, Any], operand: Mapping[str, Any]) -> tuple[int, int]:
    sizes = {size["name"]: size["value"] for size in operation["sizes"]}
    return sizes[operand["rows"]], sizes[operand["columns"]]


def _stored_shape(operation: Mapping[str, Any], operand: Mapping[str, Any]) -> tuple[int, int]:
    """Returns the shape without the elements that a structured operand leaves out."""
    rows, columns = _shape(operation, operand)
    structure = operand["placement"].get("structure")
    return rows, columns * structure["kept"] // structure["group"] if structure else columns


def _first_bit(sidecar: Mapping[str, Any], stream: str, field: str) -> int:
    (found,) = (one for one in sidecar["streams"] if one["name"] == stream)
    offset: int = next(one["offset"] for one in found["fields"] if one["name"] == field)
    return offset


def _elements(
    sidecar: Mapping[str, Any], operation: Mapping[str, Any], operand: Mapping[str, Any]
) -> Iterator[_Element]:
    """Yields the stored elements, row by row."""
    place = operand["placement"]
    tile, steps, bits = place["tile"], place["transfers"], place["bits"]
    base = _first_bit(sidecar, place["stream"], place["field"])
    structure = place.get("structure")
    beside = _first_bit(sidecar, place["stream"], structure["field"]) if structure else 0
    for row, column in np.ndindex(_stored_shape(operation, operand)):
        first = base + row % tile["rows"] * bits["row"] + column % tile["columns"] * bits["column"]
        size = bits["word_bits"]
        yield _Element(
            row // tile["rows"] * steps["row"] + column // tile["columns"] * steps["column"],
            tuple((first + n * bits["word"], n * size, size) for n in range(bits["words"])),
            beside + row * structure["row"] + column * structure["column"] if structure else 0,
        )


def _counts(
    sidecar: Mapping[str, Any], operation: Mapping[str, Any], direction: str
) -> dict[str, int]:
    counts = {one["stream"]: 1 for one in operation["select"]} if direction == "in" else {}
    for operand in _operands(operation, direction):
        stream = operand["placement"]["stream"]
        last = max(one.transfer for one in _elements(sidecar, operation, operand))
        counts[stream] = max(counts.get(stream, 0), last + 1)
    return counts


def transfers(sidecar: Mapping[str, Any], operation: str) -> dict[str, int]:
    """Returns the number of transfers of an operation's results by output stream."""
    return _counts(sidecar, _operation(sidecar, operation), "out")


def random_operands(
    rng: np.random.Generator, sidecar: Mapping[str, Any], operation: str
) -> dict[str, Any]:
    """Draws operands of an operation: integers in -99..99, and one word in ten with random bits.

    Returns
    -------
    Matrices of words, uint64, by operand name; for a structured operand, which keeps some elements
    of each group, ``{(row, column): word}``.
    """
    chosen = _operation(sidecar, operation)
    drawn: dict[str, Any] = {}
    for operand in _operands(chosen, "in"):
        shape, structure = _stored_shape(chosen, operand), operand["placement"].get("structure")
        numbers = rng.integers(-_LARGEST, _LARGEST + 1, shape)
        bits = sidecar["formats"][operand["format"]]["container_bits"]
        noise = rng.integers(0, 1 << 64, shape, np.uint64) >> np.uint64(64 - bits)
        chance = rng.random(shape) < _ANY_BITS
        words = np.where(chance, noise, to_words(numbers, operand["format"]))
        if structure:
            group, kept = structure["group"], structure["kept"]
            columns = range(0, _shape(chosen, operand)[1], group)
            places = [
                (row, first + int(one))
                for row in range(shape[0])
                for first in columns
                for one in sorted(rng.choice(group, kept, replace=False))
            ]
            drawn[operand["name"]] = dict(zip(places, words.ravel().tolist(), strict=True))
        else:
            drawn[operand["name"]] = words
    return drawn


def _words(
    operation: Mapping[str, Any], operand: Mapping[str, Any], given: Any
) -> tuple[list[int], list[int]]:
    """Returns the words of an operand in their stored order, and the column of each."""
    name, shape = operand["name"], _shape(operation, operand)
    if structure := operand["placement"].get("structure"):
        order = sorted(given)
        if len(order) != np.prod(_stored_shape(operation, operand)):
            raise ValueError(
                f"`{name}` must have {structure['kept']} elements in each group of "
                f"{structure['group']} columns"
            )
        return [int(given[at]) for at in order], [column for _, column in order]
    words = np.asarray(given, np.uint64)
    if words.shape != shape:
        raise ValueError(f"`{name}` must have shape {shape}, not {words.shape}")
    return words.ravel().tolist(), []


def pack(
    sidecar: Mapping[str, Any], operation: str, operands: Mapping[str, Any]
) -> dict[str, list[int]]:
    """Packs the operands of an operation into payloads. Bits that the operation does not use are 0.

    Parameters
    ----------
    sidecar: sidecar of the unit
    operation: name of an operation of the sidecar
    operands: matrices of words by name, see :func:`tilewright.formats.to_words`; a structured
        operand, which keeps some elements of each group, is ``{(row, column): word}``

    Returns
    -------
    For each input stream the payloads of its transfers, one integer each.

    Raises
    ------
    ValueError: a unit without streams; an unknown operation; operands that do not fit it
    """
    chosen = _operation(sidecar, operation)
    names = [one["name"] for one in _operands(chosen, "in")]
    if set(names) != set(operands):
        raise ValueError(f"`operands` must be {', '.join(names)}, not {', '.join(operands)}")
    found = {name: [0] * count for name, count in _counts(sidecar, chosen, "in").items()}
    for setting in chosen["select"]:
        low = _first_bit(sidecar, setting["stream"], setting["field"])
        payloads = found[setting["stream"]]
        payloads[:] = [payload | setting["value"] << low for payload in payloads]
    for operand in _operands(chosen, "in"):
        words, columns = _words(chosen, operand, operands[operand["name"]])
        payloads = found[operand["placement"]["stream"]]
        for number, element in enumerate(_elements(sidecar, chosen, operand)):
            for to, low, bits in element.parts:
                part = words[number] >> low & ((1 << bits) - 1)
                payloads[element.transfer] |= part << to
            if columns:
                group = operand["placement"]["structure"]["group"]
                payloads[element.transfer] |= columns[number] % group << element.place
    return found


def unpack(
    sidecar: Mapping[str, Any], operation: str, payloads: Mapping[str, Sequence[int]]
) -> dict[str, Any]:
    """Unpacks the results of an operation from the payloads of its output streams.

    Parameters
    ----------
    sidecar: sidecar of the unit
    operation: name of an operation of the sidecar
    payloads: for each output stream the payloads of its transfers

    Returns
    -------
    Matrices of words, uint64, by operand name.

    Raises
    ------
    ValueError: a wrong number of transfers; a flag, such as ``error``, that differs from the
        operation's
    """
    chosen = _operation(sidecar, operation)
    for name, count in _counts(sidecar, chosen, "out").items():
        if len(payloads.get(name, ())) != count:
            raise ValueError(f"`payloads` must have {count} transfers of {name} for {operation}")
    for flag in sidecar["result_flags"]:
        low = _first_bit(sidecar, flag["stream"], flag["field"])
        *before, last = (payload >> low & 1 for payload in payloads[flag["stream"]])
        if any(one != flag["before_last"] for one in before) or last != flag["last"]:
            raise ValueError(f"{operation}: the flag `{flag['field']}` is {[*before, last]}")
    found: dict[str, Any] = {}
    for operand in _operands(chosen, "out"):
        of_stream = payloads[operand["placement"]["stream"]]
        words = [
            sum(
                (of_stream[one.transfer] >> at & ((1 << bits) - 1)) << low
                for at, low, bits in one.parts
            )
            for one in _elements(sidecar, chosen, operand)
        ]
        found[operand["name"]] = np.array(words, np.uint64).reshape(_shape(chosen, operand))
    return found
