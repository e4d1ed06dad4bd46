"""Chooses the realisation of a memory in a library and estimates its area, time and energy."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ..library.cells import INVERTER, NAND2, Library
from ..mapping.memories import Shape
from ..timing.analysis import fo4
from .fits import Fit
from .laws import IHP, Law, law_of, scaled, transistors
from .macros import macro_files, read_macros

__all__ = ["Estimate", "estimate", "library_law"]

BANK_FO4 = 2.0
"""Delay of a multiplexer between two banks, in FO4."""


@dataclass(frozen=True)
class Estimate:
    """The cost of a memory.

    Members
    -------
    copies: of the memory, one for each read port where there are several
    banks: of a copy, one after the other; beside: macros of a bank, side by side
    words, width: of each macro
    ports: of each macro, 2, or more where that is extrapolated
    area: of all, in the library's unit
    access_ns: from the clock to read data, at a load of four inverters
    read_pj, write_pj: of an access of all its bits, leakage_nw: of all; None if not known
    extrapolated: what is beyond the macros or the points of the law; empty if nothing is
    """

    copies: int
    banks: int
    beside: int
    words: int
    width: int
    ports: int
    area: float
    access_ns: float
    read_pj: float | None
    write_pj: float | None
    leakage_nw: float | None
    extrapolated: tuple[str, ...]

    @property
    def macros(self) -> int:
        """Number of macros."""
        return self.copies * self.banks * self.beside

    @property
    def realised(self) -> str:
        """The realisation in words."""
        return f"{self.macros} x {self.words} x {self.width}, {self.ports} ports"


@cache
def _fitted(files: tuple[Path, ...], load: float) -> Law:
    return law_of(read_macros(files, load))


def library_law(library: Library) -> Law:
    """The law of a library: fitted over its macros, IHP's as stated, or CACTI's.

    Raises ValueError for macros that cannot be read, or that are too few.
    """
    files = macro_files(library.files)
    inverter = library.smallest(1, INVERTER)
    if files and inverter is not None:
        load = 4 * max(inverter.pins[inverter.inputs[0]].capacitance)
        return _fitted(tuple(files), load)
    if library.name.startswith("sg13g2"):
        return IHP
    nand2 = library.smallest(2, NAND2)
    return scaled(library.name, fo4(library)[0], nand2.area if nand2 else 1.0)


def _tiles(law: Law, shape: Shape) -> tuple[int, int, int, int]:
    """Banks, macros side by side in each, words and width of a macro."""
    # Macros come as they are, a formula has no least.
    fewest, narrowest = (law.words[0], law.width[0]) if law.kind == "macros" else (1, 1)
    banks = -(-shape.words // law.words[1])
    words = max(-(-shape.words // banks), fewest)
    widest = max(min(law.width[1], law.bits // words), 1)
    beside = -(-shape.width // widest)
    return banks, beside, words, max(-(-shape.width // beside), narrowest)


def _area(law: Law, words: int, width: int, ports: int) -> float:
    if law.area is None:
        return transistors(words, width, ports)
    return law.area.at(words, width) * (1 + (law.two_ports - 1) * (ports - 1))


def estimate(shape: Shape, law: Law, fo4_ns: float) -> Estimate:
    """Realise a memory by macros of a law.

    Few words or bits fill a part of the smallest macro. Wide words lie in several macros side by
    side, many words in several banks. A memory with one write port and several read ports is kept
    once for each of these. A copy has two ports, one to read and one to write.
    """
    banks, beside, words, width = _tiles(law, shape)
    beyond = []
    if banks > 1:
        beyond.append(f"more than {law.words[1]} words")
    copies, ports = (shape.reads, 2) if shape.writes == 1 else (1, shape.reads + shape.writes)
    if not law.between(words, width):
        beyond.append(f"{words} x {width} is not between them")
    if ports > 2:
        beyond.append(f"{ports} ports")
    macros = copies * banks * beside
    leakage = None
    if law.leakage_nw is not None:
        leakage = law.leakage_nw * words * width * macros
        leakage *= 1 + (law.two_ports_leakage - 1) * (ports - 1)

    def energy(fit: Fit | None, times: int) -> float | None:
        return None if fit is None else times * fit.at(words, width)

    return Estimate(
        copies=copies,
        banks=banks,
        beside=beside,
        words=words,
        width=width,
        ports=ports,
        area=macros * _area(law, words, width, ports),
        access_ns=law.access_ns.at(words, width) + BANK_FO4 * fo4_ns * math.ceil(math.log2(banks)),
        read_pj=energy(law.read_pj, beside),
        write_pj=energy(law.write_pj, copies * beside),
        leakage_nw=leakage,
        extrapolated=tuple(beyond),
    )
