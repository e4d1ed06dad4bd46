"""A computation and its mapping: what is computed, and how it lies in space.

Source: sections 3.2 and 3.3 of the thesis.
"""

from __future__ import annotations

from typing import Self

from .indices import Index
from .isolated import CONSUMERS, PRODUCERS, Isolated
from .loop_names import known_loop, known_loops
from .loop_nest import LoopNest
from .places import MappingError, place_of_caller
from .tensors import Element

__all__ = ["Computation"]


class Computation(LoopNest):
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
    unrolled, vectorised: loops, with the places where that is said
    chains: functions isolated from it, by tensor, nearest to it first
    factored: tensors whose product is taken out of sums, with places
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
        super().__init__(name, result, sum_over, factors)
        self.number_format, self.semiring, self.place = number_format, semiring, place
        self.unrolled: list[tuple[str, str]] = []
        self.vectorised: tuple[str, str] | None = None
        self.chains: dict[str, tuple[Isolated, ...]] = {}
        self.forwarded: dict[str, list[tuple[str, int, str]]] = {}
        self.factored: list[tuple[str, str]] = []

    def chain(self, tensor: str) -> tuple[Isolated, ...]:
        """What brings an operand, or takes the result: what directives isolate, or else one
        function that reads or writes memory."""
        if tensor not in self.chains:
            role = "unloader" if tensor == self.name else "loader"
            self.chains[tensor] = (Isolated(self, tensor, role, self.place),)
        return self.chains[tensor]

    def unroll(self, *loops: Index) -> Self:
        """A processing element an iteration of each of the loops."""
        place, directive = place_of_caller(), f"{self.name}.unroll"
        for name in known_loops(place, directive, loops, self.loop_names):
            if self._loops[name].reduces:
                raise MappingError(
                    f"{place}: {directive}: loop `{name}` is summed over: vectorise it instead"
                )
            self.check_unrolled(place, directive, name)
            self.unrolled.append((name, place))
        return self

    def vectorise(self, loop: Index) -> Self:
        """All iterations of the innermost loop at once: words become vectors."""
        place, directive = place_of_caller(), f"{self.name}.vectorise"
        name = known_loop(place, directive, loop, self.loop_names)
        if name != self.loop_names[-1]:
            raise MappingError(
                f"{place}: {directive}: loop must be the innermost, {self.loop_names[-1]}, "
                f"not `{name}`"
            )
        self.check_unrolled(place, directive, name)
        if name in [one for one, _ in self.unrolled]:
            raise MappingError(f"{place}: {directive}: loop `{name}` is unrolled")
        self.vectorised = (name, place)
        return self

    def factor(self, tensor: object) -> Self:
        """Multiply by a word once a sum over the vectorised loop, not in each of its lanes."""
        place, directive = place_of_caller(), f"{self.name}.factor"
        name = self._operand(place, directive, tensor)
        if name in [one for one, _ in self.factored]:
            raise MappingError(f"{place}: {directive}: {name} is factored already")
        self.factored.append((name, place))
        return self

    def producers(self, tensor: object, *roles: str) -> tuple[Isolated, ...]:
        """Isolate what brings an operand, nearest to the computation first: of "feeder", "loader",
        "serializer"."""
        place, directive = place_of_caller(), f"{self.name}.producers"
        name = self._operand(place, directive, tensor)
        return self._isolate(place, directive, name, roles, PRODUCERS)

    def consumers(self, *roles: str) -> tuple[Isolated, ...]:
        """Isolate what takes the results, nearest to the computation first: of "drainer",
        "collector", "unloader", "deserializer"."""
        place, directive = place_of_caller(), f"{self.name}.consumers"
        return self._isolate(place, directive, self.name, roles, CONSUMERS)

    def forward(self, producer: Isolated, **directions: int) -> Self:
        """Elements at the edge receive; each passes on to its neighbour along a loop. Of several
        loops, the elements at the edge of the last pass on to those at the edge of the first."""
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

    def _operand(self, place: str, directive: str, tensor: object) -> str:
        name = getattr(tensor, "name", tensor)
        operands = [one.tensor.name for one in self.factors]
        if name not in operands:
            raise MappingError(
                f"{place}: {directive}: tensor must be one of {', '.join(operands)}, not {name!r}"
            )
        return str(name)

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
