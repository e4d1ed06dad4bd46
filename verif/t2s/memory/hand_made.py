"""Configurations around one loader or unloader, which no mapping makes."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from tilewright.hw.spec.t2s.config import T2sConfig
from tilewright.hw.spec.t2s.design import Design
from tilewright.hw.spec.t2s.loops import Loop
from tilewright.hw.spec.t2s.parts import Count, MemoryPart, Step


@cache
def _plan() -> Design:
    return T2sConfig(design="gemm", largest=2).plan


def around(part: MemoryPart, **parameters: Any) -> T2sConfig:
    """A configuration whose design has this part, as its only loader and as its unloader."""
    config = T2sConfig(design="gemm", **parameters)
    vars(config)["plan"] = replace(_plan(), loaders=(part,), unloader=part)
    return config


def memory_part(
    word_bytes: int, steps: str, run: tuple[int, ...] = (), repeats: int = 1
) -> MemoryPart:
    """A part.

    Parameters
    ----------
    steps: loops, outermost first: ``i`` moves with a trip count of a register, ``-i`` does not
        move, ``i3`` is of 3 iterations
    run: trip counts of a run's loops
    """
    made = []
    for word in steps.split():
        name = word.lstrip("-").rstrip("0123456789")
        extent = word.lstrip("-")[len(name) :]
        count = Count(name, int(extent) if extent else None)
        made.append(Step(count, not word.startswith("-")))
    loops = tuple(Loop(f"run{n}", "i", extent, 1, False) for n, extent in enumerate(run))
    return MemoryPart("T_loader", "T", 8 * word_bytes, tuple(made), loops, repeats)


PARTS = {
    "narrow": memory_part(4, "i -j k", (3, 3)),
    "one_beat": memory_part(16, "-i k"),
    "one_word": memory_part(2, "i j2 -k l"),
    "wide": memory_part(40, "i -j3 k", (3,)),
    "odd": memory_part(7, "i", (5,), repeats=3),
    "byte": memory_part(1, "-i j", (33,)),
    "nothing_around": memory_part(24, "", (7,), repeats=2),
    "stays_inside": memory_part(8, "i j -k2", (2,), repeats=2),
}
"""Words narrower and wider than a beat of 16 bytes, and loops of every kind."""


@dataclass(frozen=True)
class Walk:
    """The registers of a job: a base, strides and trip counts by loop."""

    base: int
    strides: Mapping[str, int]
    trips: Mapping[str, int]

    @classmethod
    def draw(cls, part: MemoryPart, beat_bytes: int, rng: random.Random, most: int = 4) -> Walk:
        """Random ones; runs may overlap, in an order of any kind."""
        return cls(
            base=beat_bytes * rng.randrange(64),
            strides={name: beat_bytes * rng.randrange(40) for name in part.strides},
            trips={
                step.count.name: rng.randint(1, most)
                for step in part.steps
                if step.count.from_register
            },
        )

    @property
    def inputs(self) -> dict[str, int]:
        """Values of a loader's input ports."""
        strides = {f"stride_{name}": value for name, value in self.strides.items()}
        return {"base": self.base, **strides, **{f"trips_{x}": n for x, n in self.trips.items()}}


def runs(part: MemoryPart, walk: Walk) -> Iterator[int]:
    """The addresses of a job's runs: the loops as they are said."""
    spans = [range(step.count.extent or walk.trips[step.count.name]) for step in part.steps]
    for place in itertools.product(*spans):
        address = walk.base
        for step, iteration in zip(part.steps, place, strict=True):
            if step.moves:
                address += walk.strides[step.count.name] * iteration
        yield address
