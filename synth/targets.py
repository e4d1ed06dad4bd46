"""The targets of synthesis, and the files of those that are cell libraries."""

from __future__ import annotations

import os
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from tilewright.hw.spec.host.words import not_one_of

from .cells import library_text
from .fpga import FAMILIES
from .library.cells import INVERTER, NAND2, Library
from .library.liberty import load_library, read_library

__all__ = ["KNOWN", "target_library"]

KNOWN = ("asap7", "gscl45nm", "sg13g2", "sky130hd")
"""Names of known libraries: each is a folder of that name, or a file, below the liberty path."""

PATH_VARIABLE = "TILEWRIGHT_LIBERTY"

AVOIDED = ("*xp*_ASAP7_75t_*", "sky130_fd_sc_hd__probe*", "sky130_fd_sc_hd__lpflow_*")
"""Patterns of cells that the open flows of ASAP7 and SKY130 do not use: weak drives that are hard
to route, probes and cells for switched supplies."""

SUFFIXES = (".lib", ".lib.gz")


def target_library(
    target: str,
    dont_use: Sequence[str] = (),
    liberty_path: str | os.PathLike[str] | None = None,
) -> Library | None:
    """The cell library of a target; None for a field-programmable gate array.

    Parameters
    ----------
    target: ``cmos``, ``liberty:`` with Liberty files and folders of such, separated by commas, a
        known library's name, or an FPGA
    dont_use: patterns of names of cells that are not used, beside those of ``AVOIDED``
    liberty_path: folder of the known libraries; by default that of ``TILEWRIGHT_LIBERTY``

    Raises ValueError for an unknown target, for files that are not a usable library, and for a
    pattern that fits no cell.
    """
    kind, _, files = target.partition(":")
    if target == "cmos":
        library = load_library(library_text(), tuple(dont_use))
    elif kind == "liberty" and files:
        library = read_library(*_files(files), dont_use=(*AVOIDED, *dont_use))
        _require_usable(library, files)
    elif target in KNOWN:
        found = _known(target, liberty_path)
        library = read_library(*_files(str(found)), dont_use=(*AVOIDED, *dont_use))
        _require_usable(library, str(found))
    elif target in FAMILIES:
        if dont_use:
            raise ValueError(f"cells to avoid are of cell libraries: no --dont-use for {target}")
        return None
    else:
        allowed = ["cmos", "liberty:FILE", *KNOWN, *FAMILIES]
        raise ValueError(not_one_of("`target`", allowed, target))
    for pattern in dont_use:
        if not any(fnmatchcase(name, pattern) for name in library.cells):
            raise ValueError(f"cells to avoid must be in library {library.name}, not {pattern!r}")
    return library


def _files(named: str) -> list[Path]:
    """The files of a library: those named, and those in folders that are named."""
    found: list[Path] = []
    for name in [named] if Path(named).exists() else named.split(","):
        path = Path(name)
        if not path.is_dir():
            found.append(path)
            continue
        inside = sorted(file for file in path.iterdir() if file.name.endswith(SUFFIXES))
        if not inside:
            raise ValueError(f"liberty file {path} cannot be read: it has no .lib or .lib.gz")
        found += inside
    return found


def _known(name: str, liberty_path: str | os.PathLike[str] | None) -> Path:
    """The folder or the file of a known library."""
    above = liberty_path or os.environ.get(PATH_VARIABLE)
    if not above:
        raise ValueError(
            f"target {name} needs its Liberty files: give their folder by --liberty-path or "
            f"{PATH_VARIABLE}"
        )
    for path in (Path(above) / f"{name}{suffix}" for suffix in ("", *SUFFIXES)):
        if path.exists():
            return path
    names = f"{name}, {name}.lib or {name}.lib.gz"
    raise ValueError(f"liberty path {os.fspath(above)} must have {names}")


def _require_usable(library: Library, files: str) -> None:
    for name, found in (
        ("an inverter", library.smallest(1, INVERTER)),
        ("a two-input NAND", library.smallest(2, NAND2)),
        ("a flip-flop", any(c.sequential and c.arcs for c in library.cells.values())),
    ):
        if not found:
            raise ValueError(f"liberty file {files} is not a usable library: it lacks {name}")
