"""The array of processing elements: which loops lie in space, and which in the lanes of one."""

from __future__ import annotations

from typing import Self

from .indices import Index
from .loop_names import known_loop, known_loops, queue_depth
from .loop_nest import LoopNest
from .places import MappingError, place_of_caller
from .tensors import Element, Products

__all__ = ["ElementArray"]


class ElementArray(LoopNest):
    """Sums of products, and the elements that compute them.

    Parameters
    ----------
    name: of the result
    number_format: of all numbers
    result, sum_over: indices of the result, and those that are summed over
    products: elements of tensors that are multiplied, of each product that is added

    Members
    -------
    unrolled, vectorised: loops, with the places where that is said
    factored: tensors whose product is taken out of sums, with places
    deep: the depth of the queues into which results go, if it is said, and the place
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
        self.unrolled: list[tuple[str, str]] = []
        self.vectorised: tuple[str, str] | None = None
        self.factored: list[tuple[str, str]] = []
        self.deep: tuple[int, str] | None = None

    def unroll(self, *loops: Index) -> Self:
        """Makes one processing element per iteration of each of the loops.

        Picture::

            for ii < 2:                    ii = 0   +---+ +---+ +---+
              for jj < 3:        becomes            | C | | C | | C |
                C                          ii = 1   +---+ +---+ +---+
                                                    | C | | C | | C |
                                                    +---+ +---+ +---+
                                                    jj = 0     1     2

        Legal for loops of the result with constant trip counts, except a vectorised one. Elements
        that share a sum would need a tree of adders between them; lanes have one, see
        ``vectorise``.

        Refused::

            C.unroll(kk)
            -> C.unroll: loop `kk` is summed over: vectorise it instead
            C.unroll(i)
            -> C.unroll: loop `i` has no constant trip count: tile it
            C.unroll("n")
            -> C.unroll: loop must be one of i, j, k, ii, jj, iii, jjj, kk, not 'n'
        """
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
        """Executes all iterations of the innermost loop at once: words become vectors.

        Loads, channels, buffers and arithmetic are widened. If the loop is summed over, an element
        adds its products in a tree. Words that do not depend on the loop stay words.

        Picture::

            for kk < 4:                   A: |a0|a1|a2|a3|    a0 b0 --+
              C += A * B     becomes      B: |b0|b1|b2|b3|    a1 b1 --(+)--> C
                                                              a2 b2 --+
                                                              a3 b3 --+

        Legal for the innermost loop, if its trip count is constant, it is not unrolled, and it does
        not choose entries of a sparse tensor.

        Refused::

            C.vectorise(jjj)
            -> C.vectorise: loop must be the innermost, kk, not `jjj`
            D.vectorise(k)
            -> D.vectorise: loop `k` has no constant trip count: tile it
            C.order(i, j, k, jj, iii, jjj, kk, ii).vectorise(ii)
            -> C.vectorise: loop `ii` is unrolled
            Y.tile(k, (kk, 4)).vectorise(kk)
            -> Y.vectorise: loop `kk` chooses entries of S, which come one after the other
        """
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
        for one in self.sparse:
            if name in self.loops_of(one.tensor.name):
                raise MappingError(
                    f"{place}: {directive}: loop `{name}` chooses entries of {one.tensor.name}, "
                    "which come one after the other"
                )
        self.vectorised = (name, place)
        return self

    def factor(self, tensor: object) -> Self:
        """Multiplies by a word once per sum over the vectorised loop, not in each of its lanes.

        Floats are rounded differently than without it.

        Picture::

            sum of A C B over 4 lanes                 B * (sum of A C over 4 lanes)

            a0 c0 b --+                               a0 c0 --+
            a1 c1 b --(+)-->           becomes        a1 c1 --(+)--> (x b) -->
            a2 c2 b --+                               a2 c2 --+
            a3 c3 b --+                               a3 c3 --+

        Legal if the vectorised loop is summed over and does not choose the tensor's word. The
        semiring's (x) must distribute over its (+), and no tensor may be sparse.

        Refused::

            C.factor(A)
            -> C.factor: no loop is vectorised
            C.vectorise(kk).factor(A)
            -> C.factor: loop `kk` chooses the element of A
            C.factor(A).factor(A)
            -> C.factor: A is factored already
            C.factor("Z")
            -> C.factor: tensor must be one of A, B, not 'Z'
            Y.factor(X)
            -> Y.factor: S is sparse: each entry is multiplied
        """
        place, directive = place_of_caller(), f"{self.name}.factor"
        name = self._operand(place, directive, tensor, self.factors)
        self.refuse_if_sparse(place, directive, "each entry is multiplied")
        if name in [one for one, _ in self.factored]:
            raise MappingError(f"{place}: {directive}: {name} is factored already")
        self.factored.append((name, place))
        return self

    def fifo(self, depth: int) -> Self:
        """Sets the depth of the queue into which an element sends its results.

        By default the compiler chooses the smallest depth that does not stop the design.

        Picture::

            +---+   +--+--+--+--+
            | C |-->|  |  |  |  |--> drainer          C.fifo(4)
            +---+   +--+--+--+--+

        Legal for a constant up to 65,536 that does not stop the design.

        Refused::

            C.fifo(0)
            -> C.fifo: depth must be a constant, 1 or more, not 0
            C.fifo(100000)
            -> C.fifo: depth must be at most 65,536, not 100,000
            C.fifo(4).fifo(8)
            -> C.fifo: the depth is 4 already
        """
        place, directive = place_of_caller(), f"{self.name}.fifo"
        if self.deep:
            raise MappingError(f"{place}: {directive}: the depth is {self.deep[0]} already")
        self.deep = (queue_depth(place, directive, depth), place)
        return self

    def _check_innermost(self, place: str, directive: str, loop: str) -> None:
        if self.vectorised and self.vectorised[0] != loop:
            raise MappingError(
                f"{place}: {directive}: loop `{self.vectorised[0]}` is vectorised: it must be the "
                f"innermost, not `{loop}`"
            )

    def _operand(
        self, place: str, directive: str, tensor: object, known: tuple[Element, ...]
    ) -> str:
        name = getattr(tensor, "name", tensor)
        operands = [one.tensor.name for one in known]
        if name not in operands:
            raise MappingError(
                f"{place}: {directive}: tensor must be one of {', '.join(operands)}, not {name!r}"
            )
        return str(name)
