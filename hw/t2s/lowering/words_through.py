"""Words through a network of functions, counted, not looked at: who waits for whom."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, repeat

from .periods import Period
from .queues import Queues
from .transfers import Work

__all__ = ["Stopped", "run"]


class Stopped(RuntimeError):
    """Raised when all processes wait for each other.

    Members
    -------
    full: channels that had no room for what somebody would put there
    """

    def __init__(self, message: str, full: frozenset[str]) -> None:
        super().__init__(message)
        self.full = full


class _Process:
    """Work in progress: its current segment, and the words left in it; 0 at the end."""

    def __init__(self, work: Work) -> None:
        self.name = work.name
        self._segments = chain.from_iterable(repeat(work.segments, work.times))
        self.left, self.takes, self.puts = next(self._segments)

    def moved(self, words: int) -> None:
        self.left -= words
        if not self.left:
            self.left, self.takes, self.puts = next(self._segments, (0, (), ()))


def run(period: Period, queues: Queues, rooms: Sequence[int]) -> None:
    """Runs all work until it ends. Raises Stopped.

    Whether they end does not depend on who goes first. So those that wait for each other's single
    words, as neighbours with a register between them do, go on together.
    """
    _Run(period, queues, rooms).until_all_end()


class _Run:
    def __init__(self, period: Period, queues: Queues, rooms: Sequence[int]) -> None:
        self._queues, self._room = queues, rooms
        levels, works = period
        self._level = list(levels)
        self._processes = [_Process(one) for one in works]
        self._source: dict[int, int] = {}
        self._sink: dict[int, int] = {}
        for number, work in enumerate(works):
            for _, takes, puts in work.segments:
                self._sink.update(dict.fromkeys(takes, number))
                self._source.update(dict.fromkeys(puts, number))

    def until_all_end(self) -> None:
        """Moves words until all work ends.

        Processes that can end a segment go first; then several together; one word alone at last.
        """
        ready = dict.fromkeys(range(len(self._processes)))
        later: dict[int, None] = {}
        alone: dict[int, None] = {}
        while ready or later or alone:
            queue = ready or later or alone
            number = next(iter(queue))
            del queue[number]
            process = self._processes[number]
            words, those = self._words(process), {number}
            if queue is ready and words < process.left:
                later[number] = None
                continue
            if queue is later:
                if words:
                    alone[number] = None
                words, those = self._together(number)
            if words:
                ready |= dict.fromkeys(self._move(words, those))
        if any(one.left for one in self._processes):
            raise self._stopped()

    def _words(self, process: _Process) -> int:
        """Returns how many words a process can move alone."""
        level, room = self._level, self._room
        return min((
            process.left,
            *(level[queue] for queue in process.takes),
            *(room[queue] - level[queue] for queue in process.puts),
        ))  # fmt: skip

    def _move(self, words: int, numbers: set[int]) -> set[int]:
        """Moves a number of words through some processes."""
        level = self._level
        woken = set(numbers)
        for number in numbers:
            process = self._processes[number]
            for queue in process.takes:
                level[queue] -= words
                if queue in self._source:
                    woken.add(self._source[queue])
            for queue in process.puts:
                level[queue] += words
                if queue in self._sink:
                    woken.add(self._sink[queue])
            process.moved(words)
        return woken

    def _together(self, first: int) -> tuple[int, set[int]]:
        """Returns how many words a process can move with others, one word each in turn, or 0.

        Where a queue has too few words, or too few free places, the process at its other end moves
        along. Returns the processes that move, too.

        Where a queue has too few words, or too little room, what is at its other end has to go on
        as well.
        """
        processes, level, room = self._processes, self._level, self._room
        words = processes[first].left
        members, found = {first}, [first]
        for number in found:  # It grows.
            process = processes[number]
            words = min(words, process.left)
            for queue in process.takes:
                if level[queue] < words:
                    other = self._source.get(queue, -1)
                    if other < 0 or queue not in processes[other].puts:
                        words = level[queue]
                    elif other not in members:
                        members.add(other)
                        found.append(other)
            for queue in process.puts:
                if room[queue] - level[queue] < words:
                    other = self._sink.get(queue, -1)
                    if other < 0 or queue not in processes[other].takes:
                        words = room[queue] - level[queue]
                    elif other not in members:
                        members.add(other)
                        found.append(other)
            if not words:
                return 0, members
        return self._between(members, words), members

    def _between(self, members: set[int], words: int) -> int:
        """Words that these can move if queues between them stay as they are."""
        level, room = self._level, self._room
        # A word comes before it is taken from an empty queue, and leaves before one is put into a
        # full one.
        after: dict[int, list[int]] = {one: [] for one in members}
        waits = dict.fromkeys(members, 0)
        for number in members:
            for queue in self._processes[number].takes:
                source = self._source.get(queue, -1)
                if source not in members or queue not in self._processes[source].puts:
                    words = min(words, level[queue])
                elif not level[queue]:
                    after[source].append(number)
                    waits[number] += 1
                elif level[queue] == room[queue]:
                    after[number].append(source)
                    waits[source] += 1
            for queue in self._processes[number].puts:
                sink = self._sink.get(queue, -1)
                if sink not in members or queue not in self._processes[sink].takes:
                    words = min(words, room[queue] - level[queue])
        free = [one for one in members if not waits[one]]
        for one in free:  # It grows.
            for other in after[one]:
                waits[other] -= 1
                if not waits[other]:
                    free.append(other)
        return words if len(free) == len(members) else 0

    def _stopped(self) -> Stopped:
        level, room, names = self._level, self._room, self._queues.names
        full, waiting = set(), []
        for one in self._processes:
            if not one.left:
                continue
            stuck = {names[n] for n in one.puts if level[n] >= room[n]}
            empty = {names[n] for n in one.takes if not level[n]}
            reasons = [*(f"{n} is full" for n in stuck), *(f"{n} is empty" for n in empty)]
            waiting.append(f"{one.name} waits, {', '.join(sorted(reasons))}")
            full |= stuck
        told = "; ".join(waiting[:8]) + (f"; and {len(waiting) - 8} more" if waiting[8:] else "")
        return Stopped(told, frozenset(full))
