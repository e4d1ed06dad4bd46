"""The least configurations: one lane, one format."""

from __future__ import annotations

from pathlib import Path

from tilewright.hw.emit.unit import emit_component
from tilewright.hw.gta.control.region_scan import RegionScan
from tilewright.hw.gta.float.product_steps import ProductSteps
from tilewright.hw.spec.gta import GtaConfig
from tilewright.verif.kit.front_ends import complaints


def test_verilator_finds_nothing_in_the_scan_of_one_lane(tmp_path: Path) -> None:
    """One lane has one column, so the scan compares no column numbers."""
    text = emit_component(RegionScan(GtaConfig(lanes=1)), name="region_scan").verilog
    assert complaints("verilator", text, "region_scan", tmp_path) == ""


def test_steps_of_one_float_of_one_limb(tmp_path: Path) -> None:
    """Many adders leave no limbs to count, and the pause of a turn is a constant bit."""
    config = GtaConfig(lanes=1, formats=("bf16",), float_adders=64)
    text = emit_component(ProductSteps(config), name="steps").verilog
    assert complaints("verilator", text, "steps", tmp_path) == ""
