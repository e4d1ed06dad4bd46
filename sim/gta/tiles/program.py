"""What a driver needs to know of a product to run it, alone or beside others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from ....hw.spec.gta import GtaConfig
from ....hw.spec.jobs.gta import mask_registers
from .command_list import CommandList
from .images import StreamImage
from .merged import merged

__all__ = ["LaneJob", "Operands", "Program", "add_commands", "widened"]

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
        """What the images of operands hold."""

    def result(self, content: bytes) -> Words:
        """D, of what memory holds of its image."""

    def steps(self, bases: Mapping[str, int], into: CommandList) -> Iterator[int]:
        """Add the commands, some at a time; yields about the cycles of each time."""


class LaneJob(NamedTuple):
    """How lanes stand in a job.

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
