"""The checkers of AXI around a unit: SystemVerilog that is compiled with the unit's.

Every AXI port of the sidecar gets a checker. They are instances of a module that is bound to the
top, or, for a simulator without ``bind``, that is a second top.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, reduce
from pathlib import Path
from typing import Any

__all__ = ["BOUND", "AxiRule", "axi_checkers", "checker_verilog", "rule_texts", "rules_of"]

BOUND = "axi_checkers"
"""The module with all checkers of a unit, and its instance in the top."""

_FOLDER = Path(__file__).parent
_CHECKERS = {"axi4": "axi4_checker", "axi4-lite": "axi4_lite_checker"}
_RULE = re.compile(r"^  localparam (\w+) = (\d+);(?:  // (.+))?$", re.MULTILINE)
_FIRST_OF_SUBORDINATE = "FIRST_OF_SUBORDINATE"

_BURSTS, _BURSTS_PER_ID, _LONGEST = 8192, 64, 256
"""Limits of a manager's bursts in flight, and of their length, where the sidecar has none."""


@dataclass(frozen=True)
class AxiRule:
    """A rule of a checker.

    Parameters
    ----------
    name: as the checker has it
    text: what is wrong if it is broken; ARADDR and AWADDR in it stand for the address
    manager: whether the manager's side broke it, else the subordinate's
    """

    name: str
    text: str
    manager: bool


def checker_verilog(protocol: str) -> str:
    """The text of the checker for "axi4" or "axi4-lite"."""
    return (_FOLDER / f"{_CHECKERS[protocol]}.sv").read_text()


@cache
def rules_of(protocol: str) -> tuple[AxiRule, ...]:
    """The rules for "axi4" or "axi4-lite", by number."""
    found = _RULE.findall(checker_verilog(protocol))
    numbers = {name: int(number) for name, number, _ in found}
    first = numbers.pop(_FIRST_OF_SUBORDINATE)
    rules = [(name, int(number), text) for name, number, text in found if name in numbers and text]
    assert [number for _, number, _ in rules] == [*range(len(rules))]
    return tuple(AxiRule(name, text, number < first) for name, number, text in rules)


_PEERS = {"manager": "the memory", "subordinate": "the program"}
"""The peer at the other end of a unit's port."""


def rule_texts(port: Mapping[str, Any]) -> list[str]:
    """Returns for each rule of a checker who broke it, and what is wrong; see ``AxiRule.text``."""
    role, own = port["role"], f"`{port['prefix']}`"
    return [
        f"{own if rule.manager == (role == 'manager') else f'{_PEERS[role]} at {own}'}: {rule.text}"
        for rule in rules_of(port["protocol"])
    ]


def _ids(side: Mapping[str, Any], id_bits: int) -> int:
    """A bit for each ID that a side's ``id_parts`` allow."""
    ids = [0]
    for part in side["id_parts"]:
        ids = [number | n << part["low"] for number in ids for n in range(part["count"])]
    return reduce(lambda mask, number: mask | 1 << number, ids, 0) & (1 << (1 << id_bits)) - 1


def _limits(port: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The parameters of a manager's checker on what its sidecar says of its bursts."""
    said = "reads" in port or "writes" in port
    ids = 1 << port["id_bits"]
    for name in ("READ", "WRITE"):
        side = port.get(f"{name.lower()}s")
        if side is not None:
            most, per_id = side["outstanding"], side["outstanding_per_id"]
            longest, mask = side["longest_beats"], _ids(side, port["id_bits"])
        else:
            most, per_id = (0, 0) if said else (_BURSTS, _BURSTS_PER_ID)
            longest, mask = _LONGEST, (1 << ids) - 1
        yield f"{name}S", str(most)
        yield f"{name}S_PER_ID", str(per_id)
        yield f"{name}_LONGEST", str(longest)
        yield f"{name}_IDS", f"{ids}'h{mask:x}"


def _parameters(port: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield "ADDR_BITS", str(port["addr_bits"])
    yield "DATA_BITS", str(port["data_bits"])
    if port["role"] == "manager":
        yield "ID_BITS", str(port["id_bits"])
        yield "CACHE", str(port["cache"])
        yield from _limits(port)


def _checker(port: Mapping[str, Any], number: int, reset: str, clock: str) -> str:
    """The checker of one port."""
    prefix = port["prefix"]
    parameters = ", ".join(f".{name}({value})" for name, value in _parameters(port))
    pins = "".join(
        f",\n    .{signal['name'].removeprefix(f'{prefix}_')}({signal['name']})"
        for signal in port["signals"]
    )
    return (
        f"  {_CHECKERS[port['protocol']]} #({parameters}) {prefix} (\n"
        f"    .port(8'd{number}), .clk({clock}), .rst({reset}), .broken(){pins}\n  );\n"
    )


def axi_checkers(sidecar: Mapping[str, Any], reaction: str, *, bind: bool = True) -> str:
    """All that is compiled besides the unit's Verilog; empty for a unit without AXI ports.

    Parameters
    ----------
    sidecar: the unit's
    reaction: what defines the macro AXI_RULES_BROKEN, see ``axi4_checker.sv``; ports are numbered
        as in the sidecar
    bind: whether the checkers' module is bound to the top; else it is in a top beside it,
        ``axi_checkers_top``, which reads the unit's ports by their hierarchical names
    """
    ports = sidecar.get("axi", ())
    if not ports:
        return ""
    top, clock, reset = sidecar["module"], sidecar["clock"], sidecar["reset"]
    signals = {signal["name"]: signal["width"] for port in ports for signal in port["signals"]}
    names = {clock: 1, reset["name"]: 1} | signals
    active = reset["name"] if reset["active"] == "high" else f"~{reset['name']}"
    protocols = sorted({port["protocol"] for port in ports})
    # Waves show the first broken rule alone; all pins are in the top.
    parts = ["/* verilator tracing_off */\n", reaction, *map(checker_verilog, protocols)]
    inputs = ",\n".join(f"  input wire [{width - 1}:0] {name}" for name, width in names.items())
    parts.append(f"module {BOUND} (\n{inputs}\n);\n")
    parts += [_checker(port, number, active, clock) for number, port in enumerate(ports)]
    parts.append("endmodule\n")
    origin = "" if bind else f"{top}."
    connected = ", ".join(f".{name}({origin}{name})" for name in names)
    instance = f"{BOUND} {BOUND} ({connected});\n"
    parts.append(
        f"bind {top} {instance}" if bind else f"module {BOUND}_top;\n  {instance}endmodule\n"
    )
    parts.append("/* verilator tracing_on */\n")
    return "".join(parts)
