"""The FuseSoC core as FuseSoC has it, and the list of files as three tools read it."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from pyslang.ast import Compilation
from pyslang.syntax import SyntaxTree
from systemrdl import RDLCompileError
from systemrdl.node import RegNode
from tilewright.hw.emit.integration.core import core, filelist, template
from tilewright.hw.emit.integration.package import package
from tilewright.hw.emit.integration.rdl import rdl
from tilewright.hw.emit.unit import describe, emit
from tilewright.hw.spec.host.programs import run_program
from tilewright.registry import entries
from tilewright.sim.rtl.toolchain import ToolMissing, find_icarus, find_verilator
from tilewright.verif.catalogue.sidecars import as_read
from tilewright.verif.emit.integration.readers import (
    SOME_ACCELERATORS,
    SOME_UNITS,
    UNITS,
    compare_field,
    compiled_rdl,
    sidecar_of,
)
from tilewright.verif.kit.front_ends import FRONT_ENDS, complaints
from tilewright.verif.kit.sampling import slow_but


def emitted(name: str) -> Any:
    entry = entries()[name]
    return emit(entry.unit, entry.small_config)


@pytest.fixture
def fusesoc(tmp_path: Path) -> Any:
    """Runs FuseSoC in a directory, with our Verilator on its path and no settings of the user's."""
    verilator = find_verilator()
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    launcher = bin_folder / "verilator"
    launcher.write_text(f'#!/bin/sh\nexec "{verilator.program}" "$@"\n')
    launcher.chmod(0o755)
    environment = {**verilator.environment, "HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)}
    environment |= {"XDG_CACHE_HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path)}
    environment["PATH"] = f"{bin_folder}{os.pathsep}{os.environ['PATH']}"

    def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-W", "ignore", "-m", "fusesoc.main", "--monochrome"]
        command += ["--cores-root", str(folder), *words]
        return run_program(command, environment=environment, cwd=folder)

    return run


@pytest.mark.parametrize("name", SOME_UNITS)
def test_a_core_is_yaml_with_its_file(name: str) -> None:
    sidecar = sidecar_of(name)
    text = core(sidecar, ["rtl/unit.sv"])
    assert text.startswith("CAPI=2:\n")
    read = yaml.safe_load(text)
    assert read["name"] == f"tilewright:generated:{sidecar['module']}:{sidecar['version']}"
    assert read["filesets"]["rtl"]["files"] == ["rtl/unit.sv"]
    assert {x["toplevel"] for x in read["targets"].values()} == {sidecar["module"]}


@pytest.mark.slow
def test_fusesoc_finds_every_core(tmp_path: Path, fusesoc: Any) -> None:
    for name in UNITS:
        sidecar = sidecar_of(name)
        (tmp_path / f"{name}.core").write_text(core(sidecar, [f"{name}.sv"]))
        (tmp_path / f"{name}.sv").touch()
    done = fusesoc(tmp_path, "core", "list")
    assert done.returncode == 0, done.stdout + done.stderr
    listed = {line.split()[0] for line in done.stdout.splitlines() if line.startswith("tilewright")}
    assert listed == {
        f"tilewright:generated:{name}:{sidecar_of(name)['version']}" for name in UNITS
    }


@pytest.mark.slow
def test_fusesoc_lints_a_core(tmp_path: Path, fusesoc: Any) -> None:
    """FuseSoC finds and shows the core, and lints it with Verilator; an error in it is found."""
    made = emitted("simd2")
    (tmp_path / "rtl").mkdir()
    (tmp_path / "rtl/unit.sv").write_text(made.verilog)
    (tmp_path / "unit.core").write_text(core(made.sidecar, ["rtl/unit.sv"]))
    shown = fusesoc(tmp_path, "core", "show", "tilewright:generated:simd2")
    assert shown.returncode == 0, shown.stdout + shown.stderr
    assert made.sidecar["summary"] in shown.stdout
    lint = ("run", "--target=lint", "tilewright:generated:simd2")
    done = fusesoc(tmp_path, *lint)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "WARNING" not in done.stdout + done.stderr
    assert "verilator" in done.stdout
    wrong = made.verilog.replace("assign advance = ready;", "assign advance = nothing;")
    assert wrong != made.verilog
    (tmp_path / "rtl/unit.sv").write_text(wrong)
    assert fusesoc(tmp_path, *lint).returncode != 0


@pytest.mark.slow
def test_tools_read_a_list_of_files(tmp_path: Path) -> None:
    """Verilator from anywhere, by -F; from the folder of the list by -f; slang and Icarus too."""
    made = emitted("m3xu_baseline")
    (tmp_path / "rtl").mkdir()
    (tmp_path / "unit.sv").write_text(made.verilog)
    (tmp_path / "rtl/unit.f").write_text(filelist(made.sidecar, ["../unit.sv"]))
    verilator = find_verilator()
    lint = [str(verilator.program), "--lint-only", "-Wall", "--top-module", "m3xu_baseline"]
    for folder, option, name in (
        (tmp_path / "rtl", "-f", "unit.f"),
        (tmp_path, "-F", "rtl/unit.f"),
    ):
        done = run_program([*lint, option, name], environment=verilator.environment,
                           cwd=folder)  # fmt: skip
        assert done.returncode == 0, done.stderr
    lost = run_program([*lint, "-f", "rtl/unit.f"], environment=verilator.environment,
                       cwd=tmp_path)  # fmt: skip
    assert lost.returncode != 0
    try:
        icarus = str(find_icarus())
    except ToolMissing as missing:
        pytest.skip(str(missing))
    command = [icarus, "-g2012", "-o", os.devnull, "-c", "unit.f"]
    done = run_program(command, cwd=tmp_path / "rtl")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("path", ["a b.v", "+x.v", "-x.v", "/abs/unit.sv", "it's.v", "$HOME.v"])
def test_a_list_refuses_paths_that_tools_read_differently(path: str) -> None:
    with pytest.raises(ValueError, match="a list of files names one by"):
        filelist(sidecar_of("m3xu"), ["unit_pkg.sv", path])


def test_a_core_refuses_files_outside_of_its_folder() -> None:
    with pytest.raises(ValueError, match=r"^a core's files must be in its folder or below, not"):
        core(sidecar_of("m3xu"), ["unit_pkg.sv", "../unit.sv"])


# SystemRDL, as systemrdl-compiler reads it.


@pytest.mark.parametrize("name", SOME_ACCELERATORS)
def test_every_register_and_field(name: str, tmp_path: Path) -> None:
    """Names, places, widths, accesses, resets, constants and the names of values."""
    sidecar = sidecar_of(name)
    text = rdl(sidecar)
    assert text == rdl(sidecar_of(name))
    top = compiled_rdl(text, tmp_path)
    assert top.inst_name == sidecar["module"]
    found: list[RegNode] = list(top.registers())
    assert [node.inst_name for node in found] == [x["name"] for x in sidecar["registers"]]
    for node, said in zip(found, sidecar["registers"], strict=True):
        assert node.absolute_address == said["offset"]
        assert (node.get_property("regwidth"), node.get_property("accesswidth")) == (
            said["bits"],
            32,
        )
        for field, one in zip(node.fields(), said["fields"], strict=True):
            compare_field(sidecar, said["name"], field, one)


def test_a_register_at_a_wrong_place_is_found(tmp_path: Path) -> None:
    """The compiler reads places and widths, and refuses those that overlap."""
    text = rdl(sidecar_of("matraptor"))
    moved = text.replace("} CAPACITY @ 0x108;", "} CAPACITY @ 0x104;")
    assert moved != text
    with pytest.raises(RDLCompileError):
        compiled_rdl(moved, tmp_path)


def test_a_unit_without_registers_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^m3xu has no registers$"):
        rdl(sidecar_of("m3xu"))


# The package of types as slang has it, beside the sidecar; and what tools say of it and of the
# instance to paste.


def compiled(text: str, name: str) -> Any:
    """The package of a text, in which slang finds no fault."""
    compilation = Compilation()
    compilation.addSyntaxTree(SyntaxTree.fromText(text))
    found = compilation.getPackage(name)
    assert [str(one.code) for one in compilation.getAllDiagnostics()] == []
    return found


def type_of(found: Any, name: str) -> Any:
    return found.lookupName(name).targetType.type.canonicalType


def check_streams(sidecar: dict[str, Any], found: Any) -> None:
    """Checks the position of every field, and of each element by its indices, against the
    sidecar."""
    for stream in sidecar["streams"]:
        payload = type_of(found, f"{stream['name']}_t")
        assert payload.bitWidth == stream["width"]
        if not stream["fields"]:
            continue
        fields = {one.name: one for one in payload}
        assert len(fields) == len(stream["fields"])
        for field in stream["fields"]:
            one = fields[field["name"]]
            shape = field.get("shape", [])
            element = field.get("element_bits", field.get("width"))
            assert (one.bitOffset, one.type.bitWidth) == (
                field["offset"],
                element * math.prod(shape),
            )
            inner = one.type
            for size in shape:
                assert (inner.range.left, inner.range.right) == (size - 1, 0)
                inner = inner.elementType
            assert inner.bitWidth == element


def values(found: Any, name: str) -> dict[str, int]:
    """The names and values of an enumeration."""
    return {one.name: int(one.value.value) for one in type_of(found, name)}


def check(sidecar: dict[str, Any]) -> None:
    found = compiled(package(sidecar), f"{sidecar['module']}_pkg")
    check_streams(sidecar, found)
    if sidecar.get("registers"):
        assert values(found, "register_t") == {
            f"REG_{one['name']}": one["offset"] for one in sidecar["registers"]
        }
        assert values(found, "status_error_code_t") == {"STATUS_ERROR_CODE_NONE": 0} | {
            f"STATUS_ERROR_CODE_{one['name'].upper()}": one["code"]
            for one in sidecar["jobs"]["errors"]
        }


@pytest.mark.parametrize("name", SOME_UNITS)
def test_it_says_what_the_sidecar_says(name: str) -> None:
    check(sidecar_of(name))


@pytest.mark.slow
@pytest.mark.parametrize("name", entries())
def test_defaults(name: str) -> None:
    unit = entries()[name].unit
    check(as_read(describe(unit, unit.config())))


def test_opcodes() -> None:
    """Opcodes are an enumeration that the payload's field uses, also where names have dots."""
    sidecar = sidecar_of("m3xu_sequencer")
    found = compiled(package(sidecar), "m3xu_sequencer_pkg")
    assert values(found, "op_t") == {
        f"OP_{name.upper().replace('.', '_')}": code for name, code in sidecar["opcodes"].items()
    }
    (op,) = type_of(found, "i_t")
    assert op.type.canonicalType.isEnum


def test_two_equal_names_are_refused() -> None:
    sidecar = sidecar_of("m3xu")
    sidecar["opcodes"] |= {"a.b": 6, "a-b": 7}
    with pytest.raises(ValueError, match=r"^two names of the package would be OP_A_B$"):
        package(sidecar)


@pytest.mark.parametrize("tool", [tool for tool in FRONT_ENDS if tool != "slang"])
def test_other_tools_read_all_packages_together(tool: str, tmp_path: Path) -> None:
    texts = [package(sidecar_of(name)) for name in UNITS]
    module = "module wire_of (input logic i, output logic o);\n  assign o = i;\nendmodule\n"
    assert complaints(tool, "\n".join([*texts, module]), "wire_of", tmp_path) == ""


@pytest.mark.parametrize("name", slow_but(["simd2", "engine_simd2"], list(entries()), []))
def test_the_instance_connects_every_port(name: str) -> None:
    """slang elaborates the instance: every port exists, with the width of its signal."""
    sidecar = sidecar_of(name)
    ports = [(sidecar["clock"], "input", 1), (sidecar["reset"]["name"], "input", 1)]
    for stream in sidecar["streams"]:
        ahead, back = ("input", "output")[:: 1 if stream["direction"] == "in" else -1]
        ports += [(stream["payload"], ahead, stream["width"])]
        ports += [(stream["valid"], ahead, 1), (stream["ready"], back, 1)]
    signals = [one for port in sidecar.get("axi", ()) for one in port["signals"]]
    for one in [*signals, *sidecar.get("ports", ())]:
        ports.append((one["name"], f"{one['direction']}put", one["width"]))
    declared = ",\n".join(f"{way} logic [{n - 1}:0] {port}" for port, way, n in ports)
    text = (
        f"{package(sidecar)}\nmodule {name} ({declared});\nendmodule\n"
        f"module around (input logic clk, input logic rst);\n{template(sidecar)}\nendmodule\n"
    )
    compilation = Compilation()
    compilation.addSyntaxTree(SyntaxTree.fromText(text))
    assert [str(one.code) for one in compilation.getAllDiagnostics()] == []
