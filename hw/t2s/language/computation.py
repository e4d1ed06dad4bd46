"""A computation and its mapping: what is computed, and how it lies in space.

Source: sections 3.2 and 3.3 of the thesis.
"""

from __future__ import annotations

import runpy
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from .isolated import Isolated
from .loop_names import known_loop
from .partition import Partition
from .places import MappingError, place_of_caller
from .sizes import changed_sizes
from .tensors import Products


class Computation(Partition):
    """Sums of products, and a mapping of them, which directives change.

    Parameters
    ----------
    name: of the result
    number_format: of all numbers
    result, sum_over: indices of the result, and those that are summed over
    semiring: of (+) and (x), a name of `tilewright.hw.spec.semirings.SEMIRINGS`
    products: elements of tensors that are multiplied, of each product that is added
    place: of its definition

    Members
    -------
    forwarded: by tensor, loops along which it is passed on, with directions and places
    """

    def __init__(
        self,
        name: str,
        number_format: str,
        result: tuple[str, ...],
        sum_over: tuple[str, ...],
        semiring: str,
        products: Products,
        place: str,
    ) -> None:
        super().__init__(name, number_format, result, sum_over, products, place)
        self.semiring = semiring
        self.forwarded: dict[str, list[tuple[str, int, str]]] = {}

    @property
    def depths(self) -> dict[str, tuple[int, str]]:
        """Depth of the queues that each function sends into, and its place, where it is given."""
        isolated = [one for chain in self.chains.values() for one in chain]
        said = {self.name: self.deep} | {one.name: one.deep for one in isolated}
        return {name: one for name, one in said.items() if one}

    def forward(self, producer: Isolated, **directions: int) -> Self:
        """Lets only edge elements receive; each passes words on to its neighbour along a loop.

        1 is upwards, -1 downwards. With several loops, elements at the edge of the last loop pass
        on to those at the edge of the first.

        Picture::

            +--------+     +---+     +---+     +---+
            | feeder | --> | C | --> | C | --> | C |      C.forward(feed, jj=1)
            +--------+     +---+     +---+     +---+
                           jj = 0        1         2

        Legal along unrolled loops that choose neither the tensor's word nor entries of a sparse
        tensor. The producer is the one next to the computation; it must not be unrolled or scatter
        along the loop.

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
            Y.tile(i, (ii, 2)).unroll(ii); Y.forward(Y.producers(X, "loader")[0], ii=1)
            -> Y.forward: loop `ii` chooses entries of S: not every element takes the word
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
        for one in self.sparse:
            if loop in self.loops_of(one.tensor.name):
                raise MappingError(
                    f"{place}: {directive}: loop `{loop}` chooses entries of {one.tensor.name}: "
                    "not every element takes the word"
                )
        if loop in [name for name, _, _ in self.forwarded.get(tensor, [])]:
            raise MappingError(
                f"{place}: {directive}: {tensor} is forwarded along `{loop}` already"
            )


def load_mapping(
    file: Path, sizes: Mapping[str, int] | None = None, largest: int | None = None
) -> Computation:
    """Runs a file, and returns its computation.

    Parameters
    ----------
    sizes: in place of those that its ``sizes`` names
    largest: no factor of a tile is larger than this

    Raises MappingError for directives that cannot be followed, sizes that it does not name, a file
    that is no Python, stops with an error or does not have one computation; OSError if it cannot
    be read.
    """
    file.read_bytes()
    with changed_sizes(sizes or {}, largest):
        try:
            names = runpy.run_path(str(file))
        except (MappingError, KeyboardInterrupt):
            raise
        except SyntaxError as error:
            where = f"{file.name}:{error.lineno}" if error.lineno else file.name
            raise MappingError(f"{where}: {error.msg}") from error
        except BaseException as error:  # SystemExit, too
            place = next(
                (one for one in reversed(traceback.extract_tb(error.__traceback__))
                 if one.filename == str(file)),
                None,
            )  # fmt: skip
            where = f"{file.name}:{place.lineno}" if place else file.name
            told = str(error).partition("\n")[0]
            raise MappingError(f"{where}: {type(error).__name__}: {told}") from error
    found = {id(one): one for one in names.values() if isinstance(one, Computation)}
    if len(found) != 1:
        raise MappingError(f"{file.name}: must define 1 computation, not {len(found)}")
    return next(iter(found.values()))
