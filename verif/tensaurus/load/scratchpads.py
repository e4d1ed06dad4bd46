"""The scratchpads and the rows behind the matrix loader, as it must leave them."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Value
from tilewright.hw.tensaurus.layouts import (
    scalar_write_layout,
    tile_token_layout,
    unit_write_layout,
)

__all__ = ["Operand", "Scratchpads"]


@dataclass(frozen=True)
class Operand:
    """Words that a tile's operand is of: where the first is, and their bits. The last may have
    fewer bits than there are written."""

    scalar: bool
    first: int
    words: tuple[int, ...]
    last_bits: int
    bits: int


class Scratchpads:
    """Holds what is written, takes tokens, and works on each tile for some cycles in each row.

    From its token until the last row is done a tile's operands must be where the token says.

    Parameters
    ----------
    part: a ``MatrixLoader``
    tiles: of each the operands that it must find, by mode
    slow: cycles of a row with a tile, at random up to this
    stall: share of the cycles in which no token is taken
    """

    def __init__(
        self,
        part: Any,
        config: Any,
        tiles: Sequence[dict[int, Operand]],
        *,
        slow: int,
        stall: float,
        seed: Any,
    ) -> None:
        self._part, self._tiles, self._slow, self._stall = part, tiles, slow, stall
        self._random = random.Random(f"rows {seed}")
        self._rows = config.rows
        self._layouts = (unit_write_layout(config), scalar_write_layout(config))
        self._token = tile_token_layout(config)
        self._ready: bool | None = None
        self._pulses = 0
        self._shown: int | None = None
        self.cells: dict[tuple[bool, int, int], int] = {}
        self.writes: list[int] = []
        self.forget()

    def forget(self) -> None:
        """As if nothing had been."""
        self.sides: list[int] = []
        self.told: list[int] = []
        self._due: list[deque[int]] = [deque() for _ in range(self._rows)]
        self._done = [0] * self._rows

    @property
    def done(self) -> bool:
        """Whether all rows are done with all tiles."""
        return self._done == [len(self._tiles)] * self._rows

    def drive(self, sim: Any, cycle: int) -> None:
        ready = self._random.random() >= self._stall
        if ready != self._ready:
            sim.set(self._part.token.ready, int(ready))
            self._ready = ready
        self._pulses = 0
        for row, due in enumerate(self._due):
            if due and due[0] <= cycle:
                due.popleft()
                self._pulses |= 1 << row
        if self._pulses != self._shown:
            sim.set(self._part.row_done, self._pulses)
            self._shown = self._pulses

    def observe(self, sim: Any, cycle: int) -> None:
        for row in range(self._rows):
            if self._pulses >> row & 1:
                # It was all there until now.
                self._look(self._done[row])
                self._done[row] += 1
        self._write(sim, cycle)
        if self._ready and sim.get(self._part.token.valid):
            word = self._token.from_bits(sim.get(Value.cast(self._part.token.payload)))
            self.sides.append(word.sides)
            self.told.append(cycle)
            self._look(len(self.sides) - 1)
            for due in self._due:
                begin = max(cycle, due[-1] if due else 0)
                due.append(begin + self._random.randint(1, self._slow))

    def _write(self, sim: Any, cycle: int) -> None:
        for scalar, port in enumerate((self._part.unit_write, self._part.scalar_write)):
            if sim.get(port.enable):
                write = self._layouts[scalar].from_bits(sim.get(Value.cast(port)))
                self.cells[bool(scalar), write.side, write.address] = write.data
                self.writes.append(cycle)

    def _look(self, number: int) -> None:
        """That a tile's operands are in the scratchpads."""
        sides = self.sides[number]
        for mode, operand in self._tiles[number].items():
            side = sides >> mode - 1 & 1
            for n, word in enumerate(operand.words):
                last = n == len(operand.words) - 1
                mask = (1 << (operand.last_bits if last else operand.bits)) - 1
                got = self.cells[operand.scalar, side, operand.first + n] & mask
                assert got == word, f"tile {number}, mode {mode}, word {n}"
