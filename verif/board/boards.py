"""Simulated boards for tests, and lines that lose and change bytes."""

from __future__ import annotations

import os
import threading
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
from tilewright.hw.board.board_top import BoardTop
from tilewright.hw.emit.unit import Emitted, emit_component
from tilewright.hw.spec.sdram import Sdram
from tilewright.hw.spec.unit import Unit
from tilewright.sim.rtl.sdram_chip import PARTS, WithChip, with_chip
from tilewright.sim.rtl.serial_board import SerialBoard, serve
from tilewright.verif.catalogue.toy.spec import TOY_ADDER, ToyAdderConfig

DIVISOR = 4
MEMORY = 1 << 16
TOY = ToyAdderConfig(outstanding=2)


@cache
def emitted(unit: Unit, config: Any, divisor: int = DIVISOR) -> Emitted:
    """The Verilog of a board."""
    top = BoardTop(unit, config, memory_bytes=MEMORY, divisor=divisor)
    return emit_component(top, name="board")


@cache
def with_sdram(unit: Unit, config: Any, chip: Sdram, part: str) -> WithChip:
    """The Verilog of a board with an SDRAM, and the model of a part behind its pins."""
    top = BoardTop(unit, config, sdram=chip, divisor=DIVISOR)
    emitted = emit_component(top, name="board")
    return with_chip(emitted, PARTS[part], mhz=chip.mhz, phase=chip.clock_phase)


def toy_board(**settings: Any) -> SerialBoard:
    """A board with the toy adder."""
    return SerialBoard(emitted(TOY_ADDER, TOY), divisor=DIVISOR, **settings)


@contextmanager
def behind_a_terminal(board: SerialBoard) -> Iterator[str]:
    """Name of a pseudo-terminal that a board is served behind, by another thread."""
    ours, theirs = os.openpty()
    tty.setraw(theirs)
    stop = threading.Event()
    server = threading.Thread(target=serve, args=(board, ours, stop.is_set))
    server.start()
    try:
        yield os.ttyname(theirs)
    finally:
        stop.set()
        server.join()
        for file in (ours, theirs):
            os.close(file)


class Noise:
    """Loses, changes and adds bytes, one in 2,000; repeatable by its seed."""

    def __init__(self, seed: int, rate: float = 0.0005) -> None:
        self._rng, self._rate = np.random.default_rng(seed), rate

    def __call__(self, content: bytes) -> bytes:
        found = bytearray()
        for value in content:
            if self._rng.random() < self._rate:
                kind = self._rng.integers(3)
                if kind == 0:
                    continue
                if kind == 1:
                    found.append(int(self._rng.integers(256)))
                else:
                    value ^= 1 << int(self._rng.integers(8))
            found.append(value)
        return bytes(found)
