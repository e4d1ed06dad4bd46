"""The driver in C: compiled without a warning, on RTL, models and other configurations."""

from __future__ import annotations

import re
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
from tilewright.verif.examples.scripts import EXAMPLES, load_script

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
    """What the compiler says of a file of the example; empty if it takes it."""
    strict = ("-Wall", "-Wextra", "-Werror", "-pedantic", "-x", "c", "-std=c11")
    command = [*find_compiler().command, *strict, *options, "-I", str(folder), "-fsyntax-only"]
    done = run_program([*command, str(HERE / source)])
    assert (done.returncode != 0) == bool(done.stderr)
    return done.stderr


def run_on_model(folder: Path, parameters: dict[str, Any], **options: Any) -> int:
    """What the program finds wrong on a model."""
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
