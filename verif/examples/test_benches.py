"""The driver in C: compiled without a warning, on RTL, models and other configurations."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tilewright
from tilewright.hw.emit.integration.c.header import header
from tilewright.hw.emit.unit import describe
from tilewright.hw.spec.host.programs import run_program
from tilewright.hw.spec.matraptor import MatRaptorConfig
from tilewright.sim.rtl.toolchain import find_compiler
from tilewright.verif.examples.readme import EXAMPLES, Example, load_script, needs_icarus
from tilewright.verif.kit.front_ends import complaints

HERE = EXAMPLES / "bare_metal"
on_host = load_script("bare_metal/on_host.py")
OTHERS = (
    {"lanes": 4, "channels": 2, "interleave": 128},
    {"lanes": 1, "channels": 4},
    {"lanes": 4, "channels": 1, "data_bits": 256},
)
"""Parameters that change where things are in memory."""


def write_header(folder: Path, **changes: Any) -> None:
    config = MatRaptorConfig(**{**on_host.PARAMETERS, **changes})
    (folder / "matraptor.h").write_text(header(describe("matraptor", config)))


def compiles(folder: Path, source: str, *options: str) -> str:
    """Returns the compiler's messages for a file of the example; empty if it compiles."""
    strict = ("-Wall", "-Wextra", "-Werror", "-pedantic", "-x", "c", "-std=c11")
    command = [*find_compiler().command, *strict, *options, "-I", str(folder), "-fsyntax-only"]
    done = run_program([*command, str(HERE / source)])
    assert (done.returncode != 0) == bool(done.stderr)
    return done.stderr


def run_on_model(folder: Path, parameters: dict[str, Any], **options: Any) -> int:
    """Returns the number of errors that the program finds on a model."""
    library = on_host.build(folder, **options)
    memory = on_host.MEMORY_BYTES
    with tilewright.device("matraptor", memory_bytes=memory, **parameters) as device:
        wrong: int = on_host.run(library, device)
    return wrong


@pytest.mark.parametrize("source", sorted(path.name for path in HERE.glob("*.c")))
def test_each_file_compiles_for_a_target(source: str, tmp_path: Path) -> None:
    write_header(tmp_path)
    options = ("-ffreestanding",) if source == "spgemm.c" else ()
    options = ("-DON_HOST",) if source == "host.c" else options
    assert compiles(tmp_path, source, *options) == ""


def test_another_format_does_not_compile(tmp_path: Path) -> None:
    write_header(tmp_path, value="fp64")
    assert "values are integers of 32 bits" in compiles(tmp_path, "spgemm.c")


@pytest.mark.slow
def test_on_the_rtl_as_its_page_says(capfd: pytest.CaptureFixture[str]) -> None:
    assert on_host.main([]) == 0
    shown = re.search(r"on_host\.py\n((?:    .*\n)+)", (HERE / "README.md").read_text())
    assert shown
    assert capfd.readouterr().out == re.sub(r"^    ", "", shown[1], flags=re.M)


@pytest.mark.slow
@pytest.mark.parametrize("changes", OTHERS, ids=str)
def test_on_other_configurations(changes: dict[str, Any], tmp_path: Path) -> None:
    write_header(tmp_path, **changes)
    assert run_on_model(tmp_path, {**on_host.PARAMETERS, **changes}) == 0


@pytest.mark.slow
def test_another_device_is_refused(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Every product, before anything is written."""
    write_header(tmp_path)
    assert run_on_model(tmp_path, {**on_host.PARAMETERS, "queue_depth": 32}) > 0
    assert capfd.readouterr().out.count("the product ended with -1: unknown\n") == 5


@pytest.mark.slow
@pytest.mark.parametrize(
    "mistake",
    [
        lambda text: text.replace("put32(entry + 4, matrix", "put32(entry + 4, 1 + matrix"),
        lambda text: text.replace(
            "return (blocks ? blocks : 1) * BLOCK", "return (blocks ? 1 : 1) * BLOCK"
        ),
        lambda text: text.replace("row % CHANNELS", "0"),
    ],
    ids=["columns", "capacity", "channels"],
)
def test_a_wrong_driver_is_found(mistake: Callable[[str], str], tmp_path: Path) -> None:
    write_header(tmp_path)
    text = (HERE / "spgemm.c").read_text()
    wrong = tmp_path / "wrong.c"
    wrong.write_text(mistake(text))
    assert wrong.read_text() != text
    sources = [wrong if path.name == "spgemm.c" else path for path in on_host.SOURCES]
    assert run_on_model(tmp_path, on_host.PARAMETERS, sources=sources) > 0


# ``examples/amaranth``: the design computes distances, and becomes Verilog.


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


# ``examples/cocotb``: the bench passes, finds what is wrong, and knows the sidecar only.


@pytest.mark.long
def test_in_verilator(tmp_path: Path) -> None:
    """Runs the bench with the command ``verilator`` on the PATH."""
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


# ``examples/systemverilog``: the bench passes in Icarus and in Verilator, and finds faults.


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Directory that holds ``unit.sv`` and ``unit_pkg.sv``."""
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
def test_systemverilog_in_icarus(example: Example) -> None:
    """Passes, and fails with one wrong bit in a result or one stall too many."""
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
def test_systemverilog_in_verilator(example: Example) -> None:
    example.with_verilator()
    build, run = (word for word in example.commands if word.startswith(("verilator", "obj_dir/")))
    example.prints(build)
    assert "PASS: 300 results" in example.prints(run)
