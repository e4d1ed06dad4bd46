"""``examples/systemverilog``: the bench passes in Icarus and in Verilator, and finds faults."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from tilewright.verif.examples.readme import Example, needs_icarus


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where ``unit.sv`` and ``unit_pkg.sv`` are."""
    made = Example("systemverilog", tmp_path_factory.mktemp("generated"))
    made.prints(next(word for word in made.commands if word.startswith("tilewright ")))
    return made.directory


@pytest.fixture
def example(generated: Path, tmp_path: Path) -> Example:
    found = Example("systemverilog", tmp_path)
    for name in ("unit.sv", "unit_pkg.sv"):
        shutil.copy(generated / name, found.directory)
    return found


@pytest.mark.slow
def test_in_icarus(example: Example) -> None:
    """And with one bit of a result that is wrong, or one stall too many."""
    needs_icarus()
    build, run = (word for word in example.commands if word.startswith(("iverilog", "vvp")))
    assert example.prints(build) == ""
    assert "PASS: 300 results" in example.prints(run)
    example.change("m3xu_tb.sv", "43D30000_439F8000", "43D30000_439F8001")
    example.prints(build)
    done = example.run(run)
    assert done.returncode == 1
    assert re.search(r"FATAL: .*result 0 is \w+, not \w+", done.stdout)


@pytest.mark.slow
def test_a_result_that_does_not_wait_is_found(example: Example) -> None:
    needs_icarus()
    # The pipeline moves on whether or not its result is taken.
    example.change("unit.sv", "assign advance = ~o__valid | o__ready;", "assign advance = 1'd1;")
    build, run = (word for word in example.commands if word.startswith(("iverilog", "vvp")))
    example.prints(build)
    done = example.run(run)
    assert done.returncode == 1
    assert "changed before it was taken" in done.stdout


@pytest.mark.slow
def test_in_verilator(example: Example) -> None:
    example.with_verilator()
    build, run = (word for word in example.commands if word.startswith(("verilator", "obj_dir/")))
    example.prints(build)
    assert "PASS: 300 results" in example.prints(run)
