"""Place and route in field-programmable gate arrays: what fits, and reports in source terms."""

from __future__ import annotations

import json
import re
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console
from tilewright.synth import fpga
from tilewright.synth.base.errors import MissingExtra, ToolError
from tilewright.synth.flow import synthesize_verilog
from tilewright.synth.fpga_report import FpgaReport, Hierarchy, instance_uses, routed_segments
from tilewright.synth.mapping.hierarchy import split_design
from tilewright.verif.kit.data import empty_cache
from tilewright.verif.synth.cell_libraries import ACCUMULATOR, REGISTER


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    empty_cache(tmp_path / "cache", monkeypatch)


@pytest.mark.parametrize("target", ["ecp5", "ice40"])
def test_the_missing_extra_is_named(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        fpga, "importlib", SimpleNamespace(util=SimpleNamespace(find_spec=lambda _: None))
    )
    message = (
        f"target {target} needs nextpnr (`yowasp_nextpnr_{target}`), which is not installed: "
        "install `tilewright[fpga]`"
    )
    with pytest.raises(MissingExtra, match=f"^{re.escape(message)}$"):
        synthesize_verilog(REGISTER, "register", target)


@pytest.mark.slow
@pytest.mark.parametrize("target", ["ecp5", "ice40"])
def test_place_and_route(target: str) -> None:
    if find_spec(f"yowasp_nextpnr_{target}") is None:
        pytest.skip("the extra `fpga` is not installed")
    report = synthesize_verilog(ACCUMULATOR, "accumulator", target, period=2.5)
    assert isinstance(report, FpgaReport)
    assert report.flip_flops == 20
    # Both products are the same, and so is the multiplier.
    assert report.dsps == (1 if target == "ecp5" else 0)
    assert report.luts >= 20
    assert report.instances[0].instance == ""
    for name in ("luts", "flip_flops", "dsps", "block_rams"):
        assert sum(getattr(use, name) for use in report.instances) == getattr(report, name)
    assert report.segments[-1].arrival == pytest.approx(report.path_ns)
    assert report.start in ("sum", "(inputs)")
    assert report.end == report.segments[-1].signal == "sum"
    assert report.fmax_mhz is not None
    assert 20 < report.fmax_mhz < 800
    assert report.path_ns == pytest.approx(1000 / report.fmax_mhz, rel=0.01)
    assert report.slack_ns == 2.5 - 1000 / report.fmax_mhz
    console = Console(file=StringIO(), width=100)
    report.print(console)
    assert isinstance(console.file, StringIO)
    said = console.file.getvalue()
    assert "ns at 2.5 ns (400.0 MHz): " in said
    assert f"slowest path: {report.start} to sum" in said
    assert re.search(rf"^│ cells of the top │ +{report.instances[0].luts} │", said, re.M)


def test_nextpnr_works_for_the_clock_that_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The default clock is 100 MHz. Each clock has its own result in the cache."""
    monkeypatch.setattr(fpga, "require_nextpnr", lambda target: None)
    monkeypatch.setattr(fpga, "version", lambda package: "0")
    monkeypatch.setattr(
        fpga,
        "_synthesise",
        lambda *_: ("", Hierarchy("register", {}, {})),
    )
    asked = []

    def place(netlist: str, family: fpga.Family, mhz: float) -> str:
        asked.append(mhz)
        return json.dumps({"fmax": {"clk": {"achieved": 200.0}}})

    monkeypatch.setattr(fpga, "_place", place)
    found = [
        synthesize_verilog(REGISTER, "register", "ecp5", period=period)
        for period in (None, 4.0, 8.0, 8.0)
    ]
    assert asked == [100.0, 250.0, 125.0]
    assert [one.slack_ns for one in found] == [None, -1.0, 3.0, 3.0]
    assert [one.passed for one in found] == [True, False, True, True]


@pytest.mark.parametrize(
    "said",
    [
        "Unable to find legal placement for all cells, design is probably at utilisation limit.",
        "Unable to place cell 'job_128_DFFLC', no BELs remaining to implement cell type 'LC'",
    ],
)
def test_without_a_place(said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Look-up tables enough, and no place for all cells: it does not fit. Other failures are
    told."""
    monkeypatch.setattr(fpga, "require_nextpnr", lambda target: None)
    monkeypatch.setattr(fpga, "version", lambda package: "0")

    def place(netlist: str, family: fpga.Family, mhz: float) -> str:
        raise ToolError(f"{family.device}: {said}")

    monkeypatch.setattr(fpga, "_place", place)
    with pytest.raises(fpga.TooLarge, match=r"`accumulator` does not fit .* look-up tables of"):
        fpga.place_and_route(ACCUMULATOR, "accumulator", "ice40", config={})
    said = "Routing failed."
    with pytest.raises(ToolError, match=r"Routing failed\.$"):
        fpga.place_and_route(ACCUMULATOR, "accumulator", "ice40", config={})


def test_the_harness_connects_every_port() -> None:
    interface = split_design(ACCUMULATOR, "accumulator").modules["accumulator"].interface
    text = fpga._harness(interface, "accumulator")
    assert "reg [18:0] stimulus" in text
    assert "wire [28-1:0] response" in text
    assert text.count("stimulus[") == 1 + 3
    assert ".clk(clk)" in text


DEEP = "$paramod$0123\\deep\\WIDTH=s32'1"


def scope(module: str) -> dict[str, Any]:
    """The cell that yosys leaves where it has dissolved an instance."""
    return {"type": "$scopeinfo", "attributes": {"module": module}}


MODULES: dict[str, Any] = {
    "top": {
        "attributes": {},
        "cells": {
            "a": scope("leaf"),
            "a.q": {**scope(DEEP), "attributes": {"module": DEEP, "module_hdlname": "deep"}},
            "b": {"type": DEEP},
            "count_TRELLIS_FF_Q": {"type": "TRELLIS_FF"},
            "total_LUT4_Z": {"type": "LUT4"},
            "a.sum_LUT4_Z": {"type": "LUT4"},
            "a.taken_LUT4_A_1": {"type": "LUT4"},
            "a.q.level_CCU2C_S0": {"type": "CCU2C"},
        },
    },
    DEEP: {
        "attributes": {},
        "cells": {
            "level_CCU2C_S0": {"type": "CCU2C"},
            "level_TRELLIS_FF_Q": {"type": "TRELLIS_FF"},
        },
    },
    "LUT4": {"attributes": {"blackbox": "00000000000000000000000000000001"}, "cells": {}},
}
"""A netlist of yosys: ``a``, with ``q`` inside, is dissolved, and ``b`` is not."""

BEFORE: dict[str, Any] = {
    "top": {
        "cells": {
            "a": {
                "type": "leaf",
                "port_directions": {"o": "output", "taken": "input"},
                "connections": {"o": [2], "taken": [3]},
            },
            "b": {
                "type": DEEP,
                "port_directions": {"ready": "output"},
                "connections": {"ready": [3]},
            },
            "$add$1": {"type": "$add", "port_directions": {}, "connections": {}},
        },
        "netnames": {"total": {"bits": [2]}, "taken": {"bits": [3]}, "count": {"bits": [4]}},
    },
    "leaf": {
        "ports": {"o": {"bits": [7]}, "taken": {"bits": [8]}},
        "netnames": {"o": {"bits": [7]}, "taken": {"bits": [8]}, "sum": {"bits": [9]}},
    },
}
"""``a`` drives ``total``, and ``b`` the input of ``a`` that is called ``taken``."""

NETLIST = Hierarchy.of(MODULES, "top", BEFORE)


def test_resources_by_instance() -> None:
    """A cell counts for the instance of its name, or for that which drives its signal."""
    assert NETLIST.total() == {"TRELLIS_FF": 2, "LUT4": 3, "CCU2C": 2}
    assert NETLIST.modules == {"a": "leaf", "a.q": "deep", "b": "deep"}
    found = {use.instance: (use.module, use.luts) for use in instance_uses(NETLIST, counted)}
    # In `a` its sum, the total that it drives, and two of the carry cell inside; in `b` the look-up
    # table at its `ready` and its carry cell.
    assert found == {"": ("top", 0), "a": ("leaf", 4), "b": ("deep", 3)}


def counted(cells: Any) -> dict[str, int]:
    luts = cells.get("LUT4", 0) + 2 * cells.get("CCU2C", 0)
    return {"luts": luts, "flip_flops": cells.get("TRELLIS_FF", 0), "dsps": 0, "block_rams": 0}


def test_modules_that_stay() -> None:
    """Those that are large and have many instances are synthesised once."""
    large = {"cells": {f"n{n}": {"type": "$and"} for n in range(60)}}
    twice = {"cells": {f"l{n}": {"type": "large"} for n in range(2)}}
    small = {"cells": {"n": {"type": "$not"}}}
    kinds = [*7 * ["large"], "twice", *9 * ["small"], *8 * ["twice"]]
    top = {"cells": {f"c{n}": {"type": kind} for n, kind in enumerate(kinds)}}
    modules = {"top": top, "large": large, "twice": twice, "small": small}
    assert fpga._kept(modules, "top") == ["twice"]


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("count_TRELLIS_FF_Q", ("", "top", "count")),
        ("a.sum_LUT4_Z_3", ("a", "leaf", "sum")),
        ("a.q.level_CCU2C_S0_COUT_CCU2C_CIN", ("a.q", "deep", "level")),
        ("a.q.level[3]", ("a.q", "deep", "level")),
        ("stored_SB_DFFSR_Q_4_DFFLC", ("", "top", "stored")),
        ("b.storage.0.1", ("b", "deep", "storage.0.1")),
    ],
)
def test_names_in_source_terms(name: str, place: tuple[str, str, str]) -> None:
    assert NETLIST.place(name) == place


def test_a_path_by_instance() -> None:
    """Clock to output and setup count as logic; cells of one instance are a segment."""
    steps = [
        ("clk-to-q", 0.5, "count_TRELLIS_FF_Q"),
        ("routing", 1.0, "a.sum_LUT4_Z"),
        ("logic", 0.25, "a.sum_LUT4_Z"),
        ("routing", 0.0, "$nextpnr_CCU2C_1"),
        ("routing", 0.5, "a.q.level_CCU2C_S0"),
        ("logic", 0.5, "a.q.level_CCU2C_S0"),
        ("routing", 0.25, "a.q.level_TRELLIS_FF_Q"),
        ("setup", 0.0, "a.q.level_TRELLIS_FF_Q"),
    ]
    path = [{"type": kind, "delay": ns, "to": {"cell": cell}} for kind, ns, cell in steps]
    found = routed_segments(path, NETLIST, lambda m, s: f"{m}:{s}")
    assert [(one.instance, one.source, one.cells, one.logic, one.routing) for one in found] == [
        ("", "top:count", 1, 0.5, 0.0),
        ("a", "leaf:sum", 2, 0.25, 1.0),
        ("a.q", "deep:level", 2, 0.5, 0.75),
    ]
    assert [one.arrival for one in found] == [0.5, 1.75, 3.0]
