"""Python file and line of the modules of a design and of their signals."""

from __future__ import annotations

import inspect
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from amaranth.hdl._ir import Design

__all__ = ["ModuleSource", "signal_lines"]

_PACKAGE = Path(__file__).parents[2]
_BELOW = f"{_PACKAGE}{os.sep}"


@dataclass(frozen=True)
class ModuleSource:
    """Where a module is written.

    Parameters
    ----------
    component: class of its component
    signals: file and line of its signals by their names in the Verilog; without those that another
        package makes
    """

    component: type
    signals: Mapping[str, str]

    def line(self, signal: str = "") -> str:
        """File and line of a signal, or else of the component's class, as
        ``hw/simd2/control.py:55``; empty where the class has no file."""
        if signal in self.signals:
            return self.signals[signal]
        try:
            _, line = inspect.getsourcelines(self.component)
        except (OSError, TypeError):
            return ""
        return f"{_file_of(self.component)}:{line}"


def _file_of(component: type) -> str:
    """The file of a class below the package, or of another package with the package's name."""
    words = component.__module__.split(".")
    folders = words[1:] if words[0] == _PACKAGE.name else words
    return f"{'/'.join(folders)}.py"


def signal_lines(design: Design) -> dict[str, str]:
    """File and line of the signals of an elaborated component that the package makes; of two with
    one name those of the outer one."""
    found: dict[str, str] = {}
    for info in design.fragments.values():
        for signal, name in info.signal_names.items():
            file, line = signal.src_loc
            if name not in found and file.startswith(_BELOW):
                found[name] = f"{file.removeprefix(_BELOW).replace(os.sep, '/')}:{line}"
    return found
