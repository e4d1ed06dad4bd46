"""Timing by models of the modules against the flat netlist, and buffers inside modules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pytest
from tilewright.hw.emit.unit import emit
from tilewright.registry import entries
from tilewright.synth import effort
from tilewright.synth.base.memo import Memo
from tilewright.synth.effort import Implementer
from tilewright.synth.flow import synthesize_verilog
from tilewright.synth.library.cells import Library, WireLoad
from tilewright.synth.mapping.abc import map_module
from tilewright.synth.mapping.fanout import FANOUT_LIMIT, add_buffers
from tilewright.synth.mapping.flattening import flatten, joined_through
from tilewright.synth.mapping.hierarchy import Design, split_design
from tilewright.synth.mapping.module_buffers import buffered
from tilewright.synth.mapping.netlist import MappedModule, Netlist, Nets, read_mapped
from tilewright.synth.report import AsicReport
from tilewright.synth.targets import target_library
from tilewright.synth.timing.analysis import Path, analyse
from tilewright.synth.timing.models import ModuleTiming
from tilewright.verif.kit.data import empty_cache, needs_data, real_libraries
from tilewright.verif.synth.cell_libraries import ACCUMULATOR, CMOS

STAGES = "\n".join(
    f"  stage at_{n}(.clk(clk), .en(en), .a(q[{n}]), .b(x[{n}]), .y(q[{n + 1}]), .c(c[{n}]), "
    f".d(c[{n + 1}]), .same(same[{n}]));"
    for n in range(40)
)
CHAIN = f"""
module stage(input clk, en, a, b, c, output reg y, output d, same);
  reg k;
  assign d = c | (y & k);
  assign same = b;
  always @(posedge clk) begin k <= a ^ y; if (en) y <= a ^ b ^ (c & k); end
endmodule
module chain(input clk, go, input [39:0] x, output [40:0] q, output z, output [39:0] same);
  wire [40:0] c;
  reg en;
  assign c[0] = q[40], q[0] = same[3], z = c[40];
  always @(posedge clk) en <= go ^ c[40];
{STAGES}
endmodule
"""
"""A path through forty instances of one module, in and out of each; an enable that all have; an
input that a child passes on to the registers of another."""

INNER = """
module leaf(input clk, input [7:0] a, b, output reg [7:0] s, output [7:0] t);
  always @(posedge clk) s <= a + b;
  assign t = s ^ a;
endmodule
module pair(input clk, input [7:0] a, b, output [7:0] o);
  wire [7:0] s, t, u;
  leaf one(.clk(clk), .a(a), .b(b), .s(s), .t(t));
  leaf two(.clk(clk), .a(s), .b(t), .s(u), .t(o));
endmodule
module tree(input clk, input [7:0] x, output reg [7:0] r);
  wire [7:0] o, p;
  pair left(.clk(clk), .a(x), .b(r), .o(o));
  pair right(.clk(clk), .a(o), .b(x), .o(p));
  always @(posedge clk) r <= p + o;
endmodule
"""
"""Three levels. The outputs of `one` are used inside the leaf and have different loads outside."""

DESIGNS = {"accumulator": ACCUMULATOR, "chain": CHAIN, "tree": INNER}


@pytest.fixture(scope="module", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """One cache for all tests of this module: they map the same designs."""
    patch = pytest.MonkeyPatch()
    empty_cache(tmp_path_factory.mktemp("models") / "cache", patch)
    yield
    patch.undo()


def _mapped(design: Design, library: Library) -> dict[str, MappedModule]:
    return {
        name: read_mapped(map_module(design, name, library), name, library)
        for name in design.order()
    }


def _ready(design: Design, library: Library) -> dict[str, MappedModule]:
    """The modules with their buffers."""
    order, memo = design.order(), Memo()
    return buffered(joined_through(_mapped(design, library), order, memo), order, library, memo)


def _both(
    design: Design, modules: Mapping[str, MappedModule], library: Library, wires: WireLoad | None
) -> tuple[Path, Path]:
    """The slowest path by models, and in the flat netlist."""
    models = ModuleTiming(modules, design.order(), library, Memo(), wires).timing().path
    flat = analyse(flatten(modules, design.top, library), library, wires).path
    assert models is not None
    assert flat is not None
    return models, flat


def _check(models: Path, flat: Path) -> None:
    """Models are never optimistic, pessimistic by at most 1 %, and tell the same path."""
    assert flat.total * (1 - 1e-9) <= models.total <= 1.01 * flat.total
    assert models.delay == pytest.approx(models.steps[-1].arrival, rel=1e-3)
    arrivals = [step.arrival for step in models.steps]
    assert arrivals == sorted(arrivals)
    if models.total > flat.total * (1 + 1e-9):
        return  # another path may be the slowest one then
    assert (models.kind, models.end) == (flat.kind, flat.end)
    places = [(step.cell, step.instance, step.module, step.edge) for step in models.steps]
    if len(places) == len(flat.steps):  # of several paths that are as slow, either may be told
        assert places[-1] == tuple(
            getattr(flat.steps[-1], name) for name in ("cell", "instance", "module", "edge")
        )


@pytest.mark.parametrize("top", DESIGNS)
def test_models_agree_with_the_flat_netlist(top: str) -> None:
    """Models and flat netlist agree in `cmos`, in which slews change no delay."""
    design = split_design(DESIGNS[top], top)
    models, flat = _both(design, _ready(design, CMOS), CMOS, None)
    _check(models, flat)
    if top == "chain":
        assert len({step.instance for step in models.steps}) >= 39


@needs_data
@pytest.mark.parametrize(("name", "wires"), [("asap7", False), ("sg13g2", True)])
@pytest.mark.parametrize("top", DESIGNS)
def test_models_of_a_real_library(top: str, name: str, wires: bool) -> None:
    library = target_library(name, liberty_path=real_libraries())
    assert library is not None
    design = split_design(DESIGNS[top], top)
    model = library.wire_load if wires else None
    _check(*_both(design, _ready(design, library), library, model))


@pytest.mark.long
@pytest.mark.parametrize("unit", ["c2sr_converter", "simd2", "t2s"])
def test_models_of_units(unit: str) -> None:
    """The small configurations of three units, which the flat analysis can do as well."""
    entry = entries()[unit]
    emitted = emit(entry.unit, entry.small_config)
    design = split_design(emitted.verilog, emitted.sidecar["module"])
    _check(*_both(design, _ready(design, CMOS), CMOS, None))


def test_a_loop_through_modules_is_refused() -> None:
    design = split_design(
        """
        module half(input a, b, output y); assign y = ~(a & b); endmodule
        module loop(input s, r, output q, p);
          half one(.a(s), .b(p), .y(q)); half two(.a(r), .b(q), .y(p));
        endmodule
        """,
        "loop",
    )
    with pytest.raises(ValueError, match=r"^a combinational loop through "):
        ModuleTiming(_ready(design, CMOS), design.order(), CMOS, Memo()).timing()


# Buffers


def _fanouts(netlist: Netlist) -> Nets:
    """Loads of each net but the clock."""
    counts = np.zeros(netlist.nets, dtype=np.int64)
    for kind, pins in netlist.cells.items():
        for column, pin in enumerate(CMOS.cells[kind].pins.values()):
            if not pin.output:
                used = pins[:, column][pins[:, column] >= 0]
                counts += np.bincount(used, minlength=netlist.nets)
    counts[netlist.clock_nets] = 0
    return counts


@pytest.mark.parametrize("top", DESIGNS)
def test_no_net_has_more_loads_than_a_buffer_may_drive(top: str) -> None:
    design = split_design(DESIGNS[top], top)
    ready = _ready(design, CMOS)
    netlist = flatten(ready, top, CMOS)
    assert _fanouts(netlist).max() <= FANOUT_LIMIT
    plain = flatten(_mapped(design, CMOS), top, CMOS)
    _, flat, _ = add_buffers(plain, CMOS)
    added = sum(map(len, netlist.cells.values())) - sum(map(len, plain.cells.values()))
    assert flat <= added <= 2 * flat


def test_a_buffer_passes_its_net_on() -> None:
    """Without its buffers the netlist is the one that was mapped: the same cells, with the same
    nets at their pins but for names."""
    design = split_design(CHAIN, "chain")
    modules = joined_through(_mapped(design, CMOS), design.order(), Memo())
    ready = _ready(design, CMOS)
    plain, netlist = (flatten(each, "chain", CMOS) for each in (modules, ready))
    roots = np.arange(netlist.nets + 1)
    for kind, module in ((k, m) for m in ready.values() for k in m.buffers):
        assert len(module.buffers[kind])
        rows = len(plain.cells.get(kind, ()))
        source, target = netlist.cells[kind][rows:].T
        for _ in range(3):  # no tree is higher
            roots[target] = roots[source]
    roots[-1] = -1
    pairs = set()
    for kind, pins in plain.cells.items():
        now = roots[netlist.cells[kind][: len(pins)]]
        pairs |= set(zip(pins.ravel().tolist(), now.ravel().tolist(), strict=True))
    assert len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs})


# The flow of a large design


@pytest.fixture
def _nothing_flat(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every design is a large one, of whose like instances few are sampled."""
    monkeypatch.setattr(effort, "MOST_FLAT", 0)
    monkeypatch.setattr(effort, "SAMPLE", 60)


@pytest.mark.usefixtures("_nothing_flat")
def test_a_large_design_for_area_and_speed() -> None:
    area = synthesize_verilog(CHAIN, "chain")
    fast = synthesize_verilog(CHAIN, "chain", effort="speed")
    assert isinstance(area, AsicReport)
    assert isinstance(fast, AsicReport)
    assert area.path is not None
    assert fast.path is not None
    assert area.timing_by == "static timing analysis by models of the modules, without wires"
    assert fast.path.ns < area.path.ns
    assert fast.area >= area.area
    assert area.buffers > 0
    assert sum(row.total for row in area.modules) + area.buffer_area == pytest.approx(area.area)
    spent = sum(segment.increment for segment in fast.path.segments)
    assert spent + fast.path.setup_ns == pytest.approx(fast.path.ns)
    slack = synthesize_verilog(CHAIN, "chain", effort="speed", period=area.path.ns)
    assert isinstance(slack, AsicReport)
    assert slack.area <= fast.area
    assert slack.path is not None
    assert slack.path.ns <= area.path.ns


@pytest.mark.usefixtures("_nothing_flat")
def test_a_sample_has_the_loads_of_all() -> None:
    design = split_design(CHAIN, "chain")
    implementer = Implementer(design, CMOS, lambda mapping: _mapped(design, CMOS))
    modules = implementer.mapping("area")
    implementer._always = {"at_17"}
    netlist, _ = implementer._sampled(modules)
    assert netlist.loads is not None
    ready = _ready(design, CMOS)
    whole = flatten(ready, "chain", CMOS)
    counts = netlist.instances()
    assert 2 <= counts["stage"] < 40
    names = [owner[0] for owner in netlist._owner]
    assert "at_17." in names
    net = next(k for k in range(netlist.nets) if netlist.name(k) == "en")
    same = next(k for k in range(whole.nets) if whole.name(k) == "en")
    assert _fanouts(netlist)[net] + netlist.loads.pins[net] == _fanouts(whole)[same]


@pytest.mark.usefixtures("_nothing_flat")
def test_no_cross_check_of_a_large_design(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tilewright.synth.flow.opensta_available", lambda: True)
    with pytest.raises(ValueError, match=r"^a cross-check needs a design of at most [\d,]+ cells$"):
        synthesize_verilog(ACCUMULATOR, "accumulator", cross_check=True)
