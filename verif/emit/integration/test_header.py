"""The C header: every constant as a compiler has it, structures, payloads, jobs."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lxml import etree
from peakrdl_ipxact import IPXACTImporter
from systemrdl import RDLCompiler
from systemrdl.node import RegNode
from tilewright.hw.emit.integration.c.header import header
from tilewright.hw.emit.integration.ip_xact_component import ip_xact
from tilewright.hw.emit.unit import emit
from tilewright.registry import entries
from tilewright.verif.emit.integration.readers import (
    ACCELERATORS,
    LANGUAGES,
    SOME_ACCELERATORS,
    SOME_UNITS,
    UNITS,
    compare_field,
    compile_text,
    run_main,
    sidecar_of,
    standard_faults,
)
from tilewright.verif.kit.sampling import slow_but

ALL = [*UNITS, "unfriendly"]
STREAM_UNITS = [name for name in UNITS if name not in ACCELERATORS]


def headers(names: list[str]) -> dict[str, str]:
    return {f"{name}.h": header(sidecar_of(name)) for name in names}


def upper(*parts: str) -> str:
    return re.sub(r"\W", "_", "_".join(part for part in parts if part)).upper()


def leaves(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], int]]:
    items = value.items() if isinstance(value, dict) else ()
    if isinstance(value, int) and not isinstance(value, bool):
        yield path, value
    for name, item in items:
        yield from leaves(item, (*path, name))


def register_constants(unit: str, sidecar: dict[str, Any]) -> Iterator[tuple[str, int]]:
    for register in sidecar["registers"]:
        yield upper(unit, register["name"], "offset"), register["offset"]
        for field in register["fields"]:
            own = "" if field["name"] == "value" else field["name"]
            where = (unit, register["name"], own)
            yield upper(*where, "shift"), field["low"]
            yield upper(*where, "mask"), (1 << field["width"]) - 1 << field["low"]
            if field["constant"]:
                yield upper(*where, "constant"), field["reset"]
            for name, value in field.get("values", {}).items():
                yield upper(*where, "value", name), value
    for error in sidecar["jobs"]["errors"]:
        yield upper(unit, "error", error["name"]), error["code"]


def stream_constants(unit: str, sidecar: dict[str, Any]) -> Iterator[tuple[str, int]]:
    for kind, values in (("opcode", "opcodes"), ("latency", "latency"),
                         ("interval", "initiation_interval")):  # fmt: skip
        for name, value in sidecar[values].items():
            yield upper(unit, kind, name), value
    for stream in sidecar["streams"]:
        yield upper(unit, stream["name"], "payload_width"), stream["width"]
        for field in stream["fields"]:
            where = (unit, stream["name"], "field", field["name"])
            yield upper(*where, "offset"), field["offset"]
            for name in ("width", "element_bits"):
                if name in field:
                    yield upper(*where, name), field[name]
            for number, size in enumerate(field.get("shape", [])):
                yield upper(*where, f"shape_{number}"), size


def constants(sidecar: dict[str, Any]) -> Iterator[tuple[str, int]]:
    """Names that the header must have, and what they must be."""
    unit = sidecar["unit"]
    for name, value in sidecar["config"].items():
        if isinstance(value, int):
            yield upper(unit, "param", name), int(value)
    yield from (register_constants if "registers" in sidecar else stream_constants)(unit, sidecar)
    for operation in sidecar["operations"]:
        for setting in operation["select"]:
            own = "" if setting["field"] == "value" else setting["field"]
            owner = setting.get("stream", setting.get("register"))
            yield upper(unit, "select", operation["name"], owner, own), setting["value"]
        for size in operation["sizes"]:
            if "value" in size:
                yield upper(unit, "size", operation["name"], size["name"]), size["value"]
        for operand in operation["operands"]:
            for path, value in leaves(operand["placement"]):
                where = (unit, "operand", operation["name"], operand["name"])
                yield upper(*where, *path), value


@pytest.mark.parametrize("language", slow_but(["c11"], LANGUAGES))
def test_headers_of_all_units_compile_together(language: str, tmp_path: Path) -> None:
    """Compiles all headers in one program without a warning; a second run writes the same text."""
    made = headers(ALL)
    assert made == headers(ALL)
    text = "int main(void) { return 0; }\n"
    done = compile_text(tmp_path, made, text, "-fsyntax-only", language=language)
    assert done.returncode == 0, done.stderr


def test_every_constant(tmp_path: Path) -> None:
    """Each constant has, in C, the sidecar's value, and the headers define no others."""
    expected = [pair for name in ALL for pair in constants(sidecar_of(name))]
    assert len(expected) > 2000
    assert len({name for name, _ in expected}) == len(expected)
    body = "\n".join(f'printf("%" PRIu64 "\\n", (uint64_t){name});' for name, _ in expected)
    made = headers(ALL)
    found = run_main(tmp_path, made, body)
    assert [(name, int(word)) for (name, _), word in zip(expected, found, strict=True)] == expected
    defined = set(re.findall(r"^#define (\w+) ", "\n".join(made.values()), re.M))
    texts = {
        upper(sidecar["unit"], "param", parameter)
        for sidecar in map(sidecar_of, ALL)
        for parameter, value in sidecar["config"].items()
        if not isinstance(value, int)
    }
    enums = {name for name, _ in expected if "_ERROR_" in name}
    assert defined - texts == {name for name, _ in expected} - (enums - defined)


@pytest.mark.parametrize("name", ["matraptor", "unfriendly"])
def test_the_structure_is_held_to_the_offsets(name: str, tmp_path: Path) -> None:
    """A register that is moved in it is refused by the compiler."""
    unit = sidecar_of(name)["unit"]
    made = header(sidecar_of(name))
    members = re.search(rf"struct {unit}_registers {{\n(.*?)\n}};", made, re.S)
    assert members
    lines = members[1].splitlines()
    gap = next(number for number, line in enumerate(lines) if "reserved" in line)
    moved = "\n".join([*lines[:gap], *lines[gap + 1 :]])
    wrong = {"unit.h": made.replace(members[1], moved)}
    text = "int main(void) { return 0; }\n"
    for content, status in ((made, True), (wrong["unit.h"], False)):
        done = compile_text(tmp_path, {"unit.h": content}, text, "-fsyntax-only")
        assert (done.returncode == 0) == status


@pytest.mark.parametrize("name", slow_but(["m3xu"], STREAM_UNITS))
def test_payloads(name: str, tmp_path: Path) -> None:
    """Random elements put into a payload are at their bits, and are read back."""
    sidecar, draw = sidecar_of(name), random.Random(5)
    body, expected = [], []
    for stream in sidecar["streams"]:
        payload = 0
        kind, variable = f"struct {name}_{stream['name']}", f"p_{stream['name']}"
        body.append(f"{kind} {variable} = {{{{0}}}};")
        gets = []
        for field in stream["fields"]:
            width = field.get("width", field.get("element_bits"))
            shape = field.get("shape", [])
            count = 1
            for size in shape:
                count *= size
            for number in range(count):
                value, rest = draw.getrandbits(width), number
                places: list[int] = []
                for size in reversed(shape):
                    places.insert(0, rest % size)
                    rest //= size
                payload |= value << field["offset"] + number * width
                where = "".join(f", {place}" for place in places)
                call = f"{stream['name']}_{field['name']}(&{variable}{where}"
                # A first value of all ones must leave nothing behind.
                body.append(f"{name}_set_{call}, UINT64_MAX);")
                body.append(f"{name}_set_{call}, UINT64_C({value}));")
                gets.append(f'printf("%" PRIu64 "\\n", {name}_get_{call}));')
                expected.append(value)
        body += gets
        words = -(-stream["width"] // 32)
        body += [f'printf("%" PRIu32 "\\n", {variable}.word[{n}]);' for n in range(words)]
        expected += [payload >> 32 * n & 0xFFFFFFFF for n in range(words)]
    found = run_main(tmp_path, headers([name]), "\n".join(body))
    assert [int(word) for word in found] == expected


@pytest.mark.parametrize("name", SOME_ACCELERATORS)
def test_jobs(name: str, tmp_path: Path) -> None:
    """Runs jobs on registers in plain memory: the C code checks constants, writes a job, sees its
    end."""
    sidecar = sidecar_of(name)
    unit, registers = sidecar["unit"], {x["name"]: x for x in sidecar["registers"]}
    words: dict[int, int] = {}
    for register in sidecar["registers"]:
        if all(field["constant"] for field in register["fields"]):
            words[register["offset"]] = sum(x["reset"] << x["low"] for x in register["fields"])
    size = max(x["offset"] + 8 for x in sidecar["registers"])
    body = [f"static uint32_t block[{size // 4}];", f"struct {unit}_job job = {{0}};"]
    body += [f"block[{at // 4}] = UINT32_C({word});" for at, word in words.items()]
    body.append(f'printf("%d\\n", {unit}_is_there(block));')
    body += ["block[1] ^= 1u;", f'printf("%d\\n", {unit}_is_there(block));']
    expected = [1, 0]
    made, draw = header(sidecar), random.Random(7)
    members = dict(
        zip(sidecar["jobs"]["registers"], re.findall(
            r"uint\d+_t (\w+);", made.partition(f"struct {unit}_job {{")[2].partition("};")[0]),
            strict=True)
    )  # fmt: skip
    wanted = {}
    for register in sidecar["jobs"]["registers"]:
        wanted[register] = draw.getrandbits(registers[register]["bits"])
        body.append(f"job.{members[register]} = UINT64_C({wanted[register]});")
    body.append(f"{unit}_write_job(block, &job);")
    for register, value in wanted.items():
        for word in range(registers[register]["bits"] // 32):
            at = registers[register]["offset"] // 4 + word
            body.append(f'printf("%" PRIu32 "\\n", block[{at}]);')
            expected.append(value >> 32 * word & 0xFFFFFFFF)
    status = registers["STATUS"]["offset"] // 4
    body.append(f'printf("%d\\n", {unit}_wait(block, 3));')
    for error in sidecar["jobs"]["errors"]:
        body.append(f"block[{status}] = UINT32_C({4 | error['code'] << 8});")
        body.append(f'printf("%d\\n", {unit}_wait(block, 1));')
    body += [f"block[{status}] = 2u;", f'printf("%d\\n", {unit}_wait(block, 1));']
    expected += [-1, *(error["code"] for error in sidecar["jobs"]["errors"]), 0]
    body += [f"{unit}_start(block, 1);", f'printf("%" PRIu32 "\\n", block[{0x20 // 4}]);']
    body += [f"block[{status}] = 1u;", f'printf("%d\\n", {unit}_soft_reset(block, 2));']
    body += [f"block[{status}] = 0u;", f'printf("%d\\n", {unit}_soft_reset(block, 2));']
    body.append(f'printf("%" PRIu32 "\\n", block[{0x20 // 4}]);')
    expected += [5, -1, 0, 2]
    found = run_main(tmp_path, {"unit.h": made}, "\n".join(body))
    assert [int(word) for word in found] == expected


# IP-XACT: against the schema of IEEE 1685-2014, as PeakRDL reads it, and against the Verilog.

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
