"""The table of sparse products under Tensaurus' roofline: inputs, points, SciPy, the drawing."""

from __future__ import annotations

import json
from dataclasses import replace
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from rich.console import Console
from tilewright.cli import main
from tilewright.hw.spec.tensaurus import TensaurusConfig
from tilewright.sim.sparse.tensor import Tensor
from tilewright.sim.timing.dram import FLAT, HBM
from tilewright.tables.roofline import host
from tilewright.tables.roofline.host import host_product
from tilewright.tables.roofline.measure import GROUPS, Source, sources, works
from tilewright.tables.roofline.point import Point, geomean, operations_wanted, roof_of
from tilewright.tables.roofline.report import Roofline, draw, too_small
from tilewright.tables.tensaurus_roofline import tensaurus_roofline
from tilewright.verif.kit.plots import panels, places, points
from tilewright.verif.tensaurus.model.cases import random_product

CONFIG = TensaurusConfig()


def point(**changes: object) -> Point:
    """A product of 1000 slices that takes as long as the roof says."""
    fields: dict[str, object] = {
        "group": "matrices", "label": "a", "origin": "file", "kernel": "mm", "columns": 32,
        "values": 10_000, "tiles": 1, "store": "buffer", "slices": 1000,
        "operations": 5_120_000, "read": 500_000, "written": 780_000,
        "compulsory": 640_000, "cycles": 10_000, "flat_cycles": 10_000,
        "gigahertz": 1.0, "reference": 2e-4, "roof": roof_of(CONFIG, HBM, 1.0),
    }  # fmt: skip
    return Point(**(fields | changes))  # type: ignore[arg-type]


def test_the_roof() -> None:
    """512 GOP/s and 128 GB/s, knee at 4; a product with a vector has a lane a row; flat ports read
    and write at the same time."""
    roof = roof_of(CONFIG, HBM, 1.0)
    assert (roof.operations, roof.row_operations, roof.ports, roof.bytes) == (512, 16, 128, 128)
    assert roof_of(CONFIG, FLAT, 1.0).bytes == 256
    assert [roof.at("mm", each) for each in (1, 4, 8)] == [128, 512, 512]
    assert [roof.at("mv", each) for each in (0.1, 1)] == [12.8, 16]
    one = point()
    assert (one.intensity, one.highest, one.reached, one.ratio) == (4, 512, 512, 1)
    assert (one.limit, one.compulsory_ratio, one.flat_ratio, one.microseconds) == (
        "array", 1, 1, 10
    )  # fmt: skip
    slow = point(read=1_780_000, cycles=25_000, flat_cycles=20_000)
    assert (slow.limit, slow.ratio) == ("memory", pytest.approx(0.8))
    assert slow.flat_ratio == pytest.approx(1_780_000 / 128 / 20_000)
    assert geomean([0.5, 2.0]) == pytest.approx(1)


def test_padding_is_not_wanted() -> None:
    """33 columns fill two units; of two units' lanes half are."""
    from tilewright.sim.tensaurus.tiles import plan
    from tilewright.sim.tensaurus.work import Work

    work = Work(kernel="mm", shape=(40, 50), ranks=(33,))
    cut = plan(CONFIG, work, np.full(40, 3)).cut
    assert operations_wanted(CONFIG, work, cut, 64_000) == 33_000


def test_small_products_are_named() -> None:
    assert too_small(point(), CONFIG) == ""
    assert too_small(point(slices=31), CONFIG) == "few slices"
    assert too_small(point(operations=2_000_000, read=0, written=500_000), CONFIG) == "short"


def test_every_kind_of_input_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TILEWRIGHT_DATA", raising=False)
    said: list[str] = []
    found = list(sources(1e-5, said=said.append))
    assert tuple(dict.fromkeys(source.group for source in found)) == GROUPS
    assert said == ["TILEWRIGHT_DATA names no directory with matrices: those of files are left out"]
    assert sum(source.group == "layers" for source in found) == 24
    four = next(source for source in found if source.name == "netflix, four modes")
    tensor = four.make()
    assert tensor.order == 4
    kinds = [(work.kernel, mode, work.ranks) for work, mode in works(four, tensor)]
    assert kinds[:4] == [("mttkrp", mode, (32, 32, 32)) for mode in range(4)]
    assert kinds[4:] == [("ttmc", mode, (2, 2, 32)) for mode in range(4)]
    for name in ("IL-2", "COVID-19", "Kinetic"):
        source = next(source for source in found if source.name == name)
        assert source.make().nnz == {"IL-2": 3_972, "COVID-19": 28_908, "Kinetic": 459_044}[name]


def test_a_users_tensor_stands_for_a_generated_one(tmp_path: Path) -> None:
    path = tmp_path / "nell-2.tns"
    path.write_text("1 2 3 1.5\n2 1 4 2.5\n")
    found = {source.name: source for source in sources(1e-5, [path])}
    assert found["nell-2"].origin == "file"
    assert found["nell-2"].make().shape == (2, 2, 4)
    assert found["nell-2, four modes"].make().order == 4
    assert found["netflix"].origin == "generated"


@pytest.mark.parametrize(
    ("kernel", "shape", "ranks"),
    [
        ("mv", (20, 15), (1,)),
        ("mm", (20, 15), (5,)),
        ("mttkrp", (9, 8, 7), (5, 5)),
        ("ttmc", (9, 8, 7), (3, 5)),
        ("mttkrp", (6, 5, 4, 7), (5, 5, 5)),
        ("ttmc", (6, 5, 4, 7), (2, 3, 5)),
    ],
)
def test_scipy_computes_the_same(
    kernel: str, shape: tuple[int, ...], ranks: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The host also computes the same in pieces that cut slices and fibers."""
    monkeypatch.setattr(host, "_PIECE", 37)
    product = random_product(np.random.default_rng(1), kernel, shape, ranks, count=200)
    operands = [each.astype(np.float32) for each in product.factors.values()]
    assert (host_product(product.work, product.tensor, 0, operands) == product.exact).all()
    # The same along another mode, of the tensor with its modes exchanged.
    order = [1, 0, *range(2, len(shape))]
    turned = Tensor(
        shape=tuple(shape[mode] for mode in order),
        indices=np.ascontiguousarray(product.tensor.indices[:, order]),
        values=product.tensor.values,
    )
    assert (host_product(product.work, turned, 1, operands) == product.exact).all()


def test_the_drawing_has_a_dot_for_each_product() -> None:
    """Dots are at intensity and rate; the roof is above them."""
    some = [point(), point(kernel="mv", columns=1, operations=100_000), point(group="layers")]
    figure = Figure()
    draw(figure, title="A & B", roof=some[0].roof, points=some)
    (axes,) = figure.get_axes()
    roof = points(axes, "roof of memory and array")
    assert [y for _, y in roof][1:] == [512, 512]
    dots = {
        one
        for one in points(axes)
        if one not in (*roof, *points(axes, "roof of products with a vector"))
    }
    assert dots <= {(one.intensity, one.reached) for one in some}
    hollow = [line for line in axes.get_lines() if line.get_markerfacecolor() == "none"]
    assert sum(len(places(line)) for line in hollow) == 1


def check(found: Roofline) -> None:
    """No point is above its roof, on either memory."""
    for each in found.points:
        assert 0 < each.ratio <= 1, each.label
        assert each.flat_ratio is not None
        assert 0 < each.flat_ratio <= 1, each.label
        assert each.operations > 0


@pytest.mark.long
def test_no_point_is_above_its_roof() -> None:
    said: list[str] = []
    found = tensaurus_roofline("cmos", said.append, scale=1e-4, only="nell-2", host=False)
    check(found)
    labels = [each.label for each in found.points]
    assert labels[:3] == [f"nell-2, mode {mode}" for mode in (1, 2, 3)]
    assert len(found.points) == 2 * 3 + 2 * 4
    (axes,) = panels(found)
    assert {(one.intensity, one.reached) for one in found.points} <= {*points(axes)}
    assert [len(part.rows) for part in found.parts] == [len(found.points)]
    assert any("ttmc, F = 32" in each for each in said)


@pytest.mark.long
def test_large_ones_are_run_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Points from a tenth of the papers' sizes on run neither on flat memory nor in SciPy."""
    small = tensaurus_roofline("cmos", only="c1_1", scale=1e-3)
    monkeypatch.setattr("tilewright.tables.tensaurus_roofline._LARGE", 1e-3)
    large = tensaurus_roofline("cmos", only="c1_1", scale=1e-3)
    (one,), (other,) = small.points, large.points
    assert other == replace(one, flat_cycles=None, reference=None)
    assert other.flat_ratio is None
    assert large.cells(other)[9::4] == ["-", "-"]
    assert (small.summary()["flat_points"], large.summary()["flat_points"]) == (1, 0)
    console = Console(file=StringIO(), width=200)
    large.print(console)
    assert isinstance(console.file, StringIO)
    assert "flat memory was left out" in console.file.getvalue()
    assert "over SciPy" not in console.file.getvalue()


@pytest.mark.slow
def test_few_values_are_added_in_memory() -> None:
    """The planner adds sums in memory where slices have few values, and in the buffer where they
    have many."""
    found = tensaurus_roofline("cmos", only="density 0.000", host=False)
    check(found)
    assert [each.store for each in found.points] == ["memory", "memory"]
    assert [each.kernel for each in found.points] == ["mm", "mm"]
    for each in found.points:
        assert each.compulsory_ratio <= each.ratio
        assert found.cells(each)[11] == "memory (sums in memory)"
    buffered = tensaurus_roofline("cmos", only="c1_1", host=False)
    assert [each.store for each in buffered.points] == ["buffer"]


@pytest.mark.long
def test_layers_reach_nine_tenths() -> None:
    """Pruned layers, with as many banks as keep rows from waiting for each other."""
    found = tensaurus_roofline("cmos", only="layers", settings=["banks=16"], host=False)
    check(found)
    assert found.summary()["geomean"] >= 0.9
    assert found.summary()["flat_geomean"] >= 0.9


@pytest.mark.slow
def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "roof.json"
    words = ["table", "tensaurus-roofline", "--only", "c1_1", "--scale", "1e-3"]
    assert main([*words, "--json", str(target)]) == 0
    assert "of the roof on average" in capsys.readouterr().out
    report = json.loads(target.read_text())
    (only,) = report["points"]
    assert (only["label"], only["kernel"], only["too_small"]) == ("VGG-16 c1_1", "mm", "short")
    assert only["reference"] > 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--target", "ice40"],
         "tensaurus-roofline is computed by a model: no --target, not 'ice40'"),
        (["--scale", "2"], "--scale must be in 1e-6..1, not 2"),
        (["--only", "nothing"], "--only must be one of tensors, layers, matrices, densities, "
         "measurements, or in a name, not 'nothing'"),
        (["a.txt"], "a.txt: must be a .tns, .mtx or .mtx.gz file"),
        (["--plot", "a.gif"], "a.gif: must end in .svg, .png or .pdf, not '.gif'"),
    ],
)  # fmt: skip
def test_refusals(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["table", "tensaurus-roofline", *words]) == 2
    assert capsys.readouterr().err == f"error: {message}\n"


def test_other_tables_take_no_such_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["table", "ciss-bandwidth", "--scale", "0.1"]) == 2
    assert capsys.readouterr().err == (
        "error: ciss-bandwidth takes no --scale; its options are --target, --csv, --plot, --json\n"
    )


def test_sources_are_made_when_they_are_reached() -> None:
    """No source generates a tensor before it is reached."""
    for source in sources(1.0):
        assert isinstance(source, Source)
