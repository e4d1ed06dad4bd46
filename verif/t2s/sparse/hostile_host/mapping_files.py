"""Draws mapping files with sparse operands, with the facts that a host needs about them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

_NAMES = "klm"


@dataclass(frozen=True, kw_only=True)
class DrawnFile:
    """A mapping, and the facts of it that decide what lies in memory.

    Parameters
    ----------
    text: of the file
    format, semiring: of words
    kind: "one", "intersection" or "union"
    sparse: names of sparse tensors
    dense: by name, the subscripts of a dense operand: of each the indices that are added
    coordinates: indices of entries but that of rows
    levels: register loops of i and of coordinates, outermost first
    order: the loop of slots, if there is one, and coordinates in the order of the mapping
    result: indices of the result
    tiles: by index, how far it goes within a tile
    slots, elements: rows of an element, and how many elements
    slot_step, element_step: by how much they move the row
    """

    text: str
    format: str
    semiring: str
    kind: str
    sparse: tuple[str, ...]
    dense: Mapping[str, tuple[tuple[str, ...], ...]]
    coordinates: tuple[str, ...]
    levels: tuple[str, ...]
    order: tuple[str, ...]
    result: tuple[str, ...]
    tiles: Mapping[str, int]
    slots: int
    elements: int
    slot_step: int
    element_step: int

    @property
    def across(self) -> tuple[str, ...]:
        """Indices of the result but that of rows."""
        return tuple(one for one in self.result if one != "i")


class _Writer:
    """Draws a file line by line."""

    def __init__(self, rng: np.random.Generator, fmt: str, semiring: str, kind: str) -> None:
        self._rng, self._kind, self._semiring, self._format = rng, kind, semiring, fmt
        self._coordinates = tuple(_NAMES[: rng.choice([1, 2, 3], p=(0.5, 0.35, 0.15))])
        self._across = tuple("jn"[: rng.choice([0, 1, 2], p=(0.3, 0.5, 0.2))])
        self._tiles: dict[str, int] = {}
        self._cuts: dict[str, list[tuple[str, int]]] = {}

    def drawn(self) -> DrawnFile:
        rng = self._rng
        dense = self._dense()
        self._across = tuple(
            one for one in self._across
            if any(one in by for subscripts in dense.values() for by in subscripts)
        )  # fmt: skip
        result = tuple(str(one) for one in rng.permutation(["i", *self._across]))
        sparse = ("A",) if self._kind == "one" else ("A", "S")
        rows = self._rows()
        elements = dict(rows).get("ii", 1)
        steps = self._steps(rows)
        for one in self._coordinates:
            size = int(rng.choice([1, 2, 3, 5, 8], p=(0.1, 0.2, 0.25, 0.3, 0.15)))
            self._cut(one, [(2 * one, size)])
        vector = self._cut_across()
        levels = ("i", *(str(one) for one in rng.permutation(self._coordinates)))
        inner = [str(one) for one in rng.permutation([n for n, _ in rows] + self._loops("klm"))]
        ring = [str(one) for one in rng.permutation([
            name for name in self._loops(self._across) if name != vector
        ])]  # fmt: skip
        around = [str(one) for one in rng.permutation(list(self._across))]
        order = [*around, *levels, *inner, *ring, *([vector] if vector else [])]
        lines = self._header(order, sparse, dense, result)
        lines += [
            f"C.tile({name}, {', '.join(f'({loop}, {size})' for loop, size in cuts)})"
            for name, cuts in self._cuts.items()
            if cuts
        ]
        lines.append(f"C.order({', '.join(order)})")
        if "ii" in dict(rows):
            lines.append("C.unroll(ii)")
        if vector:
            lines.append(f"C.vectorise({vector})")
        lines += self._said(dense, levels, "ii" in dict(rows))
        return DrawnFile(
            text="\n".join(lines) + "\n",
            format=self._format,
            semiring=self._semiring,
            kind=self._kind,
            sparse=sparse,
            dense=dense,
            coordinates=self._coordinates,
            levels=levels,
            order=tuple(one for one in inner if one != "ii"),
            result=result,
            tiles=self._tiles,
            slots=dict(rows).get("iii", 1),
            elements=elements,
            slot_step=steps.get("iii", 1),
            element_step=steps.get("ii", 1),
        )

    def _dense(self) -> dict[str, tuple[tuple[str, ...], ...]]:
        rng = self._rng
        few = 3 - (1 if self._kind in ("one", "union") else 2)
        if self._semiring != "mma":
            few = min(few, 1 if self._kind in ("one", "union") else 0)
        least = 1 if self._kind == "union" else 0
        found = {}
        for name in "XZ"[: int(rng.integers(least, few + 1))]:
            some = [one for one in self._coordinates if rng.random() < 0.6]
            some = some or [str(rng.choice(self._coordinates))]
            some += [one for one in self._across if rng.random() < 0.7]
            order = [str(one) for one in rng.permutation(some)]
            if len(order) > 1 and rng.random() < 0.15:
                found[name] = ((order[0], order[1]), *((one,) for one in order[2:]))
            else:
                found[name] = tuple((one,) for one in order)
        return found

    def _rows(self) -> list[tuple[str, int]]:
        rng = self._rng
        found = []
        if rng.random() < 0.75:
            found.append(("iii", int(rng.choice([1, 2, 3, 5]))))
        if self._kind == "one" and rng.random() < 0.65:
            found.append(("ii", int(rng.choice([1, 2, 3, 4]))))
        rng.shuffle(found)
        return [(str(name), int(size)) for name, size in found]

    def _cut(self, index: str, loops: list[tuple[str, int]]) -> None:
        self._cuts[index] = loops
        size = 1
        for _, extent in loops:
            size *= extent
        self._tiles[index] = size

    def _steps(self, rows: list[tuple[str, int]]) -> dict[str, int]:
        self._cut("i", rows)
        found, step = {}, 1
        for name, size in reversed(rows):
            found[name] = step
            step *= size
        return found

    def _cut_across(self) -> str:
        rng = self._rng
        vector = ""
        for one in self._across:
            loops = []
            if rng.random() < 0.6:
                loops.append((2 * one, int(rng.choice([1, 2, 3, 5]))))
            if not vector and self._kind != "union" and rng.random() < 0.6:
                vector = 3 * one
                loops.append((vector, int(rng.choice([1, 2, 3, 4]))))
            self._cut(one, loops)
        return vector

    def _loops(self, indices: Iterable[str]) -> list[str]:
        return [name for one in indices for name, _ in self._cuts.get(one, [])]

    def _header(
        self,
        order: list[str],
        sparse: tuple[str, ...],
        dense: Mapping[str, tuple[tuple[str, ...], ...]],
        result: tuple[str, ...],
    ) -> list[str]:
        """Returns the lines of the tensors and of the computation."""
        names = ", ".join(order)
        rng = self._rng
        shown = {
            name: ", ".join(" + ".join(one) for one in subscripts)
            for name, subscripts in dense.items()
        }
        lines = [
            "from tilewright.hw.t2s.language import compute, indices, tensor",
            "",
            f'{names}{"," if len(order) == 1 else ""} = indices("{" ".join(order)}")',
        ]
        where = ", ".join(("i", *self._coordinates))
        for one in sparse:
            style = str(rng.choice(["csr", "ciss"]))
            lines.append(f'{one} = tensor("{one}", "{self._format}", {where}, sparse="{style}")')
        lines.append('(h,) = indices("h")')
        for one, subscripts in dense.items():
            said = ", ".join(by[0] if len(by) == 1 else "h" for by in subscripts)
            lines.append(f'{one} = tensor("{one}", "{self._format}", {said})')
        right = [f"{one}[{said}]" for one, said in shown.items()]
        left = [f"{one}[{where}]" for one in sparse]
        if self._kind == "union":
            products = " + ".join(" * ".join([one, *right]) for one in left)
        else:
            products = " * ".join([*left, *right])
        summed = ", ".join(self._coordinates)
        lines.append(
            f'C = compute("C", "{self._format}", {", ".join(result)}, sum_over=({summed},), '
            f'semiring="{self._semiring}")[{products}]'
        )
        return lines

    def _said(
        self,
        dense: Mapping[str, tuple[tuple[str, ...], ...]],
        levels: tuple[str, ...],
        unrolled: bool,
    ) -> list[str]:
        """Directives that may be left out."""
        rng = self._rng
        lines = []
        if rng.random() < 0.3:
            lines.append("C.drain_overlap(False)")
        if rng.random() < 0.6:
            lines.append(f"C.clock_pipeline({int(rng.integers(1, 10))})")
        for name, subscripts in dense.items():
            if rng.random() < 0.5:
                continue
            own = {one for by in subscripts for one in by}
            innermost = max(levels.index(one) for one in levels if one in own)
            level = str(rng.choice(levels[innermost:]))
            lines.append(f'feed_{name}, load_{name} = C.producers({name}, "feeder", "loader")')
            double = bool(rng.integers(2))
            lines.append(f"feed_{name}.buffer({level}, double={double})")
            if unrolled and rng.random() < 0.5:
                lines.append(f"feed_{name}.unroll(ii).forward(ii=1)")
        return lines


def drawn_file(
    rng: np.random.Generator, *, format: str = "int8", semiring: str = "mma", kind: str = "one"
) -> DrawnFile:
    """A mapping that hardware has."""
    return _Writer(rng, format, semiring, kind).drawn()
