"""Commands of a GTA job: the fields of 64 bytes in memory.

Everybody reads the tables here: the hardware that takes commands apart, the driver that writes
them, the model that does them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ..gta import LEFT_WORD_BYTES, ROWS, GtaConfig, is_float, limbs, result_bytes

__all__ = [
    "COMMAND_BYTES",
    "DEALS",
    "FIELDS",
    "KINDS",
    "MEMORIES",
    "NARROWINGS",
    "OPERATIONS",
    "Deal",
    "command_bytes",
    "command_fields",
    "deal_of_limbs",
    "deal_of_results",
    "lane_words",
    "longest_row",
    "most_folds",
    "widths_of_results",
]

COMMAND_BYTES = 64
"""Bytes of a command, and from one to the next."""

KINDS = ("load", "execute", "store")
"""Kinds of commands; a command has the number of its kind, from 1 on."""

MEMORIES = ("left", "top", "result")
"""A lane's memories, by the number that a LOAD has."""

OPERATIONS = ("ws", "os", "simd")
"""Dataflows of an EXECUTE, by number. IS is WS of the transposed product; SIMD are operations on
vectors, see ``gta_vector.py``."""

NARROWINGS = ("none", "truncate", "saturate")
"""Narrowing of elements of 8 or 16 bytes by a STORE, by number: it keeps the lower half, or the
nearest number that the lower half can hold."""


class Deal(NamedTuple):
    """Distribution of a row's elements over banks, round robin.

    Element t, of ``element`` bytes, goes to the t mod ``banks``-th bank of those of the row, and is
    element t // ``banks`` there.
    """

    element: int
    banks: int

    @property
    def part_banks(self) -> int:
        """Banks, beside each other, that have 16 bytes of a row of results."""
        return 1 if self.banks == 1 or self.element >= LEFT_WORD_BYTES else 2


DEALS = (
    Deal(16, 1),
    Deal(8, 1),
    Deal(1, 2),
    Deal(1, 4),
    Deal(1, 8),
    Deal(4, 2),
    Deal(8, 2),
    Deal(8, 4),
    Deal(8, 8),
    Deal(16, 2),
    Deal(16, 4),
    Deal(16, 8),
)
"""Distributions by number. One bank stores rows as they are; elements of one byte are limbs, others
are results."""

_BEFORE: dict[str, tuple[int, int]] = {
    "kind": (0, 8),
    "loads": (32, 32),
    "executes": (64, 32),
    "stores": (96, 32),
}
"""Fields of every command. kind: see ``KINDS``. loads, executes, stores: the command begins when at
least so many of these are complete, counted from the first one of the job."""

_ROWS: dict[str, tuple[int, int]] = {
    "deal": (16, 8),
    "rows": (128, 16),
    "row_bytes": (160, 32),
    "base": (192, 64),
    "stride": (256, 32),
    "first": (288, 8),
    "step": (296, 8),
    "lanes": (304, 8),
    "word": (320, 16),
    "words": (336, 16),
}
"""Fields of a LOAD and of a STORE.

deal: see ``DEALS``
rows, row_bytes: how many, and bytes of each in the lanes
base, stride: address of row 0, and bytes from a row to the next
first, step, lanes: the lanes first, first + step, ..., so many. Row p begins at bank p * banks,
    counted through the eight banks of each of these lanes, and through all of them again
word: start of the first rows in each bank, in words of 16 bytes
words: how many words further those begin that come behind the last lane's last bank
"""

FIELDS: dict[str, dict[str, tuple[int, int]]] = {
    "load": {**_BEFORE, "memory": (8, 8), **_ROWS},
    "execute": {
        **_BEFORE,
        "operation": (8, 8),
        "format": (16, 8),
        "group": (24, 8),
        "use_c": (128, 1),
        "lateral": (129, 1),
        "overlap": (130, 1),
        "result_size": (136, 8),
        "rows_last": (144, 16),
        "row_folds": (160, 16),
        "col_folds": (176, 16),
        "time": (192, 32),
        "left_base": (224, 16),
        "top_base": (240, 16),
        "result_base": (256, 16),
        "left_stride": (272, 16),
        "top_stride": (288, 16),
        "result_stride": (304, 16),
        "function": (320, 8),
        "amount": (328, 8),
        "chain": (336, 16),
    },
    "store": {**_BEFORE, "narrow": (8, 8), **_ROWS},
}
"""Lowest bit and width of each field, by kind; all other bits are 0.

memory: see ``MEMORIES``
narrow: see ``NARROWINGS``; rows in memory have half of ``row_bytes`` then
operation: see ``OPERATIONS``
format: see ``FORMATS_OF_GTA``
group: the mask of the lanes that work
use_c: sums begin with what the memory of results has; else with 0; SIMD: those of chains
lateral: 1: the columns' folds are the inner ones; 0: the rows'
overlap: 1: a fold begins while the one before is in flight; 0: behind it
result_size: an element of the result has 4 << result_size bytes, see :func:`widths_of_results`
rows_last: rows of elements that the last fold of rows uses, of OS on integers whole groups
row_folds, col_folds: folds downwards and across
time: elements of a stream: M of WS, K of OS; octets of results in each bank in SIMD
left_base, top_base, result_base: where the operands of the first fold begin in each bank, in words
    of 16 bytes, an even one for results
left_stride: words from a fold of rows to the next; WS: of the inner index, OS: of M
top_stride: words from a fold of columns to the next; in WS a column's weights of all folds of rows
    follow each other, 8 a row of lanes
result_stride: words from a fold of columns to the next, an even number; in OS results of all folds
    of rows follow each other. Those of several folds of columns lie apart
function, amount, chain: of SIMD, see ``gta_vector.py``: its place in ``VECTOR_FUNCTIONS``; places
    that a slide moves elements by; octets of operands of an octet of sums, 1 of other functions

SIMD uses of the others ``operation``, ``format``, ``group``, ``use_c``, ``time`` and the bases, and
does not look at the rest; the other operations do not look at its own.
"""


def command_bytes(kind: str, fields: Mapping[str, int]) -> bytes:
    """A command in memory; fields that are not named are 0. Raises KeyError and ValueError."""
    places = FIELDS[kind]
    number = KINDS.index(kind) + 1
    for name, value in fields.items():
        low, bits = places[name]
        if name == "kind" or not 0 <= value < 1 << bits:
            raise ValueError(f"`{name}` must have {bits} bits, not {value}")
        number |= value << low
    return number.to_bytes(COMMAND_BYTES, "little")


def command_fields(content: bytes) -> tuple[str, dict[str, int]]:
    """Decodes a command in memory: its kind, and its fields by name.

    Raises ValueError if it is of no kind, or has bits that belong to no field.
    """
    number = int.from_bytes(content, "little")
    kind = number & 0xFF
    if not 1 <= kind <= len(KINDS):
        raise ValueError(f"`kind` must be in 1..{len(KINDS)}, not {kind}")
    places = FIELDS[KINDS[kind - 1]]
    known = sum((1 << bits) - 1 << low for low, bits in places.values())
    if number & ~known:
        raise ValueError(f"bits of no field must be 0, not {number & ~known:#x}")
    fields = {name: number >> low & (1 << bits) - 1 for name, (low, bits) in places.items()}
    del fields["kind"]
    return KINDS[kind - 1], fields


def lane_words(config: GtaConfig, memory: str) -> int:
    """Words of 16 bytes of each bank of a memory of a lane."""
    size = config.bank_bytes if memory == "result" else config.edge_bytes
    return size // LEFT_WORD_BYTES


def most_folds(config: GtaConfig) -> int:
    """Folds of an EXECUTE downwards, or across: their weights fill a bank."""
    return config.edge_bytes // ROWS


def longest_row(config: GtaConfig) -> int:
    """Bytes of the longest row of a LOAD or a STORE: it fills eight banks of results."""
    return 8 * config.bank_bytes


def widths_of_results(name: str) -> tuple[int, ...]:
    """Bytes that elements of the results of a format may have, the usual number first.

    Sums of integers may be twice as wide, to be saturated on their way to memory, or whole.
    """
    usual = result_bytes(name)
    return (usual,) if is_float(name) else (usual, 2 * usual)


def deal_of_results(name: str, width: int) -> int:
    """Number of the distribution of results of a format, of so many bytes each."""
    banks = 1 if is_float(name) else limbs(name)
    return 0 if (width, banks) == (4, 1) else DEALS.index(Deal(width, banks))


def deal_of_limbs(name: str) -> int:
    """The number of the deal of an integer format's limbs, each to a row or a column."""
    return 0 if limbs(name) == 1 else DEALS.index(Deal(1, limbs(name)))
