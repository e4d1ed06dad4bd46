"""Configuration of an array that a mapping describes (T2S-Tensor)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from ..config import Config, IntRange, OneOf, parameter
from ..sidecar.traffic import Traffic, one_id_each
from ..simd2 import Simd2Config
from ..unit import Unit, named_object
from .design import Design
from .parts import MemoryPart
from .sparse_parts import EntriesPart
from .timing import entry_interval_text, interval_text

_NAME = re.compile(r"[a-z][a-z0-9_]*(/[a-z][a-z0-9_]*)?")
_SIZE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=[1-9][0-9]{0,6}")


@dataclass(frozen=True)
class DesignName:
    """The name of a design that ships, or a file of the mapping language."""

    def describe(self) -> str:
        return "the name of a design, or a file that ends in .py"

    def check(self, name: str, value: object) -> None:
        if not isinstance(value, str):
            raise TypeError(f"`{name}` must be {self.describe()}, not {value!r}")
        if not value.endswith(".py") and not _NAME.fullmatch(value):
            raise ValueError(f"`{name}` must be {self.describe()}, not {value!r}")

    def parse(self, text: str) -> str:
        return text


@dataclass(frozen=True)
class Sizes:
    """Sizes by name, joined by commas; or none."""

    def describe(self) -> str:
        return "sizes as II=2,JJ=2"

    def check(self, name: str, value: object) -> None:
        if not isinstance(value, str):
            raise TypeError(f"`{name}` must be {self.describe()}, not {value!r}")
        given = value.split(",") if value else []
        names = [one.partition("=")[0] for one in given]
        wrong = any(not _SIZE.fullmatch(one) for one in given) or len(set(names)) < len(names)
        if wrong:
            raise ValueError(f"`{name}` must be {self.describe()}, not {value!r}")

    def parse(self, text: str) -> str:
        return text.replace(" ", "")


def parsed_sizes(text: str) -> dict[str, int]:
    """Parses the text that :class:`Sizes` allows into numbers by name."""
    pairs = (one.partition("=") for one in text.split(",") if one)
    return {name: int(number) for name, _, number in pairs}


ID_BITS = 3
"""Width of an AXI ID: which function reads, or writes."""

_LARGEST = 4
"""Factor of the designs that ship, unless another is given."""

_LONGEST_BURST = 32
_BOUNDARY = 4096
"""Bytes: no burst crosses a multiple of this."""

_FORMATS = Simd2Config.parameters()[1].metadata["allowed"].words
_ACCUMULATORS = Simd2Config.parameters()[2].metadata["allowed"].words


@dataclass(frozen=True, kw_only=True)
class T2sConfig(Config):
    """Array of processing elements, with the loaders of its operands and the unloader of its
    results, as a program of the mapping language describes it."""

    design: str = parameter(
        "gemm", allowed=DesignName(), doc="name of a design, or a file of the mapping language"
    )
    sizes: str = parameter("", allowed=Sizes(), doc="sizes in place of the file's, as II=2,JJ=2")
    largest: int = parameter(
        -1,
        allowed=IntRange(-1, 1024),
        doc="no factor of a tile is larger; 0: there is no limit; -1: 4 for our designs, else none",
    )
    format: str = parameter(
        "auto", allowed=OneOf(("auto", *_FORMATS)), doc="format of operands; auto: the file's"
    )
    accumulator: str = parameter(
        "auto",
        allowed=OneOf(_ACCUMULATORS),
        doc="format of sums; auto: fp32, fp64 for fp64, int32 for integers",
    )
    pipeline: int = parameter(
        0,
        allowed=IntRange(0, 9),
        doc="register stages of an element, to its sums; 0: the mapping's, or 4, or 8 of floats",
    )
    trip_bits: int = parameter(
        16, allowed=IntRange(4, 32), doc="width of the trip counts of outermost loops"
    )
    data_bits: int = parameter(
        128, allowed=IntRange(64, 1024, power_of_two=True), doc="width of a memory channel, in bits"
    )
    addr_bits: int = parameter(40, allowed=IntRange(32, 64), doc="width of an address, in bits")
    managers: int = parameter(
        1, allowed=IntRange(1, 4), doc="memory channels: loaders in turn, results on the last"
    )
    outstanding: int = parameter(
        8, allowed=IntRange(1, 32), doc="bursts of a loader, or of results, that may be in flight"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.plan

    @cached_property
    def plan(self) -> Design:
        """The compiled design. One that cannot be built is refused with its configuration."""
        compiled: Design = named_object("tilewright.hw.t2s.lowering.design:design_of")(self)
        return compiled

    @property
    def largest_factor(self) -> int:
        """Largest factor of a tile; 0: there is no limit."""
        usual = 0 if self.design.endswith(".py") else _LARGEST
        return usual if self.largest < 0 else self.largest

    @property
    def beat_bytes(self) -> int:
        """Bytes of a beat; bases and strides are multiples of it."""
        return self.data_bits // 8

    @property
    def burst_beats(self) -> int:
        """Beats of the longest burst."""
        return min(_LONGEST_BURST, _BOUNDARY // self.beat_bytes)

    def readers(self, manager: int) -> tuple[EntriesPart | MemoryPart, ...]:
        """The loaders on a manager, those of sparse operands first."""
        plan = self.plan
        entries = plan.sparse.entries if plan.sparse else ()
        loaders: tuple[EntriesPart | MemoryPart, ...] = (*entries, *plan.loaders)
        return loaders[manager :: self.managers]

    def writers(self, manager: int) -> tuple[MemoryPart, ...]:
        """The unloader, on the last manager."""
        return (self.plan.unloader,) if manager == self.managers - 1 else ()

    @property
    def traffic(self) -> tuple[Traffic, ...]:
        """Limits of the bus traffic of each manager."""
        sizes = {"longest_beats": self.burst_beats, "outstanding": self.outstanding}
        return tuple(
            Traffic(
                reads=one_id_each("function", _names(self.readers(n)), **sizes, id_bits=ID_BITS),
                writes=one_id_each("function", _names(self.writers(n)), **sizes, id_bits=ID_BITS),
            )
            for n in range(self.managers)
        )

    def resolved(self) -> dict[str, object]:
        """Every parameter with the value in force: 0 and auto are replaced."""
        arithmetic = self.plan.element.arithmetic
        return super().resolved() | {
            "largest": self.largest_factor,
            "format": arithmetic.element.name,
            "accumulator": arithmetic.result.name,
            "pipeline": arithmetic.pipeline,
        }

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on the design for the user."""
        element, sparse = self.plan.element, self.plan.sparse
        told = entry_interval_text(sparse.element) if sparse else interval_text(element)
        return (f"An element of {element.name} begins {told}.",)


def _names(parts: tuple[EntriesPart | MemoryPart, ...]) -> tuple[str, ...]:
    return tuple(one.name for one in parts)


T2S = Unit(
    name="t2s",
    summary="array of processing elements, feeders and collectors, from a spatial mapping",
    source="T2S-Tensor: chapter 3 of the thesis",
    config=T2sConfig,
    component="tilewright.hw.t2s.t2s:T2s",
    jobs="tilewright.hw.spec.jobs.t2s:job_spec",
)

UNITS = (T2S,)
