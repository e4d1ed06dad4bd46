"""Functions isolated from a computation, and how their copies pass words on to each other."""

from __future__ import annotations

from typing import Self

from .indices import Index
from .isolated_function import CONSUMERS, MOST_BITS, PRODUCERS, IsolatedFunction
from .loop_names import known_loop
from .loop_nest import LoopNest
from .places import MappingError

__all__ = ["CONSUMERS", "MOST_BITS", "PRODUCERS", "Isolated"]


class Isolated(IsolatedFunction):
    """One function of a chain, and all that is said about it: made as its base is, and with more
    members.

    Members
    -------
    forwarded: loops along which copies pass words on, with directions and places
    scattered, gathered: the loop along which data is passed on, and in which direction; the place
    packs: whether what is gathered is a vector, a word of each copy
    level: the loop in each iteration of which all copies have a turn, if it is said, and the place
    """

    def __init__(self, nest: LoopNest, tensor: str, role: str, place: str) -> None:
        super().__init__(nest, tensor, role, place)
        self.forwarded: list[tuple[str, int, str]] = []
        self.scattered: tuple[str, int, str] | None = None
        self.gathered: tuple[str, int, str] | None = None
        self.packs = False
        self.level: tuple[str, str] | None = None

    def forward(self, **directions: int) -> Self:
        """All copies along a loop keep the same words: the first one receives, each passes on.

        The functions behind do without the loop. 1 goes to higher numbers, -1 to lower.

        Picture::

                        +-----------+     +-----------+
            loader ---> | feeder[0] | --> | feeder[1] |        feed.unroll(jj).forward(jj=1)
                        +-----------+     +-----------+
                              |                 |
                            C[0]              C[1]

        Legal for producers that something is sent to, along loops that are unrolled in them, not in
        what sends, that do not choose the tensor's word, and along which the elements do not
        forward it. Who forwards does not scatter.

        Refused::

            feed.forward(jj=1)
            -> A_feeder.forward: loop `jj` is not unrolled
            feed.unroll(ii).forward(ii=1)
            -> A_feeder.forward: loop `ii` chooses the element of A
            feed.unroll(jj).forward(jj=1).forward(jj=-1)
            -> A_feeder.forward: it forwards along `jj` already
            feed.unroll(jj).forward(jj=1); load.unroll(jj)
            -> A_feeder.forward: loop `jj` is unrolled in A_loader, too
            load.unroll(jj).forward(jj=1)
            -> A_loader.forward: nothing is sent to it
            feed.unroll(ii, jj).forward(jj=1).scatter(ii=1)
            -> A_feeder.scatter: it forwards along `jj`
            feed.unroll(ii, jj).scatter(ii=1).forward(jj=1)
            -> A_feeder.forward: it scatters along `ii`
            feed.unroll(jj).forward(jj=2)
            -> A_feeder.forward: direction of `jj` must be 1 or -1, not 2
            feed.forward()
            -> A_feeder.forward: must be given a loop, as `jj=1`
            drain.unroll(ii).forward(ii=1)
            -> C_drainer.forward: results are gathered
        """
        place, directive = self._device("forward")
        if not self.is_producer:
            raise MappingError(f"{place}: {directive}: results are gathered")
        if self.scattered:
            raise MappingError(f"{place}: {directive}: it scatters along `{self.scattered[0]}`")
        if not directions:
            raise MappingError(f"{place}: {directive}: must be given a loop, as `jj=1`")
        for given, step in directions.items():
            loop, step = self._direction(place, directive, {given: step})
            if loop in self.nest.loops_of(self.tensor):
                raise MappingError(
                    f"{place}: {directive}: loop `{loop}` chooses the element of {self.tensor}"
                )
            if loop in [name for name, _, _ in self.forwarded]:
                raise MappingError(f"{place}: {directive}: it forwards along `{loop}` already")
            self.forwarded.append((loop, step, place))
        return self

    def scatter(self, **directions: int) -> Self:
        """Only the first copy along a loop receives: it keeps its own and passes on the rest.

        A counting loop says whose turn it is. 1 goes to higher numbers, -1 to lower.

        Picture::

                        +-----------+     +-----------+
            loader ---> | feeder[0] | --> | feeder[1] |        feed.unroll(ii).scatter(ii=1)
                        +-----------+     +-----------+
                              |                 |
                            C[0]              C[1]

        Legal for producers that something is sent to, along one loop that is unrolled in them, not
        in what sends, and along which the elements do not forward the tensor; where none is sparse.

        Refused::

            feed.scatter(ii=1)
            -> A_feeder.scatter: loop `ii` is not unrolled
            feed.unroll(ii).scatter(ii=1); load.unroll(ii)
            -> A_feeder.scatter: loop `ii` is unrolled in A_loader, too
            load.unroll(ii).scatter(ii=1)
            -> A_loader.scatter: nothing is sent to it
            C.forward(feed, jj=1); feed.unroll(jj).scatter(jj=1)
            -> A_feeder.scatter: the elements forward A along loop `jj`: it comes in once
            feed.unroll(ii, jj).scatter(ii=1, jj=1)
            -> A_feeder.scatter: must be given one loop, as `ii=1`
            drain.unroll(ii).scatter(ii=1)
            -> C_drainer.scatter: results are gathered
            Y.producers(X, "feeder", "loader")[0].scatter(ii=1)
            -> X_feeder.scatter: S is sparse: words are forwarded
        """
        place, directive = self._device("scatter")
        if not self.is_producer:
            raise MappingError(f"{place}: {directive}: results are gathered")
        self.nest.refuse_if_sparse(place, directive, "words are forwarded")
        if self.forwarded:
            raise MappingError(f"{place}: {directive}: it forwards along `{self.forwarded[0][0]}`")
        self.scattered = (*self._direction(place, directive, directions), place)
        return self

    def gather(
        self, *, vector: bool = False, level: Index | None = None, **directions: int
    ) -> Self:
        """Only the last copy along a loop sends: what the others have is passed along to it.

        1 goes to higher numbers, -1 to lower: then the copy of number 0 is the last. It sends a
        word after the other, those of a copy in a row; with ``vector=True`` vectors of a word of
        each copy, which the unloader stores at once.

        Whose turn it is says a counting loop at the place of the loop itself; with ``level=jjj``
        directly inside that one, so that each iteration of it has a turn of every copy. Words then
        leave, and lie in memory, in the order of loops that this makes.

        Picture::

               C[0]               C[1]
                 |                  |
            +------------+     +------------+
            | drainer[0] | --> | drainer[1] | ---> unloader     drain.unroll(ii).gather(ii=1)
            +------------+     +------------+

        Legal for consumers that something takes words from, along one loop that is unrolled in
        them, not in what takes. Vectors are for the unloader, of sums that are no vectors. The
        level is another loop that the function has, not unrolled in it.

        Refused::

            drain.unroll(ii).gather(ii=1, level=kk)
            -> C_drainer.gather: it has no loop `kk`
            drain.unroll(ii, jj).gather(ii=1, level=jj)
            -> C_drainer.gather: level must be a loop that is not unrolled, not `jj`
            drain.unroll(ii).gather(ii=1, vector=True, level=jjj)
            -> C_drainer.gather: vectors have no turns, at no level
            drain.gather(ii=1)
            -> C_drainer.gather: loop `ii` is not unrolled
            unload.unroll(ii).gather(ii=1)
            -> C_unloader.gather: it sends to nothing: consumers must be isolated from it
            drain.unroll(ii).gather(ii=1); unload.unroll(ii)
            -> C_drainer.gather: loop `ii` is unrolled in C_unloader, too
            feed.unroll(ii).gather(ii=1)
            -> A_feeder.gather: operands are scattered
            drain.unroll(ii).gather(ii=0)
            -> C_drainer.gather: direction of `ii` must be 1 or -1, not 0
        """
        place, directive = self._device("gather")
        if self.is_producer:
            raise MappingError(f"{place}: {directive}: operands are scattered")
        self.gathered = (*self._direction(place, directive, directions), place)
        self.packs = bool(vector)
        if level is not None:
            name = known_loop(place, directive, level, self.nest.loop_names)
            if name in [one for one, _ in self.unrolled]:
                raise MappingError(
                    f"{place}: {directive}: level must be a loop that is not unrolled, not `{name}`"
                )
            if self.packs:
                raise MappingError(f"{place}: {directive}: vectors have no turns, at no level")
            self.level = (name, place)
        return self

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
