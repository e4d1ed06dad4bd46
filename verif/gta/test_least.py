"""The least configurations: one lane, and formats of which none is left."""

from __future__ import annotations

from pathlib import Path

from tilewright.hw.emit.unit import emit_component
from tilewright.hw.gta.control.region_scan import RegionScan
from tilewright.hw.spec.gta import GtaConfig
from tilewright.verif.kit.front_ends import complaints
from tilewright.verif.kit.refusal import refused


def test_verilator_finds_nothing_in_the_scan_of_one_lane(tmp_path: Path) -> None:
    """Nothing is compared with a column of which there is but one."""
    text = emit_component(RegionScan(GtaConfig(lanes=1)), name="region_scan").verilog
    assert complaints("verilator", text, "region_scan", tmp_path) == ""


def test_floats_alone_need_adders() -> None:
    message = "`float_adders` must not be 0 with formats of floats alone"
    with refused(ValueError, message):
        GtaConfig(formats=("bf16", "fp64"), float_adders=0)
    assert GtaConfig(formats=("int8", "bf16"), float_adders=0).floats == ()
