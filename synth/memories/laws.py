"""The laws of memories: one fitted over macros, one after CACTI, one that counts transistors.

A law says what a macro of some words and bits takes. Where a library has macros of its own in a
folder ``sram``, it is fitted over these. IHP's law is stated here for those who have not the files.
Elsewhere it is a fit over CACTI's figures, scaled to the process.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from .fits import Errors, Fit, Size, fitted, inside
from .macros import Macro

__all__ = ["CACTI", "IHP", "Law", "Pins", "law_of", "scaled", "transistors"]

AREA_TERMS = ("1", "bits", "width", "rows")
ACCESS_TERMS = ("1", "sqrt(rows over 64)")
ENERGY_TERMS = ("1", "bits", "width")


@dataclass(frozen=True)
class Pins:
    """Input pins of a macro: "address", "data" and "enable", and "mask" of a bit.

    Members
    -------
    capacitance: of one, in pF
    setup_ns: at the fastest edge of the data, and what each ns of a slower edge adds to it
    """

    capacitance: dict[str, float]
    setup_ns: dict[str, tuple[float, float]]


@dataclass(frozen=True)
class Law:
    """The cost of a single-port macro, and the composition of two ports and large memories.

    Members
    -------
    kind: "macros", "formula" or "transistors"
    title: in a few words; source: where it is from
    area: in the library's unit; None where transistors are counted
    access_ns, read_pj, write_pj: of an access; energies are None where they are not known
    leakage_nw: of a bit with one port; None where it is not known
    sizes: words and bits of those that it is fitted over
    pins: None for those of the library's flip-flop
    two_ports: area of a macro with two ports, in that of one with one; two_ports_leakage likewise
    macros: those that it is fitted over, if they are at hand
    """

    kind: str
    title: str
    source: str
    area: Fit | None
    access_ns: Fit
    sizes: tuple[Size, ...]
    read_pj: Fit | None = None
    write_pj: Fit | None = None
    leakage_nw: float | None = None
    pins: Pins | None = None
    two_ports: float = 2.0
    two_ports_leakage: float = 1.6
    macros: tuple[Macro, ...] = ()

    @property
    def words(self) -> tuple[int, int]:
        """The least and the most that a macro has."""
        return min(words for words, _ in self.sizes), max(words for words, _ in self.sizes)

    @property
    def width(self) -> tuple[int, int]:
        """The least and the most that a macro has, in bits."""
        return min(width for _, width in self.sizes), max(width for _, width in self.sizes)

    @property
    def bits(self) -> int:
        """The most that a macro has."""
        return max(words * width for words, width in self.sizes)

    def between(self, words: int, width: int) -> bool:
        """Returns whether a size is between those that the law is fitted over: in their convex
        hull, words on a logarithmic scale."""
        return inside(self.sizes, (words, width))

    def formula(self) -> str:
        """The formulas of area and access time."""
        area = f"area {self.area}" if self.area else TRANSISTOR_FORMULA
        return f"{area}; access {self.access_ns} ns"


TWO_PORTS = 2.03
"""IHP's ten dual-port macros (RM_IHPSG13_2P of IHP-Open-PDK, March 2026: 64 x 22 to 1024 x 32) have
1.87 to 2.48 times the area that the formula gives for one port, 2.03 in the median. Their access
times are within 3.6 % of it, so that two ports count as no slower; a read or a write takes as much
energy as in a macro with one port."""

TWO_PORTS_LEAKAGE = 1.61
"""The same macros: 0.01946 nW a bit, with one port 0.01209."""

IHP_SIZES = (
    (64, 64), (256, 48), (256, 64), (512, 64), (1024, 8), (1024, 16), (1024, 64), (2048, 64),
    (4096, 8), (4096, 16),
)  # fmt: skip

IHP = Law(
    kind="macros",
    title="IHP's SRAM macros, 130 nm, stated formula",
    source="least squares over the ten single-port macros of IHP-Open-PDK, typical, 1.2 V, 25 C",
    area=Fit(AREA_TERMS, (-518.071, 3.187076, 573.30899, 74.746722), Errors(0.7, 0.3, 0.9, 0.6)),
    access_ns=Fit(ACCESS_TERMS, (3.076348, 0.09938256), Errors(5.1, 2.9, 5.9, 3.5)),
    read_pj=Fit(ENERGY_TERMS, (5.912774, 7.120994e-4, 0.5034533), Errors(10.8, 5.4, 12.3, 7.2)),
    write_pj=Fit(ENERGY_TERMS, (7.968698, 8.637931e-4, 0.6354715), Errors(5.1, 3.0, 6.4, 4.3)),
    leakage_nw=0.01208591,
    sizes=IHP_SIZES,
    pins=Pins(
        {"address": 0.00721489, "data": 0.00365723, "enable": 0.00309605, "mask": 0.00293842},
        {"address": (-0.3309, 0.82899), "data": (-0.258, 0.8145), "enable": (0.298, 0.8208)},
    ),
    two_ports=TWO_PORTS,
    two_ports_leakage=TWO_PORTS_LEAKAGE,
)
"""Fitted anew by a test that has the macros; the other eight of that PDK, 256 x 8 to 8192 x 32, are
not in it."""

CACTI_FO4 = 0.0090632
"""FO4 in ns that CACTI has for high performance at 45 nm, as FakeRAM2.0 (ABKGroup/FakeRAM2.0,
``utils/class_memory.py``) keeps it from such a run."""

CACTI_CELL = 146 * 0.045**2
"""um2 of CACTI's SRAM cell at 45 nm: 146 squares of the feature size (S. Thoziyoor et al., CACTI
5.1, HP Laboratories, HPL-2008-20)."""

CACTI_SIZES = (
    (32, 64), (64, 32), (64, 62), (64, 64), (64, 96), (64, 124), (64, 256), (128, 32), (128, 64),
    (128, 116), (128, 256), (256, 16), (256, 32), (256, 34), (256, 48), (256, 95), (256, 96),
    (512, 64), (1024, 32), (2048, 39),
)  # fmt: skip

CACTI = Law(
    kind="formula",
    title="fit over CACTI's figures at 45 nm",
    source="least squares over the twenty memories of 2048 bits or more, 32 x 64 to 2048 x 39, "
    "that the Nangate45 platform of OpenROAD-flow-scripts has as fakeram45, made by bsg_fakeram "
    "from CACTI",
    area=Fit(("1", "bits", "width"), (-615.0446, 0.5425515, 32.1849), Errors(51.4, 20.9, 64.6, 27)),
    access_ns=Fit(("1", "sqrt(bits)"), (0.148294, 9.177733e-4), Errors(8.3, 3.9, 9.7, 4.5)),
    sizes=CACTI_SIZES,
    two_ports=TWO_PORTS,
    two_ports_leakage=TWO_PORTS_LEAKAGE,
)

CELLS = {
    "gscl45nm": (CACTI_CELL, "CACTI's cell of 146 F2, 0.296 um2"),
    "sky130": (1.2 * 1.58, "SKY130's single-port cell, 1.2 um x 1.58 um (OpenRAM, bitcells)"),
    "asap7": (
        10 * 0.027 * 2 * 0.054,
        "ASAP7's cell of 10 fin pitches of 27 nm by 2 gate pitches of 54 nm, 0.0292 um2, as in "
        "OpenROAD-flow-scripts' fakeram7",
    ),
}
"""Area in um2 of an SRAM cell, and where it is from, by what the library's name begins with."""

OTHER_CELL = 1 / 3
"""Area of an SRAM cell in those of a two-input NAND, of a library that is not known: 0.16 in
gscl45nm, 0.51 in sky130hd, 0.33 in asap7."""

DATA_BIT, COLUMN, ROW, INPUT = 66, 7, 14, 28
"""Transistors of a macro's periphery for each port. A data bit: sense amplifier 8, write driver 10,
flip-flops at input and output 24 each. A column: precharge 3, multiplexer 4. A row: decoder and
word-line driver 14. An address bit: flip-flop 24, predecoder 4."""

TRANSISTOR_FORMULA = (
    "6 transistors a bit, 2 more with a second port; periphery of each port: "
    f"{DATA_BIT} a data bit, {COLUMN} a column, {ROW} a row, {INPUT} an address bit"
)


def transistors(words: int, width: int, ports: int = 1) -> float:
    """Transistors of a macro, counted; four columns a data bit."""
    rows = -(-words // 4)
    inputs = (words - 1).bit_length() + 2
    periphery = width * (DATA_BIT + 4 * COLUMN) + rows * ROW + inputs * INPUT
    return words * width * (6 + 2 * (ports - 1)) + periphery * ports


def _pins(macros: Sequence[Macro]) -> Pins:
    """The pins of the worst of the macros."""
    kinds = macros[0].setup_ns
    setups = {
        kind: (
            max(macro.setup_ns[kind][0] for macro in macros),
            max((m.setup_ns[kind][1] - m.setup_ns[kind][0]) / m.slowest_ns for m in macros),
        )
        for kind in kinds
    }
    loads = {
        kind: max(macro.capacitance[kind] for macro in macros) for kind in macros[0].capacitance
    }
    return Pins(loads, setups)


def law_of(macros: Sequence[Macro]) -> Law:
    """The law that is fitted over macros. Raises ValueError if they are too few for it."""
    sizes = [(macro.words, macro.width) for macro in macros]

    def fit(terms: Sequence[str], name: str) -> Fit:
        return fitted(terms, sizes, [getattr(macro, name) for macro in macros])

    return Law(
        kind="macros",
        title=f"fit over {len(macros)} SRAM macros of the library",
        source="least squares over the library's own macros",
        area=fit(AREA_TERMS, "area"),
        access_ns=fit(ACCESS_TERMS, "access_ns"),
        read_pj=fit(ENERGY_TERMS, "read_pj"),
        write_pj=fit(ENERGY_TERMS, "write_pj"),
        leakage_nw=fmean(macro.leakage_nw / (macro.words * macro.width) for macro in macros),
        sizes=tuple(sizes),
        pins=_pins(macros),
        two_ports=TWO_PORTS,
        two_ports_leakage=TWO_PORTS_LEAKAGE,
        macros=tuple(macros),
    )


def _times(fit: Fit, factor: float) -> Fit:
    return replace(fit, coefficients=tuple(factor * each for each in fit.coefficients))


def scaled(library: str, fo4_ns: float, nand2: float) -> Law:
    """CACTI's law in the process of a library: areas by the size of an SRAM cell, times by FO4.

    Parameters
    ----------
    library: its name
    fo4_ns: delay of an inverter that drives four
    nand2: area of a two-input NAND
    """
    known = [pair for name, pair in CELLS.items() if library.startswith(name)]
    cell, what = known[0] if known else (OTHER_CELL * nand2, "a cell of a third of a NAND2")
    times = f"times by FO4, {1000 * fo4_ns:.1f} ps for CACTI's {1000 * CACTI_FO4:.1f} ps"
    counted = library.startswith("tilewright_cmos")
    assert CACTI.area is not None
    return replace(
        CACTI,
        kind="transistors" if counted else "formula",
        title="transistors counted; times after CACTI" if counted else CACTI.title,
        source=f"{CACTI.source}; {times}" + ("" if counted else f"; areas by {what}"),
        area=None if counted else _times(CACTI.area, cell / CACTI_CELL),
        access_ns=_times(CACTI.access_ns, fo4_ns / CACTI_FO4),
    )
