"""The FuseSoC core as FuseSoC has it, and the list of files as three tools read it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from tilewright.hw.emit.integration.core import core, filelist
from tilewright.hw.emit.unit import emit
from tilewright.hw.spec.host.programs import run_program
from tilewright.registry import entries
from tilewright.sim.rtl.toolchain import ToolMissing, find_icarus, find_verilator
from tilewright.verif.emit.integration.described import (
    SOME_UNITS,
    UNITS,
    sidecar_of,
)


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
    """It finds the core, shows what it is, and has Verilator read it; a fault in it is found."""
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
