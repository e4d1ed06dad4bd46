"""Verilog from Python."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..hw.spec.config import Config
from .units import configured, entry_named

__all__ = ["Generated", "generate"]


@dataclass(frozen=True, kw_only=True)
class Generated:
    """A unit as SystemVerilog.

    Parameters
    ----------
    unit: its name in the catalogue
    name: the name of its top module, with which those of all other modules and types begin
    config: what it was generated for
    verilog: SystemVerilog, all modules
    sidecar: what other tools need to know of it, see ``docs/sidecar.md``
    """

    unit: str
    name: str
    config: Config
    verilog: str
    sidecar: dict[str, Any]

    def write(self, path: str | os.PathLike[str], **others: str | os.PathLike[str]) -> Path | None:
        """Write the modules to ``path`` and the sidecar beside it, as ``.json``; returns the
        latter's path.

        ``others`` are files for what other tools read, by the names that the command line has for
        them: ``package``, ``template``, ``header``, ``rdl``, ``ipxact``, ``core``, ``filelist``.
        All files appear whole, or none. A device or a pipe has nothing beside it: then no sidecar
        is written, and the result is None. Raises OSError if a file cannot be written; ValueError
        if ``path`` itself ends in ``.json``, two texts would be in one file or the unit has not
        what is asked for; TypeError for another name.
        """
        from ..hw.emit.integration.outputs import OUTPUTS, files_to_read, integration_text
        from ..hw.emit.unit import Emitted, write

        wanted, texts = {name: Path(place) for name, place in others.items()}, {}
        files = files_to_read(wanted, Path(path))
        for name, place in wanted.items():
            if name not in OUTPUTS:
                raise TypeError(f"`write` takes {', '.join(OUTPUTS)}, not {name!r}")
            if place in texts:
                raise ValueError(f"each text must have its own file, not two {str(place)!r}")
            texts[place] = integration_text(name, self.sidecar, place, files)
        return write(Emitted(self.verilog, self.sidecar), path, texts)


def generate(
    unit: str, config: Config | None = None, /, *, name: str | None = None, **parameters: Any
) -> Generated:
    """Generate a unit of the catalogue.

    Parameters
    ----------
    unit: its name
    config: of its config class; by default the default one
    name: of its top module, by default the unit's; the names of all other modules and types begin
        with it, so that several configurations of a unit can be in one design
    parameters: what is different there, by name

    Raises
    ------
    ValueError for a unit that there is not, an unknown parameter, a value that is not allowed, a
    ``name`` that is not one in SystemVerilog or is a port's, or a unit that would be too large;
    TypeError for a value, or a ``config``, of the wrong type.
    """
    entry = entry_named(unit)
    chosen = configured(entry, config, parameters)
    from ..hw.emit.unit import emit

    emitted = emit(entry.unit, chosen, name)
    return Generated(
        unit=unit,
        name=emitted.sidecar["module"],
        config=chosen,
        verilog=emitted.verilog,
        sidecar=emitted.sidecar,
    )
