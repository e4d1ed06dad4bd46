"""Records the known properties of a module before it is written as Verilog."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .layouts import Struct
from .sources import ModuleSource

__all__ = ["Block"]


@dataclass(frozen=True, kw_only=True)
class Block:
    """A module before it becomes Verilog.

    Parameters
    ----------
    module: its name
    ports: "i" or "o" by name; clock and reset first
    rtlil: its text
    source: where it is written
    comment: what it is, a line each
    codes: signals whose values have names: signal -> value -> name
    part_codes: parts of signals whose values have names: (signal, highest bit, lowest bit) -> ...
    part_names: what such parts of signals are called that have a name of their own
    value_names: what the values of wires without names are called in the Python
    structs: signals that consist of fields
    carried: what the Python calls the layouts of signals that consist of fields
    layouts: Amaranth's descriptions of the signals that consist of fields or elements
    parameters: the arguments of its component that may become Verilog parameters, by their names in
        Verilog
    probe: whether the unit does not use it: it shows how its text follows from the parameters
    exhausted: whether there is no probe because no other values of the parameters are allowed
    """

    module: str
    ports: Mapping[str, str]
    rtlil: str
    source: ModuleSource
    comment: tuple[str, ...] = ()
    codes: Mapping[str, Mapping[int, str]] = field(default_factory=dict)
    part_codes: Mapping[tuple[str, int, int], Mapping[int, str]] = field(default_factory=dict)
    part_names: Mapping[tuple[str, int, int], str] = field(default_factory=dict)
    value_names: Mapping[str, str] = field(default_factory=dict)
    structs: Mapping[str, Struct] = field(default_factory=dict)
    carried: Mapping[str, str] = field(default_factory=dict)
    layouts: Mapping[str, Any] = field(default_factory=dict)
    parameters: Mapping[str, int] = field(default_factory=dict)
    probe: bool = False
    exhausted: bool = False
