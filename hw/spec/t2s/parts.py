"""Parts of a design in hardware: elements, functions that move words, streams of memory."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

from ..formats import Format
from .arithmetic import LaneSum, WordFunctions
from .loops import Loop

__all__ = [
    "Count",
    "ElementPart",
    "FeederPart",
    "MemoryPart",
    "MoverPart",
    "OperandPart",
    "RoutePart",
    "Step",
]


@dataclass(frozen=True)
class Count:
    """A loop that hardware counts.

    Parameters
    ----------
    name: of its variable
    extent: its trip count; None: that of the port ``trips_<name>``, or of a turn
    turn: it counts copies of a function in a row, from this one to the last that words pass to or
        come from: ``copies`` + 1 iterations, of which the first is this copy's own; the last, if
        ``own_last``
    own_last: see ``turn``
    """

    name: str
    extent: int | None
    turn: bool = False
    own_last: bool = False

    @property
    def from_register(self) -> bool:
        """Returns whether a register holds the trip count."""
        return self.extent is None and not self.turn


@dataclass(frozen=True)
class MoverPart:
    """A function that passes words on: a drainer, a collector, a feeder without a buffer.

    A word an iteration of its nest, which begins anew when it ends, for ever.

    Parameters
    ----------
    name, role: of the function
    word_bits: width of a word
    nest: loops, outermost first; those outside of all that it needs to know are left out. At most
        one is a turn. Without any it needs no counter
    gathers: in the iterations of its own turn the word comes from ``i``, else from ``i_behind``
    scatters: in the iterations of its own turn the word goes to ``o``, else to ``o_onward``
    flags: loops of the nest of which ``o`` says whether all are in the first, in the last iteration
    flagged: whether words of ``o`` have such flags (which are always set, if ``flags`` is empty)
    packs: vectors leave, a word of each copy: "first", if the copy's own comes before those from
        ``i_behind``, "last", if behind; empty: words leave
    """

    name: str
    role: str
    word_bits: int
    nest: tuple[Count, ...] = ()
    gathers: bool = False
    scatters: bool = False
    flags: tuple[str, ...] = ()
    flagged: bool = False
    packs: str = ""


@dataclass(frozen=True)
class FeederPart:
    """Feeder with a buffer: a word arrives once and is sent as often as it is needed.

    Two nests run side by side, each for ever: one writes a block an iteration of all its loops, the
    other one reads it. A buffer holds one block or, if it is double, two.

    Parameters
    ----------
    name: of the function
    word_bits: width of a word
    fill: loops in which a word comes, of one block. At most one is a turn: in the iterations of its
        own turn the word goes into the buffer, else to ``o_onward``
    fill_place: loops of ``fill`` that are digits of the word's place, outermost first
    around: loops outside of a block, which only ``flags`` need to know
    read: loops in which a word is sent, of one block
    read_place: loops of ``read`` that are digits of the word's place, outermost first
    extents: trip counts of these digits
    double: whether there are two blocks
    flags: loops of ``around`` and ``read`` of which ``o`` says whether all are in the first, in the
        last iteration
    flagged: whether words of ``o`` have such flags (which are always set, if ``flags`` is empty)
    """

    name: str
    word_bits: int
    fill: tuple[Count, ...]
    fill_place: tuple[str, ...]
    around: tuple[Count, ...]
    read: tuple[Count, ...]
    read_place: tuple[str, ...]
    extents: tuple[int, ...]
    double: bool
    flags: tuple[str, ...] = ()
    flagged: bool = False

    @property
    def scatters(self) -> bool:
        """Returns whether the feeder passes on words that are for other copies."""
        return any(one.turn for one in self.fill)


@dataclass(frozen=True)
class OperandPart:
    """An operand of an element.

    Parameters
    ----------
    name: of the tensor
    lanes: words that come at once: as many as the element has lanes, or sums side by side, or 1
        that is for all of them
    forwards: loops along which it is passed on: outputs ``o_<name>_<loop>``
    starts: a word of it, in the format of sums, is what a sum starts from: it comes with operations
        that begin a sum, with no others
    """

    name: str
    lanes: int
    forwards: tuple[str, ...] = ()
    starts: bool = False


@dataclass(frozen=True)
class ElementPart:
    """A processing element: ``sums[n] (+)= products``, for n = 0, 1, ... sums - 1, 0, ...

    Parameters
    ----------
    name: of the function
    operands: those that come in every iteration; words of the first have flags, whether sums begin
        with this iteration, and whether they are complete with it. The last one may be what sums
        start from, see :class:`OperandPart`; if none is, that is the identity of (+)
    arithmetic: its lanes, semiring and formats
    inner: operands that are multiplied in each lane, one or two; three, if none is factored out
    outer: operands by which the sum over lanes is multiplied, in the format of sums
    sums: how many sums it has
    overlaps: whether results leave while the next sums are computed: as many as there are sums can
        wait. Else sums that are complete stay where they are until all have left
    vector: how many sums stand side by side in each of these, of a lane each; then its arithmetic,
        which is that of one of them, has one lane, and nothing is factored out
    """

    name: str
    operands: tuple[OperandPart, ...]
    arithmetic: LaneSum
    inner: tuple[str, ...]
    outer: tuple[str, ...]
    sums: int
    overlaps: bool = True
    vector: int = 1

    @property
    def lanes(self) -> int:
        """Products that an operation begins."""
        return self.arithmetic.lanes * self.vector

    @property
    def result_bits(self) -> int:
        """Width of its results: of a word, or of a vector."""
        return self.vector * self.arithmetic.result.container_bits

    def of_a_lane(self) -> ElementPart:
        """An element of one of the sums that stand side by side."""
        operands = tuple(replace(one, lanes=1) for one in self.operands)
        return replace(self, operands=operands, vector=1)

    def operand(self, name: str) -> OperandPart:
        return next(one for one in self.operands if one.name == name)

    def word_format(self, operand: OperandPart) -> Format:
        """The format of an operand's words."""
        return self.arithmetic.result if operand.starts else self.arithmetic.element


@dataclass(frozen=True)
class Step:
    """A loop in which the place in memory moves, or stays.

    Parameters
    ----------
    count: the loop
    moves: whether the place moves, by the port ``stride_<name>``; else the same words come again
    """

    count: Count
    moves: bool


@dataclass(frozen=True)
class MemoryPart:
    """A loader, or an unloader: words of an image that the host has laid out, in its order.

    Parameters
    ----------
    name: of the function
    tensor: of which the image is
    word_bits: width of a word of its stream: all lanes, each in its format's container
    steps: loops around a run, outermost first
    run: loops of a run, of constant trip counts: words of it follow each other in memory, from the
        beginning of a beat; no other run shares its last beat
    repeats: how often each word is sent
    functions: through which each word goes, behind memory or before it: once for all elements
    """

    name: str
    tensor: str
    word_bits: int
    steps: tuple[Step, ...]
    run: tuple[Loop, ...]
    repeats: int = 1
    functions: WordFunctions | None = None

    @property
    def run_words(self) -> int:
        """Words of a run."""
        return prod(one.extent or 1 for one in self.run)

    @property
    def run_bytes(self) -> int:
        """Bytes of a run's words."""
        return self.run_words * self.word_bits // 8

    def run_beats(self, beat_bytes: int) -> int:
        """Beats of a run."""
        return -(-self.run_bytes // beat_bytes)

    @property
    def strides(self) -> tuple[str, ...]:
        """Loops that have a register each: bytes from an iteration's place to the next one's."""
        return tuple(one.count.name for one in self.steps if one.moves)


@dataclass(frozen=True)
class RoutePart:
    """Route between a function that is not unrolled and an array of queues, which it visits in
    turn.

    A word an iteration of its nest, which begins anew when it ends, for ever.

    Parameters
    ----------
    name: of the channel, and what it does
    word_bits: width of a word
    nest: loops, outermost first; those outside of the ones that choose are left out
    routed: loops whose iterations choose a queue, in the order of the array's dimensions
    joins: words come from the queues; else they go to them
    flagged: whether words have flags
    """

    name: str
    word_bits: int
    nest: tuple[Count, ...]
    routed: tuple[str, ...]
    joins: bool
    flagged: bool = False

    @property
    def extents(self) -> tuple[int, ...]:
        """Number of queues in each dimension."""
        by_name = {one.name: one.extent or 1 for one in self.nest}
        return tuple(by_name[name] for name in self.routed)
