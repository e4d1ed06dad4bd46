"""The texts by name, and where they say that the Verilog is."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...spec.host.outputs import is_stream
from .c.header import header
from .core import core
from .filelist import filelist
from .ip_xact.component import ip_xact
from .rdl import rdl

__all__ = ["OUTPUTS", "Output", "integration_text"]


@dataclass(frozen=True, kw_only=True)
class Output:
    """A text that is made of a sidecar.

    Parameters
    ----------
    suffix: what its file's name ends in
    write: from the sidecar and the path of the Verilog, as seen from the file's folder
    names_verilog: whether the path stands in it
    needs_registers: whether it is of units with registers only
    """

    suffix: str
    write: Callable[[Mapping[str, Any], str], str]
    names_verilog: bool = False
    needs_registers: bool = False


OUTPUTS: dict[str, Output] = {
    "header": Output(suffix=".h", write=lambda sidecar, _: header(sidecar)),
    "rdl": Output(suffix=".rdl", write=lambda sidecar, _: rdl(sidecar), needs_registers=True),
    "ipxact": Output(suffix=".xml", write=ip_xact, names_verilog=True),
    "core": Output(suffix=".core", write=core, names_verilog=True),
    "filelist": Output(suffix=".f", write=filelist, names_verilog=True),
}
"""The texts by name."""


def _folder(path: Path) -> Path:
    """The folder from which relative paths in a file lead; of a device the current one."""
    return Path.cwd() if is_stream(path) else Path(os.path.realpath(path.parent))


def integration_text(name: str, sidecar: Mapping[str, Any], path: Path, verilog: Path) -> str:
    """One of the texts.

    Parameters
    ----------
    name: a key of ``OUTPUTS``
    path: the file that it is for
    verilog: the file with the Verilog

    Raises
    ------
    KeyError for another name; ValueError for what the text cannot be made of.
    """
    place = Path(os.path.realpath(verilog.parent)) / verilog.name
    seen = Path(os.path.relpath(place, _folder(path))).as_posix()
    return OUTPUTS[name].write(sidecar, seen)
