"""The tables of the TCU model: figures of the page, files, and one line for any error."""

from __future__ import annotations

import csv
import json
import re
from fractions import Fraction
from html import unescape
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pytest
from tilewright.apps.tcu.hardware.options import BACKENDS
from tilewright.cli import main
from tilewright.errors import UserError
from tilewright.hw.spec.host.plots import write_plot
from tilewright.sim.tcu import NumpyBackend, TensorUnit
from tilewright.sim.tcu.crossovers import COMPARISONS, UnitModel, crossover
from tilewright.sim.tcu.dense.recursive import standard, strassen
from tilewright.sim.tcu.dense.tall import tall
from tilewright.sim.tcu.formulas import stencils
from tilewright.sim.tcu.integers.karatsuba import karatsuba
from tilewright.sim.tcu.integers.schoolbook import schoolbook
from tilewright.sim.tcu.theorems import BOUNDS, THEOREMS, growth
from tilewright.sim.tcu.words import INT64
from tilewright.synth.tables import Table, csv_of
from tilewright.tables.tcu.crossovers import tcu_crossovers
from tilewright.tables.tcu.theorems import tcu_theorems
from tilewright.verif.kit.pages import page
from tilewright.verif.kit.plots import panels, places, points
from tilewright.verif.tcu.stencils.sweeps import swept

HARDWARE = ", ".join(name for name, row in BACKENDS.items() if row.unit)


def as_printed(table: Table) -> list[str]:
    """Rows of a page's table."""
    return [f"| {row.label} | {' | '.join(row.cells(row.ours))} |" for row in table.rows]


@pytest.mark.parametrize(
    "table",
    [tcu_theorems("cmos"), tcu_crossovers("cmos"), tcu_crossovers("cmos", settings=["cpu=0"])],
    ids=["theorems", "crossovers", "crossovers of the unit alone"],
)  # fmt: skip
def test_the_page_has_what_is_printed(table: Table) -> None:
    text = page("tcu-results.md").read_text()
    assert [line for line in as_printed(table) if line not in text] == []
    heads = table.columns if table.table.startswith("tcu-crossovers") else []
    assert " | ".join(heads) in text


def test_the_page_has_what_is_drawn(tmp_path: Path) -> None:
    """The drawing on the page names every comparison. With the release of Matplotlib that drew it,
    it is what the table draws."""
    table, kept = tcu_crossovers("cmos"), page("tcu-crossovers.svg").read_text()
    names = [row.label.partition(":")[0] for row in table.rows]
    assert [name for name in names if name not in unescape(kept)] == []
    assert table.drawing is not None
    write_plot(tmp_path / "a.svg", table.table, table.drawing)
    if f"Matplotlib v{matplotlib.__version__}," in kept:
        assert (tmp_path / "a.svg").read_text() == kept


@pytest.mark.parametrize("side", [4, 16])
def test_counts_grow_as_the_theorems_say(side: int) -> None:
    """Words of the CPU within 0.05 of the theorem's exponent, on units of 16; time of weak units
    never below the bound."""
    rows = {
        row.label.split(":")[0]: row.ours
        for row in tcu_theorems("cmos", settings=[f"s={side}"]).rows
    }
    assert list(rows) == [f"{one.theorem} {name}" for name, one in {**THEOREMS, **BOUNDS}.items()]
    for label, (theorem, unit, unit_constant, again, cpu, cpu_constant) in rows.items():
        assert unit == pytest.approx(theorem, abs=0.05), label
        assert (unit_constant or 0) > 0
        if label.startswith("12 "):
            assert again is cpu is cpu_constant is None
            assert (unit_constant or 0) >= 1
        else:
            assert theorem == again
            assert cpu == pytest.approx(theorem, abs=0.05), label


def test_growth() -> None:
    found = growth([2, 4, 8], [8, 64, 512], [12, 48, 192])
    assert (found.theorem, found.fitted) == (pytest.approx(3), pytest.approx(2))
    assert found.constant == 192 / 512


def test_the_bound_beside_a_run() -> None:
    """The constant of `tall` on a weak unit is sqrt(3), of a run as in the table."""
    unit = TensorUnit(NumpyBackend(4), INT64, weak=True)
    a = INT64.array([[1] * 32] * 32)
    tall(unit, a, a)
    one = BOUNDS["tall, weak"]
    assert unit.unit_time == one.cost(32, 4).unit_time(4)
    assert unit.unit_time / one.time(32, 4) == pytest.approx(3**0.5)


def test_a_cpu_of_a_word_a_cycle_beside_simd2() -> None:
    """The page gives these sizes. SIMD2 takes 1/256 cycle for a word."""
    found = {}
    for cpu in (1, 256):
        settings = [f"cpu={cpu}", "l=0", "calibrated=simd2"]
        table = tcu_crossovers("cmos", only="s", settings=settings)
        found[cpu] = {row.label.split(":")[0]: row.ours[-1] for row in table.rows}
    assert [found[cpu]["strassen / standard"] for cpu in (1, 256)] == [128, 65536]
    assert [found[cpu]["stencil / sweeps"] for cpu in (1, 256)] == [56, 28]


def test_crossovers_in_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    words = "table tcu-crossovers --only strassen --set l=0,2.5 --set units=mine:64:100.25"
    assert main([*words.split(), "--csv", "a.csv", "--json", "a.json", "--plot", "a.svg"]) == 0
    report = json.loads(Path("a.json").read_text())
    columns = ["m=256 l=0", "m=256 l=2.50", "tpu m=65,536 l=256", "volta m=256 l=16",
               "simd2 m=256 l=1,280", "m3xu m=256 l=640",
               "engine m=256 l=262", "gta m=256 l=850.11", "mine m=64 l=100.25"]  # fmt: skip
    assert report["columns"] == columns
    rows = {row["label"]: row["ours"] for row in report["rows"]}
    assert list(rows) == ["strassen / standard: side", "strassen / tall: side"]
    with Path("a.csv").open(newline="") as file:
        head, *lines = csv.reader(file)
    assert head == [report["table"], *columns]
    assert [[line[0], *map(int, line[1:])] for line in lines] == [
        [label, *ours] for label, ours in rows.items()
    ]
    text = Path("a.svg").read_text()
    assert text.count("strassen / ") == 2


def test_crossovers_are_drawn() -> None:
    """A line through the crossovers of a block, and a ring for each unit with a name."""
    table = tcu_crossovers("cmos", only="strassen", settings=["l=1,64"])
    (axes,) = panels(table)
    for row in table.rows:
        sizes = dict(points(axes, row.label))
        assert [sizes[1], sizes[64]] == list(row.ours[:2])
    *rings, legend = [line for line in axes.get_lines() if line.get_marker() == "o"]
    assert (legend.get_label(), places(legend)) == ("a unit of the table", [])
    assert [len(places(line)) for line in rings] == [
        sum(one is not None for one in row.ours[2:]) for row in table.rows
    ]


@pytest.mark.parametrize(
    ("settings", "names"),
    [(["m=36"], []), (["m=64"], ["simd2", "m3xu", "engine", "gta"]), (["calibrated=none"], []),
     (["calibrated=m3xu"], ["m3xu"])],
)  # fmt: skip
def test_what_is_calibrated(settings: list[str], names: list[str]) -> None:
    table = tcu_crossovers("cmos", only="square calls", settings=["l=0", *settings])
    assert [column.split()[0] for column in table.columns[3:]] == names


def test_theorems_as_csv() -> None:
    table = tcu_theorems("cmos", settings=["s=4"])
    _, *lines = csv.reader(csv_of(table.parts).splitlines())
    assert [line[0] for line in lines] == [row.label for row in table.rows]
    assert [float(line[3]) for line in lines] == [row.ours[2] for row in table.rows]
    assert lines[-1][4:] == ["", "", ""]


@pytest.mark.parametrize(
    ("table", "given", "said"),
    [
        (tcu_theorems, {"target": "ice40"},
         "tcu-theorems is computed by a model: no --target, not 'ice40'"),
        (tcu_theorems, {"settings": ["m=16"]}, "--set of tcu-theorems must be s, not 'm'"),
        (tcu_theorems, {"settings": ["s=1"]}, "--set s must be an integer in 2..256, not '1'"),
        (tcu_crossovers, {"settings": ["s=4"]},
         "--set of tcu-crossovers must be one of m, l, cpu, calibrated, units, not 's'"),
        (tcu_crossovers, {"settings": ["m=48"]}, "--set m must be a square, not 48"),
        (tcu_crossovers, {"settings": ["m=1"]},
         "--set m must be an integer in 4..16777216, not '1'"),
        (tcu_crossovers, {"settings": ["l=0,x"]},
         "--set l must be a number in 0..1000000000000000, not 'x'"),
        (tcu_crossovers, {"settings": ["cpu=-1"]},
         "--set cpu must be a number in 0..1000000, not '-1'"),
        (tcu_crossovers, {"settings": ["calibrated=numpy"]},
         f"--set calibrated must be some of {HARDWARE}, or none, not 'numpy'"),
        (tcu_crossovers, {"settings": ["calibrated=m3xu", "m=36"]},
         "--set m must be one of 16, 64, 256 with m3xu, not 36"),
        (tcu_crossovers, {"settings": ["units=a:16"]},
         "--set units must be NAME:M:L, separated by commas, not 'a:16'"),
        (tcu_crossovers, {"settings": ["units=a:17:0"]}, "--set units must be a square, not 17"),
        (tcu_crossovers, {"only": "sort"},
         "--only must be part of one of strassen / standard, strassen / tall, tall / square calls, "
         "karatsuba / schoolbook, distances / squaring, distances / squaring by the CPU, stencil / "
         "sweeps, not 'sort'"),
    ],
)  # fmt: skip
def test_what_is_refused(table: Any, given: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError, match=f"^{re.escape(said)}$"):
        table(**{"target": "cmos", **given})


# Compares crossovers of algorithms with closed forms and with runs, and checks that the advantage
# continues.

LATENCIES = (0, 1, 16, 1000, 10**6, 2.5)


@pytest.mark.parametrize("cpu", [0, 1, 3, 0.5])
def test_strassen_against_standard_in_closed_form(cpu: float) -> None:
    """7^h (m + l) + 5 m (7^h - 4^h) below 8^h (m + l) + m (8^h - 4^h), from some h on."""
    for s in (4, 16, 256):
        for latency in LATENCIES:
            m, waits, rate = s * s, Fraction(latency), Fraction(cpu)
            less = [
                (7**h - 8**h) * (m + waits)
                + rate * m * (5 * (7**h - 4**h) - (8**h - 4**h)) < 0
                for h in range(21)
            ]  # fmt: skip
            last = max(h for h in range(21) if not less[h])
            found = crossover(COMPARISONS["strassen / standard"], UnitModel("", s, latency), cpu)
            assert found == (s << (last + 1) if last < 20 else None)


def test_tall_calls_pay_as_soon_as_there_is_latency() -> None:
    one = COMPARISONS["tall / square calls"]
    assert [crossover(one, UnitModel("", 16, latency)) for latency in (0, 0.5, 10**6)] == [
        None, 32, 32
    ]  # fmt: skip


def test_seidels_never_pays_where_a_unit_has_minplus_and_soon_where_it_has_not() -> None:
    for s in (4, 16, 256):
        for latency in LATENCIES:
            unit = UnitModel("", s, latency)
            for cpu in (0, 1, 10):
                assert crossover(COMPARISONS["distances / squaring"], unit, cpu) is None
            assert crossover(COMPARISONS["distances / squaring by the CPU"], unit, 0) is None
    free = UnitModel("", 16, 0)
    assert crossover(COMPARISONS["distances / squaring by the CPU"], free) == 11


@pytest.mark.parametrize("name", COMPARISONS)
def test_it_goes_on_to_pay(name: str) -> None:
    """The new algorithm is faster at all examined sizes from the crossover on, and not at the size
    before."""
    one = COMPARISONS[name]
    for s in (4, 16):
        sizes = one.sizes(s)
        assert sizes == sorted(set(sizes))
        for latency in (0, 300):
            for cpu in (0, 1):
                found = crossover(one, UnitModel("", s, latency), cpu)
                less = [
                    new.unit_time(s, latency) + cpu * new.cpu
                    < old.unit_time(s, latency) + cpu * old.cpu
                    for new, old in ((one.new(n, s), one.old(n, s)) for n in sizes)
                ]
                if found is None:
                    assert not less[-1]
                else:
                    first = sizes.index(found)
                    assert all(less[first:])
                    assert first == 0 or not less[first - 1]


RUNS: dict[str, tuple[Any, Any, Any]] = {
    "strassen / standard": (strassen, standard, lambda n: np.ones((n, n), int)),
    "strassen / tall": (strassen, tall, lambda n: np.ones((n, n), int)),
    "karatsuba / schoolbook": (karatsuba, schoolbook, lambda n: 2 ** (30 * n) - 1),
}


@pytest.mark.parametrize("name", RUNS)
def test_runs_agree(name: str) -> None:
    """Time of both, run, on the two sizes between which one begins to pay."""
    new, old, operand = RUNS[name]
    one, latency = COMPARISONS[name], 4
    found = crossover(one, UnitModel("", 4, latency), cpu=0)
    assert found is not None
    before = one.sizes(4)[one.sizes(4).index(found) - 1]
    for n, pays in ((before, False), (found, True)):
        times = []
        for algorithm in (new, old):
            unit = TensorUnit(NumpyBackend(4), INT64, latency)
            algorithm(unit, operand(n), operand(n))
            times.append(unit.unit_time)
        assert (times[0] < times[1]) == pays


class Counted:
    """A number that counts the operations on it."""

    adds = multiplies = 0

    def __add__(self, other: object) -> Counted:
        Counted.adds += 1
        return self

    def __radd__(self, other: object) -> Counted:
        assert other == 0  # where a sum begins
        return self

    def __mul__(self, other: object) -> Counted:
        Counted.multiplies += 1
        return self


def test_sweeps_one_by_one_as_counted() -> None:
    """A sweep by the definition, its sums and products counted where they are taken."""
    n, k = 6, 3
    grid, weights = (np.full((side, side), Counted(), object) for side in (n, 3))
    swept(grid, weights, k, "periodic")
    cost = stencils.sweeps(n, k)
    assert (cost.cpu_adds, cost.cpu_multiplies) == (Counted.adds, Counted.multiplies)
    assert cost.cpu == Counted.adds + Counted.multiplies
