"""Random mappings of kernels, most of them legal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from tilewright.hw.t2s.language import (
    Computation,
    Index,
    Isolated,
    absolute,
    compute,
    negate,
    relu,
    tensor,
)
from tilewright.hw.t2s.language.tensors import Element, Product

HEAD = """\
from tilewright.hw.t2s.language import absolute, compute, indices, negate, relu, tensor

i, j, k, ii, jj, kk, iii, jjj = indices("i j k ii jj kk iii jjj")
A, B = tensor("A", "fp32", i, k), tensor("B", "fp32", k, j)
T, U = tensor("T", "fp32", i, j), tensor("U", "fp32", j)
"""
MAPPED = """\
C.tile(i, (ii, 2), (iii, 2)).tile(j, (jj, 3), (jjj, 2)).tile(k, (kk, 4))
C.order(i, j, k, ii, jj, iii, jjj, kk).unroll(ii, jj).vectorise(kk)
feed_a, load_a = C.producers(A, "feeder", "loader")
feed_b, load_b = C.producers(B, "feeder", "loader")
C.forward(feed_a, jj=1).forward(feed_b, ii=1)
load_a.remove(jjj, jj)
feed_a.buffer(k, double=True).unroll(ii).scatter(ii=1)
drain, collect, unload = C.consumers("drainer", "collector", "unloader")
drain.unroll(ii, jj).gather(ii=-1)
"""
STARTED = """\
feed_t, load_t, serialize_t = C.producers(T, "feeder", "loader", "serializer")
feed_t.unroll(ii).scatter(ii=1)
"""
BIASED = """\
feed_u, load_u, serialize_u = C.producers(U, "feeder", "loader", "serializer")
C.forward(feed_u, ii=1)
load_u.remove(iii), serialize_u.remove(i)
feed_u.buffer(jj).unroll(jj)
"""

PLAIN = 'C = compute("C", "fp32", i, j, sum_over=k'
KINDS = {
    "operands": (
        f"{PLAIN})[relu(A[i, k]) * negate(absolute(B[k, j]))]\n" + MAPPED,
        lambda a, b, t, u: np.maximum(a, 0) @ -np.abs(b),
    ),
    "results": (
        f"{PLAIN})[A[i, k] * B[k, j]].then(negate, relu)\n" + MAPPED,
        lambda a, b, t, u: np.maximum(-(a @ b), 0),
    ),
    "start": (
        f"{PLAIN})[A[i, k] * B[k, j]].start(T[i, j])\n{MAPPED}{STARTED}",
        lambda a, b, t, u: t + a @ b,
    ),
    "bias": (
        f"{PLAIN})[A[i, k] * relu(B[k, j])].start(negate(U[j])).then(relu)\n{MAPPED}{BIASED}",
        lambda a, b, t, u: np.maximum(a @ np.maximum(b, 0) - u, 0),
    ),
    "three lines": (
        f"{PLAIN})[A[i, k] * B[k, j]].start(T[i, j]).then(absolute)\n",
        lambda a, b, t, u: np.abs(t + a @ b),
    ),
    "minplus": (
        f'{PLAIN}, semiring="minplus")[negate(A[i, k]) * B[k, j]].start(T[i, j])\n' + MAPPED,
        lambda a, b, t, u: np.minimum(t, (-a[:, :, None] + b[None]).min(axis=1)),
    ),
    "sums of vectors": (
        f"{PLAIN})[A[i, k] * B[k, j]].start(U[j]).then(relu)\n"
        "C.tile(j, (jj, 4)).order(i, j, k, jj).vectorise(jj)\n",
        lambda a, b, t, u: np.maximum(u + a @ b, 0),
    ),
    "factored": (
        f"{PLAIN})[absolute(U[j]) * A[i, k] * B[k, j]]\n"
        "C.tile(k, (kk, 4)).order(i, j, k, kk).vectorise(kk).factor(U)\n",
        lambda a, b, t, u: (a @ b) * np.abs(u),
    ),
}
"""Definitions with mappings, and their results from A, B, T and U in NumPy."""


def written(kind: str, folder: Path) -> Path:
    """The file of a kind."""
    file = folder / "mine.py"
    file.write_text(HEAD + KINDS[kind][0] + 'C.accumulate(stall="allowed")\n')
    return file


KERNELS = {
    "gemm": ("C_ij", ("A_ik", "B_kj")),
    "mttkrp": ("D_ij", ("A_ikl", "B_kj", "C_lj")),
    "ttm": ("C_ijk", ("A_ijl", "B_lk")),
    "ttmc": ("D_ijk", ("A_ilm", "B_lj", "C_mk")),
    "gemv": ("Y_i", ("A_ik", "X_k")),
    "ttv": ("Y_ij", ("A_ijk", "X_k")),
}
"""Kernels by name: the result with its indices, and the operands with theirs."""

PRODUCING = (("feeder", "loader", "serializer"), ("feeder", "loader"), ("loader", "serializer"),
             ("loader",), ("feeder",))  # fmt: skip
CONSUMING = (("drainer", "collector", "unloader", "deserializer"),
             ("drainer", "collector", "unloader"), ("drainer", "unloader"),
             ("collector", "unloader", "deserializer"), ("unloader",))  # fmt: skip


def random_mapping(
    kernel: str,
    rng: np.random.Generator,
    words: np.random.Generator | None = None,
    copies: np.random.Generator | None = None,
) -> Computation:
    """A kernel with random directives; by ``words`` also with initial values, and functions of
    operands and results; by ``copies`` also with feeders that forward. Raises MappingError if one
    of them cannot be followed."""
    return _Drawn(kernel, rng, words, copies).computation


class _Drawn:
    def __init__(
        self,
        kernel: str,
        rng: np.random.Generator,
        words: np.random.Generator | None,
        copies: np.random.Generator | None,
    ) -> None:
        self._rng, self._words, self._copies = rng, words, copies
        self._levels = rng.spawn(1)[0]
        result, operands = KERNELS[kernel]
        name, letters = result.split("_")
        summed = sorted({i for one in operands for i in one.split("_")[1]} - set(letters))
        there = {i: Index(i) for i in (*letters, *summed)}
        semiring = "mma" if len(operands) > 2 else str(rng.choice(["mma", "minplus", "maxplus"]))
        elements = []
        for one in operands:
            operand, at = one.split("_")
            chosen = tuple(there[i] for i in at)
            element = tensor(operand, "fp32", *chosen)[chosen]
            elements.append(self._through(element, semiring))
        self.computation = compute(
            name,
            "fp32",
            *(there[i] for i in letters),
            sum_over=tuple(there[i] for i in summed),
            semiring=semiring,
        )[Product(tuple(elements))]
        if words is not None:
            self._results(letters, there)
        self._loops(there)
        self._space()
        for one in operands:
            self._producers(one.split("_")[0])
        if self.computation.started:
            self._producers(self.computation.started.tensor.name)
        self._consumers()
        if rng.random() < 0.2:
            self.computation.drain_overlap(False)

    def _through(self, element: Element, semiring: str) -> Element:
        if self._words is None or self._words.random() < 0.5:
            return element
        known = (negate,) if semiring == "maxplus" else (relu, negate, absolute)
        return known[self._words.integers(len(known))](element)

    def _results(self, letters: str, there: dict[str, Index]) -> None:
        words = self._words
        assert words is not None
        if words.random() < 0.7:
            some = [there[i] for i in letters if words.random() < 0.7] or [there[letters[-1]]]
            start = tensor("T", "fp32", *some)[tuple(some)]
            self.computation.start(self._through(start, "mma"))
        if words.random() < 0.7:
            self.computation.then((relu, negate, absolute)[words.integers(3)])

    def _loops(self, there: dict[str, Index]) -> None:
        computation, rng = self.computation, self._rng
        for name, index in there.items():
            levels = [
                (Index(name * (2 + n)), int(rng.integers(1, 4))) for n in range(rng.integers(3))
            ]
            if levels:
                computation.tile(index, *levels)
        names = list(rng.permutation(computation.loop_names))
        # Loops of results without a constant trip count stand before all that are summed over.
        outer = [
            name
            for name in names
            if computation.loop(name).extent is None and not computation.loop(name).reduces
        ]
        inner = [name for name in names if name not in outer]
        early = int(rng.integers(len(inner) + 1)) if rng.random() < 0.3 else 0
        first = [name for name in inner[:early] if not computation.loop(name).reduces]
        rest = [name for name in inner if name not in first]
        lanes = [n for n in rest if computation.loop(n).reduces and computation.loop(n).extent]
        if lanes and rng.random() < 0.5:
            rest.remove(lanes[0])
            rest.append(lanes[0])
        computation.order(*(Index(str(one)) for one in (*first, *outer, *rest)))

    def _space(self) -> None:
        computation, rng = self.computation, self._rng
        may = [one.name for one in computation.loops if one.extent is not None and not one.reduces]
        self._unrolled = [str(one) for one in rng.permutation(may)[: rng.integers(3)]]
        if self._unrolled:
            computation.unroll(*(Index(one) for one in self._unrolled))
        last = computation.loops[-1]
        if last.extent is not None and last.name not in self._unrolled and rng.random() < 0.7:
            computation.vectorise(Index(last.name))
            for one in computation.factors:
                narrow = last.name not in computation.loops_of(one.tensor.name)
                if last.reduces and narrow and rng.random() < 0.7:
                    computation.factor(one.tensor.name)

    def _producers(self, operand: str) -> None:
        computation, rng = self.computation, self._rng
        if rng.random() < 0.1:
            return
        chain = computation.producers(operand, *PRODUCING[rng.integers(len(PRODUCING))])
        mine = computation.loops_of(operand)
        for loop in self._unrolled:
            if loop not in mine and rng.random() < 0.8 and not self._copies_pass():
                computation.forward(chain[0], **{loop: int(rng.choice([1, -1]))})
        reuse = [name for name in computation.loop_names if name not in mine]
        registers = [n for n, one in enumerate(computation.loops) if one.extent is None]
        inside = int(rng.integers(registers[-1], len(computation.loop_names)))
        removable = [n for n in reuse if computation.loop_names.index(n) > inside]
        for behind, one in enumerate(chain[1:], start=1):
            if removable and rng.random() < 0.7:
                one.remove(*(Index(name) for name in removable))
                if chain[behind - 1].role == "feeder":
                    level = Index(computation.loop_names[inside])
                    chain[behind - 1].buffer(level, double=bool(rng.random() < 0.5))
                break
        self._feed(chain[0])
        if chain[0].role == "feeder" and len(chain) > 1:
            self._pass_on(chain[0])

    def _feed(self, feeder: Isolated) -> None:
        rng = self._rng
        names = [one for one in self._unrolled if one in self.computation.loops_of(feeder.tensor)]
        if feeder.role == "feeder" and names and rng.random() < 0.8:
            feeder.unroll(Index(names[0]))
            if rng.random() < 0.8:
                feeder.scatter(**{names[0]: int(rng.choice([1, -1]))})

    def _pass_on(self, feeder: Isolated) -> None:
        """Copies along loops along which the elements do not forward."""
        if self._copies is None or feeder.scattered:
            return
        passed = [one for one, _, _ in self.computation.forwarded.get(feeder.tensor, [])]
        for name in self._unrolled:
            free = name not in passed and name not in self.computation.loops_of(feeder.tensor)
            if free and self._copies.random() < 0.8:
                feeder.unroll(Index(name)).forward(**{name: int(self._copies.choice([1, -1]))})

    def _copies_pass(self) -> bool:
        """Draws whether the copies of a feeder forward, and the elements do not."""
        return self._copies is not None and bool(self._copies.random() < 0.6)

    def _consumers(self) -> None:
        rng = self._rng
        if rng.random() < 0.1:
            return
        chain = self.computation.consumers(*CONSUMING[rng.integers(len(CONSUMING))])
        left = list(self._unrolled)
        for one in chain:
            if one.role not in ("drainer", "collector") or not left or rng.random() < 0.2:
                continue
            one.unroll(*(Index(name) for name in left))
            if rng.random() < 0.8:
                vector = chain[chain.index(one) + 1].role == "unloader" and rng.random() < 0.5
                gathered: dict[str, Any] = {left.pop(): int(rng.choice([1, -1]))}
                if not vector and self._levels.random() < 0.4:
                    gathered["level"] = self._level(one)
                one.gather(vector=bool(vector), **gathered)

    def _level(self, isolated: Isolated) -> Index:
        """A loop in which all copies may have a turn."""
        unrolled = [name for name, _ in isolated.unrolled]
        loops = self.computation.loops
        may = [one.name for one in loops if not one.reduces and one.name not in unrolled]
        return Index(str(self._levels.choice(may)))
