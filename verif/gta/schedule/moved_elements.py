"""The array's elements moved register by register, with names in place of numbers.

Written from the description of an element alone: two operand registers, one that is held, a sum
and one that drains, if there is one; controls that travel right. Nothing here knows a formula of
cycles.
"""

from __future__ import annotations

from itertools import product
from typing import NamedTuple


class Seen(NamedTuple):
    """Result of an observation: whether all products, or sums, were right; the cycles to the last
    product and to the last sum that left. The first cycle counts as one."""

    right: bool
    products: int
    sums: int


def weight_stationary(rows: int, cols: int, time: int, begins: list[int]) -> Seen:
    """Simulates folds that start in the cycles ``begins``. Weights move down in ``rows`` cycles,
    the last row's first, and row r takes part from the r-th cycle on; then x follow. If all rows
    took part from the first cycle, the previous fold would lose weights of rows that x has not
    reached."""
    y: list[list[object]] = [[None] * cols for _ in range(rows)]
    held: list[list[object]] = [[None] * cols for _ in range(rows)]
    last = begins[-1] + time + 2 * rows + cols
    right, products, done = True, 0, 0
    for cycle in range(last + 1):
        for r in range(rows):
            for c in range(cols):
                active = 0
                for fold, begin in enumerate(begins):
                    step = cycle - begin - rows - r - c
                    if step == 0:
                        held[r][c] = y[r][c]
                    if 0 <= step < time:
                        right = right and held[r][c] == (fold, r, c)
                        products, active, done = cycle + 1, active + 1, done + 1
                right = right and active <= 1
        for c in range(cols):
            for fold, begin in enumerate(begins):
                step = cycle - c - begin
                if 0 <= step < rows:
                    for r in range(step, 0, -1):
                        y[r][c] = y[r - 1][c]
                    y[0][c] = (fold, rows - 1 - step, c)
    return Seen(right and done == rows * cols * time * len(begins), products, products)


def moved_aside(rows: int, cols: int, time: int, begins: list[int], close: int) -> Seen:
    """Folds that begin in the cycles ``begins``, and a closing operand in ``close``.

    What begins moves the sum before it aside; when it has done so in the last row of a column, a
    sum leaves it in each cycle, and row r takes from the row above in the first r of these: were it
    all of them, the next fold's sum would be lost in row 0.
    """
    total: list[list[object]] = [[None] * cols for _ in range(rows)]
    count = [[0] * cols for _ in range(rows)]
    drain: list[list[object]] = [[None] * cols for _ in range(rows)]
    starts = [*begins, close]
    left: list[list[object]] = [[] for _ in range(cols)]
    right, products, sums = True, 0, 0
    for cycle in range(close + 3 * rows + cols + 2):
        for c in range(cols):
            for begin in starts[1:]:
                step = cycle - begin - rows - c
                if 0 <= step < rows:
                    left[c].append(drain[rows - 1][c])
                    sums = cycle + 1
                    for r in range(rows - 1, step, -1):
                        drain[r][c] = drain[r - 1][c]
        for r in range(rows):
            for c in range(cols):
                active = 0
                for fold, begin in enumerate(starts):
                    step = cycle - begin - r - c
                    if step == 0:
                        if fold:
                            right = right and count[r][c] == time
                            drain[r][c] = total[r][c]
                        total[r][c], count[r][c] = (fold, r, c), 0
                    if 0 <= step < time and fold < len(begins):
                        count[r][c] += 1
                        products, active = cycle + 1, active + 1
                right = right and active <= 1
    for c in range(cols):
        expected = [(fold, r, c) for fold in range(len(begins)) for r in range(rows - 1, -1, -1)]
        right = right and left[c] == expected
    return Seen(right, products, sums)


def moved_down(rows: int, cols: int, time: int, begins: list[int], close: int) -> Seen:
    """The same without a register for sums that drain: from the cycle on in which row 0 begins
    another fold, row r takes the sum above it for r cycles, and a sum leaves each column."""
    total: list[list[object]] = [[None] * cols for _ in range(rows)]
    count = [[0] * cols for _ in range(rows)]
    starts = [*begins, close]
    left: list[list[object]] = [[] for _ in range(cols)]
    right, products, sums = True, 0, 0
    for cycle in range(close + 2 * rows + cols + 2):
        before, counted = [[*row] for row in total], [[*row] for row in count]
        for r, c in product(range(rows), range(cols)):
            for fold, begin in enumerate(starts):
                step = cycle - begin - r - c
                if fold and -r <= step < 0:
                    total[r][c], count[r][c] = before[r - 1][c], counted[r - 1][c]
                if fold and 0 <= cycle - begin - c < rows and r == rows - 1:
                    right = right and counted[r][c] == time
                    left[c].append(before[r][c])
                    sums = cycle + 1
                if step == 0:
                    total[r][c], count[r][c] = (fold, r, c), 0
                if 0 <= step < time and fold < len(begins):
                    right = right and total[r][c] == (fold, r, c)
                    count[r][c] += 1
                    products = cycle + 1
    for c in range(cols):
        expected = [(fold, r, c) for fold in range(len(begins)) for r in range(rows - 1, -1, -1)]
        right = right and left[c] == expected
    return Seen(right, products, sums)
