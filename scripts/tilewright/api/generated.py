"""Generates SystemVerilog from Python."""

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
    """A generated unit: its SystemVerilog and its sidecar.

    Members
    -------
    unit: name of the unit in the catalogue
    name: name of the top module, which is the prefix of the names of all other modules and types
    config: the configuration that it was generated for
    verilog: the SystemVerilog text of all modules
    sidecar: ports, registers, operations and latencies as a dictionary, see ``docs/sidecar.md``
    """

    unit: str
    name: str
    config: Config
    verilog: str
    sidecar: dict[str, Any]

    def write(self, path: str | os.PathLike[str], **others: str | os.PathLike[str]) -> Path | None:
        """Writes the Verilog to ``path``, and the sidecar beside it with the suffix ``.json``.

        Either all files are written, each as a whole, or none.

        Parameters
        ----------
        path: file of the Verilog. For a device or a pipe, such as ``/dev/stdout``, no sidecar is
            written
        others: files for other tools, by keyword: ``package`` (SystemVerilog types), ``template``
            (an instantiation), ``header`` (C), ``rdl`` (SystemRDL), ``ipxact``, ``core`` (FuseSoC),
            ``filelist`` and ``litex`` (a module for SoCs of LiteX)

        Returns
        -------
        The path of the sidecar; None if it was not written.

        Raises
        ------
        OSError: a file cannot be written
        ValueError: ``path`` ends in ``.json``; two texts would be in one file; the unit has no
            registers, which ``rdl`` and ``litex`` need
        TypeError: an unknown keyword

        Example
        -------
            import tilewright

            unit = tilewright.generate("matraptor", lanes=2, channels=2)
            sidecar = unit.write("matraptor.sv", header="matraptor.h", filelist="matraptor.f")
            assert sidecar.name == "matraptor.json"
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
    """Generates a unit of the catalogue as SystemVerilog.

    Parameters
    ----------
    unit: name of the unit, a key of ``tilewright.units``
    config: an instance of the unit's configuration class; None for the default configuration
    name: name of the top module and prefix of the names of all other modules and types; None for
        the unit's name. Several configurations of a unit in one design need several names
    parameters: values of parameters by name, as changes to ``config``; ``tilewright show UNIT``
        lists the parameters

    Returns
    -------
    The Verilog and its sidecar.

    Raises
    ------
    ValueError: an unknown unit or parameter; a value that is not allowed; a ``name`` that is no
        SystemVerilog identifier or is the name of a port; a unit that would be too large
    TypeError: a value or a ``config`` of the wrong type

    Example
    -------
        import tilewright

        unit = tilewright.generate("simd2", tile=2, ops=["minplus"])
        unit.write("simd2.sv")  # writes simd2.json, too
        assert unit.sidecar["module"] == "simd2"
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
