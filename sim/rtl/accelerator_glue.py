"""The harness of accelerators: AXI4 managers, an AXI4-Lite subordinate and an interrupt.

Checkers hold every port to the rules of AXI, and tell the harness which are broken.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from .axi.checkers import axi_checkers, rule_texts, rules_of
from .glue import Harness, glue_head, harness_files, member

__all__ = ["ACCELERATOR", "INTERRUPT", "managers_of", "registers_of"]

INTERRUPT = "irq"
"""The interrupt's port, as the interface contract names it."""

_WIDEST_DATA = 512
_WIDEST_ID = 16

_REQUEST = ("id", "addr", "len", "size", "burst")
_MANAGER = {
    "aw": _REQUEST,
    "w": ("data", "strb", "last"),
    "b": ("id", "resp"),
    "ar": _REQUEST,
    "r": ("id", "data", "resp", "last"),
}
_SUBORDINATE = {
    "aw": ("addr",),
    "w": ("data", "strb"),
    "b": ("resp",),
    "ar": ("addr",),
    "r": ("data", "resp"),
}
"""The signals of each channel that the harness uses, besides valid and ready."""


def managers_of(sidecar: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The entries of a unit's AXI4 managers.

    Raises ValueError if there is none, or one that is too wide.
    """
    found = [port for port in sidecar.get("axi", ()) if port["role"] == "manager"]
    if not found:
        raise ValueError(f"unit `{sidecar['unit']}` needs an AXI4 manager")
    for port in found:
        for name, most in (("data_bits", _WIDEST_DATA), ("id_bits", _WIDEST_ID)):
            if port[name] > most:
                raise ValueError(
                    f"`{name}` of {port['prefix']} must be at most {most}, not {port[name]}"
                )
    return found


def registers_of(sidecar: Mapping[str, Any]) -> dict[str, Any]:
    """The entry of a unit's AXI4-Lite subordinate. Raises ValueError unless there is one."""
    found = [port for port in sidecar.get("axi", ()) if port["role"] == "subordinate"]
    if len(found) != 1:
        raise ValueError(f"unit `{sidecar['unit']}` needs one subordinate, not {len(found)}")
    return dict(found[0])


def _ports(sidecar: Mapping[str, Any]) -> Iterator[str]:
    """The names of all ports that the harness uses."""
    for port in (*managers_of(sidecar), registers_of(sidecar)):
        channels = _MANAGER if port["role"] == "manager" else _SUBORDINATE
        for letters, names in channels.items():
            for name in (*names, "valid", "ready"):
                if name != "id" or port["id_bits"]:
                    yield f"{port['prefix']}_{letters}{name}"
    if INTERRUPT not in {port["name"] for port in sidecar.get("ports", ())}:
        raise ValueError(f"unit `{sidecar['unit']}` needs a port `{INTERRUPT}`")
    yield INTERRUPT


def _glue(sidecar: Mapping[str, Any]) -> str:
    """The accessors of accelerator.cpp for one unit."""
    visits = "".join(f'    visit("{name}", {member(name)});\n' for name in _ports(sidecar))
    head = "template <typename Visit> void visit_ports(Model& m, Visit visit) {\n"
    return glue_head(sidecar) + head + visits + "}\n" + _rules(sidecar)


_ADDRESS, _HEX = re.compile("A[RW]ADDR"), '0x%" PRIx64 "'


def _rules(sidecar: Mapping[str, Any]) -> str:
    """The texts of the rules of all ports, as formats with an address."""
    rows = []
    for port in sidecar["axi"]:
        texts = [
            f'        {{"{_ADDRESS.sub(_HEX, text)}", {str("AWADDR" in text).lower()}}},\n'
            for text in rule_texts(port)
        ]
        rows.append("    {\n" + "".join(texts) + "    },\n")
    most = max(len(rules_of(port["protocol"])) for port in sidecar["axi"])
    return (
        "#include <cinttypes>\n"
        "struct AxiRuleText { const char* format; bool of_write; };\n"
        f"constexpr AxiRuleText kAxiRules[][{most}] = {{\n{''.join(rows)}}};\n"
    )


_CALL = """import "DPI-C" function void axi_rules_broken(
  input int port, input longint unsigned rules, input longint unsigned ar, input longint unsigned aw
);
`define AXI_RULES_BROKEN(port, rules, ar, aw, cycle) \\
  axi_rules_broken(port, 64'(rules), 64'(ar), 64'(aw));
"""
"""Tells the harness which rules of a port are broken."""


def _checkers(sidecar: Mapping[str, Any]) -> str:
    return axi_checkers(sidecar, _CALL)


ACCELERATOR = Harness(*harness_files("accelerator.cpp"), _glue, _checkers)
"""A memory behind the managers and a program at the registers."""
