"""Every choice of every option gives Verilog that all front ends take without a word."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from tilewright.hw.catalogue import UNITS
from tilewright.hw.emit.unit import emit
from tilewright.hw.spec.config import IntRange
from tilewright.verif.kit.front_ends import FRONT_ENDS, complaints
from tilewright.verif.kit.options import OPTIONS, choices, small
from tilewright.verif.kit.sampling import slow_but

INSTALLED = [tool for tool in FRONT_ENDS if tool != "icarus" or shutil.which("iverilog")]
"""``test_emit`` is skipped, and says so, where Icarus is missing."""

QUICK = ["simd2-format-int8", "matraptor-outer_product-True"]


@pytest.mark.parametrize("option", slow_but(QUICK, OPTIONS))
def test_no_front_end_complains(option: str, tmp_path: Path) -> None:
    unit, changes = OPTIONS[option]
    verilog = emit(unit, small(unit, **changes)).verilog
    said = {tool: complaints(tool, verilog, unit, tmp_path) for tool in INSTALLED}
    assert said == dict.fromkeys(INSTALLED, "")


@pytest.mark.parametrize("unit", UNITS)
def test_every_choice_is_among_the_options(unit: str) -> None:
    built: list[Any] = [small(unit)]
    built += [small(unit, **changes) for name, changes in OPTIONS.values() if name == unit]
    for item in UNITS[unit].config.parameters():
        allowed = item.metadata["allowed"]
        if not isinstance(allowed, IntRange):
            found = {getattr(config, item.name) for config in built}
            assert found >= set(choices(allowed)) != set()
