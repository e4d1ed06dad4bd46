"""Places the elements of an operand: in payloads of a stream, in a register, in memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

__all__ = [
    "Bits",
    "C2srPlacement",
    "CissPlacement",
    "ColumnsByLanes",
    "CompressedPlacement",
    "CsrPlacement",
    "ImageLoop",
    "ImagePlacement",
    "Late",
    "MatrixPlacement",
    "Part",
    "Placement",
    "Records",
    "RegisterPlacement",
    "Room",
    "Setting",
    "StreamPlacement",
    "Structure",
    "Tile",
    "TokenLevel",
    "TokenPlacement",
    "TokenRows",
    "Transfers",
]


@dataclass(frozen=True, kw_only=True)
class Setting:
    """A number in a field of a stream's payload, or of a register."""

    stream: str | None = None
    register: str | None = None
    field: str = "value"
    value: int

    def __post_init__(self) -> None:
        if (self.stream is None) == (self.register is None):
            raise ValueError(f"`{self.field}` must be of a stream or of a register")


@dataclass(frozen=True, kw_only=True)
class Tile:
    """Part of a matrix that one transfer carries."""

    rows: int
    columns: int


@dataclass(frozen=True, kw_only=True)
class Transfers:
    """Distance, in transfers, from a tile to the one below it, and to the one beside it."""

    row: int = 0
    column: int = 0


@dataclass(frozen=True, kw_only=True)
class Bits:
    """Steps in bits: to the next row, column, and word of an element; how many words it has, and
    how wide they are."""

    row: int
    column: int
    word: int = 0
    words: int = 1
    word_bits: int


@dataclass(frozen=True, kw_only=True)
class Structure:
    """Structured sparsity: ``kept`` of every ``group`` elements of a row are stored. The position
    of each is in ``field``, ``bits`` wide, ``row`` and ``column`` bits from one stored element to
    the next."""

    kept: int
    group: int
    field: str
    row: int
    column: int
    bits: int


@dataclass(frozen=True, kw_only=True)
class StreamPlacement:
    """Placement in the transfers of a stream."""

    kind: ClassVar[str] = "stream"
    stream: str
    field: str
    tile: Tile
    transfers: Transfers = Transfers()
    bits: Bits
    structure: Structure | None = None


@dataclass(frozen=True, kw_only=True)
class RegisterPlacement:
    """One element, in a register."""

    kind: ClassVar[str] = "register"
    register: str
    field: str = "value"


@dataclass(frozen=True, kw_only=True)
class MatrixPlacement:
    """Placement in memory by rows, or, with the setting ``transposed``, by columns; a tensor's
    further modes are within the rows, the last one innermost.

    ``base`` and ``stride``: registers, or parts of the operation's list; ``row_bytes``: the stride
    where it is a constant; without either rows follow each other at once; ``align``: what base
    and stride are multiples of; ``read_bytes``: what is read are whole aligned blocks of so many
    bytes; ``may_be``: operands whose place may be the same.
    """

    kind: ClassVar[str] = "matrix"
    base: str
    stride: str | None = None
    row_bytes: int | None = None
    align: int
    element_bytes: int
    read_bytes: int | None = None
    transposed: Setting | None = None
    may_be: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Part:
    """Neighbouring bits of a record."""

    low: int
    bits: int


@dataclass(frozen=True, kw_only=True)
class Records:
    """An array of records from the address in register ``base`` on, little-endian."""

    base: str
    bytes: int
    parts: Mapping[str, Part]


@dataclass(frozen=True, kw_only=True)
class Room:
    """Entries that a result may have: the number in ``register``, a multiple of ``multiple_of``,
    times ``times``."""

    register: str
    times: int = 1
    multiple_of: int = 1


@dataclass(frozen=True, kw_only=True)
class ColumnsByLanes:
    """The matrix is stored by columns, each divided among ``lanes``."""

    lanes: int


@dataclass(frozen=True, kw_only=True)
class C2srPlacement:
    """Placement of a sparse matrix in rows that are distributed over memory channels."""

    kind: ClassVar[str] = "c2sr"
    channels: int
    interleave: int
    align: int
    read_bytes: int | None = None
    pairs: Records
    entries: Records
    by_columns: ColumnsByLanes | None = None
    room: Room | None = None


@dataclass(frozen=True, kw_only=True)
class CsrPlacement:
    """Sparse, row after row."""

    kind: ClassVar[str] = "csr"
    align: int
    read_bytes: int | None = None
    pointers: Records
    entries: Records
    room: Room | None = None


@dataclass(frozen=True, kw_only=True)
class CissPlacement:
    """Sparse, as a stream of entries with a slot for each of ``rows`` rows of the array.

    ``base`` and ``count``: parts of the operation's list, the address and how many entries there
    are; ``slot_bytes``: of a slot; ``value``, ``index``: its parts; ``more``: those of a tensor's
    further indices; ``header``: what a header is with 0 for its index; ``no_op``: the slot that is
    none.
    """

    kind: ClassVar[str] = "ciss"
    base: str
    count: str
    align: int
    read_bytes: int
    rows: int
    slot_bytes: int
    value: Part
    index: Part
    more: tuple[Part, ...] | None = None
    header: int
    no_op: int


@dataclass(frozen=True, kw_only=True)
class ImageLoop:
    """A loop of an image: it walks the index of ``size`` in steps of ``step``.

    ``count``: its iterations; None of the outermost loop of an index, which has as many as the size
    asks for; ``stride``: the register of the bytes from an iteration to the next; None where
    iterations follow each other at once.
    """

    size: str
    step: int
    count: int | None = None
    stride: str | None = None


@dataclass(frozen=True, kw_only=True)
class ImagePlacement:
    """Placement in memory in the order of loops, outermost first. Runs, which are the iterations of
    all loops without a stride, begin with a beat.

    ``base``: register of the address; ``align``: what base and strides are multiples of;
    ``read_bytes``: what is read are whole aligned blocks of so many bytes.
    """

    kind: ClassVar[str] = "image"
    base: str
    align: int
    element_bytes: int
    read_bytes: int | None = None
    loops: tuple[ImageLoop, ...]


@dataclass(frozen=True, kw_only=True)
class Late:
    """Deferred elements of a matrix by rows: only elements (r, c) with
    c < (r // step + behind) * step are used; others may be left out."""

    step: int
    behind: int


@dataclass(frozen=True, kw_only=True)
class CompressedPlacement:
    """Sparse, row after row or column after column (``major``: rows, columns), in three arrays."""

    kind: ClassVar[str] = "compressed"
    major: str
    align: int
    read_bytes: int
    pointers: Records
    numbers: Records
    values: Records
    late: Late | None = None


@dataclass(frozen=True, kw_only=True)
class TokenLevel:
    """A loop around a tile: as many iterations as register ``trips`` holds, or, without one, as the
    index's bound needs, each of ``step`` of the index ``size``."""

    name: str
    size: str
    step: int
    trips: str | None = None


@dataclass(frozen=True, kw_only=True)
class TokenRows:
    """Row r of a tile of ``size``: its element is r // ``element_step`` % ``elements``, its slot
    r // ``slot_step`` % ``slots``."""

    size: str
    elements: int
    element_step: int
    slots: int
    slot_step: int


@dataclass(frozen=True, kw_only=True)
class TokenPlacement:
    """Sparse, as vectors of tokens, one for each of ``rows.elements`` elements.

    ``count``: the register with the number of vectors; ``parts``: of a token; ``coordinates``: by
    index, the part with the place within a tile; ``order``: parts by which an element's entries of
    a tile ascend, the slowest first.
    """

    kind: ClassVar[str] = "tokens"
    base: str
    count: str
    align: int
    read_bytes: int
    token_bytes: int
    parts: Mapping[str, Part]
    levels: tuple[TokenLevel, ...]
    rows: TokenRows
    coordinates: Mapping[str, str]
    order: tuple[str, ...]


Placement = (
    StreamPlacement
    | RegisterPlacement
    | MatrixPlacement
    | C2srPlacement
    | CsrPlacement
    | CissPlacement
    | ImagePlacement
    | CompressedPlacement
    | TokenPlacement
)
