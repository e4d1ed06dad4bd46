"""Lists of commands as operands: records in memory that describe a job, and their bits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..formats import AnyFormat

__all__ = [
    "CommandField",
    "CommandKind",
    "CommandList",
    "Deal",
    "LaneMemory",
    "ListedFormat",
    "VectorFunctionEntry",
]


@dataclass(frozen=True, kw_only=True)
class CommandField:
    """Bits of a command; ``values``: the meaning of some numbers, by name; ``of``: the table of the
    list whose numbers it holds."""

    low: int
    bits: int
    doc: str
    values: Mapping[str, int] | None = None
    of: str | None = None


@dataclass(frozen=True, kw_only=True)
class CommandKind:
    """A kind of commands, with the number that its field ``kind`` holds."""

    name: str
    value: int
    doc: str
    fields: Mapping[str, CommandField]


@dataclass(frozen=True, kw_only=True)
class LaneMemory:
    """A memory of a lane: ``banks`` banks of ``words`` words of ``word_bytes`` bytes."""

    name: str
    value: int
    banks: int
    words: int
    word_bytes: int
    doc: str


@dataclass(frozen=True, kw_only=True)
class Deal:
    """Round-robin distribution of a row's elements over banks: element t, of ``element_bytes``
    bytes, is in the t % ``banks``-th bank of those of the row, and is element t // ``banks`` there.
    """

    value: int
    element_bytes: int
    banks: int


@dataclass(frozen=True, kw_only=True)
class ListedFormat:
    """A format that commands name by ``value``; ``result_bytes``: sizes that elements of results of
    products may have, the usual one first."""

    name: str
    value: int
    format: AnyFormat
    limbs: int
    result_bytes: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class VectorFunctionEntry:
    """A function of vectors; ``integers``, ``floats``: the memories of its operands, in their
    order; absent: there is no such function of these formats."""

    name: str
    value: int
    integers: tuple[str, ...] | None = None
    floats: tuple[str, ...] | None = None
    doc: str


@dataclass(frozen=True, kw_only=True)
class CommandList:
    """Commands of a job in memory: they begin at the address in register ``base``, as many as
    register ``count`` holds, each of ``bytes`` bytes, little-endian."""

    base: str
    count: str
    bytes: int
    align: int
    read_bytes: int
    row_align: int
    kinds: tuple[CommandKind, ...]
    memories: tuple[LaneMemory, ...]
    deals: tuple[Deal, ...]
    formats: tuple[ListedFormat, ...]
    functions: tuple[VectorFunctionEntry, ...]
    rules: tuple[str, ...]
