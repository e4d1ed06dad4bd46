"""The loops of a computation: how indices are cut into them, and in which order they stand."""

from __future__ import annotations

from typing import Self

from ...spec.t2s.loops import Affine, Loop, variable
from .indices import Index
from .loop_names import constant_factor, known_loop, known_loops
from .places import MappingError, place_of_caller
from .sizes import cut_factor
from .tensors import Element, Products, function_name


class Sums:
    """Sums of products.

    Parameters
    ----------
    name: of the result
    number_format: of all numbers
    result, sum_over: indices of the result, and those that are summed over
    products: elements of tensors that are multiplied, of each product that is added

    Members
    -------
    factors: elements of all products, those of sparse tensors first
    started: what the sums start from, if that is said
    applied: names of functions that make results of sums, the first one first
    """

    def __init__(
        self,
        name: str,
        number_format: str,
        result: tuple[str, ...],
        sum_over: tuple[str, ...],
        products: Products,
    ) -> None:
        self.name, self.number_format = name, number_format
        self.result, self.sum_over, self.products = result, sum_over, products
        self.started: Element | None = None
        self.applied: tuple[str, ...] = ()

    @property
    def factors(self) -> tuple[Element, ...]:
        elements = dict.fromkeys(one for product in self.products for one in product)
        return tuple(sorted(elements, key=lambda one: not one.tensor.sparse))

    @property
    def sparse(self) -> tuple[Element, ...]:
        """Elements of tensors whose entries alone are stored."""
        return tuple(one for one in self.factors if one.tensor.sparse)

    @property
    def operands(self) -> tuple[Element, ...]:
        """Elements that are read: the factors, and those that sums start from."""
        return (*self.factors, *([self.started] if self.started else []))

    def start(self, element: Element) -> Self:
        """Starts sums from words of a tensor, not from the identity of (+).

        Picture::

            T[i, j] ----+
                        v
            products --(+)--> C[i, j]          C.start(T[i, j])

        Legal once, before the tensor has producers and if no tensor is sparse. The element is of a
        tensor that is not multiplied, of the same format. Its indices are some of the result's.

        Refused::

            C.start(A[i, j])
            -> C.start: A is multiplied
            D.start(T[i, j]).start(T[i, j])
            -> D.start: sums start from T already
            D.start(T[i, k])
            -> D.start: index must be one of i, j, not 'k'
            D.start(T[j, i])
            -> D.start: dimension `i` of T must be walked by `i`, not by `j`: shapes contradict
               each other
            D.start(tensor("T", "fp16", i, j)[i, j])
            -> D.start: format of T must be fp32, not fp16
            D.start(0)
            -> D.start: must be given an element of a tensor, not 0
            Y.start(X[i])
            -> Y.start: S is sparse: sums start from the identity
        """
        place, directive = place_of_caller(), f"{self.name}.start"
        if not isinstance(element, Element):
            raise MappingError(
                f"{place}: {directive}: must be given an element of a tensor, not {element!r}"
            )
        name = element.tensor.name
        self.refuse_if_sparse(place, directive, "sums start from the identity")
        if self.started:
            raise MappingError(
                f"{place}: {directive}: sums start from {self.started.tensor.name} already"
            )
        if name in [self.name, *(one.tensor.name for one in self.factors)]:
            raise MappingError(f"{place}: {directive}: {name} is multiplied")
        element.check_shape(place, directive, self.number_format, self.result)
        self.started = element
        return self

    def then(self, *functions: object) -> Self:
        """Applies functions to sums, in this order: ``relu``, ``negate``, ``absolute``.

        Words of operands go through functions where they are multiplied, as in ``relu(A[i, k]) *
        B[k, j]``.

        Picture::

            products --> sum over k --> [relu] --> C[i, j]         C.then(relu)

        Legal for functions of the language, if no tensor is sparse.

        Refused::

            D.then(abs)
            -> D.then: function must be one of absolute, negate, relu, not 'abs'
            Y.then(relu)
            -> Y.then: S is sparse: results are sums
            relu(3)
            -> relu: must be given an element of a tensor, not 3
            compute("E", "fp32", i, sum_over=k, semiring="maxplus")[relu(A[i, k])]
            -> E: no word of A is padding: relu makes none -inf, of which a sum on maxplus is not
               changed
        """
        place, directive = place_of_caller(), f"{self.name}.then"
        names = tuple(function_name(place, directive, one) for one in functions)
        self.refuse_if_sparse(place, directive, "results are sums")
        self.applied = (*self.applied, *names)
        return self

    def refuse_if_sparse(self, place: str, directive: str, why: str) -> None:
        """Refuse a directive where a tensor is sparse."""
        if self.sparse:
            name = self.sparse[0].tensor.name
            raise MappingError(f"{place}: {directive}: {name} is sparse: {why}")


class LoopNest(Sums):
    """Sums of products, and the loops that walk them.

    Parameters
    ----------
    name: of the result
    number_format: of all numbers
    result, sum_over: indices of the result, and those that are summed over
    products: elements of tensors that are multiplied, of each product that is added

    Members
    -------
    ordered_at: the place of ``order``, if that is said
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
        self._loops = {
            one: Loop(one, one, None, 1, one in sum_over) for one in (*result, *sum_over)
        }
        self._digits: dict[str, tuple[str, ...]] = {one: (one,) for one in self._loops}
        self._order: tuple[str, ...] | None = None
        self.ordered_at = ""

    @property
    def loop_names(self) -> tuple[str, ...]:
        """Names of all loops, outermost first."""
        return self._order or tuple(name for digits in self._digits.values() for name in digits)

    @property
    def loops(self) -> tuple[Loop, ...]:
        return tuple(self._loops[name] for name in self.loop_names)

    def loop(self, name: str) -> Loop:
        return self._loops[name]

    def index_of_loops(self, index: str) -> Affine:
        """An index of the computation by its loops."""
        total = Affine()
        for name in self._digits[index]:
            total = total + variable(name).times(self._loops[name].step)
        return total

    def loops_of(self, tensor: str) -> set[str]:
        """Loops that choose the element of a tensor, or of the result."""
        if tensor == self.name:
            indices = set(self.result)
        else:
            element = next(one for one in self.operands if one.tensor.name == tensor)
            indices = {v for subscript in element.subscripts for v in subscript.variables}
        return {name for index in indices for name in self._digits[index]}

    def tile(self, index: Index, *levels: tuple[Index, int]) -> Self:
        """Cuts a loop: ``tile(i, (ii, 4), (iii, 8))`` makes blocks of 32, in each 4 of 8.

        The outermost loop keeps its name, and a register has its trip count; i is then 32 i + 8 ii
        + iii. Words beyond the bound are padded on load, and not stored.

        Picture::

            for i < I:    becomes    for i < ceil(I / 32):
                                       for ii < 4:
                                         for iii < 8:

        Legal once per loop, before ``order``, with new names and constant factors.

        Refused::

            C.tile(i, (kk, 2))
            -> C.tile: loop `i` is tiled already
            D.tile(i, (k, 2))
            -> D.tile: there is a loop `k` already
            D.tile(i, (ii, j))
            -> D.tile: factor of `ii` must be a constant, 1 or more, not 'j'
            D.tile(ii, (iii, 2))
            -> D.tile: loop must be one of i, j, k, not 'ii'
            D.tile(i, 4)
            -> D.tile: must be given (loop, factor), not 4
            D.order(i, j, k).tile(i, (ii, 2))
            -> D.tile: must stand before order
        """
        place, directive = place_of_caller(), f"{self.name}.tile"
        name = known_loop(place, directive, index, self._digits)
        if len(self._digits[name]) > 1:
            raise MappingError(f"{place}: {directive}: loop `{name}` is tiled already")
        if self._order:
            raise MappingError(f"{place}: {directive}: must stand before order")
        extents: list[tuple[str, int]] = []
        for level in levels:
            if not (isinstance(level, tuple) and len(level) == 2 and isinstance(level[0], Index)):
                raise MappingError(
                    f"{place}: {directive}: must be given (loop, factor), not {level!r}"
                )
            inner = level[0].name
            if inner in self._loops or inner in [one for one, _ in extents]:
                raise MappingError(f"{place}: {directive}: there is a loop `{inner}` already")
            factor = constant_factor(place, directive, inner, level[1])
            extents.append((inner, cut_factor(factor)))
        step, reduces = 1, self._loops[name].reduces
        for inner, extent in reversed(extents):
            self._loops[inner] = Loop(inner, name, extent, step, reduces)
            step *= extent
        self._loops[name] = Loop(name, name, None, step, reduces)
        self._digits[name] = (name, *(one for one, _ in extents))
        return self

    def order(self, *loops: Index) -> Self:
        """Orders all loops, outermost first.

        Picture::

            D.order(i, j, k)         for i < I:
                                       for j < J:
                                         for k < K:
                                           D(i, j) += A(i, k) B(k, j)

        Legal if every loop is named once. A result's loop with its trip count in a register must
        not be inside a summed loop.

        Refused::

            D.order(i, j)
            -> D.order: loop `k` must be named, too
            D.order(i, j, k, k)
            -> D.order: loop `k` must be named once, not twice
            D.order(i, k, j)
            -> D.order: loop `j` must stand before `k`, which is summed over: as many sums as it
               has iterations would be kept
            D.order(i, j, ii)
            -> D.order: loop must be one of i, j, k, not 'ii'
            C.vectorise(kk).order(i, j, k, ii, jj, iii, kk, jjj)
            -> C.order: loop `kk` is vectorised: it must be the innermost, not `jjj`
        """
        place, directive = place_of_caller(), f"{self.name}.order"
        found = known_loops(place, directive, loops, self._loops)
        for name in self._loops:
            if name not in found:
                raise MappingError(f"{place}: {directive}: loop `{name}` must be named, too")
        self._check_innermost(place, directive, found[-1])
        self._order, self.ordered_at = found, place
        self._check_footprint(place, directive)
        return self

    def check_unrolled(self, place: str, directive: str, loop: str) -> None:
        """Refuse to unroll a loop whose trip count is a register's."""
        if self._loops[loop].extent is None:
            raise MappingError(
                f"{place}: {directive}: loop `{loop}` has no constant trip count: tile it"
            )

    def _check_innermost(self, place: str, directive: str, loop: str) -> None:
        """Refuse an innermost loop that cannot be it: any can, as long as none is vectorised."""

    def _check_footprint(self, place: str, directive: str) -> None:
        """Refuse an order in which sums wait for a loop whose trip count is a register's."""
        names = self.loop_names
        first = next((n for n, name in enumerate(names) if self._loops[name].reduces), len(names))
        for name in names[first:]:
            loop = self._loops[name]
            if not loop.reduces and loop.extent is None:
                raise MappingError(
                    f"{place}: {directive}: loop `{name}` must stand before `{names[first]}`, "
                    "which is summed over: as many sums as it has iterations would be kept"
                )
