"""Sums of entries: beside SciPy and NumPy, and beside fractions that are rounded one by one."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import prod
from time import process_time
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.sparse import coo_array
from tilewright.hw.spec.formats import FORMATS, FloatFormat
from tilewright.sim.numbers.values import decode, encode
from tilewright.sim.t2s.sparse.entries import Entries
from tilewright.verif.kit.sampling import by_size, cases, rng_of
from tilewright.verif.oracles.softfloat import round_exact

from .plans import KERNELS, Kernel, Made, made, operands

pytestmark = pytest.mark.quick

Words = npt.NDArray[np.uint64]
INTEGERS = {"format": "int16", "accumulator": "int32"}


def plan_of(name: str, rng: np.random.Generator, arithmetic: Mapping[str, Any], style: str) -> Made:
    """A plan of any sizes."""
    kernel = KERNELS[name]
    summed = [one for one in "kl" if one in next(iter(kernel.sparse.values()))]
    return made(
        kernel.sparse,
        kernel.dense,
        kernel.result,
        arithmetic=arithmetic,
        style=style,
        merge=kernel.merge,
        slots=int(rng.integers(1, 5)),
        elements=1 if kernel.merge else int(rng.integers(1, 5)),
        slots_first=bool(rng.integers(2)),
        extents={one: int(rng.integers(1, 9)) for one in rng.permutation(summed).tolist()},
        ring=int(rng.integers(1, 4)),
    )


def random_bounds(rng: np.random.Generator) -> dict[str, int]:
    most = {"i": 30, "j": 5, "k": 20, "l": 9, "m": 3}
    return {name: int(rng.integers(1, bound)) for name, bound in most.items()}


def as_dense(entries: Entries, fmt: Any) -> npt.NDArray[np.int64]:
    found = np.zeros(entries.shape, np.int64)
    found[tuple(entries.places.T)] = decode(entries.words, fmt)
    return found


def by_numpy(kernel: Kernel, sparse: Mapping[str, Any], dense: Mapping[str, Any]) -> Any:
    products = [[name] for name in sparse] if kernel.merge == "union" else [list(sparse)]
    total: Any = 0
    for names in products:
        letters = [*(kernel.sparse[one] for one in names), *kernel.dense.values()]
        numbers = [*(sparse[one] for one in names), *dense.values()]
        total = total + np.einsum(f"{','.join(letters)}->{kernel.result}", *numbers)
    return total


@pytest.mark.parametrize("style", ["csr", "ciss"])
@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("seed", range(cases(10)))
def test_integers(name: str, seed: int, style: str) -> None:
    """Results are exact in any order."""
    rng = rng_of(seed)
    kernel, plan = KERNELS[name], plan_of(name, rng, INTEGERS, style)
    fmt, bounds = FORMATS["int16"], random_bounds(rng)
    words = encode(np.arange(-40, 40), fmt)
    count = int(rng.choice([0, 3, 40, 200]))
    sparse, dense = operands(kernel, bounds, rng, words, count)
    bounds = {one: bounds[one] for one in plan.program.indices}
    found = plan.computed(bounds, sparse, dense, apart=int(rng.integers(1, 9)))
    numbers = {one: as_dense(given, fmt) for one, given in sparse.items()}
    wanted = by_numpy(kernel, numbers, {one: decode(given, fmt) for one, given in dense.items()})
    assert np.array_equal(decode(found, FORMATS["int32"]), wanted)


def exact(pattern: int, fmt: FloatFormat) -> Fraction:
    return Fraction(float(decode(np.uint64(pattern), fmt)))


def rounded(number: Fraction, fmt: FloatFormat) -> Fraction:
    exponent = number.denominator.bit_length() - 1
    assert number.denominator == 1 << exponent
    return exact(round_exact(number.numerator, -exponent, fmt), fmt)


def by_fractions(
    plan: Made, kernel: Kernel, bounds: Mapping[str, int], sparse: Mapping[str, Entries],
    dense: Mapping[str, Words], fmt: FloatFormat,
) -> dict[tuple[int, ...], Fraction]:  # fmt: skip
    """Sums one by one: tile by tile, in each in the order of the coordinates' loops; a product of
    three words is that of the first two, rounded, times the third."""
    extents = {one.index: one.extent for one in plan.plan.entries[0].layout.coordinates}
    stored: dict[tuple[int, ...], dict[str, int]] = {}
    for name, entries in sparse.items():
        axes = [kernel.sparse[name].index(one) for one in ("i", *extents)]
        for place, word in zip(entries.places[:, axes].tolist(), entries.words, strict=True):
            stored.setdefault(tuple(place), {})[name] = int(word)

    def order(place: tuple[int, ...]) -> Any:
        tiles = [one // size for one, size in zip(place[1:], extents.values(), strict=True)]
        return (place[0], *tiles, *place[1:])

    others = [one for one in kernel.result if one != "i"]
    sums: dict[tuple[int, ...], Fraction] = {}
    for place in sorted(stored, key=order):
        words = stored[place]
        if kernel.merge == "intersection" and len(words) < len(sparse):
            continue
        for across in np.ndindex(*(bounds[one] for one in others)):
            at = dict(zip(("i", *extents, *others), (*place, *across), strict=True))
            factors = [
                exact(int(dense[name][tuple(at[one] for one in letters)]), fmt)
                for name, letters in kernel.dense.items()
            ]
            key = tuple(at[one] for one in kernel.result)
            total = sums.get(key, Fraction(0))
            values = [exact(word, fmt) for word in words.values()]
            terms = [[one, *factors] for one in values]
            if kernel.merge != "union":
                terms = [[*values, *factors]]
            for term in terms:
                while len(term) > 2:
                    term[:2] = [rounded(term[0] * term[1], fmt)]
                total += prod(term)
            sums[key] = rounded(total, fmt)
    return sums


@pytest.mark.parametrize("style", ["csr", "ciss"])
@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("seed", range(cases(10)))
def test_fractions(name: str, seed: int, style: str) -> None:
    """Sums of fp16 lose bits with nearly every entry: their order shows."""
    rng = rng_of(seed)
    arithmetic = {"format": "fp16", "accumulator": "fp16"}
    kernel, plan = KERNELS[name], plan_of(name, rng, arithmetic, style)
    fmt = FORMATS["fp16"]
    assert isinstance(fmt, FloatFormat)
    bounds = random_bounds(rng)
    words = encode(rng.normal(size=200), fmt)
    sparse, dense = operands(kernel, bounds, rng, words, 60)
    bounds = {one: bounds[one] for one in plan.program.indices}
    found = plan.computed(bounds, sparse, dense, apart=int(rng.integers(1, 9)))
    wanted = by_fractions(plan, kernel, bounds, sparse, dense, fmt)
    numbers = {key: exact(int(found[key]), fmt) for key in np.ndindex(*found.shape)}
    assert numbers == {key: wanted.get(key, Fraction(0)) for key in numbers}


@pytest.mark.parametrize("name", ["spmv", "spmm", "spmttkrp"])
def test_csr_and_ciss_give_the_same_bits(name: str) -> None:
    """The number of elements, the order of rows and interleaving do not change the bits."""
    rng = rng_of(3)
    kernel, fmt = KERNELS[name], FORMATS["fp32"]
    bounds = {"i": 50, "j": 3, "k": 40, "l": 8, "m": 1}
    words = encode(rng.normal(size=500), fmt)
    sparse, dense = operands(kernel, bounds, rng, words, 700)
    extents = {one: size for one, size in (("k", 16), ("l", 3)) if one in kernel.sparse["A"]}
    found = []
    for style, elements, slots, apart in (
        ("csr", 1, 4, 1), ("csr", 4, 2, 1), ("ciss", 1, 8, 7), ("ciss", 4, 1, 1), ("ciss", 3, 5, 9)
    ):  # fmt: skip
        plan = made(
            kernel.sparse, kernel.dense, kernel.result, style=style, slots=slots,
            elements=elements, slots_first=elements > 3, extents=extents,
        )  # fmt: skip
        needed = {one: bounds[one] for one in plan.program.indices}
        found.append(plan.computed(needed, sparse, dense, apart))
    assert all(np.array_equal(one, found[0]) for one in found)
    numbers = {one: decode(given, fmt) for one, given in dense.items()}
    plain = by_numpy(kernel, {"A": floats(sparse["A"], fmt)}, numbers)
    assert np.allclose(decode(found[0], fmt), plain, rtol=1e-4, atol=1e-4)


def floats(entries: Entries, fmt: Any) -> npt.NDArray[np.float64]:
    found = np.zeros(entries.shape)
    found[tuple(entries.places.T)] = decode(entries.words, fmt)
    return found


def test_large() -> None:
    """Many entries take seconds."""
    rng = rng_of(5)
    count = by_size(20_000, 20_000, 100_000)
    bounds = {"i": 4000, "j": 4, "k": 3000}
    plan = made({"A": "ik"}, {"B": "kj"}, "ij", style="ciss", slots=32, elements=4, ring=4,
                extents={"k": 1024})  # fmt: skip
    fmt = FORMATS["fp32"]
    kernel = KERNELS["spmm"]
    rows, columns = rng.integers(0, 4000, count), rng.integers(0, 3000, count)
    places = np.unique(np.stack([rows, columns], axis=1), axis=0)
    given = Entries(
        shape=(4000, 3000), places=places, words=encode(rng.normal(size=len(places)), fmt)
    )
    _, dense = operands(Kernel({}, kernel.dense, "ij"), bounds, rng, given.words, 0)
    began = process_time()
    found = plan.computed(bounds, {"A": given}, dense, apart=8)
    assert process_time() - began < 20
    matrix = coo_array((decode(given.words, fmt), tuple(places.T)), shape=given.shape)
    wanted = matrix.tocsr() @ decode(dense["B"], fmt)
    assert np.allclose(decode(found, fmt), wanted, rtol=1e-4, atol=1e-4)
