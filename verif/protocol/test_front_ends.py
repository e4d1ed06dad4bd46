"""Every reader of SystemVerilog that we use takes the checkers, for simulations and for proofs."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyslang.driver import Driver
from tilewright.sim.rtl.axi.checkers import checker_verilog
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
