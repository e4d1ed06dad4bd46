"""What the plane unit gets, step by step, and what it is to make of it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from tilewright.hw.spec.formats import FORMATS
from tilewright.hw.spec.gta import FORMATS_OF_GTA, element_bytes, result_bytes
from tilewright.hw.spec.jobs.gta_vector import OCTET, VECTOR_FUNCTIONS
from tilewright.sim.gta.golden import moves
from tilewright.sim.gta.golden.vector import elementwise
from tilewright.sim.numbers.values import Patterns

from .planes import Bytes, operands_of, planes_of

__all__ = ["BYTE_FUNCTIONS", "PlaneSteps", "plane_steps"]

_COMPARED = ("min", "max", "eq", "ne", "lt", "le")

BYTE_FUNCTIONS = (*_COMPARED, "select", "slide")
"""Those that work by planes on all formats."""


class PlaneSteps(NamedTuple):
    """Of n octets of a function, s steps each.

    ``fields``: the plane unit's inputs (n, s) or (n, s, 8). ``wanted``: planes of results
    (n, s, 8), where there is one: ``told`` (n, s).
    """

    fields: dict[str, npt.NDArray[np.uint8]]
    wanted: Bytes
    told: npt.NDArray[np.bool_]


class _Given(NamedTuple):
    """Words (n, 8), and of each octet (n): places of a slide, whether c is added."""

    x: Patterns
    y: Patterns
    c: Patterns
    amount: npt.NDArray[np.int64]
    add_c: npt.NDArray[np.int64]


def plane_steps(function: str, format: str, count: int, seed: int) -> PlaneSteps:
    """Steps of at least ``count`` octets; in what does not count there is noise."""
    rng = np.random.default_rng(seed)
    size = element_bytes(format)
    x, y, c = operands_of(format, count, seed)
    n = len(x)
    given = _Given(x, y, c, rng.integers(0, OCTET, n), rng.integers(0, 2, n))
    passes, plane = 1, np.arange(size)
    counted: dict[str, tuple[slice, Bytes]]
    if function in _COMPARED:
        passes = 2
        # What relations are of is not needed again.
        when = slice(None) if function in ("min", "max") else slice(size)
        repeats = 2 if function in ("min", "max") else 1
        counted = {
            name: (when, np.tile(planes_of(word, size), (1, repeats, 1)))
            for name, word in (("x", x), ("y", y))
        }
        result = planes_of(elementwise(function, format, x, y), size)
    elif function == "select":
        passes = 2
        first, second = slice(size), slice(size, None)
        counted = {
            "c": (first, planes_of(c, size)),
            "x": (second, planes_of(x, size)),
            "y": (second, planes_of(y, size)),
        }
        result = planes_of(moves.select(format, c, x, y), size)
    else:
        planes, result = _single(rng, function, format, given)
        counted = {name: (slice(None), each) for name, each in planes.items()}
        plane = np.arange(planes["x"].shape[1])
        if function in ("srl", "sra"):
            plane += size - 1
    steps = passes * len(plane)
    fields = {name: rng.integers(0, 256, (n, steps, OCTET), np.uint8) for name in "xyc"}
    for name, (when, bytes_of) in counted.items():
        fields[name][:, when] = bytes_of
    of_step = {
        "plane": np.tile(plane, passes),
        "first": np.tile(plane == plane[0], passes),
        "last": np.tile(plane == plane[-1], passes),
        "second": np.arange(steps) >= steps / passes * (3 - passes),
        "valid": np.ones(steps),
        "function_number": np.full(steps, list(VECTOR_FUNCTIONS).index(function)),
        "format": np.full(steps, FORMATS_OF_GTA.index(format)),
    }
    fields |= {name: np.tile(each.astype(np.uint8), (n, 1)) for name, each in of_step.items()}
    for name, each in (("amount", given.amount), ("add_c", given.add_c)):
        fields[name] = np.repeat(each.astype(np.uint8)[:, np.newaxis], steps, axis=1)
    wanted = np.zeros((n, steps, OCTET), np.uint8)
    wanted[:, steps - result.shape[1] :] = result
    told = np.tile(np.arange(steps) >= steps - result.shape[1], (n, 1))
    return PlaneSteps(fields, wanted, told)


def _single(
    rng: np.random.Generator, function: str, format: str, given: _Given
) -> tuple[dict[str, Bytes], Bytes]:
    """Operands and results of functions that need one pass."""
    size = element_bytes(format)
    x, y, c = given.x, given.y, given.c
    if function in ("srl", "sra"):
        wanted = elementwise(function, format, x, y)
        return {"x": _products(function, format, x, y)[:, size - 1 :]}, planes_of(wanted, size)
    if function == "slide":
        places = given.amount[:, np.newaxis] + np.arange(OCTET)
        wanted = np.take_along_axis(np.concatenate([x, y], axis=1), places, axis=1)
        planes = {"x": planes_of(x, size), "y": planes_of(y, size)}
        return planes, planes_of(wanted, size)
    if function in ("add", "sub"):
        planes = {"x": planes_of(x, size), "y": planes_of(y, size)}
        return planes, planes_of(elementwise(function, format, x, y), size)
    if function == "fma":
        product = elementwise("mul", format, x, y)
        wanted = elementwise("fma", format, x, y, c)
        planes = {"x": planes_of(product, size), "c": planes_of(c, size)}
        return planes, planes_of(wanted, size)
    size = result_bytes(format) if function == "dot" else size
    words = rng.integers(0, 1 << 8 * size, (2, *x.shape), np.uint64, endpoint=False)
    planes = {"x": planes_of(words[0], size)}
    if function != "dot":
        return planes, planes["x"]
    planes["c"] = planes_of(words[1], size)
    start = np.where(given.add_c[:, np.newaxis] == 1, words[1], np.uint64(0))
    return planes, planes_of(words[0] + start, size)


def _products(function: str, format: str, x: Patterns, y: Patterns) -> Bytes:
    """Planes (n, 2 size, 8) of the products of x, with its sign or without, and of
    ``2 ** (w - 1 - amount)``: the upper half, and the bit below it, is x shifted to the right."""
    bits = FORMATS[format].bits
    split = []
    for a, b in zip(x.ravel().tolist(), y.ravel().tolist(), strict=True):
        signed = a - (a >> bits - 1 << bits) if function == "sra" else a
        product = signed << bits - 1 - b % bits
        split.append((product % (1 << 2 * bits)).to_bytes(bits // 4, "little"))
    planes = np.frombuffer(b"".join(split), np.uint8).reshape(len(x), OCTET, -1)
    return planes.swapaxes(1, 2)
