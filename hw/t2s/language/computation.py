"""A computation and its mapping: what is computed, and how it lies in space.

Source: sections 3.2 and 3.3 of the thesis.
"""

from __future__ import annotations

from typing import Self

from .element_clock import ElementClock
from .isolated import CONSUMERS, PRODUCERS, Isolated
from .loop_names import known_loop
from .places import MappingError, place_of_caller
from .tensors import Element

__all__ = ["Computation"]


class Computation(ElementClock):
    """Sums of products, and a mapping of them, which directives change.

    Parameters
    ----------
    name: of the result
    number_format: of all numbers
    result, sum_over: indices of the result, and those that are summed over
    semiring: of (+) and (x), a name of `tilewright.hw.spec.semirings.SEMIRINGS`
    factors: elements of tensors that are multiplied
    place: of its definition

    Members
    -------
    chains: functions isolated from it, by tensor, nearest to it first
    forwarded: by tensor, loops along which it is passed on, with directions and places
    """

    def __init__(
        self,
        name: str,
        number_format: str,
        result: tuple[str, ...],
        sum_over: tuple[str, ...],
        semiring: str,
        factors: tuple[Element, ...],
        place: str,
    ) -> None:
        super().__init__(name, number_format, result, sum_over, factors)
        self.semiring, self.place = semiring, place
        self.chains: dict[str, tuple[Isolated, ...]] = {}
        self.forwarded: dict[str, list[tuple[str, int, str]]] = {}

    @property
    def depths(self) -> dict[str, tuple[int, str]]:
        """By function, the depth of the queues that it sends into, if it is said, and the place."""
        isolated = [one for chain in self.chains.values() for one in chain]
        said = {self.name: self.deep} | {one.name: one.deep for one in isolated}
        return {name: one for name, one in said.items() if one}

    def chain(self, tensor: str) -> tuple[Isolated, ...]:
        """What brings an operand, or takes the result: what directives isolate, or else one
        function that reads or writes memory."""
        if tensor not in self.chains:
            role = "unloader" if tensor == self.name else "loader"
            self.chains[tensor] = (Isolated(self, tensor, role, self.place),)
        return self.chains[tensor]

    def producers(self, tensor: object, *roles: str) -> tuple[Isolated, ...]:
        """Isolate what brings an operand, nearest to the computation first.

        A serializer, on the host, lays the tensor out in the order in which the loader reads it. A
        loader reads memory, a feeder keeps words that are needed again. Each has a copy of the
        computation's loops, which other directives change.

        Picture::

            host  :  device
                  :
            +------------+        +--------+     +--------+     +---+
            | serializer |:memory | loader | --> | feeder | --> | C |
            +------------+        +--------+     +--------+     +---+

        Legal for an operand that has no producers yet; some or all of them, in this order.

        Refused::

            C.producers(B, "loader", "feeder")
            -> C.producers: must be of feeder, loader, serializer, in this order, not loader, feeder
            C.producers("Z", "loader")
            -> C.producers: tensor must be one of A, B, not 'Z'
            C.producers(A, "loader")
            -> C.producers: A has some already
        """
        place, directive = place_of_caller(), f"{self.name}.producers"
        name = self._operand(place, directive, tensor, self.operands)
        return self._isolate(place, directive, name, roles, PRODUCERS)

    def consumers(self, *roles: str) -> tuple[Isolated, ...]:
        """Isolate what takes the results, nearest to the computation first.

        Drainers stand beside the elements, collectors beside those; an unloader writes memory, a
        deserializer, on the host, puts the words where they belong. They do not have the loops that
        are summed over.

        Picture::

                                                                          device  :  host
            +---+     +---------+     +-----------+     +----------+        +--------------+
            | C | --> | drainer | --> | collector | --> | unloader |memory: | deserializer |
            +---+     +---------+     +-----------+     +----------+        +--------------+

        Legal once; some or all of them, in this order.

        Refused::

            D.consumers("unloader", "drainer")
            -> D.consumers: must be of drainer, collector, unloader, deserializer, in this order,
               not unloader, drainer
            D.consumers()
            -> D.consumers: must be of drainer, collector, unloader, deserializer, in this order,
               not none
            C.consumers("drainer")
            -> C.consumers: C has some already
        """
        place, directive = place_of_caller(), f"{self.name}.consumers"
        return self._isolate(place, directive, self.name, roles, CONSUMERS)

    def forward(self, producer: Isolated, **directions: int) -> Self:
        """Elements at the edge receive; each passes on to its neighbour along a loop.

        1 goes to higher numbers, -1 to lower. Of several loops, the elements at the edge of the
        last pass on to those at the edge of the first.

        Picture::

            +--------+     +---+     +---+     +---+
            | feeder | --> | C | --> | C | --> | C |      C.forward(feed, jj=1)
            +--------+     +---+     +---+     +---+
                           jj = 0        1         2

        Legal along unrolled loops that do not choose the tensor's word, from the producer next to
        the computation, which must not be unrolled along the loop, nor scatter along it.

        Refused::

            C.forward(load, jj=1)
            -> C.forward: A_loader is not next to C
            C.forward(feed, jjj=1)
            -> C.forward: loop `jjj` is not unrolled
            C.forward(feed, ii=1)
            -> C.forward: loop `ii` chooses the element of A
            C.forward(feed, jj=2)
            -> C.forward: direction of `jj` must be 1 or -1, not 2
            C.forward(feed)
            -> C.forward: must be given a loop, as `jj=1`
            C.forward(feed, jj=1).forward(feed, jj=-1)
            -> C.forward: A is forwarded along `jj` already
            C.forward(A, jj=1)
            -> C.forward: must be given one of its producers
            C.forward(feed, jj=1); feed.unroll(jj)
            -> C.forward: loop `jj` is unrolled in A_feeder, which is needed once along it
        """
        place, directive = place_of_caller(), f"{self.name}.forward"
        if not isinstance(producer, Isolated) or producer.nest is not self:
            raise MappingError(f"{place}: {directive}: must be given one of its producers")
        if producer is not self.chains[producer.tensor][0] or not producer.is_producer:
            raise MappingError(f"{place}: {directive}: {producer.name} is not next to {self.name}")
        if not directions:
            raise MappingError(f"{place}: {directive}: must be given a loop, as `jj=1`")
        for given, step in directions.items():
            loop = known_loop(place, directive, given, self.loop_names)
            self._check_forward(place, directive, producer.tensor, loop, step)
            self.forwarded.setdefault(producer.tensor, []).append((loop, step, place))
        return self

    def _check_forward(
        self, place: str, directive: str, tensor: str, loop: str, step: object
    ) -> None:
        if step not in (1, -1):
            raise MappingError(
                f"{place}: {directive}: direction of `{loop}` must be 1 or -1, not {step!r}"
            )
        if loop not in [name for name, _ in self.unrolled]:
            raise MappingError(f"{place}: {directive}: loop `{loop}` is not unrolled")
        if loop in self.loops_of(tensor):
            raise MappingError(
                f"{place}: {directive}: loop `{loop}` chooses the element of {tensor}"
            )
        if loop in [name for name, _, _ in self.forwarded.get(tensor, [])]:
            raise MappingError(
                f"{place}: {directive}: {tensor} is forwarded along `{loop}` already"
            )

    def _isolate(
        self,
        place: str,
        directive: str,
        tensor: str,
        roles: tuple[str, ...],
        known: tuple[str, ...],
    ) -> tuple[Isolated, ...]:
        if tensor in self.chains:
            raise MappingError(f"{place}: {directive}: {tensor} has some already")
        if not roles or [one for one in known if one in roles] != list(roles):
            raise MappingError(
                f"{place}: {directive}: must be of {', '.join(known)}, in this order, "
                f"not {', '.join(map(str, roles)) or 'none'}"
            )
        self.chains[tensor] = tuple(Isolated(self, tensor, role, place) for role in roles)
        return self.chains[tensor]
