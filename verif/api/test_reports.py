"""``tilewright.simulate``, ``synth`` and ``table``: what they return, and what they refuse."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import tilewright
from tilewright.cli import main
from tilewright.hw.spec.host.words import UnknownName
from tilewright.hw.spec.simd2 import SIMD2
from tilewright.registry import System, Work, registered
from tilewright.settings import read_config
from tilewright.synth.tables import Row, Table
from tilewright.verif.kit.commands import refused
from tilewright.verif.tables.made_up import made_up


def sizes(
    target: str,
    progress: Callable[[str], None] = lambda said: None,
    *,
    files: Any = (),
    settings: Any = (),
) -> Table:
    """A table of the sizes of files."""
    read_config(SIMD2, None, settings)
    return Table("sizes", target, ["bytes"], [Row(f.name, [3], [f.stat().st_size]) for f in files])


@pytest.fixture
def sizes_here() -> Iterator[None]:
    """Registers a table ``sizes``."""
    work = Work(f"{sizes.__module__}:sizes", "A table of the sizes of files.")
    with registered(System(name="here", entries=(), tables={"sizes": work})):
        yield


@pytest.mark.usefixtures("sizes_here")
def test_a_table(tmp_path: Path) -> None:
    (file := tmp_path / "one.txt").write_text("four")
    found = tilewright.table("sizes", file, tile=2, ops=["mma", "minplus"], csv=tmp_path / "t.csv")
    assert found.json["rows"] == [{"label": "one.txt", "paper": [3], "ours": [4]}]
    assert (found.json["table"], found.json["version"]) == ("sizes", tilewright.__version__)
    (config,) = found.json["configs"]
    assert (config["unit"], config["config"]["ops"]) == ("simd2", ["mma", "minplus"])
    assert "one.txt" in str(found)
    assert found.passed
    assert (tmp_path / "t.csv").read_text() == "sizes,bytes\none.txt,4\npaper: one.txt,3\n"
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.usefixtures("sizes_here")
def test_what_a_table_refuses() -> None:
    with refused(UnknownName, "unknown table 'sizs'; did you mean 'sizes'?"):
        tilewright.table("sizs")
    with refused(ValueError, "sizes takes no `scale`; its options are `target`, `csv`, `plot`"):
        tilewright.table("sizes", scale=0.5)
    with refused(ValueError, "simd2: unknown parameter 'tiles'; did you mean 'tile'?"):
        tilewright.table("sizes", tiles=2)
    with refused(ValueError, "t.txt: must end in .csv, not '.txt'"):
        tilewright.table("sizes", csv="t.txt")


def test_synth_takes_a_configuration_and_a_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """`synth` passes on a configuration and a clock exactly as the command does."""
    asked: list[Any] = []

    def synthesize(
        unit: Any, config: Any, target: str, *, period: float | None, **others: Any
    ) -> Any:
        assert others == {
            "effort": "speed", "wires": "none", "curve": False, "cross_check": False,
            "dont_use": others["dont_use"], "liberty_path": None,
        }  # fmt: skip
        assert not others["dont_use"]
        asked.append((unit.name, config.tile, target, period))
        return made_up(
            unit.name, target, {"part": (2, 3.5, 8)}, area=7.0, memory_bits=16, buffer_area=0.0
        )

    monkeypatch.setattr("tilewright.synth.flow.synthesize", synthesize)
    config = tilewright.units["simd2"].config(tile=8)
    found = tilewright.synth("simd2", config, target="liberty:a.lib", frequency=400)
    tilewright.synth("simd2", tile=2, period=3)
    assert main(["synth", "simd2", "--set", "tile=2", "--period", "3"]) == 0
    assert asked == [
        ("simd2", 8, "liberty:a.lib", 2.5),
        ("simd2", 2, "cmos", 3.0),
        ("simd2", 2, "cmos", 3.0),
    ]
    assert found.to_json() == found.json
    assert found.to_json() is not found.json
    assert found.json["area"] == 7.0
    expected = "<synth simd2: passed, unit='simd2', target='liberty:a.lib', area=7, "
    assert repr(found) == f"{expected}area_unit='of some kind'>"
    assert str(found).startswith("simd2 in made up (liberty:a.lib)\n")
    assert found._repr_html_().startswith("<pre ")
    assert "simd2_part" in found._repr_html_()


def test_what_synth_refuses() -> None:
    with refused(UnknownName, "unknown unit 'simd3'; did you mean 'simd2'?"):
        tilewright.synth("simd3")
    with refused(ValueError, "`period` and `frequency` exclude each other: both are the clock"):
        tilewright.synth("simd2", period=1, frequency=2)
    with refused(ValueError, "`frequency` must be a number in 0.001..1000000, not '0'"):
        tilewright.synth("simd2", frequency=0)
    allowed = "cmos, liberty:FILE, asap7, gscl45nm, sg13g2, sky130hd, ecp5, ice40"
    with refused(ValueError, f"`target` must be one of {allowed}, not 'asic'"):
        tilewright.synth("simd2", target="asic")


def test_simulate() -> None:
    found = tilewright.simulate("simd2", tile=2, ops=["minplus"], count=20, seed=3)
    assert found.passed
    assert found.result is None
    assert (found.json["unit"], found.json["seed"], found.json["complaints"]) == ("simd2", 3, [])
    assert found.json["config"]["tile"] == 2
    assert str(found).startswith("simd2: pass, ")
    assert repr(found).startswith("<simulate simd2: passed, unit='simd2', operations=")


def test_what_simulate_refuses() -> None:
    with refused(ValueError, "`sim` must be one of verilator, icarus, not 'vcs'"):
        tilewright.simulate("simd2", sim="vcs")
    with refused(ValueError, "`count` must be an integer in 1..1000000, not '0'"):
        tilewright.simulate("simd2", count=0)
    with refused(ValueError, "`seed` must be an integer of at least 0, not '-1'"):
        tilewright.simulate("simd2", seed=-1)


def test_a_missing_tool_keeps_its_error(monkeypatch: pytest.MonkeyPatch) -> None:
    from tilewright.sim.rtl import toolchain

    def missing() -> None:
        raise toolchain.ToolMissing("there is no Verilator")

    monkeypatch.setattr(toolchain, "require_tools", missing)
    with refused(toolchain.ToolMissing, "there is no Verilator"):
        tilewright.simulate("simd2")
