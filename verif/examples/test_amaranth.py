"""``examples/amaranth``: the design computes distances, and becomes Verilog."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tilewright.verif.examples.readme import Example
from tilewright.verif.kit.front_ends import complaints


@pytest.mark.slow
def test_in_amaranths_simulator(tmp_path: Path) -> None:
    example = Example("amaranth", tmp_path)
    (simulate,) = (word for word in example.commands if "simulate" in word)
    assert example.prints(simulate).startswith("PASS: distances after 2 steps are [[0.0, 3.0,")
    assert (example.directory / "relaxer.vcd").exists()


@pytest.mark.slow
def test_verilog(tmp_path: Path) -> None:
    example = Example("amaranth", tmp_path)
    (generate,) = (word for word in example.commands if "relaxer.py" in word)
    assert example.prints(generate) == "relaxer.sv and relaxer.json\n"
    verilog = (example.directory / "relaxer.sv").read_text()
    assert "\nmodule relaxer (" in verilog
    assert "relaxer_simd2 unit (" in verilog
    assert complaints("verilator", verilog, "relaxer", tmp_path) == ""
    sidecar = json.loads((example.directory / "relaxer.json").read_text())
    assert [stream["name"] for stream in sidecar["streams"]] == ["i", "o"]
