"""Random mappings of kernels with sparse tensors, most of them legal."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from tilewright.hw.spec.config import IntRange, OneOf, parameter
from tilewright.hw.spec.t2s.config import T2sConfig
from tilewright.hw.spec.t2s.design import Design
from tilewright.hw.t2s.language import Computation, Index, compute, tensor
from tilewright.hw.t2s.language.definition import SPARSE_SEMIRINGS
from tilewright.hw.t2s.language.tensors import STYLES, Element, Expression, Product, Total
from tilewright.hw.t2s.lowering.design import lowered

FORMS = {
    "spmv": ("Y_i", "A_ik Xk"),
    "spmm": ("C_ij", "A_ik Bkj"),
    "spmttkrp": ("D_ij", "A_ikl Bkj Clj"),
    "scaled": ("C_ij", "A_ik Xk Bkj"),
    "of two places": ("Y_i", "A_ikl Blk"),
    "wide": ("C_mij", "A_ikl Blmj"),
    "row sums": ("Y_i", "A_ik"),
    "intersection": ("Y_i", "A_ik B_ik Xk"),
    "inner products": ("Y_i", "A_ikl B_ikl"),
    "of vectors": ("C_ji", "A_ik B_ik Xkj"),
    "union": ("Y_i", "A_ik Xk + B_ik Xk"),
    "sum": ("Y_i", "A_ikl + B_ikl"),
    "union of rows": ("C_ij", "A_ik Xkj + B_ik Xkj"),
}
"""Kernels by name: the result with its indices, and the added products; tensors without ``_`` are
dense."""

_MOST = 3
"""Largest factor of a tile."""


def form(name: str, fmt: str, rng: np.random.Generator) -> Computation:
    """Returns a kernel with random directives that the hardware supports."""
    result, terms = FORMS[name]
    products = [term.split() for term in terms.split(" + ")]
    target, letters = result.split("_")
    factors = dict.fromkeys(one for product in products for one in product)
    used = dict.fromkeys(letter for one in factors for letter in one[1:].lstrip("_"))
    indices = {letter: Index(letter) for letter in (*letters, *used)}
    elements: dict[str, Element] = {}
    for one in factors:
        chosen = tuple(indices[letter] for letter in one[1:].lstrip("_"))
        style = str(rng.choice(STYLES)) if "_" in one else ""
        elements[one] = tensor(one[0], fmt, *chosen, sparse=style)[chosen]
    summed = tuple(indices[one] for one in used if one not in letters)
    semirings = SPARSE_SEMIRINGS if max(map(len, products)) < 3 else ("mma",)
    definition = compute(
        target,
        fmt,
        *(indices[one] for one in letters),
        sum_over=summed,
        semiring=str(rng.choice(semirings)),
    )
    computation = definition[
        Total(tuple(tuple(elements[one] for one in product) for product in products))
    ]
    _map(computation, rng, [one for one in factors if "_" not in one])
    return computation


def _map(computation: Computation, rng: np.random.Generator, dense: list[str]) -> None:
    sparse = computation.sparse
    merged = len(sparse) > 1
    row, *others = [str(one) for one in sparse[0].subscripts]
    free = [one for one in computation.result if one != row]

    def factor() -> int:
        return int(rng.integers(1, _MOST + 1))

    def some(chance: float = 0.5) -> bool:
        return bool(rng.random() < chance)

    loops = [
        *([Index("slots")] if some(0.8) else []),
        *([Index("elements")] if some(0.7) and not merged else []),
    ]
    rows = [loops[n] for n in rng.permutation(len(loops))]
    if rows:
        computation.tile(Index(row), *((one, factor()) for one in rows))
    for one in others:
        computation.tile(Index(one), (Index(2 * one), factor()))
    wide = len(computation.products) == 1 and bool(free) and some(0.6)
    ring: list[Index] = []
    for one in free:
        inner = [Index(2 * one)] if some(0.6) else []
        ring += inner
        if wide and one == free[-1]:
            inner.append(Index("lanes"))
        if inner:
            computation.tile(Index(one), *((each, factor()) for each in inner))
    inside = [*rows, *(Index(2 * one) for one in others)]
    computation.order(
        *(Index(free[n]) for n in rng.permutation(len(free))),
        Index(row),
        *(Index(others[n]) for n in rng.permutation(len(others))),
        *(inside[n] for n in rng.permutation(len(inside))),
        *(ring[n] for n in rng.permutation(len(ring))),
        *([Index("lanes")] if wide else []),
    )
    if wide:
        computation.vectorise(Index("lanes"))
    if "elements" in computation.loop_names:
        computation.unroll(Index("elements"))
    if some(0.3):
        computation.drain_overlap(False)
    for one in dense:
        if some():
            _feed(computation, rng, one[0], others)


def _feed(
    computation: Computation, rng: np.random.Generator, operand: str, others: list[str]
) -> None:
    """A feeder whose buffer is at its own index, or at one inside of that."""
    feed, load = computation.producers(operand, "feeder", "loader")
    names, mine = computation.loop_names, computation.loops_of(operand)
    levels = sorted(others, key=names.index)
    last = max(n for n, one in enumerate(levels) if one in mine)
    level = levels[int(rng.integers(last, len(levels)))]
    feed.buffer(Index(level), double=bool(rng.random() < 0.5))
    load.remove(*(Index(one) for one in names[names.index(level) + 1 :] if one not in mine))
    if "elements" in names:
        feed.unroll(Index("elements")).forward(elements=1)


@dataclass(frozen=True, kw_only=True)
class DrawnSparse(T2sConfig):
    """An array of a mapping that is drawn."""

    kernel: str = parameter("spmv", allowed=OneOf(tuple(FORMS)), doc="what is mapped")
    seed: int = parameter(0, allowed=IntRange(0, 1 << 30), doc="of the mapping")
    trip_bits: int = parameter(6, allowed=IntRange(4, 32), doc="width of trip counts")
    outstanding: int = parameter(2, allowed=IntRange(1, 32), doc="bursts under way")

    @cached_property
    def plan(self) -> Design:
        fmt = "fp32" if self.format == "auto" else self.format
        rng = np.random.default_rng([self.seed, *self.kernel.encode()])
        return lowered(form(self.kernel, fmt, rng), self)


KERNELS = {
    "spmv": ("Y_i", "A_ik X_k"),
    "spmm": ("C_ij", "A_ik B_kj"),
    "spmttkrp": ("D_ij", "A_ikl B_kj C_lj"),
    "scaled": ("C_ij", "A_ik X_k B_kj"),
    "row sums": ("Y_i", "A_ik"),
    "intersection": ("Y_i", "A_ik B_ik X_k"),
    "of rows": ("C_ij", "A_ik B_ij X_k"),
    "union": ("Y_i", "A_ik X_k + B_ik X_k"),
    "union of three": ("Y_i", "A_ik X_k + B_ik X_k + C_ik X_k"),
    "union of an intersection": ("D_ij", "A_ik B_ik X_kj + C_ik X_kj"),
    "entries": ("C_ij", "A_ij X_j"),
    "broadcast": ("C_ij", "A_ik X_kj + B_ik X_kj"),
    "summed twice": ("Y_i", "A_ik X_kl"),
}
"""Kernels by name: the result with its indices, and the added products."""

# Beside X.
_DENSE = {"spmm": "B", "spmttkrp": "BC", "scaled": "B"}
_PRODUCING = (("feeder", "loader", "serializer"), ("feeder", "loader"), ("loader", "serializer"),
              ("loader",), ("feeder",))  # fmt: skip


def random_sparse_mapping(kernel: str, rng: np.random.Generator) -> Computation:
    """A kernel with random directives. Raises MappingError if one of them cannot be followed."""
    return _Drawn(kernel, rng).computation


class _Drawn:
    def __init__(self, kernel: str, rng: np.random.Generator) -> None:
        self._rng = rng
        result, terms = KERNELS[kernel]
        name, letters = result.split("_")
        products = [term.split() for term in terms.split(" + ")]
        factors = dict.fromkeys(one for product in products for one in product)
        indices = {letter for one in factors for letter in one.split("_")[1]}
        there = {one: Index(one) for one in (*letters, *sorted(indices - set(letters)))}
        elements: dict[str, Expression] = {}
        for one in factors:
            operand, at = one.split("_")
            chosen = tuple(there[letter] for letter in at)
            sparse = operand != "X" and operand not in _DENSE.get(kernel, "")
            style = str(rng.choice(STYLES)) if sparse else ""
            elements[one] = tensor(operand, "fp32", *chosen, sparse=style)[chosen]
        widest = max(map(len, products))
        semiring = str(rng.choice(SPARSE_SEMIRINGS)) if widest < 3 else "mma"
        terms_drawn = [self._product([elements[one] for one in product]) for product in products]
        summed = tuple(there[one] for one in there if one not in letters)
        self.computation = compute(
            name, "fp32", *(there[i] for i in letters), sum_over=summed, semiring=semiring
        )[Total(tuple(one.products()[0] for one in terms_drawn))]
        self._loops(there)
        self._space()
        for element in self.computation.factors:
            if not element.tensor.sparse and rng.random() < 0.9:
                self._producers(element.tensor.name)
        if rng.random() < 0.3:
            self.computation.consumers("unloader", "deserializer")

    def _product(self, elements: list[Expression]) -> Product:
        """Multiplies the elements in a random order."""
        order = self._rng.permutation(len(elements))
        return Product(tuple(elements[n].products()[0][0] for n in order))

    def _loops(self, there: dict[str, Index]) -> None:
        computation, rng = self.computation, self._rng
        for name, index in there.items():
            levels = [
                (Index(name * (2 + n)), int(rng.integers(1, 4))) for n in range(rng.integers(3))
            ]
            if levels:
                computation.tile(index, *levels)
        names = [str(one) for one in rng.permutation(computation.loop_names)]
        loops = {name: computation.loop(name) for name in names}
        # Loops of results without a constant trip count stand before all that are summed over.
        outer = [one for one in names if loops[one].extent is None and not loops[one].reduces]
        rest = [one for one in names if one not in outer]
        lanes = [one for one in rest if self._may_be_lanes(one)]
        if lanes and rng.random() < 0.7:
            rest.remove(lanes[0])
            rest.append(lanes[0])
        computation.order(*map(Index, (*outer, *rest)))

    def _may_be_lanes(self, name: str) -> bool:
        chosen = {
            one for tensor in self.computation.sparse
            for one in self.computation.loops_of(tensor.tensor.name)
        }  # fmt: skip
        return self.computation.loop(name).extent is not None and name not in chosen

    def _space(self) -> None:
        computation, rng = self.computation, self._rng
        may = [one.name for one in computation.loops if one.extent is not None and not one.reduces]
        self._unrolled = [str(one) for one in rng.permutation(may)[: rng.integers(3)]]
        if self._unrolled:
            computation.unroll(*map(Index, self._unrolled))
        last = computation.loop_names[-1]
        if self._may_be_lanes(last) and last not in self._unrolled and rng.random() < 0.8:
            computation.vectorise(Index(last))

    def _producers(self, operand: str) -> None:
        computation, rng = self.computation, self._rng
        roles = _PRODUCING[rng.choice(len(_PRODUCING), p=(0.35, 0.35, 0.1, 0.1, 0.1))]
        chain = computation.producers(operand, *roles)
        mine, names = computation.loops_of(operand), computation.loop_names
        fed = roles[:2] == ("feeder", "loader")
        for loop in self._unrolled:
            passes = rng.random() < 0.8
            if loop not in mine and self._may_be_lanes(loop) and passes:
                computation.forward(chain[0], **{loop: int(rng.choice([1, -1]))})
            elif fed and rng.random() < 0.8:
                chain[0].unroll(Index(loop))
                if loop not in mine and passes:
                    chain[0].forward(**{loop: int(rng.choice([1, -1]))})
        registers = [n for n, name in enumerate(names) if computation.loop(name).extent is None]
        inside = int(rng.integers(registers[-1], len(names)))
        removable = [name for name in names[inside + 1 :] if name not in mine]
        if fed and rng.random() < 0.8:
            chain[1].remove(*map(Index, removable))
            chain[0].buffer(Index(names[inside]), double=bool(rng.random() < 0.5))
