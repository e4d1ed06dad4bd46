"""Panels of a matrix by rows, and the transfers that they are read as."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from typing import Any

from tilewright.hw.sida.held.layouts import reload_layout
from tilewright.hw.spec.sida import SidaConfig
from tilewright.verif.sida.load.matrices import Element, Matrix

Asked = tuple[int, int]
"""A panel, and below which column."""


def asked_of(matrix: Matrix, rng: random.Random, count: int) -> list[Asked]:
    """Draws panels, each up to any column or whole."""
    panels = -(-matrix.size // matrix.config.subtensor)
    return [
        (rng.randrange(panels), rng.choice([matrix.size, rng.randint(1, matrix.size)]))
        for _ in range(count)
    ]


def panel_elements(matrix: Matrix, panel: int, columns: int) -> list[Element]:
    """Returns row, column and value of a panel's elements in columns below ``columns``; ``matrix``
    calls its rows columns."""
    step = matrix.config.subtensor
    return [x for x in matrix.elements if x[0] // step == panel and x[1] < columns]


def read_panels(config: SidaConfig, words: Sequence[int]) -> list[list[Element]]:
    """Returns the elements of the transfers that were sent, by panel, and checks each transfer
    against ``reload_layout``. The last panel need not be complete."""
    layout, pes = reload_layout(config), config.pes
    found: list[list[Element]] = [[]]
    for number, word in enumerate(words):
        sent: Any = layout.from_bits(word)
        leaves = [n for n in range(pes) if sent.elements[n].valid]
        assert leaves or sent.last, f"transfer {number} is empty"
        mine = [
            (sent.row + sent.elements[n].offset, sent.elements[n].column, sent.elements[n].value)
            for n in leaves
        ]
        assert sent.row % pes == 0
        assert all(one[:2] < other[:2] for one, other in itertools.pairwise(mine))
        found[-1] += mine
        if sent.last:
            found.append([])
    return found
