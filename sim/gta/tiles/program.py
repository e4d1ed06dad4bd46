"""The interface between a product and the driver that runs it, alone or beside others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from heapq import heapify, heappop, heapreplace
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from ....hw.spec.gta import GtaConfig
from ....hw.spec.jobs.gta import mask_registers
from ....hw.spec.jobs.gta_commands import KINDS, command_bytes
from .segment_sums import StreamImage


class CommandList:
    """Commands, one behind the other.

    Parameters
    ----------
    keeps: whether it keeps them; else it only counts

    Members
    -------
    count: how many of each of ``KINDS`` there are
    """

    def __init__(self, *, keeps: bool = True) -> None:
        self._keeps = keeps
        self._content: list[bytes] = []
        self.count = dict.fromkeys(KINDS, 0)

    def __len__(self) -> int:
        return sum(self.count.values())

    def add(
        self, kind: str, fields: Mapping[str, int], *, behind: Mapping[str, int] | None = None
    ) -> int:
        """Add a command that begins when so many of other kinds are complete; returns how many of
        its kind have to be for it to be complete."""
        if self._keeps:
            needs = {f"{name}s": count for name, count in (behind or {}).items()}
            self._content.append(command_bytes(kind, {**fields, **needs}))
        self.count[kind] += 1
        return self.count[kind]

    def to_bytes(self) -> bytes:
        """Returns the list as it lies in memory; empty if it keeps no content."""
        return b"".join(self._content)


def merged(products: Iterable[Iterator[int]]) -> Iterator[int]:
    """Advance products, each by what its steps yield, cycles, that which is behind the others
    first: commands of a kind are done in the order of the list, so one that waits for its region
    holds up those behind it. Yields how far the least advanced one has come since the last time.
    """
    waiting = [(0, number, steps) for number, steps in enumerate(products)]
    heapify(waiting)
    before = 0
    while waiting:
        done, number, steps = waiting[0]
        yield done - before
        before = done
        taken = next(steps, None)
        if taken is None:
            heappop(waiting)
        else:
            heapreplace(waiting, (done + taken, number, steps))


Words = npt.NDArray[np.uint64]

Operands = tuple[Words, Words, Words | None]
"""A, B and C in the array's own terms: of IS of the transposed product, C as wide as the sums."""


class Program(Protocol):
    """A product as commands.

    Members
    -------
    images: of operands and of the result, "d", by name
    """

    images: dict[str, StreamImage]

    def contents(self, a: Words, b: Words, c: Words | None) -> dict[str, Words]:
        """Returns the contents of the images of the operands, by name."""

    def result(self, content: bytes) -> Words:
        """D, of what memory holds of its image."""

    def steps(self, bases: Mapping[str, int], into: CommandList) -> Iterator[int]:
        """Add the commands, some at a time; yields about the cycles of each time."""


class LaneJob(NamedTuple):
    """The layout and the masks of the lanes in a job.

    Members
    -------
    layout: 1 << layout lanes stand beside each other
    masks: by lane
    """

    layout: int
    masks: tuple[int, ...]

    def registers(self, config: GtaConfig) -> dict[str, int]:
        """Job registers, by name."""
        found, lane = {"LAYOUT": self.layout}, 0
        for register in mask_registers(config):
            found[register.name] = 0
            for field in register.fields:
                found[register.name] |= self.masks[lane] << field.low
                lane += 1
        return found


def add_commands(programs: Iterable[tuple[Program, Mapping[str, int]]], into: CommandList) -> None:
    """Add the commands of programs that work at the same time, each with the addresses of its
    images."""
    for _ in merged(made.steps(bases, into) for made, bases in programs):
        pass


def widened(c: Words, width: int) -> Words:
    """Signed words in twice their width, which is so many bytes: of 16 two words each."""
    half = 4 * width
    negative = (c >> np.uint64(half - 1)) & np.uint64(1)
    sign = np.uint64(0) - negative
    if half == 64:
        return np.stack([c, sign], axis=-1)
    return c | (sign << np.uint64(half))
