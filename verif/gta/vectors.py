"""Vectors through the driver, held against the golden models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from tilewright.hw.spec.gta import GtaConfig
from tilewright.hw.spec.jobs.gta_vector import functions_of, operand_memories
from tilewright.sim.gta.driver import GtaDevice, GtaDriver
from tilewright.sim.gta.golden.moves import select, slide_down, slide_up
from tilewright.sim.gta.golden.vector import OPERATIONS, REDUCTIONS, elementwise, reduce
from tilewright.verif.gta.jobs import Words, words

SLIDES = ("slide_up", "slide_down")


@dataclass(frozen=True)
class VectorCase:
    """A call of the driver.

    Parameters
    ----------
    what: a function, one of ``SLIDES``, or "reduce " and one of ``REDUCTIONS``
    format, operands: of it
    places, fill: of slides
    start: of reductions
    """

    what: str
    format: str
    operands: tuple[Words, ...]
    places: int = 0
    fill: int = 0
    start: Words | None = None

    def found(self, driver: GtaDriver) -> Words:
        """The driver's result."""
        if self.what in SLIDES:
            slide: Any = getattr(driver, self.what)
            slid: Words = slide(self.format, *self.operands, self.places, self.fill)
            return slid
        if self.what.startswith("reduce"):
            return driver.reduce(self.what.split()[1], self.format, self.operands[0], self.start)
        return driver.vector(self.what, self.format, *self.operands)

    def expected(self) -> Words:
        """The golden model's."""
        if self.what in SLIDES:
            slide = slide_up if self.what == "slide_up" else slide_down
            return slide(self.format, self.operands[0], self.places, self.fill)
        if self.what.startswith("reduce"):
            return reduce(self.what.split()[1], self.format, self.operands[0], self.start)
        if self.what == "select":
            return select(self.format, *self.operands)
        return elementwise(self.what, self.format, *self.operands)

    def __str__(self) -> str:
        shapes = [operand.shape for operand in self.operands]
        return f"{self.what} {self.format} {shapes} places {self.places}"


def things_of(format: str) -> list[str]:
    """Returns the vector operations of a driver on a format, see :class:`VectorCase`."""
    functions = [x for x in functions_of(format) if x in OPERATIONS or x == "select"]
    return [*functions, *SLIDES, *(f"reduce {name}" for name in REDUCTIONS)]


def _mask(rng: np.random.Generator, given: Words) -> Words:
    found: Words = np.where(rng.integers(2, size=given.shape) == 0, np.uint64(0), given)
    return found


def random_vector(
    rng: np.random.Generator, config: GtaConfig, *, most: int = 600, **fixed: str
) -> VectorCase:
    """Vectors of any length up to ``most``; ``fixed``: ``format`` or ``what``."""
    format = fixed.get("format") or str(rng.choice([*config.integers, *config.floats]))
    what = fixed.get("what") or str(rng.choice(things_of(format)))
    length = int(rng.integers(1, int(rng.choice([9, most // 4, most])) + 1))
    if what in SLIDES:
        places = int(rng.integers(int(rng.choice([9, length + 12]))))
        fill = int(words(rng, format, (1,))[0])
        return VectorCase(what, format, (words(rng, format, (length,)),), places, fill)
    if what.startswith("reduce"):
        rows = () if rng.integers(2) else (int(rng.integers(1, 12)),)
        length = min(length, 60) if rows else length
        start = words(rng, format, rows) if rng.integers(2) else None
        return VectorCase(what, format, (words(rng, format, (*rows, length)),), start=start)
    shapes = [(length,) for _ in operand_memories(what, format)]
    if not rng.integers(6):
        shapes[-1] = (1,)
    operands = [words(rng, format, shape) for shape in shapes]
    if what == "select":
        operands[0] = _mask(rng, operands[0])
    elif len(operands) > 1 and shapes[0] == shapes[1] and not rng.integers(3):
        # Some numbers are equal.
        same = rng.integers(2, size=length) == 0
        operands[1] = np.where(same, operands[0], operands[1])
    return VectorCase(what, format, tuple(operands))


def check_vector(device: GtaDevice, case: VectorCase) -> dict[str, int]:
    """Run a case on a device, bit for bit; returns the counters."""
    driver = GtaDriver(device)
    found, expected = case.found(driver), case.expected()
    assert found.shape == expected.shape
    wrong: npt.NDArray[np.int64] = np.argwhere(found != expected)
    assert not len(wrong), f"{len(wrong)} words are wrong, first {wrong[0]}: {case}"
    return driver.counts
