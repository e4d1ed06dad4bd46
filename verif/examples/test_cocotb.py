"""``examples/cocotb``: the bench passes, finds what is wrong, and knows the sidecar only."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tilewright.verif.examples.readme import Example, needs_icarus


@pytest.mark.long
def test_in_verilator(tmp_path: Path) -> None:
    """With the command that the environment has for everybody's benches."""
    example = Example("cocotb", tmp_path)
    example.with_verilator()
    _, generate, run = example.commands
    example.prints(generate)
    assert example.prints(run).splitlines()[-1] == "PASS: 3 tests, 0 failed"


@pytest.mark.slow
def test_in_icarus(tmp_path: Path) -> None:
    needs_icarus()
    example = Example("cocotb", tmp_path)
    _, generate, run = example.commands
    run += " icarus"
    example.prints(generate)
    assert example.prints(run).splitlines()[-1] == "PASS: 3 tests, 0 failed"
    # The greatest is not the least.
    example.change("engine_bench.py", "min(old, *", "max(old, *")
    done = example.run(run)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (1, "FAIL: 3 tests, 2 failed")


def test_it_knows_the_sidecar_only(tmp_path: Path) -> None:
    example = Example("cocotb", tmp_path)
    for name in ("engine_bench.py", "run.py"):
        text = (example.directory / name).read_text()
        assert not re.search(r"^\s*(import|from) tilewright", text, re.M)
