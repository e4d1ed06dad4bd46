"""The texts by name, and where they say that the SystemVerilog is."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...spec.host.outputs import is_stream
from .c.header import header
from .core import core, filelist, template
from .ip_xact_component import ip_xact
from .litex import litex
from .package import package
from .rdl import rdl

__all__ = ["OUTPUTS", "Output", "files_to_read", "integration_text"]


@dataclass(frozen=True, kw_only=True)
class Output:
    """A text that is made of a sidecar.

    Parameters
    ----------
    suffix: what its file's name ends in
    write: from the sidecar and the paths of the SystemVerilog in the order in which it is read, as
        seen from the file's folder
    names_verilog: whether these paths stand in it
    needs_registers: whether it is of units with registers only
    """

    suffix: str
    write: Callable[[Mapping[str, Any], Sequence[str]], str]
    names_verilog: bool = False
    needs_registers: bool = False


OUTPUTS: dict[str, Output] = {
    "package": Output(suffix=".sv", write=lambda sidecar, _: package(sidecar)),
    "template": Output(suffix=".svh", write=lambda sidecar, _: template(sidecar)),
    "header": Output(suffix=".h", write=lambda sidecar, _: header(sidecar)),
    "rdl": Output(suffix=".rdl", write=lambda sidecar, _: rdl(sidecar), needs_registers=True),
    "ipxact": Output(suffix=".xml", write=ip_xact, names_verilog=True),
    "core": Output(suffix=".core", write=core, names_verilog=True),
    "filelist": Output(suffix=".f", write=filelist, names_verilog=True),
    "litex": Output(suffix=".py", write=litex, names_verilog=True, needs_registers=True),
}
"""The texts by name."""


def _folder(path: Path) -> Path:
    """The folder from which relative paths in a file lead; of a device the current one."""
    return Path.cwd() if is_stream(path) else Path(os.path.realpath(path.parent))


def _seen(file: Path, path: Path) -> str:
    """A file's path from the folder of another one."""
    place = Path(os.path.realpath(file.parent)) / file.name
    return Path(os.path.relpath(place, _folder(path))).as_posix()


def files_to_read(wanted: Mapping[str, Path], verilog: Path) -> list[Path]:
    """The SystemVerilog in the order in which tools read it: the package, if it is a file that is
    ``wanted`` by name, and the modules."""
    packages = [wanted["package"]] if "package" in wanted else []
    return [*(file for file in packages if not is_stream(file)), verilog]


def integration_text(
    name: str, sidecar: Mapping[str, Any], path: Path, files: Sequence[Path]
) -> str:
    """One of the texts.

    Parameters
    ----------
    name: a key of ``OUTPUTS``
    path: the file that it is for
    files: the SystemVerilog, see `files_to_read`

    Raises
    ------
    KeyError for another name; ValueError for what the text cannot be made of.
    """
    return OUTPUTS[name].write(sidecar, [_seen(file, path) for file in files])
