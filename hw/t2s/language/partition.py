"""Compute partition: functions of their own that bring operands and take results."""

from __future__ import annotations

from typing import Self

from .element_array import ElementArray
from .isolated import CONSUMERS, PRODUCERS, Isolated
from .places import MappingError, place_of_caller
from .tensors import Products

MOST_STAGES = 9
"""Most pipeline stages of an element."""

_STALLS = ("allowed", "refused")


class ElementClock(ElementArray):
    """Sums of products, and how the elements that compute them go on from cycle to cycle.

    Parameters
    ----------
    name: of the result
    number_format: of all numbers
    result, sum_over: indices of the result, and those that are summed over
    products: elements of tensors that are multiplied, of each product that is added

    Members
    -------
    stages: of an element's pipeline, if it is said, and the place
    stall: whether elements may wait for sums, "allowed" or "refused", if it is said; and the place
    overlap: whether results leave while others are computed, and the place where that is said
    """

    def __init__(
        self,
        name: str,
        number_format: str,
        result: tuple[str, ...],
        sum_over: tuple[str, ...],
        products: Products,
    ) -> None:
        super().__init__(name, number_format, result, sum_over, products)
        self.stages: tuple[int, str] | None = None
        self.stall: tuple[str, str] | None = None
        self.overlap: tuple[bool, str] = (True, "")

    def clock_pipeline(self, stages: int) -> Self:
        """Sets the register stages of an element, from its operands to its sums.

        More stages shorten the clock period and lengthen sums, see ``accumulate``. From 8 on,
        floats are unpacked in a separate stage. The default is 4. It is 8 for floats without
        sparse tensors, if the element then never waits for a sum; ``--set pipeline=N`` overrides
        the directive.

        Picture::

            words --(x)--|--(x)--|--(+)--|--(+)--|--> sum        C.clock_pipeline(4)

        Legal once, for 1 to 9 stages.

        Refused::

            C.clock_pipeline(10)
            -> C.clock_pipeline: stages must be an integer in 1..9, not 10
            C.clock_pipeline(2).clock_pipeline(3)
            -> C.clock_pipeline: there are 2 stages already
        """
        place, directive = place_of_caller(), f"{self.name}.clock_pipeline"
        if isinstance(stages, bool) or not isinstance(stages, int) or not 0 < stages <= MOST_STAGES:
            raise MappingError(
                f"{place}: {directive}: stages must be an integer in 1..{MOST_STAGES}, "
                f"not {stages!r}"
            )
        if self.stages:
            raise MappingError(f"{place}: {directive}: there are {self.stages[0]} stages already")
        self.stages = (stages, place)
        return self

    def accumulate(self, *, stall: str) -> Self:
        """Selects whether an element may wait for its sums: ``"allowed"`` or ``"refused"``.

        An element adds a product to its sum some cycles after its arrival. Meanwhile it processes
        its other sums, which are those of the result's loops inside the outermost summed one. If
        these are too few, the element waits. Without the directive such a mapping has no Verilog,
        except where ``--set largest=`` cuts factors. ``t2s show`` and ``show t2s`` report products
        and cycles.

        Picture::

            1 sum, 4 stages:      p0 - - - - p1 - - - - p2       a product every 5 cycles
            5 sums, 4 stages:     p0 p1 p2 p3 p4 p0 p1 p2        a product every cycle

        Legal once.

        Refused::

            C.accumulate(stall="maybe")
            -> C.accumulate: stall must be one of allowed, refused, not 'maybe'
            C.accumulate(stall="allowed").accumulate(stall="refused")
            -> C.accumulate: stall is allowed already
        """
        place, directive = place_of_caller(), f"{self.name}.accumulate"
        if stall not in _STALLS:
            raise MappingError(
                f"{place}: {directive}: stall must be one of {', '.join(_STALLS)}, not {stall!r}"
            )
        if self.stall:
            raise MappingError(f"{place}: {directive}: stall is {self.stall[0]} already")
        self.stall = (stall, place)
        return self

    def drain_overlap(self, on: bool) -> Self:
        """Selects whether a block of results leaves an element while it computes the next one.

        By default results wait in a queue beside the sums. Without overlap no such queue exists:
        complete sums leave one after the other, before the next block begins.

        Picture::

            C.drain_overlap(True)      sums of block 0 | sums of block 1 | sums of block 2
                                                       | results of 0    | results of 1

            C.drain_overlap(False)     sums of block 0 | results of 0 | sums of block 1 | ...

        Legal once.

        Refused::

            C.drain_overlap(0)
            -> C.drain_overlap: must be True or False, not 0
            C.drain_overlap(False).drain_overlap(True)
            -> C.drain_overlap: it is False already
        """
        place, directive = place_of_caller(), f"{self.name}.drain_overlap"
        if not isinstance(on, bool):
            raise MappingError(f"{place}: {directive}: must be True or False, not {on!r}")
        if self.overlap[1]:
            raise MappingError(f"{place}: {directive}: it is {self.overlap[0]} already")
        self.overlap = (on, place)
        return self


class Partition(ElementClock):
    """Sums of products, and functions that are isolated from them.

    Parameters
    ----------
    name: of the result
    number_format: of all numbers
    result, sum_over: indices of the result, and those that are summed over
    products: elements of tensors that are multiplied, of each product that is added
    place: of its definition

    Members
    -------
    chains: functions isolated from it, by tensor, nearest to it first
    """

    def __init__(
        self,
        name: str,
        number_format: str,
        result: tuple[str, ...],
        sum_over: tuple[str, ...],
        products: Products,
        place: str,
    ) -> None:
        super().__init__(name, number_format, result, sum_over, products)
        self.place = place
        self.chains: dict[str, tuple[Isolated, ...]] = {}

    def chain(self, tensor: str) -> tuple[Isolated, ...]:
        """Returns the functions that bring an operand, or take the result.

        Directives isolate them. Without directives, one function reads or writes memory.
        """
        if tensor not in self.chains:
            role = "unloader" if tensor == self.name else "loader"
            self.chains[tensor] = (Isolated(self, tensor, role, self.place),)
        return self.chains[tensor]

    def producers(self, tensor: object, *roles: str) -> tuple[Isolated, ...]:
        """Isolates the functions that bring an operand, nearest to the computation first.

        A serializer, on the host, writes the tensor in the loader's order. A loader reads memory; a
        feeder keeps reused words. Each has a copy of the computation's loops, which other
        directives change.

        Picture::

            host  :  device
                  :
            +------------+        +--------+     +--------+     +---+
            | serializer |:memory | loader | --> | feeder | --> | C |
            +------------+        +--------+     +--------+     +---+

        Legal for an operand without producers that is not sparse; some or all of the roles, in this
        order.

        Refused::

            C.producers(B, "loader", "feeder")
            -> C.producers: must be of feeder, loader, serializer, in this order, not loader, feeder
            C.producers("Z", "loader")
            -> C.producers: tensor must be one of A, B, not 'Z'
            C.producers(A, "loader")
            -> C.producers: A has some already
            Y.producers(S, "loader")
            -> Y.producers: S is sparse: it has a loader of entries
        """
        place, directive = place_of_caller(), f"{self.name}.producers"
        name = self._dense(place, directive, tensor)
        return self._isolate(place, directive, name, roles, PRODUCERS)

    def consumers(self, *roles: str) -> tuple[Isolated, ...]:
        """Isolates the functions that take the results, nearest to the computation first.

        Drainers are beside the elements, and collectors beside drainers. An unloader writes memory.
        A deserializer, on the host, puts the words in their places. They do not have the summed
        loops.

        Picture::

                                                                          device  :  host
            +---+     +---------+     +-----------+     +----------+        +--------------+
            | C | --> | drainer | --> | collector | --> | unloader |memory: | deserializer |
            +---+     +---------+     +-----------+     +----------+        +--------------+

        Legal once; some or all of the roles, in this order. With a sparse tensor neither drainers
        nor collectors exist.

        Refused::

            D.consumers("unloader", "drainer")
            -> D.consumers: must be of drainer, collector, unloader, deserializer, in this order,
               not unloader, drainer
            D.consumers()
            -> D.consumers: must be of drainer, collector, unloader, deserializer, in this order,
               not none
            C.consumers("drainer")
            -> C.consumers: C has some already
            Y.consumers("drainer", "unloader")
            -> Y.consumers: S is sparse: there is no drainer
        """
        place, directive = place_of_caller(), f"{self.name}.consumers"
        for role in roles:
            if role in CONSUMERS[:2]:
                self.refuse_if_sparse(place, directive, f"there is no {role}")
        return self._isolate(place, directive, self.name, roles, CONSUMERS)

    def serialise(self, tensor: object) -> Isolated:
        """Adds a serializer after the producers of an operand, like one that ``producers`` names.

        The host then writes the operand in the order in which the device reads it.

        Picture::

            host  :  device
                  :
            +------------+        +--------+
            | serializer |:memory | loader | --> ...          C.serialise(A)
            +------------+        +--------+

        Legal once, for an operand that has producers and is not sparse.

        Refused::

            C.serialise(B)
            -> C.serialise: B has no producers: isolate its loader
            C.serialise(A); C.serialise(A)
            -> C.serialise: A has a serializer already
            C.serialise("Z")
            -> C.serialise: tensor must be one of A, B, not 'Z'
            Y.serialise(S)
            -> Y.serialise: S is sparse: it has a loader of entries
        """
        place, directive = place_of_caller(), f"{self.name}.serialise"
        name = self._dense(place, directive, tensor)
        if name not in self.chains:
            raise MappingError(f"{place}: {directive}: {name} has no producers: isolate its loader")
        return self._on_host(place, directive, name, PRODUCERS[-1])

    def deserialise(self) -> Isolated:
        """Adds a deserializer after the consumers, like one that ``consumers`` names.

        The device then writes results in sequence, and the host puts them in their places.

        Picture::

                  device  :  host
                          :
            +----------+         +--------------+
            | unloader | memory: | deserializer |             C.deserialise()
            +----------+         +--------------+

        Legal once, for a computation that has consumers.

        Refused::

            D.deserialise()
            -> D.deserialise: D has no consumers: isolate its unloader
            C.deserialise(); C.deserialise()
            -> C.deserialise: C has a deserializer already
        """
        place, directive = place_of_caller(), f"{self.name}.deserialise"
        if self.name not in self.chains:
            raise MappingError(
                f"{place}: {directive}: {self.name} has no consumers: isolate its unloader"
            )
        return self._on_host(place, directive, self.name, CONSUMERS[-1])

    def _dense(self, place: str, directive: str, tensor: object) -> str:
        """The name of an operand that is not sparse."""
        name = self._operand(place, directive, tensor, self.operands)
        if name in [one.tensor.name for one in self.sparse]:
            raise MappingError(
                f"{place}: {directive}: {name} is sparse: it has a loader of entries"
            )
        return name

    def _on_host(self, place: str, directive: str, tensor: str, role: str) -> Isolated:
        chain = self.chains[tensor]
        if chain[-1].on_host:
            raise MappingError(f"{place}: {directive}: {tensor} has a {role} already")
        added = Isolated(self, tensor, role, place)
        self.chains[tensor] = (*chain, added)
        return added

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
