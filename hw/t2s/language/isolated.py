"""Functions isolated from a computation: what brings its operands, and what takes its results."""

from __future__ import annotations

from typing import Self

from .indices import Index
from .loop_names import known_loop, known_loops
from .loop_nest import LoopNest
from .places import MappingError, place_of_caller

__all__ = ["CONSUMERS", "PRODUCERS", "Isolated"]

PRODUCERS = ("feeder", "loader", "serializer")
CONSUMERS = ("drainer", "collector", "unloader", "deserializer")
ON_HOST = ("serializer", "deserializer")


class Isolated:
    """One function of a chain, and what is said about it.

    Parameters
    ----------
    nest: from which it is isolated
    tensor: that it brings, or the result
    role: one of ``PRODUCERS`` or ``CONSUMERS``
    place: of the directive that isolates it

    Members
    -------
    removed: loops that it does without, each with the place where that is said
    buffered: the loop in which it has a buffer, if so; ``double``, and the place
    unrolled: loops of which each iteration is a copy of it
    scattered, gathered: the loop along which data is passed on, and in which direction; the place
    """

    def __init__(self, nest: LoopNest, tensor: str, role: str, place: str) -> None:
        self.nest, self.tensor, self.role, self.place = nest, tensor, role, place
        self.name = f"{tensor}_{role}"
        self.removed: list[tuple[str, str]] = []
        self.buffered: tuple[str, bool, str] | None = None
        self.unrolled: list[tuple[str, str]] = []
        self.scattered: tuple[str, int, str] | None = None
        self.gathered: tuple[str, int, str] | None = None

    @property
    def on_host(self) -> bool:
        return self.role in ON_HOST

    @property
    def is_producer(self) -> bool:
        return self.role in PRODUCERS

    def remove(self, *loops: Index) -> Self:
        """Do without reuse loops, in which the tensor's element stays the same: it is sent once,
        and the next function, which needs it again, has a buffer (section 3.3)."""
        place, directive = self._device("remove")
        if not self.is_producer:
            raise MappingError(f"{place}: {directive}: results have no reuse loops")
        for loop in known_loops(place, directive, loops, self.nest.loop_names):
            if loop in self.nest.loops_of(self.tensor):
                raise MappingError(
                    f"{place}: {directive}: loop `{loop}` chooses the element of {self.tensor}"
                )
            self.removed.append((loop, place))
        return self

    def buffer(self, level: Index, double: bool = False) -> Self:
        """Keep what comes in each iteration of a loop, to be sent as often as it is needed."""
        place, directive = self._device("buffer")
        if not self.is_producer:
            raise MappingError(f"{place}: {directive}: {self.role}s have none")
        if self.buffered:
            raise MappingError(f"{place}: {directive}: there is one at `{self.buffered[0]}`")
        loop = known_loop(place, directive, level, self.nest.loop_names)
        self.buffered = (loop, bool(double), place)
        return self

    def unroll(self, *loops: Index) -> Self:
        """A copy of the function an iteration of each of the loops."""
        place, directive = self._device("unroll")
        for loop in known_loops(place, directive, loops, self.nest.loop_names):
            self.nest.check_unrolled(place, directive, loop)
            self.unrolled.append((loop, place))
        return self

    def scatter(self, **directions: int) -> Self:
        """Only the first copy along a loop receives: it keeps its own and passes on the rest."""
        place, directive = self._device("scatter")
        if not self.is_producer:
            raise MappingError(f"{place}: {directive}: results are gathered")
        self.scattered = (*self._direction(place, directive, directions), place)
        return self

    def gather(self, **directions: int) -> Self:
        """Only the last copy along a loop sends: what the others have is passed along to it."""
        place, directive = self._device("gather")
        if self.is_producer:
            raise MappingError(f"{place}: {directive}: operands are scattered")
        self.gathered = (*self._direction(place, directive, directions), place)
        return self

    def _device(self, directive: str) -> tuple[str, str]:
        place, name = place_of_caller(), f"{self.name}.{directive}"
        if self.on_host and directive != "remove":
            raise MappingError(f"{place}: {name}: {self.role}s run on the host")
        return place, name

    def _direction(self, place: str, directive: str, directions: dict[str, int]) -> tuple[str, int]:
        if len(directions) != 1:
            raise MappingError(f"{place}: {directive}: must be given one loop, as `ii=1`")
        ((given, step),) = directions.items()
        loop = known_loop(place, directive, given, self.nest.loop_names)
        if step not in (1, -1):
            raise MappingError(
                f"{place}: {directive}: direction of `{loop}` must be 1 or -1, not {step!r}"
            )
        if loop not in [name for name, _ in self.unrolled]:
            raise MappingError(f"{place}: {directive}: loop `{loop}` is not unrolled")
        return loop, step
