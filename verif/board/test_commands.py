"""``tilewright board``, and a board behind a pseudo-terminal."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tilewright
from tilewright.errors import UserError
from tilewright.sim.device.wire import WireError
from tilewright.sim.rtl.serial_board import SerialBoard
from tilewright.tables.board import board_rate
from tilewright.verif.board.boards import DIVISOR, behind_a_terminal, emitted
from tilewright.verif.kit.commands import Run

ENGINE: dict[str, Any] = {"tile": 2, "ops": ("mma", "minplus")}


@pytest.fixture(scope="module")
def terminal() -> Iterator[str]:
    """A board with an engine, behind a pseudo-terminal."""
    unit = tilewright.units["engine_simd2"]
    config = unit.config(**ENGINE)
    entry_unit = unit._entry.unit
    board = SerialBoard(emitted(entry_unit, config), divisor=DIVISOR)
    with behind_a_terminal(board) as port:
        yield port


def test_a_program_on_a_board(terminal: str) -> None:
    """The program of the page."""
    roads = np.array([[0, 3, 9], [9, 0, 2], [5, 9, 0]])
    with tilewright.board("engine_simd2", port=terminal, **ENGINE) as device:
        found = tilewright.driver(device).simd2_minplus(roads, roads, roads)
        assert tilewright.registers(device).read("ID") == device.read_register(0)
    assert found.tolist() == [[0, 3, 5], [7, 0, 2], [5, 8, 0]]


SET = ("--set", "tile=2", "--set", "ops=mma,minplus")


def gemm(run: Run, rows: int, depth: int, columns: int) -> tuple[object, ...]:
    """Words of a product of random matrices."""
    rng = np.random.default_rng(5)
    a = run.save("a.npy", rng.standard_normal((rows, depth)))
    b = run.save("b.npy", rng.standard_normal((depth, columns)))
    return "gemm", a, b, "--unit", "simd2", "--on", "engine", *SET


def test_a_command_on_a_board(run: Run, terminal: str, capsys: pytest.CaptureFixture[str]) -> None:
    """It compares every result with the model, as on RTL."""
    words = *gemm(run, 7, 9, 5), "--json", run.directory / "report.json"
    assert run(*words, "--backend", "board", "--port", terminal) == 0
    assert "on the board" in run.out
    report = run.report()
    assert run(*words, "--backend", "cycles") == 0
    assert report["backend"] == "board"
    assert report["mismatches"] == 0 < report["checked"]
    assert report["bytes_read"] == run.report()["bytes_read"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--backend", "board"], "--backend board needs --port, the board's serial port"),
        (["--port", "p"], "--port must come with --backend board, not with rtl"),
        (
            ["--backend", "board", "--port", "p"],
            "p cannot be opened as a serial port: No such file or directory; give the board's "
            "port, such as /dev/ttyUSB0",
        ),
    ],
)
def test_options_of_a_board(run: Run, words: list[str], said: str) -> None:
    assert run.refused(*gemm(run, 2, 2, 2), *words) == said


def test_a_unit_without_memory(run: Run) -> None:
    words = *gemm(run, 2, 2, 2), "--on", "unit", "--backend", "board", "--port", "p"
    assert run.refused(*words) == "--backend board needs an accelerator: --on engine"


def test_a_command_that_does_not_fit(run: Run, terminal: str) -> None:
    said = run.refused(*gemm(run, 120, 120, 120), "--backend", "board", "--port", terminal)
    assert "the board has 64.0 KiB" in said


def test_what_does_not_fit(terminal: str) -> None:
    large = np.zeros((200, 200))
    with tilewright.board("engine_simd2", port=terminal, **ENGINE) as device:
        driver = tilewright.driver(device)
        with pytest.raises(ValueError, match=r"65,?536"):
            driver.simd2_minplus(large, large, large)


def test_the_rates_of_the_page() -> None:
    """They are those of the table, near that of the line where frames are long."""
    page = (Path(__file__).parents[2] / "docs" / "bridge.md").read_text()
    rows = board_rate("cmos").rows
    for row in rows:
        assert f"| {row.label} | {' | '.join(row.cells(row.ours))} |" in page
    assert max(rows[-1].ours[:2]) < 1.2 * rows[-1].ours[2]  # type: ignore[operator,type-var]
    with pytest.raises(UserError, match="board-rate is simulated: no --target, not 'ecp5'"):
        board_rate("ecp5")


def test_refusals(terminal: str, tmp_path: Path) -> None:
    with pytest.raises(WireError, match="holds another unit or configuration than this engine"):
        tilewright.board("engine_simd2", port=terminal, tile=4)
    with pytest.raises(ValueError, match="`unit` must be an accelerator, one of engine_simd2"):
        tilewright.board("simd2", port=terminal)
    missing = tmp_path / "tty"
    with pytest.raises(WireError, match=f"{missing} cannot be opened as a serial port: No such"):
        tilewright.board("engine_simd2", port=str(missing))
    (tmp_path / "file").write_text("no port")
    with pytest.raises(WireError, match=r"file cannot be opened as a serial port: "):
        tilewright.board("engine_simd2", port=str(tmp_path / "file"))


def test_generate(tmp_path: Path) -> None:
    words = ["generate", "engine_simd2", "--set", "tile=2", "--set", "ops=mma"]
    printed = board(*words, "--kib", "32", "-o", str(tmp_path / "board.sv"))
    assert printed.startswith(f"{tmp_path / 'board.sv'}: ")
    assert printed.endswith(" modules; 25 cycles a bit, 32 KiB\n")
    verilog = (tmp_path / "board.sv").read_text()
    assert "module board_engine_simd2 (" in verilog
    assert (tmp_path / "board.json").exists()
    printed = board(*words, "--sdram", "100", "-o", str(tmp_path / "sdram.sv"))
    assert printed.endswith("25 cycles a bit, 32768 KiB; the SDRAM's clock lags by 270 degrees\n")
    assert "output logic [15:0] sdram__dq_o" in (tmp_path / "sdram.sv").read_text()
    config = json.loads((tmp_path / "sdram.json").read_text())["config"]
    assert (config["kib"], config["sdram_mhz"], config["sdram_phase"]) == (32_768, 100, 270)


def board(*words: str, status: int = 0) -> str:
    """What ``tilewright board`` prints."""
    done = subprocess.run(
        [sys.executable, "-m", "tilewright", "board", *words],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == status, done.stderr
    return done.stdout if status == 0 else done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["generate", "m3xu", "-o", "b.sv"], "m3xu has no registers and no memory: a board needs"),
        (["generate", "gta", "--kib", "6", "-o", "b.sv"], "--kib must be a multiple of 4, not 6"),
        (["generate", "gta", "--divisor", "3", "-o", "b.sv"], "--divisor"),
        (
            ["generate", "gta", "--sdram", "140", "-o", "b.sv"],
            "--sdram: `mhz` must be above 0 and at most 133.3, not 140",
        ),
        (
            ["generate", "gta", "--sdram", "50", "--kib", "32", "-o", "b.sv"],
            "--kib must not come with --sdram, which has 32768 KiB, not 32",
        ),
        (
            ["simulate", "gta", "--sdram", "50", "--board", "icebreaker"],
            "BOARD with --sdram must be one of ulx3s-12f, ulx3s-25f, ulx3s-45f, ulx3s-85f, not ",
        ),
        (["simulate", "gta", "--link", "/"], "/: exists; give another name, or remove it"),
        (["simulate", "gtaa"], "unknown unit 'gtaa'; did you mean 'gta'?"),
    ],
)
def test_what_is_refused(words: list[str], said: str) -> None:
    assert said in board(*words, status=2)


@pytest.mark.parametrize(
    ("memory", "kib"),
    [
        ([], 64),
        pytest.param(["--sdram", "25"], 32_768, marks=pytest.mark.long),
        pytest.param(["--sdram", "50", "--board", "ulx3s-85f"], 32_768, marks=pytest.mark.long),
    ],
)
def test_simulate(tmp_path: Path, memory: list[str], kib: int) -> None:
    """The command prints the terminal, serves it, and ends by Ctrl-C; its link goes."""
    link = tmp_path / "tty"
    words = ["board", "simulate", "engine_simd2", "--set", "tile=2", "--set", "ops=mma,minplus"]
    words += memory
    with subprocess.Popen(
        [sys.executable, "-m", "tilewright", *words, "--link", str(link)],
        stdout=subprocess.PIPE, text=True,
    ) as server:  # fmt: skip
        assert server.stdout is not None
        line = server.stdout.readline()
        assert line == f"{link.readlink()}: engine_simd2 with {kib} KiB, until Ctrl-C\n"
        with tilewright.board("engine_simd2", port=str(link), **ENGINE) as device:
            device.write_memory(3, b"there")
            assert device.read_memory(0, 8)[3:] == b"there"
        server.send_signal(signal.SIGINT)
        assert server.wait(60) == 0
    assert not link.is_symlink()
