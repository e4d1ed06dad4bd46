"""Runs a program: its functions at once, each until it waits for a channel.

What comes out does not depend on who runs first: functions only wait for channels, and each end of
a channel has one owner (a Kahn process network).
"""

from __future__ import annotations

import itertools
import sys
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...hw.spec.t2s.program import Function, Program
from ...hw.spec.t2s.statements import Body, Ever, For, If, Statement, Store
from .definition_result import FUNCTIONS, Arithmetic, PythonNumbers
from .python_functions import python_text
from .sizes import check_bounds, check_padding, shape_of, trip_count

__all__ = ["Deadlock", "Numbers", "interpret"]

Numbers = npt.NDArray[Any]
Waiting = tuple[str, tuple[int, ...], str]


class Deadlock(RuntimeError):
    """Raised if all functions that have not ended wait for each other; the message has channels.

    Members
    -------
    full: names of channels into which something would be sent
    """

    def __init__(self, message: str, full: frozenset[str] = frozenset()) -> None:
        super().__init__(message)
        self.full = full


def interpret(
    program: Program,
    bounds: Mapping[str, int],
    operands: Mapping[str, Numbers],
    depths: Mapping[str, int] | None = None,
    arithmetic: Arithmetic | None = None,
) -> Numbers:
    """The result's elements.

    Parameters
    ----------
    bounds: of the computation's indices
    operands: arrays of every tensor, of objects if their integers have to be exact; of a sparse
        tensor objects, None where it has no entry
    depths: of channels, as many values as each queue holds; without an entry it is what the
        program says, else there is no end
    arithmetic: what is computed with; the operators of Python's numbers if it is not given

    Raises ValueError for bounds and shapes that do not fit, Deadlock if functions wait for each
    other, or if values are left in a channel.
    """
    check_bounds(program, bounds)
    check_padding(program, bounds)
    arithmetic = arithmetic or PythonNumbers(program.semiring)
    machine = _Machine(program, bounds, operands, depths or {}, arithmetic)
    host = [one for one in program.functions if one.host]
    device = [one for one in program.functions if not one.host]
    reads = [one for one in host if not _writes_result(program, one)]
    for one in reads:
        machine.run([one])
    machine.run(device)
    machine.check_empty()
    for one in host:
        if one not in reads:
            machine.run([one])
    return arithmetic.finished(machine.result())


class _Machine:
    def __init__(
        self,
        program: Program,
        bounds: Mapping[str, int],
        operands: Mapping[str, Numbers],
        depths: Mapping[str, int],
        arithmetic: Arithmetic,
    ) -> None:
        self._program, self._bounds = program, bounds
        self._queues: defaultdict[tuple[str, tuple[int, ...]], deque[Any]] = defaultdict(deque)
        self._memory: dict[str, dict[tuple[int, ...], Any]] = {}
        self._moved = [0]
        self._shape = shape_of(program.tensor(program.result).dimensions, bounds)
        for tensor in program.tensors:
            self._memory[tensor.name] = {}
            if not tensor.image and tensor.name != program.result:
                shape = shape_of(tensor.dimensions, bounds)
                self._fill(tensor.name, shape, operands)
        said = {one.name: one.depth for one in program.channels if one.depth}
        self._names = {
            "queues": self._queues,
            "depth_of": defaultdict(lambda: sys.maxsize, said | dict(depths)),
            "moved": self._moved,
            "load": self._load,
            "store": self._store,
            "stored": self._stored,
            "plus": _on_lanes(arithmetic.plus),
            "times": _on_lanes(arithmetic.times),
            "fold": arithmetic.fold,
            "fold_each": _on_all_lanes(arithmetic.fold),
            "pack": _packed,
            "flagged": _Flagged,
            "word_of": _word_of,
            "identity": arithmetic.identity,
            "product": itertools.product,
            **{name: _on_each(partial(arithmetic.apply, name)) for name in FUNCTIONS},
        }
        starts = (program.start, f"{program.start}_image") if program.start else ()
        self._pads = {
            one.name: arithmetic.identity if one.name in starts else arithmetic.pad(one)
            for one in program.tensors
        }

    def run(self, functions: list[Function]) -> None:
        """Run functions to their ends; those that go round for ever, until all wait. Raises
        Deadlock."""
        running: dict[str, Iterator[Waiting]] = {}
        endless: set[str] = set()
        for function in functions:
            for name, one, ever in self._copies(function):
                running[name] = one
                endless |= {name} if ever else set()
        while running:
            before, waiting, ended = self._moved[0], {}, []
            for name, one in running.items():
                try:
                    waiting[name] = next(one)
                except StopIteration:
                    ended.append(name)
            for name in ended:
                del running[name]
            if running and not ended and self._moved[0] == before:
                if endless.issuperset(running):
                    return
                full = frozenset(name for name, _, how in waiting.values() if how == "full")
                raise Deadlock(_told(waiting), full)

    def check_empty(self) -> None:
        """Raises Deadlock if there are values that nothing received."""
        for (name, at), queue in self._queues.items():
            if queue:
                raise Deadlock(f"channel {name}{_at(at)} is left with {len(queue)} values")

    def result(self) -> Numbers:
        found = np.empty(self._shape, dtype=object)
        for place, value in self._memory[self._program.result].items():
            found[place] = value
        return found

    def _copies(self, function: Function) -> Iterator[tuple[str, Iterator[Waiting], bool]]:
        """Yields the name and the process of each instance, and whether it repeats for ever."""
        scope = dict(self._names)
        exec(compile(python_text(function, self._bounds), function.name, "exec"), scope)
        spans = [range(trip_count(one, self._bounds)) for one in function.instances]
        sides = [("", function.body), (", beside", function.beside)]
        for place in itertools.product(*spans):
            for (side, body), one in zip(sides, scope["run"](*place), strict=False):
                ever = bool(body) and isinstance(body[0], Ever)
                yield f"{function.name}{_at(place)}{side}", one, ever

    def _fill(self, name: str, shape: tuple[int, ...], operands: Mapping[str, Numbers]) -> None:
        if name not in operands:
            raise ValueError(f"operands must have {name}")
        if operands[name].shape != shape:
            raise ValueError(f"{name} must be of shape {shape}, not {operands[name].shape}")
        words = np.ndenumerate(operands[name])
        self._memory[name] = {place: word for place, word in words if word is not None}

    def _load(self, tensor: str, place: tuple[int, ...] | None) -> Any:
        """A word; what pads the tensor, from no place."""
        memory = self._memory[tensor]
        if place is None:
            return self._pads[tensor]
        if place not in memory and self._program.tensor(tensor).image:
            raise KeyError(f"{tensor}{place} was never written")
        return memory.get(place, self._pads[tensor])

    def _stored(self, tensor: str, place: tuple[int, ...] | None) -> bool:
        """Tells whether a sparse tensor has an entry."""
        return place in self._memory[tensor]

    def _store(self, tensor: str, places: list[tuple[int, ...]], value: Any) -> None:
        """Write words; one word in all places, as the identity that a sum has stayed."""
        inside = tensor != self._program.result
        values = value if isinstance(value, tuple) else (value,) * len(places)
        for place, value in zip(places, values, strict=True):
            if inside or all(n < size for n, size in zip(place, self._shape, strict=True)):
                self._memory[tensor][place] = value


class _Flagged(NamedTuple):
    """A word, or a vector, with its flags."""

    word: Any
    first: bool
    last: bool


def _word_of(value: Any) -> Any:
    return value.word if isinstance(value, _Flagged) else value


def _writes_result(program: Program, function: Function) -> bool:
    stores = (one for one in _statements(function.body) if isinstance(one, Store))
    return any(one.tensor == program.result for one in stores)


def _statements(body: Body) -> Iterator[Statement]:
    for one in body:
        yield one
        if isinstance(one, For):
            yield from _statements(one.body)
        elif isinstance(one, If):
            yield from _statements((*one.then, *one.otherwise))


def _on_lanes(operator: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def apply(a: Any, b: Any) -> Any:
        if not isinstance(a, tuple) and not isinstance(b, tuple):
            return operator(a, b)
        lanes = len(a) if isinstance(a, tuple) else len(b)
        left = a if isinstance(a, tuple) else (a,) * lanes
        right = b if isinstance(b, tuple) else (b,) * lanes
        return tuple(map(operator, left, right))

    return apply


def _on_all_lanes(fold: Callable[[Any, tuple[Any, ...]], Any]) -> Callable[..., Any]:
    """A sum and terms more, or of vectors, lane by lane."""

    def apply(*given: Any) -> Any:
        lanes = max((len(one) for one in given if isinstance(one, tuple)), default=0)
        if not lanes:
            return fold(given[0], given[1:])
        each = (one if isinstance(one, tuple) else (one,) * lanes for one in given)
        return tuple(fold(words[0], words[1:]) for words in zip(*each, strict=True))

    return apply


def _on_each(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda a: tuple(map(function, a)) if isinstance(a, tuple) else function(a)


def _told(waiting: Mapping[str, Waiting]) -> str:
    told = [
        f"{name} waits for {channel}{_at(at)}, {how}"
        for name, (channel, at, how) in waiting.items()
    ]
    return "; ".join(told[:8]) + (f"; and {len(told) - 8} more" if len(told) > 8 else "")


def _at(place: tuple[int, ...]) -> str:
    return "".join(f"[{one}]" for one in place)


def _packed(*parts: Any) -> tuple[Any, ...]:
    """Concatenates words and vectors."""
    return tuple(word for part in parts for word in (part if isinstance(part, tuple) else (part,)))
