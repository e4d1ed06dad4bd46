"""SRAM macros, read from their Liberty files."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ..library.liberty import liberty_content
from ..library.liberty_text import Group, parse_liberty, units

__all__ = ["Macro", "macro_files", "read_macro", "read_macros"]

SUFFIXES = (".lib", ".lib.gz")

FOLDER = "sram"
"""Folder beside the cells of a library that has its macros."""


@dataclass(frozen=True)
class Macro:
    """A single-port SRAM macro.

    Members
    -------
    words, width: of its array, in bits
    area: in the library's unit
    access_ns: from the clock to read data, for the fastest clock edge, at the load asked for
    setup_ns: of the pins "address", "data" and "enable": at the fastest edge of clock and data, and
        the same at the slowest edge of the data; the later of rising and falling
    slowest_ns: that slowest edge
    capacitance: of one pin of "address", "data", "enable" and "mask" in pF
    read_pj, write_pj: energy of an access
    leakage_nw: in all
    """

    words: int
    width: int
    area: float
    access_ns: float
    setup_ns: dict[str, tuple[float, float]]
    slowest_ns: float
    capacitance: dict[str, float]
    read_pj: float
    write_pj: float
    leakage_nw: float


def _values(group: Group) -> npt.NDArray[np.float64]:
    rows = len(group.numbers("index_1")) or 1
    return np.array(group.numbers("values")).reshape(rows, -1)


def _timing(pin: Group, kind: str) -> Group:
    for timing in pin.named("timing"):
        if timing.attributes.get("timing_type", "").split()[:1] == [kind]:
            return timing
    raise ValueError(f"pin {pin.arguments[0]} has no timing {kind}")


def _access(pin: Group, load: float) -> float:
    """The later of rising and falling, for the fastest clock edge."""
    found = []
    for group in _timing(pin, "rising_edge").groups:
        if group.name in ("cell_rise", "cell_fall"):
            found.append(float(np.interp(load, group.numbers("index_2"), _values(group)[0])))
    return max(found)


def _setup(pin: Group) -> tuple[float, float, float]:
    """Setup time for the fastest and for the slowest data edge, and that edge."""
    groups = _timing(pin, "setup_rising").groups
    tables = [group for group in groups if group.name in ("rise_constraint", "fall_constraint")]
    rows = [_values(table)[0] for table in tables]
    slowest = max(tables[0].numbers("index_2"))
    return float(max(row[0] for row in rows)), float(max(row[-1] for row in rows)), slowest


def _energy(clock: Group, wanted: str) -> float:
    """Energy of a rising clock edge under a condition, in the unit of the file."""
    for power in clock.named("internal_power"):
        if "".join(power.attributes.get("when", "").split()) == wanted:
            return next(power.named("rise_power")).numbers("values")[0]
    raise ValueError(f"pin {clock.arguments[0]} has no power when {wanted}")


def _macro(library: Group, load: float) -> Macro:
    time, farads = units(library)
    cell = next(library.named("cell"))
    pins = {group.arguments[0]: group for group in cell.groups if group.name in ("pin", "bus")}
    memory = next(cell.named("memory"))
    words = 1 << int(memory.attributes["address_width"])
    width = int(memory.attributes["word_width"])
    named = {"address": "A_ADDR", "data": "A_DIN", "enable": "A_MEN", "mask": "A_BM"}
    setups = {kind: _setup(pins[pin]) for kind, pin in named.items() if kind != "mask"}
    clock = pins["A_CLK"]
    return Macro(
        words=words,
        width=width,
        area=float(cell.attributes["area"]),
        access_ns=_access(pins["A_DOUT"], load / farads) * time,
        setup_ns={kind: (fast * time, slow * time) for kind, (fast, slow, _) in setups.items()},
        slowest_ns=max(slew for _, _, slew in setups.values()) * time,
        capacitance={
            kind: float(pins[pin].attributes["capacitance"]) * farads for kind, pin in named.items()
        },
        read_pj=_energy(clock, "A_MEN&!A_WEN&A_REN"),
        write_pj=_energy(clock, "A_MEN&A_WEN&!A_REN"),
        leakage_nw=float(cell.attributes["cell_leakage_power"]),
    )


def read_macro(path: Path, load: float) -> Macro:
    """The macro of a Liberty file, gzipped or not, with the pins of IHP's (``A_CLK``, ``A_ADDR``,
    ``A_DIN``, ``A_DOUT``, ``A_MEN``, ``A_WEN``, ``A_REN``, ``A_BM``).

    ``load``: at read data, in pF. Raises ValueError that names the file.
    """
    text = liberty_content(path).decode("utf-8", errors="replace")
    try:
        return _macro(parse_liberty(text), load)
    except (ValueError, KeyError, IndexError, StopIteration) as error:
        raise ValueError(f"liberty file {path} is not a usable SRAM macro: {error}") from None


def macro_files(library: Iterable[Path]) -> list[Path]:
    """The macros beside the files of a library, in a folder ``sram``."""
    folders = {path.parent / FOLDER for path in library}
    found = [path for folder in folders if folder.is_dir() for path in folder.iterdir()]
    return sorted(path for path in found if path.name.endswith(SUFFIXES))


def read_macros(files: Iterable[Path], load: float) -> list[Macro]:
    """The single-port macros of these files, the fewest words first; see ``read_macro``."""
    single = [path for path in files if not re.search(r"_2P_", path.name)]
    macros = [read_macro(path, load) for path in single]
    return sorted(macros, key=lambda macro: (macro.words, macro.width))
