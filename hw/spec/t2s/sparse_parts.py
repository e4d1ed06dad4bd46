"""Parts of designs with sparse operands in hardware, beside loaders and the unloader."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

from ..formats import Format
from .parts import Count, ElementPart, OperandPart

STEPS_BITS = 32
"""Width of an image's number of vectors of tokens."""


@dataclass(frozen=True)
class Coordinate:
    """A place within a tile, along an index whose entries alone are stored.

    Parameters
    ----------
    index: of the computation
    loop: that walks it within a tile
    extent: how far it goes there
    """

    index: str
    loop: str
    extent: int

    @property
    def bits(self) -> int:
        return max(1, (self.extent - 1).bit_length())


@dataclass(frozen=True)
class Field:
    """Bits of a token."""

    name: str
    low: int
    bits: int


@dataclass(frozen=True)
class TokenLayout:
    """A token: an entry of a sparse tensor, or the end of a tile, or nothing.

    From the lowest bit on: ``value`` (or ``value_0``, ``value_1``, ... of tensors that are merged),
    a word each, in its container; ``at_<index>``, a place within the tile for each index whose
    entries alone are stored; ``slot``, which of its element's rows the entry is of; ``ends``; and
    ``present``: the token is an entry. Zeros fill it up to whole bytes. Where values may be
    missing, ``there`` has a bit for each: one that is not there is what pads its tensor.

    A token that is not present and has no bit of ``ends`` set says nothing. One that has stands
    behind all entries of its tile: bit n says that the iteration of loop ``levels[n]`` ends with
    the tile, since all levels inside of it are in their last one; that of the innermost level is
    always set. A token that is present has none of them set.

    Parameters
    ----------
    word: format of the values
    coordinates: of an entry
    slots: rows of an element
    levels: loops around a tile, outermost first: their trip counts are registers'
    words: values of a token
    lacking: whether some of them may not be there
    """

    word: Format
    coordinates: tuple[Coordinate, ...]
    slots: int
    levels: tuple[str, ...]
    words: int = 1
    lacking: bool = False

    @property
    def fields(self) -> tuple[Field, ...]:
        """All fields, the lowest one first."""
        names = ["value"] if self.words == 1 else [f"value_{n}" for n in range(self.words)]
        sizes = [(name, self.word.container_bits) for name in names]
        sizes += [(f"at_{one.index}", one.bits) for one in self.coordinates]
        sizes += [("slot", max(1, (self.slots - 1).bit_length()))]
        sizes += [("ends", len(self.levels)), ("present", 1)]
        sizes += [("there", self.words)] if self.lacking else []
        found, low = [], 0
        for name, bits in sizes:
            found.append(Field(name, low, bits))
            low += bits
        return tuple(found)

    def field(self, name: str) -> Field:
        return next(one for one in self.fields if one.name == name)

    @property
    def bits(self) -> int:
        """Bits of all fields."""
        last = self.fields[-1]
        return last.low + last.bits

    @property
    def bytes(self) -> int:
        """Bytes of a token in memory."""
        return -(-self.bits // 8)

    def merged(self, words: int = 2, *, lacking: bool = False) -> TokenLayout:
        """Layout of tokens of so many merged tensors; ``lacking``: an entry of any one is
        enough."""
        return replace(self, words=words, lacking=lacking)


@dataclass(frozen=True)
class EntriesPart:
    """Loader of a sparse tensor: vectors of tokens, one for each element, one after the other.

    The image is as long as a register says, in such vectors. It is read from its beginning in each
    iteration of the loops around.

    Parameters
    ----------
    name: of the function
    tensor: of which the image is
    layout: of a token
    elements: tokens of a vector, that of element 0 in the low bytes
    again: loops around, outermost first, in which the stream comes again
    style: how the host lays rows out: "csr", as loops say; "ciss", distributed over the elements
    """

    name: str
    tensor: str
    layout: TokenLayout
    elements: int
    again: tuple[Count, ...]
    style: str

    @property
    def vector_bytes(self) -> int:
        """Bytes of a vector."""
        return self.elements * self.layout.bytes


@dataclass(frozen=True)
class GatherPart:
    """A feeder whose words are chosen by the coordinates of entries.

    It is filled as a :class:`FeederPart` is, in every copy with the same words. Then each entry
    has it send words in the loops of ``read``, until a tile ends that ends an iteration of
    ``level``.

    Parameters
    ----------
    name: of the function
    tensor: whose words they are
    word_bits: width of a word
    layout: of the tokens
    fill: loops in which a word comes, of one block
    fill_place: loops of ``fill`` that are digits of the word's place, outermost first
    coordinates: indices whose places within a tile are the first of these digits
    read: loops in which words are sent for an entry
    read_place: loops of ``read`` that are the other digits
    extents: trip counts of all digits
    double: whether there are two blocks
    level: loop in each iteration of which it is filled anew, one of the layout's levels
    """

    name: str
    tensor: str
    word_bits: int
    layout: TokenLayout
    fill: tuple[Count, ...]
    fill_place: tuple[str, ...]
    coordinates: tuple[str, ...]
    read: tuple[Count, ...]
    read_place: tuple[str, ...]
    extents: tuple[int, ...]
    double: bool
    level: str


@dataclass(frozen=True)
class SparseElementPart:
    """A processing element whose sums are addressed by the rows of entries.

    An entry begins as many operations as ``ring`` has iterations, in each of which a word of every
    dense operand comes: ``sums[slot, n] (+)= products``. With a tile that ends an iteration of the
    outermost level all sums are complete; they leave slot by slot, in each in the order of the
    ring.

    Parameters
    ----------
    element: its operands, those of the token's values first; arithmetic and vector. ``sums`` are
        those of all slots
    layout: of the tokens, after merging
    ring: loops inside of an entry
    halves: 2: sums leave while the next ones are computed; 1: they do not
    union: each value of a token is a lane, and all lanes have the same words of dense operands, or
        what pads these where the value is not there; ``vector`` is 1 then. Else values are
        multiplied, too
    """

    element: ElementPart
    layout: TokenLayout
    ring: tuple[Count, ...]
    halves: int
    union: bool = False

    @property
    def ring_words(self) -> int:
        """Operations of an entry."""
        return prod(one.extent or 1 for one in self.ring)

    @property
    def ring_bits(self) -> int:
        """Bits of an operation's number in its entry."""
        return (self.ring_words - 1).bit_length()

    @property
    def places(self) -> int:
        """Places of sums in a half. Each entry has as many as the bits of an operation's number can
        count."""
        return self.layout.slots << self.ring_bits

    @property
    def values(self) -> tuple[OperandPart, ...]:
        """Operands that are values of the token."""
        return self.element.operands[: self.layout.words]

    @property
    def dense(self) -> tuple[OperandPart, ...]:
        """Operands that deliver a word with each operation."""
        return self.element.operands[self.layout.words :]

    @property
    def factors(self) -> ElementPart:
        """The element as its arithmetic sees it: in a union the values are lanes of one operand,
        the first."""
        if not self.union:
            return self.element
        name = "_".join(one.name for one in self.values)
        while any(one.name == name for one in self.dense):
            name += "_"  # A tensor may be called like two others together.
        lanes = OperandPart(name, self.layout.words)
        dense = tuple(replace(one, lanes=self.layout.words) for one in self.dense)
        inner = (name, *(one.name for one in dense))
        return replace(self.element, operands=(lanes, *dense), inner=inner)


@dataclass(frozen=True)
class CollectPart:
    """Collector of results from all elements: a row of one element follows a row of another.

    Parameters
    ----------
    word_bits: width of a word
    nest: the loops of rows and of elements, in their order; ``elements`` names the latter
    elements: the loop whose iterations are elements; empty if there is one
    words: of a row
    """

    word_bits: int
    nest: tuple[Count, ...]
    elements: str
    words: int


@dataclass(frozen=True)
class RowLoops:
    """Loops of the rows of sparse tensors, in time and space.

    Parameters
    ----------
    index: of the computation
    slots, elements: loops of constant trip counts: rows of an element, and elements; empty if there
        is none
    slot_step, element_step: by how much an iteration moves the index
    slot_extent, element_extent: their trip counts; 1 if there is no such loop
    """

    index: str
    slots: str = ""
    elements: str = ""
    slot_step: int = 1
    element_step: int = 1
    slot_extent: int = 1
    element_extent: int = 1

    @property
    def tile(self) -> int:
        """Rows of a tile."""
        return self.slot_extent * self.element_extent


@dataclass(frozen=True)
class SparsePlan:
    """Parts of a design beside its loaders of dense operands and its unloader.

    Parameters
    ----------
    entries: loaders of sparse tensors, one or two
    merge: of two: "intersection" or "union"; empty for one
    order: the loop of an element's rows, if there is one, and those of coordinates, in the order of
        the mapping: that of entries in "csr"
    rows: their loops
    gathers: feeders of dense operands
    element: the processing elements, ``rows.element_extent`` of them
    collect: what takes results
    """

    entries: tuple[EntriesPart, ...]
    merge: str
    order: tuple[str, ...]
    rows: RowLoops
    gathers: tuple[GatherPart, ...]
    element: SparseElementPart
    collect: CollectPart
