"""The checkers in other tools: every reader of SystemVerilog that we use takes them, and a broken
rule fails the run of a build for cocotb."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyslang.driver import Driver
from tilewright.sim.rtl.accelerator import AxiRuleError
from tilewright.sim.rtl.axi.checkers import checker_verilog
from tilewright.sim.rtl.toolchain import ToolMissing, find_icarus
from tilewright.verif.bench.cocotb_build import SIMULATORS, CocotbBuild
from tilewright.verif.harness.mover import mover
from tilewright.verif.kit.front_ends import run_yosys

TOPS = {"axi4": "axi4_checker", "axi4-lite": "axi4_lite_checker"}


@pytest.mark.parametrize("protocol", TOPS)
def test_yosys(protocol: str, tmp_path: Path) -> None:
    """Each side is asserted where the other is assumed, and no latch is inferred."""
    (tmp_path / "checker.sv").write_text(checker_verilog(protocol))
    top = TOPS[protocol]
    run_yosys(
        "read_verilog -sv -formal checker.sv; "
        + "; ".join(
            f"design -save read; hierarchy -check -top {top} -chparam PROVE {side}; proc; "
            f"check -assert; select -assert-none t:$dlatch; chformal -lower; "
            f"select -assert-count {asserted} t:$assert; "
            f"select -assert-count {asserted} t:$assume; design -load read"
            for side, asserted in ((1, 1), (2, 1), (0, 0))
        ),
        tmp_path,
    )


@pytest.mark.parametrize("defined", ["", "-D FORMAL -D YOSYS", "-D AXI_FOUR_STATES"])
@pytest.mark.parametrize("protocol", TOPS)
def test_slang(protocol: str, defined: str, tmp_path: Path) -> None:
    file = tmp_path / "checker.sv"
    file.write_text(checker_verilog(protocol))
    driver = Driver()
    driver.addStandardArgs()
    assert driver.parseCommandLine(f"slang {defined} --top {TOPS[protocol]} {file}")
    assert driver.processOptions()
    assert driver.parseAllSources()
    design = driver.createCompilation()
    driver.reportCompilation(design, True)
    assert driver.reportDiagnostics(True)


_BENCH = """
import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles


@cocotb.test()
async def answers(dut):
    for name in ("arready", "awready", "wready", "rvalid", "bvalid", "rlast", "rid", "rresp"):
        getattr(dut, f"m0_axi_{name}").value = 0
    for name in ("arvalid", "awvalid", "wvalid", "rready", "bready"):
        getattr(dut, f"s_axil_{name}").value = 0
    dut.rst.value = 1
    Clock(dut.clk, 2, "ns").start()
    await ClockCycles(dut.clk, 4)
    dut.rst.value = 0
    await ClockCycles(dut.clk, 3)
    dut.m0_axi_rvalid.value = int(ANSWERS)
    await ClockCycles(dut.clk, 3)
"""


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_a_broken_rule_fails_the_run(
    simulator: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if simulator == "icarus":
        try:
            find_icarus()
        except ToolMissing as missing:
            pytest.skip(str(missing))
    build = CocotbBuild(mover(), simulator=simulator)
    monkeypatch.syspath_prepend(str(tmp_path))
    for answers in (False, True):
        name = f"bench_{simulator}_{answers}".lower()
        work = tmp_path / name
        work.mkdir()
        (tmp_path / f"{name}.py").write_text(_BENCH.replace("ANSWERS", str(answers)))
        if not answers:
            build.launch(name, work, environment={})
            continue
        said = "^the memory at `m0_axi`: r has an ID of which no read is in flight, cycle [0-9]+$"
        with pytest.raises(AxiRuleError, match=said):
            build.launch(name, work, environment={})
