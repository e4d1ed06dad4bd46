"""Every choice of every option gives Verilog that all front ends take without a word."""

import shutil
from pathlib import Path

import pytest
from tilewright.hw.emit.unit import emit
from tilewright.hw.spec.config import IntRange
from tilewright.registry import entries
from tilewright.verif.kit.front_ends import FRONT_ENDS, complaints
from tilewright.verif.kit.options import OPTIONS, choices, small
from tilewright.verif.kit.sampling import slow_but

INSTALLED = [tool for tool in FRONT_ENDS if tool != "icarus" or shutil.which("iverilog")]
"""``test_emit`` is skipped, and says so, where Icarus is missing."""

QUICK = ["simd2-format:int8"]
SAMPLE = [*dict.fromkeys(["matraptor-outer_product:True", *[*OPTIONS][5::75]])]
"""Cases of the default test, besides the quick test's."""


@pytest.mark.parametrize("option", slow_but(QUICK, OPTIONS, SAMPLE))
def test_no_front_end_complains(option: str, tmp_path: Path) -> None:
    name, changes = OPTIONS[option]
    entry = entries()[name]
    verilog = emit(entry.unit, small(entry, changes)).verilog
    said = {tool: complaints(tool, verilog, name, tmp_path) for tool in INSTALLED}
    assert said == dict.fromkeys(INSTALLED, "")


@pytest.mark.parametrize("name", entries())
def test_every_choice_is_among_the_options(name: str) -> None:
    entry = entries()[name]
    changed = (changes for unit, changes in OPTIONS.values() if unit == name)
    built = [small(entry, changes) for changes in ({}, *changed)]
    for item in entry.unit.config.parameters():
        allowed = item.metadata["allowed"]
        if not isinstance(allowed, IntRange):
            assert {getattr(config, item.name) for config in built} >= set(choices(allowed))
            assert choices(allowed)


def test_the_short_test_is_of_options() -> None:
    assert set(QUICK) < set(OPTIONS)
