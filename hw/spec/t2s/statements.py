"""Statements of a function in its loops."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from .loops import Affine, Loop


@dataclass(frozen=True)
class Neutral:
    """Identity of (+), from which sums start."""


@dataclass(frozen=True)
class Name:
    """A value that was received."""

    name: str


@dataclass(frozen=True)
class Load:
    """Element of a tensor; outside of it, the pad word.

    Parameters
    ----------
    tensor, indices: which element
    lanes: of a vector, the loop whose iterations are its elements
    """

    tensor: str
    indices: tuple[Affine, ...]
    lanes: Loop | None = None


@dataclass(frozen=True)
class BufferRead:
    """An element of a buffer."""

    buffer: str
    indices: tuple[Affine, ...]


@dataclass(frozen=True)
class Apply:
    """An operator, of words or lane by lane.

    Parameters
    ----------
    operator: ``plus`` or ``times`` of the semiring, or the name of a function of one word
    """

    operator: str
    arguments: tuple[Value, ...]


@dataclass(frozen=True)
class Fold:
    """``start (+) lane 0 (+) lane 1 ...``: a word of a vector; or of products that are added at
    once, a word or a vector as they are."""

    start: Value
    vector: Value


@dataclass(frozen=True)
class Together:
    """Products that are added to a sum at once, as if each were in a lane of its own."""

    terms: tuple[Value, ...]


@dataclass(frozen=True)
class Pack:
    """Vector of words, or of vectors, one after the other."""

    parts: tuple[Value, ...]


@dataclass(frozen=True)
class Flagged:
    """A value with two flags, which go with it wherever it is passed on.

    Parameters
    ----------
    first, last: variables and what they are in iterations in which the flag is set, all of them
    """

    value: Value
    first: tuple[tuple[str, Affine], ...]
    last: tuple[tuple[str, Affine], ...]


Value = Neutral | Name | Load | BufferRead | Apply | Fold | Together | Pack | Flagged


@dataclass(frozen=True)
class For:
    """A loop over statements, from ``first`` to ``last``.

    Where the loop is one of its function's instances it does not repeat anything: it says where
    the loop was before it was unrolled.

    Parameters
    ----------
    first, last: None for all iterations of the loop
    """

    loop: Loop
    body: Body
    first: Affine | None = None
    last: Affine | None = None


@dataclass(frozen=True)
class Equal:
    """A condition: two sums are equal."""

    left: Affine
    right: Affine


@dataclass(frozen=True)
class If:
    """Statements under a condition, and others."""

    condition: Equal
    then: Body
    otherwise: Body = ()


@dataclass(frozen=True)
class Visit:
    """Statements in iterations that sparse tensors visit: where all those of a product have an
    entry, of any of the products that are added. That is their merge lattice.

    Parameters
    ----------
    products: of each, the words of its sparse tensors
    """

    products: tuple[tuple[Load, ...], ...]
    body: Body


@dataclass(frozen=True)
class When:
    """Statements that run in iterations whose word has a flag.

    Parameters
    ----------
    word: a name that was received, of a word with flags
    flag: "first" or "last"
    """

    word: str
    flag: str
    body: Body


@dataclass(frozen=True)
class Ever:
    """Statements that repeat as long as channels deliver words, without a count."""

    body: Body


@dataclass(frozen=True)
class Until:
    """Statements again and again, until after they received a word whose flag "last" is set.

    Parameters
    ----------
    word: a name that is received in them
    """

    word: str
    body: Body


@dataclass(frozen=True)
class Field:
    """Bits of a counter: the variable of a loop, or iterations of neighbouring loops together.

    Parameters
    ----------
    loops: outermost first, of constant trip counts
    asked: whether statements need the variable; then it is one loop
    """

    loops: tuple[Loop, ...]
    asked: bool

    @property
    def name(self) -> str:
        return "_".join(one.name for one in self.loops)

    @property
    def extent(self) -> int:
        return prod(one.extent or 1 for one in self.loops)

    @property
    def bits(self) -> int:
        return (self.extent - 1).bit_length()


@dataclass(frozen=True)
class Counted:
    """A nest of loops as one counter, with a field of its bits for each.

    Where a field's trip count is no power of two, the counter jumps from its last iteration to the
    next power of two, which is the next iteration of the field above.

    Parameters
    ----------
    fields: outermost first, those are the highest bits
    """

    fields: tuple[Field, ...]
    body: Body

    @property
    def name(self) -> str:
        return "_".join(one.name for one in self.fields)

    @property
    def bits(self) -> int:
        return sum(one.bits for one in self.fields)

    @property
    def places(self) -> tuple[int, ...]:
        """Number of each field's lowest bit."""
        return tuple(sum(one.bits for one in self.fields[n + 1 :]) for n in range(len(self.fields)))


@dataclass(frozen=True)
class Phase:
    """A nest of loops of constant trip counts, one of several in turn."""

    loops: tuple[Loop, ...]
    body: Body

    @property
    def extent(self) -> int:
        return prod(one.extent or 1 for one in self.loops)


@dataclass(frozen=True)
class Phases:
    """Nests that follow each other, as one loop: its trip count is the sum of theirs, and its
    variable identifies the nest of an iteration.

    Parameters
    ----------
    name: of the variable
    """

    name: str
    phases: tuple[Phase, ...]

    @property
    def extent(self) -> int:
        return sum(one.extent for one in self.phases)


@dataclass(frozen=True)
class Block:
    """Work of one side of a buffer on one block: the side that writes, or the side that reads.

    The one that writes waits until there is room for a block; the one that reads, until one is
    written. There is room for a block, or for two if the buffer is double.
    """

    buffer: str
    writes: bool
    body: Body


@dataclass(frozen=True)
class Receive:
    """Wait for a value of a channel, and name it."""

    name: str
    channel: str
    at: tuple[Affine, ...] = ()


@dataclass(frozen=True)
class Send:
    """Put a value into a channel."""

    channel: str
    at: tuple[Affine, ...]
    value: Value


@dataclass(frozen=True)
class Store:
    """Write an element of a tensor; nothing, outside.

    Parameters
    ----------
    lanes: of a vector, the loop whose iterations are its elements
    """

    tensor: str
    indices: tuple[Affine, ...]
    value: Value
    lanes: Loop | None = None


@dataclass(frozen=True)
class BufferWrite:
    """Write an element of a buffer."""

    buffer: str
    indices: tuple[Affine, ...]
    value: Value


@dataclass(frozen=True)
class Rotate:
    """Move a rotating buffer on: its second element becomes the one that is read and written."""

    buffer: str


Statement = (
    For
    | If
    | Visit
    | When
    | Ever
    | Until
    | Counted
    | Phases
    | Block
    | Receive
    | Send
    | Store
    | BufferWrite
    | Rotate
)
Body = tuple[Statement, ...]
