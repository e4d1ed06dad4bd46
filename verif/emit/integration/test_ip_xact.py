"""IP-XACT: against the schema of IEEE 1685-2014, as PeakRDL reads it, and against the Verilog."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from lxml import etree
from peakrdl_ipxact import IPXACTImporter
from systemrdl import RDLCompiler
from systemrdl.node import RegNode
from tilewright.hw.emit.integration.ip_xact.component import ip_xact
from tilewright.hw.emit.unit import emit
from tilewright.registry import entries
from tilewright.verif.emit.integration.described import (
    ACCELERATORS,
    SOME_ACCELERATORS,
    SOME_UNITS,
    sidecar_of,
)
from tilewright.verif.emit.integration.readers import standard_faults
from tilewright.verif.emit.integration.register_trees import compare_field
from tilewright.verif.kit.sampling import slow_but

NAMESPACES = {"x": "http://www.accellera.org/XMLSchema/IPXACT/1685-2014"}


def tree(text: str) -> Any:
    return etree.fromstring(text.encode())


def texts(node: Any, path: str) -> list[str]:
    """The texts of the elements at a path."""
    steps = "/".join(step if step.startswith(".") else f"x:{step}" for step in path.split("/"))
    return [found.text for found in node.xpath(steps, namespaces=NAMESPACES)]


def nodes(node: Any, path: str) -> list[Any]:
    steps = "/".join(f"x:{step}" for step in path.split("/"))
    found: list[Any] = node.xpath(steps, namespaces=NAMESPACES)
    return found


@pytest.mark.parametrize("name", SOME_UNITS)
def test_obeys_the_schema_of_the_standard(name: str) -> None:
    text = ip_xact(sidecar_of(name), ["rtl/unit.sv"])
    assert text == ip_xact(sidecar_of(name), ["rtl/unit.sv"])
    assert standard_faults(text) == ""
    assert texts(tree(text), "fileSets/fileSet/file/name") == ["rtl/unit.sv"]


def test_the_schema_refuses_what_is_not_of_the_standard() -> None:
    text = ip_xact(sidecar_of("matraptor"), ["unit.sv"])
    for old, new in (("ipxact:portMaps", "ipxact:maps"), (">read-only<", ">readable<")):
        assert old in text
        assert standard_faults(text.replace(old, new))


@pytest.mark.parametrize("name", SOME_ACCELERATORS)
def test_every_register_and_field(name: str, tmp_path: Path) -> None:
    """PeakRDL's importer reads every register and field as the sidecar describes it."""
    sidecar = sidecar_of(name)
    path = tmp_path / "unit.xml"
    path.write_text(ip_xact(sidecar, ["unit.sv"]))
    compiler = RDLCompiler()
    IPXACTImporter(compiler).import_file(str(path))
    found = [x for x in compiler.elaborate().top.descendants() if isinstance(x, RegNode)]
    assert [node.inst_name for node in found] == [x["name"] for x in sidecar["registers"]]
    for node, said in zip(found, sidecar["registers"], strict=True):
        assert node.absolute_address == said["offset"]
        assert node.get_property("regwidth") == said["bits"]
        for field, one in zip(node.fields(), said["fields"], strict=True):
            # The importer takes what never changes for what the hardware may write.
            constant = field.get_property("hw").name == "na"
            compare_field(sidecar, said["name"], field, one | {"constant": constant})


def vector(node: Any) -> int:
    """Width of a port."""
    left = texts(node, "wire/vectors/vector/left")
    return int(left[0]) + 1 if left else 1


@pytest.mark.parametrize("name", slow_but([], ["simd2", "c2sr_converter"]))
def test_ports_are_those_of_the_verilog(name: str) -> None:
    entry = entries()[name]
    emitted = emit(entry.unit, entry.small_config)
    head = re.search(rf"^module {name} \(\n(.*?)\n\);", emitted.verilog, re.M | re.S)
    assert head
    pattern = r"(in|out)put +logic (?:\[(\d+):0\] )?(\w+)"
    expected = {x[2]: (x[0], int(x[1] or 0) + 1) for x in re.findall(pattern, head[1])}
    ports = nodes(tree(ip_xact(emitted.sidecar, ["unit.sv"])), "model/ports/port")
    assert {
        texts(port, "name")[0]: (texts(port, "wire/direction")[0], vector(port)) for port in ports
    } == expected


@pytest.mark.parametrize("name", ACCELERATORS)
def test_buses(name: str) -> None:
    """Each AXI port: its definition, role, and a logical signal for each port of the module."""
    sidecar = sidecar_of(name)
    top = tree(ip_xact(sidecar, ["unit.sv"]))
    widths = {texts(port, "name")[0]: vector(port) for port in nodes(top, "model/ports/port")}
    interfaces = nodes(top, "busInterfaces/busInterface")
    assert [texts(x, "name")[0] for x in interfaces] == [x["prefix"] for x in sidecar["axi"]]
    spaces = dict(zip(texts(top, "addressSpaces/addressSpace/name"),
                      texts(top, "addressSpaces/addressSpace/range"), strict=True))  # fmt: skip
    for node, port in zip(interfaces, sidecar["axi"], strict=True):
        kind = nodes(node, "busType")[0].get("name")
        assert kind == {"axi4": "AXI4", "axi4-lite": "AXI4-Lite"}[port["protocol"]]
        maps = nodes(node, "abstractionTypes/abstractionType/portMaps/portMap")
        found = {texts(x, "logicalPort/name")[0]: texts(x, "physicalPort/name")[0] for x in maps}
        assert (found.pop("ACLK"), found.pop("ARESETn")) == ("clk", "rst")
        assert [x.get("invert") for x in maps[:2]] == [None, "true"]
        assert found == {x.split("axi_")[-1].split("axil_")[-1].upper(): x for x in widths
                         if x.startswith(f"{port['prefix']}_")}  # fmt: skip
        if port["role"] == "manager":
            space = nodes(node, "master/addressSpaceRef")[0].get("addressSpaceRef")
            assert spaces[space] == f"'h{1 << port['addr_bits']:X}"
        else:
            assert nodes(node, "slave/memoryMapRef")[0].get("memoryMapRef") == "registers"
