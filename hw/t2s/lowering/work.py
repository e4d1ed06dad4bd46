"""What each copy of a function does in a period of a design's run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby, product

from ...spec.t2s.design import Design
from ...spec.t2s.network import Copy
from ...spec.t2s.parts import Count, FeederPart, MoverPart, RoutePart
from ...spec.t2s.program import Function
from ...spec.t2s.statements import Receive
from .connections import named, turn_of
from .cuts import Cuts, Kind
from .moving import buffer_loops
from .queues import Queues
from .steps_of import count_of, done_by
from .transfers import Segment, Unaligned, Visit, Work, through

__all__ = ["Workers"]

_CHOSEN = -1
"""In place of the queue that a route chooses."""

Ports = tuple[tuple[int, ...], tuple[int, ...]]
"""Queues from which words come, and those to which they go."""


class Workers:
    """The copies of functions of a design.

    Parameters
    ----------
    design: its parts
    queues: between them
    cut: loops in each iteration of which there is a period
    trips: trip counts of other loops that registers have, by name; 1 of those that are not there
    """

    def __init__(
        self, design: Design, queues: Queues, cut: tuple[str, ...], trips: Mapping[str, int]
    ) -> None:
        self._design, self._queues = design, queues
        self._cuts = Cuts(design.program, cut, trips)
        self._functions = {one.name: one for one in design.program.functions if not one.host}
        self._done = {name: done_by(one) for name, one in self._functions.items()}
        self._parts: dict[str, FeederPart | MoverPart] = {one.name: one for one in design.feeders}
        self._parts |= {one.name: one for one in design.movers}
        # Of each queue between a function and what routes its words, that.
        routes = {one.name: one for one in design.routes}
        self._routed: dict[int, tuple[RoutePart, Copy]] = {}
        for copy in design.copies:
            if (part := routes.get(copy.function)) is not None:
                (stem,) = queues.at(copy, "o" if part.joins else "i")
                self._routed[stem] = part, copy

    def works(self, kind: Kind) -> Iterator[Work]:
        """What they do in such a period. Raises Unaligned if it does not end with it."""
        for copy in self._design.copies:
            function = self._functions.get(copy.function)
            if function is None or not self._cuts.takes_part(function, copy, kind):
                continue
            for work in self._of(function, copy, kind):
                yield from self._with_routes(work, kind)

    def _of(self, function: Function, copy: Copy, kind: Kind) -> Iterator[Work]:
        part = self._parts.get(function.name)
        if isinstance(part, FeederPart):
            yield from self._feeder(part, function, copy)
        elif isinstance(part, MoverPart):
            yield Work(copy.name, 1, self._mover(part, function, copy, kind))
        elif function.name == self._design.element.name:
            yield self._element(function, copy, kind)
        else:
            words = self._cuts.words(self._cuts.inner(self._done[function.name][0].loops))
            ports = self._queues.at(copy, "i"), self._queues.at(copy, "o")
            yield Work(copy.name, 1, ((words, *ports),))

    def _element(self, function: Function, copy: Copy, kind: Kind) -> Work:
        sums = self._design.element.sums
        always, starting = self._operands(copy, starts=False), self._operands(copy, starts=True)
        done = self._done[function.name]
        loops = next(one.loops for one in done if isinstance(one.what, Receive))
        summed = {one.loop.name for one in loops if one.loop.reduces}
        inner = self._cuts.inner(loops)
        products = self._cuts.words(one for one in inner if one.name in summed)
        words, block = self._cuts.words(inner), products * sums
        if words % block:
            raise Unaligned(f"{copy.name} ends within a block of sums")
        periods = [kind[name] for name in summed & kind.keys()]
        begins = starting if all(one.first for one in periods) else ((), ())
        ends = self._queues.at(copy, "o") if all(one.last for one in periods) else ()
        # Operations that begin sums, those of neither, those that complete sums.
        operations = [always] * products
        operations[0] = always[0] + begins[0], always[1] + begins[1]
        if self._design.element.overlaps:
            operations[-1] = operations[-1][0], operations[-1][1] + ends
        segments = [(sums * len(list(its)), *ports) for ports, its in groupby(operations)]
        if ends and not self._design.element.overlaps:
            # Complete sums leave when all of them are there.
            segments.append((sums, (), ends))
        return Work(copy.name, words // block, tuple(segments))

    def _operands(self, copy: Copy, *, starts: bool) -> Ports:
        """Queues from which an element takes what sums start from, or what is multiplied, and those
        into which it passes it on."""
        takes: tuple[int, ...] = ()
        puts: tuple[int, ...] = ()
        for operand in self._design.element.operands:
            if operand.starts == starts:
                takes += self._queues.at(copy, f"i_{operand.name}")
                for loop in operand.forwards:
                    puts += self._queues.at(copy, f"o_{operand.name}_{loop}")
        return takes, puts

    def _mover(
        self, part: MoverPart, function: Function, copy: Copy, kind: Kind
    ) -> tuple[Segment, ...]:
        at = self._queues.at
        i, behind, o, onward = (at(copy, port) for port in ("i", "i_behind", "o", "o_onward"))
        loops = self._done[function.name][0].loops
        inner = self._cuts.inner(loops)
        if part.packs:
            return ((self._cuts.words(inner), (*i, *behind), o),)
        own = (i, o)
        other = (behind if part.gathers else i, onward if part.scatters else o)
        turn = next((one for one in loops if one.first is not None), None)
        if turn is None or any(one.turn for one in inner):
            return tuple(self._turns(inner, copy, own, other))
        # Whose turn it is does not change in a period.
        now = kind[self._cuts.plain(turn)].value
        turns = turn_of(turn, named(function, copy.place))
        if now is None or now not in turns:
            return ()
        mine = turns[-1] if count_of(turn).own_last else turns[0]
        return ((self._cuts.words(inner), *(own if now == mine else other)),)

    def _turns(
        self, nest: tuple[Count, ...], copy: Copy, own: Ports, other: Ports
    ) -> Iterator[Segment]:
        """Words of a nest, in each iteration of what is around its turn."""
        place = next((n for n, one in enumerate(nest) if one.turn), None)
        if place is None:
            yield self._cuts.words(nest), *own
            return
        inside = self._cuts.words(nest[place + 1 :])
        turns = [(inside, *own), (copy.ahead * inside, *other)]
        if nest[place].own_last:
            turns.reverse()
        for _ in range(self._cuts.words(nest[:place])):
            yield from (one for one in turns if one[0])

    def _feeder(self, part: FeederPart, function: Function, copy: Copy) -> Iterator[Work]:
        at = self._queues.at
        i, o, onward, free, filled = (
            at(copy, port) for port in ("i", "o", "o_onward", "free", "filled")
        )
        around, *_ = buffer_loops(function)
        blocks = self._cuts.words(self._cuts.inner(around))
        fill = list(self._turns(part.fill, copy, (i, ()), (i, onward)))
        mine = [n for n, one in enumerate(fill) if one[1:] == (i, ())]
        # A block is filled with its last word, before others pass.
        fill.insert(mine[-1] + 1, (1, (), filled))
        fill.insert(mine[0], (1, free, ()))
        yield Work(copy.name, blocks, tuple(fill))
        words = self._cuts.words(part.read)
        yield Work(copy.name, blocks, ((1, filled, ()), (words, (), o), (1, (), free)))

    def _with_routes(self, work: Work, kind: Kind) -> Iterator[Work]:
        """The work, and that of what routes its words."""
        for stem in work.queues:
            if stem not in self._routed:
                continue
            part, copy = self._routed[stem]
            visits = self._visits(part, copy, kind)
            if self._queues.joins(stem):
                work = through(work, stem, visits)
                continue
            ports: Ports = ((_CHOSEN,), (stem,)) if part.joins else ((stem,), (_CHOSEN,))
            words = abs(work.words(stem))
            yield through(Work(copy.name, 1, ((words, *ports),)), _CHOSEN, visits)
        yield work

    def _visits(self, part: RoutePart, copy: Copy, kind: Kind) -> tuple[Visit, ...]:
        """Queues in the order in which a route chooses them in a period."""
        inner = [one for one in part.nest if one.name not in kind]
        chosen = [n for n, one in enumerate(inner) if one.name in part.routed]
        walked = inner[: max(chosen) + 1] if chosen else []
        words = self._cuts.words(inner[len(walked) :])
        found = []
        for at in product(*(range(self._cuts.words((one,))) for one in walked)):
            values = dict(zip((one.name for one in walked), at, strict=True))
            branch = 0
            for name, extent in zip(part.routed, part.extents, strict=True):
                value = kind[name].value if name in kind else values[name]
                assert value is not None
                branch = branch * extent + value
            (queue,) = self._queues.at(copy, "branches", branch)
            found.append((words, queue))
        return tuple(found)
