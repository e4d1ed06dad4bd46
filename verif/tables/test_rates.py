"""The table of rates on the RTL: its composition and its bars."""

from __future__ import annotations

import json
from contextlib import nullcontext
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from tilewright.cli import main
from tilewright.errors import UserError
from tilewright.hw.emit import unit
from tilewright.hw.spec.jobs.matraptor import COUNTERS
from tilewright.hw.spec.sida import SidaConfig
from tilewright.sim.rtl import accelerator, toolchain
from tilewright.sim.rtl.build import BuildError
from tilewright.sim.sida.model import SidaModel
from tilewright.synth.tables import Table
from tilewright.tables import cycle_deviation, element_rate, lane_rate, matraptor
from tilewright.tables.cycle_deviation import Deviation
from tilewright.tables.generated_matrices import GRAPHS
from tilewright.tables.matraptor import matraptor_rates
from tilewright.tables.sida import rates as table
from tilewright.tables.sida.rates import sida_rates
from tilewright.tables.sida.speedup import COLUMNS, RATIOS, sida_speedup
from tilewright.verif.sida.configs import small
from tilewright.verif.tables.made_up import ours_of

SIZES = {"processing": (4, 2), "lane": (5, 2), "converter": (6, 5), "cycle": (5, 6)}
"""Rows and columns by the tables' first words."""


@pytest.fixture
def made_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measurements that record their requests."""
    worst = {name: 0.01 * n for n, name in enumerate(COUNTERS)}
    for part, name in (
        (element_rate, "element_unit"),
        (cycle_deviation, "device_of"),
        (matraptor, "converter_of"),
    ):
        monkeypatch.setattr(part, name, lambda *_: nullcontext())
    monkeypatch.setattr(element_rate, "element_rate", lambda _, lengths: (sum(lengths), 7.0))
    monkeypatch.setattr(lane_rate, "port_rate", lambda _, length: (length, 0.125))
    monkeypatch.setattr(
        matraptor,
        "converter_rate",
        lambda _, direction, length, latency: length + latency / 1000 + (direction[0] == "c"),
    )
    monkeypatch.setattr(cycle_deviation, "deviation", lambda _: Deviation(12, worst))


def figures(found: Table, label: str) -> list[float | None]:
    return next(list(row.ours) for row in found.rows if row.label == label)


def check_shape(found: Any, configs: int) -> dict[str, Table]:
    """The parts by their first words."""
    written = json.loads(json.dumps(found.to_json()))
    assert written["table"] == "matraptor-rates"
    parts = {part.table.split()[0].strip(","): part for part in found.parts}
    assert list(parts) == list(SIZES)
    for part in written["parts"]:
        rows, columns = SIZES[part["table"].split()[0].strip(",")]
        assert len(part["columns"]) == columns
        assert len(part["rows"]) == (configs if part["table"].startswith("cycle") else rows)
        assert len({row["label"] for row in part["rows"]}) == len(part["rows"])
        assert all(len(row["ours"]) == columns for row in part["rows"])
    return parts


@pytest.mark.usefixtures("made_up")
def test_the_figures_of_the_table() -> None:
    seen: list[str] = []
    found = matraptor_rates("cmos", progress=seen.append)
    assert len(seen) == 2 + 1 + 6 + 5
    parts = check_shape(found, 5)
    assert figures(parts["processing"], "9 rows of 12 entries") == [108, 7]
    assert figures(parts["lane"], "entries in a row of B: 64") == [64, 0.125]
    assert figures(parts["converter"], "CSR to C2SR, latency 50") == [
        x + 1.05 for x in (1, 2, 8, 64, 1000)
    ]
    places = [list(COUNTERS).index(name) for name in ("cycles", "busy_cycles", "stalls")]
    ours = figures(parts["cycle"], "lanes x channels 2x2")
    assert ours[:4] == [12, *places]
    # In percent; the last one is the largest of all others.
    assert ours[5] == pytest.approx(len(COUNTERS) - 1)
    console = Console(file=StringIO(), width=140)
    found.print(console)
    assert isinstance(console.file, StringIO)
    text = console.file.getvalue()
    assert all(word in text for word in ("processing element", "108.00", "1,001.05", "conflicts"))


@pytest.mark.usefixtures("made_up")
def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "rates.json"
    assert main(["table", "matraptor-rates", "--json", str(path)]) == 0
    assert "converter, entries a cycle" in capsys.readouterr().out
    assert len(json.loads(path.read_text())["parts"]) == 4


def test_refusals(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["table", "matraptor-rates", "--target", "ice40"]) == 2
    message = "error: matraptor-rates is measured in simulation: no --target, not 'ice40'\n"
    assert capsys.readouterr().err == message

    def fail(*_: Any) -> None:
        raise BuildError("the compiler\nsays no")

    monkeypatch.setattr(element_rate, "element_unit", fail)
    assert main(["table", "matraptor-rates"]) == 2
    assert capsys.readouterr().err == "error: matraptor-rates: the compiler says no\n"

    def missing() -> None:
        raise toolchain.ToolMissing("no Verilator")

    monkeypatch.setattr(toolchain, "require_tools", missing)
    assert main(["table", "matraptor-rates"]) == 2
    assert capsys.readouterr().err == "error: no Verilator\n"


@pytest.mark.long
def test_the_bars() -> None:
    found = matraptor_rates("cmos", configs=["2x2"])
    parts = check_shape(found, 1)
    for row in parts["processing"].rows:
        needed, taken = (x or 0.0 for x in row.ours)
        assert needed <= taken <= needed + 0.5
    for row in parts["lane"].rows:
        assert 0.98 <= (row.ours[1] or 0.0) <= 1.01
    assert (figures(parts["lane"], "entries in a row of B: 500")[0] or 0.0) >= 0.98
    for name in ("CSR to C2SR", "C2SR to CSR"):
        assert all((x or 0.0) >= 0.95 for x in figures(parts["converter"], f"{name}, latency 1"))
    jobs, *shares = figures(parts["cycle"], "lanes x channels 2x2")
    assert jobs == 3 * len(cycle_deviation.INPUTS)
    assert shares == [0] * 5


# The table of SIDA's rates: its figures from counters, and a small accelerator on the RTL.

COUNTS = {
    "busy_cycles": 3000, "stalls": 1000, "column_cycles": 5000, "wait_z": 1250, "wait_held": 500,
    "held": 624, "lost": 3, "bytes_pointers": 4100, "bytes_rows": 20000, "bytes_values": 20000,
    "bytes_again": 30000, "bytes_read": 80000, "bytes_written": 8192,
}  # fmt: skip


class MadeUp(SidaModel):
    """Results of the model, with counters that are easy to divide."""

    def _job(self) -> tuple[str, int, dict[str, int]]:
        error, detail, counts = super()._job()
        return error, detail, counts | COUNTS


def set_up(monkeypatch: pytest.MonkeyPatch, device: type[SidaModel]) -> None:
    def made(text: object, config: SidaConfig, *, memory_bytes: int) -> Any:
        assert text == config
        return nullcontext(device(config, memory_bytes))

    monkeypatch.setattr(unit, "emit", lambda _, config: config)
    monkeypatch.setattr(accelerator, "NativeAccelerator", made)
    monkeypatch.setattr(table, "CONFIGS", {"four": table.CONFIGS["4 a cycle"]})


def test_the_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """A grid of 32 by 32 has 4,992 elements, in fp32 44,036 bytes by columns."""
    set_up(monkeypatch, MadeUp)
    told: list[str] = []
    found = sida_rates("cmos", told.append, matrices=("2-D grid",))
    rows = ["four: 2-D grid", "four: 2-D grid, transpose"]
    assert told == ["building four", *rows]
    assert [row.label for row in found.rows] == rows
    for row in rows:
        assert ours_of(found, row) == pytest.approx(
            [
                100 * 4992 / (4 * 4000),
                100 * 44100 / (64 * 5000),
                25,
                10,
                12.5,
                3,
                74100 / 44036,
                88192 / (44036 + 3 * 4096),
            ]
        )


def test_a_wrong_result_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    class Wrong(MadeUp):
        def _job(self) -> tuple[str, int, dict[str, int]]:
            done = super()._job()
            self.memory[self._values["VECTOR_0"]] ^= 1
            return done

    set_up(monkeypatch, Wrong)
    with pytest.raises(RuntimeError, match=r"^the result of four: 2-D grid is not the model's$"):
        sida_rates("cmos", matrices=("2-D grid",))


def test_a_target_is_refused() -> None:
    with pytest.raises(
        UserError, match=r"^sida-rates is measured in simulation: no --target, not "
    ):
        sida_rates("ecp5")


@pytest.mark.long
def test_a_small_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two channels of 64 bits bring two elements a cycle, of four that it could take."""
    monkeypatch.setattr(table, "CONFIGS", {"small": small()})
    monkeypatch.setattr(table, "_VERTICES", 121)
    found = sida_rates("cmos")
    for row in found.rows:
        rate, memory, wait_z, wait_room, held, _, matrix, everything = ours_of(found, row.label)
        assert 10 < rate <= 50
        assert 2 * rate - 25 < memory <= 100
        assert 0 <= wait_z < 80
        assert 0 <= wait_room < 60
        assert 0 <= held <= 100
        assert 1 <= matrix < 2.3
        assert 1 <= everything < 2.3
    assert ours_of(found, "small: above the diagonal")[5] == 0
    assert ours_of(found, "small: band of 33")[0] > 30


# The table of passes at the paper's size, on a small accelerator.

SMALL: dict[str, Any] = {
    "vertices": 300,
    "settings": ["pes=8", "subtensor=8", "channels=4", "data_bits=128", "interleave=64"],
}


@pytest.mark.slow
def test_lines_and_their_means() -> None:
    """No line is beyond the bound, or more than all of the memory; less room is never faster by
    much, and reads more."""
    table = sida_speedup("cmos", only="sssp", **SMALL)
    assert table.columns == COLUMNS
    lines, means = table.rows[: -len(RATIOS) - 1], table.rows[-len(RATIOS) - 1 :]
    assert len(lines) == len(GRAPHS) * len(RATIOS)
    for row in lines:
        over_ideal, over_fused, share, bandwidth, ahead, held, read = (x or 0.0 for x in row.ours)
        assert 0 < over_fused < over_ideal
        assert 0 < share <= 100
        assert 0 < bandwidth <= 100
        # The bytes take at least the cycles of the memory at its full bandwidth.
        assert 1 <= ahead <= 100 / bandwidth
        assert 0 <= held <= 100
        # Late elements twice: of R-MAT graphs not all are.
        assert 1 <= read < (1.9 if "R-MAT" in row.label else 2.2)
    for first in range(0, len(lines), len(RATIOS)):
        reads = [row.ours[6] or 0.0 for row in lines[first : first + len(RATIOS)]]
        assert reads == sorted(reads)
    product = 1.0
    for row in lines:
        product *= row.ours[0] or 0.0
    assert means[0].ours[0] == pytest.approx(product ** (1 / len(lines)))
    assert [row.label for row in means[1:]] == [f"geometric mean, {label}" for label in RATIOS]


@pytest.mark.slow
def test_sequences_of_jobs() -> None:
    """Solvers with one product per pass read the matrix once for each, for any buffer size, and are
    in no mean."""
    table = sida_speedup("cmos", only="cg,", **SMALL)
    assert [row.label.split(",")[0] for row in table.rows] == ["cg"] * len(GRAPHS) * len(RATIOS)
    for row in table.rows:
        over_ideal, over_fused, share, _, _, held, read = (x or 0.0 for x in row.ours)
        assert 0 < over_fused < over_ideal
        assert share == pytest.approx(100 * over_fused)
        assert held == 0
        assert 1 <= read < 1.5
    table = sida_speedup("cmos", only="gmres, 2-D grid", **SMALL)
    assert len(table.rows) == len(RATIOS) + 1


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"target": "ecp5"}, r"sida-speedup is computed by a model: no --target, not 'ecp5'"),
        ({"settings": ["pes=3"]}, r"sida: `pes` must be a power of two in 4\.\.1024, not 3"),
        ({"only": "knn"}, r"--only must be part of the name of a line, not 'knn'"),
    ],
)
def test_what_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError, match=f"^{said}$"):
        sida_speedup(**{"target": "cmos", "vertices": 64, **given})
