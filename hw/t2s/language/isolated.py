"""Functions isolated from a computation, and how their copies pass words on to each other."""

from __future__ import annotations

from typing import Self

from .indices import Index
from .loop_names import known_loop, known_loops, queue_depth
from .loop_nest import LoopNest
from .places import MappingError, place_of_caller

PRODUCERS = ("feeder", "loader", "serializer")
CONSUMERS = ("drainer", "collector", "unloader", "deserializer")
ON_HOST = ("serializer", "deserializer")
MOST_BITS = 1 << 24
"""Most bits of a buffer, where the mapping does not give another number: 2 MiB."""


class IsolatedFunction:
    """One function of a chain, and what is said about its loops, its buffer and its queue.

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
    max_bits: that the buffer may have
    unrolled: loops of which each iteration is a copy of it
    deep: the depth of the queue behind it, if it is said, and the place
    """

    def __init__(self, nest: LoopNest, tensor: str, role: str, place: str) -> None:
        self.nest, self.tensor, self.role, self.place = nest, tensor, role, place
        self.name = f"{tensor}_{role}"
        self.removed: list[tuple[str, str]] = []
        self.buffered: tuple[str, bool, str] | None = None
        self.max_bits = MOST_BITS
        self.unrolled: list[tuple[str, str]] = []
        self.deep: tuple[int, str] | None = None

    @property
    def on_host(self) -> bool:
        return self.role in ON_HOST

    @property
    def is_producer(self) -> bool:
        return self.role in PRODUCERS

    def remove(self, *loops: Index) -> Self:
        """Removes reuse loops, in which the tensor's element stays the same.

        The function sends the element once; the next function, which repeats it, has a buffer.
        Functions farther from the computation lose the loops, too (section 3.3).

        Picture::

            load                   feed                          load.remove(jjj)
              for k < K:             for k < K:                  feed.buffer(k)
                for iii < 2:           for iii < 2: receive
                  send A ------->      for iii < 2:
                                         for jjj < 2: send

        Legal for producers, for loops that do not choose the tensor's word and are not unrolled in
        the function. The receiver that repeats the words needs a buffer at an outer loop.

        Refused::

            load.remove(ii)
            -> A_loader.remove: loop `ii` chooses the element of A
            load.remove(jjj)
            -> A_loader.remove: A_feeder repeats loop `jjj` and has no buffer: buffer it at an
               outer loop
            drain.remove(ii)
            -> C_drainer.remove: results have no reuse loops
            load.unroll(jj).remove(jj); feed.buffer(k)
            -> A_loader.remove: loop `jj` is unrolled in it
            load.remove(jj); feed.buffer(k).unroll(jj)
            -> A_loader.remove: loop `jj` is unrolled in A_feeder, which would have to forward along
               it
        """
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

    def buffer(self, level: Index, double: bool = False, max_bits: int = MOST_BITS) -> Self:
        """Keeps the words of each iteration of a loop, to send them as often as needed.

        A double buffer is filled for the next iteration while it is read.

        Picture::

                       +-- A_feeder, in each iteration of k --+
            words ---> | [half 0]  filled                     |
                       | [half 1]  read, again and again -----+---> C
                       +--------------------------------------+

        Legal once, for producers on the device that receive words, outside all loops that the
        sender has removed. Inner loops have constant trip counts. The buffer, with both halves of a
        double one, has at most ``max_bits`` bits.

        Refused::

            feed.buffer(ii).buffer(k)
            -> A_feeder.buffer: there is one at `ii`
            load.buffer(k)
            -> A_loader.buffer: nothing is sent to it
            load.remove(jjj, jj); feed.buffer(iii)
            -> A_feeder.buffer: loop `iii` must be outside `jj`, which A_loader does not have
            feed.buffer(j)
            -> A_feeder.buffer: loop `k` inside `j` has no constant trip count
            load.remove(jjj); feed.buffer(k, double=True, max_bits=1023)
            -> A_feeder.buffer: at loop `k` it has 3,072 bits, more than `max_bits`, 1,023
            feed.buffer(k, max_bits=0)
            -> A_feeder.buffer: `max_bits` must be an integer, 1 or more, not 0
            drain.buffer(ii)
            -> C_drainer.buffer: drainers have none
        """
        place, directive = self._device("buffer")
        if not self.is_producer:
            raise MappingError(f"{place}: {directive}: {self.role}s have none")
        if self.buffered:
            raise MappingError(f"{place}: {directive}: there is one at `{self.buffered[0]}`")
        loop = known_loop(place, directive, level, self.nest.loop_names)
        if isinstance(max_bits, bool) or not isinstance(max_bits, int) or max_bits < 1:
            raise MappingError(
                f"{place}: {directive}: `max_bits` must be an integer, 1 or more, not {max_bits!r}"
            )
        self.buffered, self.max_bits = (loop, bool(double), place), max_bits
        return self

    def unroll(self, *loops: Index) -> Self:
        """Makes one copy of the function per iteration of each of the loops.

        Channels at both ends become arrays over the loops that either end has unrolled.

        Picture::

                           +-----------+
                      +--> | feeder[0] | --> C[0]
            loader ---+    +-----------+
                      +--> | feeder[1] | --> C[1]       feed.unroll(ii)
                           +-----------+

        Legal for loops of the function with constant trip counts, on the device, except a
        vectorised loop.

        Refused::

            C.vectorise(kk); feed.unroll(kk)
            -> A_feeder.unroll: loop `kk` is vectorised
            feed.unroll(k)
            -> A_feeder.unroll: loop `k` has no constant trip count: tile it
            drain.unroll(kk)
            -> C_drainer.unroll: it has no loop `kk`
            C.producers(B, "serializer")[0].unroll(jj)
            -> B_serializer.unroll: serializers run on the host
        """
        place, directive = self._device("unroll")
        for loop in known_loops(place, directive, loops, self.nest.loop_names):
            self.nest.check_unrolled(place, directive, loop)
            self.unrolled.append((loop, place))
        return self

    def fifo(self, depth: int) -> Self:
        """Sets the depth of the queue into which the function, or each of its copies, sends.

        Queues between copies are not affected. By default the compiler chooses the smallest depth
        that does not stop the design.

        Picture::

            +--------+     +--+--+--+--+     +--------+
            | loader | --> |  |  |  |  | --> | feeder |        load.fifo(4)
            +--------+     +--+--+--+--+     +--------+

        Legal for functions that send to another one, for a constant up to 65,536 that does not stop
        the design.

        Refused::

            feed.fifo(ii)
            -> A_feeder.fifo: depth must be a constant, 1 or more, not 'ii'
            feed.fifo(4).fifo(8)
            -> A_feeder.fifo: the depth is 4 already
            unload.fifo(4)
            -> C_unloader.fifo: it writes to memory, into no queue
            C.producers(B, "serializer")[0].fifo(4)
            -> B_serializer.fifo: serializers run on the host
        """
        place, directive = self._device("fifo")
        if self.deep:
            raise MappingError(f"{place}: {directive}: the depth is {self.deep[0]} already")
        self.deep = (queue_depth(place, directive, depth), place)
        return self

    def _device(self, directive: str) -> tuple[str, str]:
        place, name = place_of_caller(), f"{self.name}.{directive}"
        if self.on_host and directive != "remove":
            raise MappingError(f"{place}: {name}: {self.role}s run on the host")
        return place, name


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
        """Makes all copies along a loop keep the same words: the first receives, each passes on.

        Functions farther from the computation lose the loop. 1 is upwards, -1 downwards.

        Picture::

                        +-----------+     +-----------+
            loader ---> | feeder[0] | --> | feeder[1] |        feed.unroll(jj).forward(jj=1)
                        +-----------+     +-----------+
                              |                 |
                            C[0]              C[1]

        Legal for producers that receive words, along loops that are unrolled in them and not in the
        sender. The loops do not choose the tensor's word, and elements do not forward it along
        them. The function does not scatter.

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
        """Lets only the first copy along a loop receive: it keeps its words and passes on the rest.

        A counting loop selects the copy. 1 is upwards, -1 downwards.

        Picture::

                        +-----------+     +-----------+
            loader ---> | feeder[0] | --> | feeder[1] |        feed.unroll(ii).scatter(ii=1)
                        +-----------+     +-----------+
                              |                 |
                            C[0]              C[1]

        Legal for producers that receive words, along one loop that is unrolled in them and not in
        the sender. Elements do not forward the tensor along it, and no tensor is sparse.

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
        """Lets only the last copy along a loop send: the others pass their words along to it.

        1 is upwards, -1 downwards: copy 0 is then the last. It sends one word after the other, all
        words of a copy in sequence. With ``vector=True`` it sends vectors of one word per copy,
        which the unloader stores at once.

        A counting loop in the place of the loop selects the copy. With ``level=jjj`` it is directly
        inside that loop, so each iteration has a turn of every copy. This order of loops is also
        that of words in memory.

        Picture::

               C[0]               C[1]
                 |                  |
            +------------+     +------------+
            | drainer[0] | --> | drainer[1] | ---> unloader     drain.unroll(ii).gather(ii=1)
            +------------+     +------------+

        Legal for consumers whose words something receives, along one loop that is unrolled in them
        and not in the receiver. Vectors are for the unloader, of sums that are not vectors. The
        level is another loop of the function, not unrolled in it.

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
