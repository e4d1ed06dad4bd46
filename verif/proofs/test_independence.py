"""No output of a bus follows from an input of one in the same cycle: in the netlists of all
accelerators, small ones by default and all structures in the long test. No VALID of a stream
follows from its READY, in every part with streams."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib import import_module
from inspect import getmembers, isclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from tilewright.hw.emit.unit import emit_component
from tilewright.hw.stream.fork_join import Fork
from tilewright.registry import entries
from tilewright.verif.catalogue.toy.adder import ToyAdder
from tilewright.verif.catalogue.toy.spec import ToyAdderConfig
from tilewright.verif.kit.options import emitted_unit
from tilewright.verif.kit.sampling import slow_but
from tilewright.verif.proofs.netlist import Netlist, SignalPath, read_netlists
from tilewright.verif.proofs.parts import PARTS

_BUS = re.compile(r"(m\d+_axi|s_axil)_(aw|w|b|ar|r)\w+")


def bus_paths(netlist: Netlist) -> list[SignalPath]:
    """Returns the combinational paths from any input of a bus to any output of a bus. AXI4 (A3.2)
    allows none, so no VALID waits for a READY (A3.3.1)."""
    outputs = [name for name in netlist.outputs if _BUS.fullmatch(name)]
    inputs = [name for name in netlist.inputs if _BUS.fullmatch(name)]
    return netlist.paths(inputs, lambda _: outputs)


def stream_paths(netlist: Netlist) -> list[SignalPath]:
    """The combinational paths from the ready of an output stream to its valid or its payload."""

    def own(ready: str) -> list[str]:
        stream = ready.removesuffix("ready")
        return [name for name in netlist.outputs if name.startswith(stream)]

    streams = [name for name in netlist.inputs if name.endswith("__ready")]
    return netlist.paths(streams, own)


def lazy_forks(netlist: Netlist) -> list[tuple[str, ...]]:
    """The instances of lazy forks, which have no registers."""
    return [place for place in netlist.instances("fork") if not netlist.has_clock(place)]


def fork_paths(netlist: Netlist) -> list[str]:
    """The combinational paths from a valid of a lazy fork to the ready of the same output. There
    must be none: that output would wait for its valid, and its valid for the others."""
    return [
        path
        for place in lazy_forks(netlist)
        for number in range(netlist.count(place, "o__{}__valid"))
        for path in netlist.paths_back(place, f"o__{number}__valid", f"o__{number}__ready")
    ]


ACCELERATORS = {name: entry for name, entry in entries().items() if entry.unit.jobs is not None}
SAMPLE = ["c2sr_converter", "engine_simd2", "matraptor", "t2s"]
"""Accelerators of the default test; the longer ones have the same readers and writers."""
VARIANTS = [(name, n) for name, one in ACCELERATORS.items() for n in range(len(one.variants))]
HW = Path(__file__).resolve().parents[2] / "hw"


LAZY = ("engine", "matraptor", "t2s")
"""Accelerators with lazy forks inside."""


class LazyAdder(ToyAdder):
    """The toy with a lazy fork at its bus, which asks for a read and a write together."""

    def connect_manager(
        self, m: Module, number: int, *, read: Any = None, write: Any = None
    ) -> None:
        m.submodules.lazy = lazy = Fork(read.ar.payload.shape(), 2)
        wiring.connect(m, read.ar, lazy.i)
        both = SimpleNamespace(ar=lazy.o[0], r=read.r, aw=lazy.o[1], w=write.w, b=write.b)
        super().connect_manager(m, number, read=both, write=both)


class ChoosyAdder(ToyAdder):
    """The toy with an RREADY that waits for RVALID, and a BREADY for good responses only."""

    def connect_manager(
        self, m: Module, number: int, *, read: Any = None, write: Any = None
    ) -> None:
        r, b = read.r, write.b
        waits = SimpleNamespace(valid=r.valid, payload=r.payload, ready=r.valid)
        good = ~b.payload.response[1]
        chooses = SimpleNamespace(valid=b.valid, payload=b.payload, ready=good)
        reads = SimpleNamespace(ar=read.ar, r=waits)
        writes = SimpleNamespace(aw=write.aw, w=write.w, b=chooses)
        super().connect_manager(m, number, read=reads, write=writes)


def netlists_of(parts: Mapping[str, wiring.Component], directory: Path) -> dict[str, Netlist]:
    numbers = {name: f"part_{number}" for number, name in enumerate(parts)}
    units = {
        numbers[name]: emit_component(part, name=numbers[name]).verilog
        for name, part in parts.items()
    }
    found = read_netlists(units, directory)
    return {name: found[number] for name, number in numbers.items()}


def netlist_of(part: wiring.Component, directory: Path) -> Netlist:
    return netlists_of({"part": part}, directory)["part"]


def check_bus(name: str, config: Mapping[str, Any], directory: Path) -> Netlist:
    netlist = read_netlists({name: emitted_unit(name, **config).verilog}, directory)[name]
    assert {"s_axil_rready", "m0_axi_arready", "m0_axi_rid", "m0_axi_bvalid"} < set(netlist.inputs)
    assert {"s_axil_arready", "m0_axi_rready", "m0_axi_bready"} < set(netlist.outputs)
    assert [str(path) for path in bus_paths(netlist)] == []
    assert fork_paths(netlist) == []
    return netlist


@pytest.mark.slow
@pytest.mark.parametrize("name", slow_but([], ACCELERATORS, SAMPLE))
def test_no_output_of_an_accelerators_bus_follows_from_an_input(name: str, tmp_path: Path) -> None:
    """This holds for the small configuration. No ready depends on the valid of the same output of a
    lazy fork either."""
    netlist = check_bus(name, ACCELERATORS[name].small, tmp_path)
    assert bool(lazy_forks(netlist)) == name.startswith(LAZY)


@pytest.mark.long
@pytest.mark.parametrize(("name", "number"), VARIANTS)
def test_no_output_of_a_variants_bus_follows_from_an_input(
    name: str, number: int, tmp_path: Path
) -> None:
    """Other structures: without blocks, with vectors in memory, by outer products, and so on."""
    entry = ACCELERATORS[name]
    check_bus(name, {**entry.small, **entry.variants[number]}, tmp_path)


@pytest.mark.slow
def test_a_lazy_fork_at_a_bus_is_named_with_its_path(tmp_path: Path) -> None:
    config = ToyAdderConfig()
    assert bus_paths(netlist_of(ToyAdder(config), tmp_path)) == []
    found = bus_paths(netlist_of(LazyAdder(config), tmp_path))
    assert {(path.source, path.sink) for path in found} == {
        ("m0_axi_awready", "m0_axi_arvalid"),
        ("m0_axi_arready", "m0_axi_awvalid"),
    }
    for path in found:
        assert any(name.startswith("lazy.") for name in path.names), str(path)


@pytest.mark.slow
def test_a_ready_that_follows_its_valid_or_its_payload_is_named(tmp_path: Path) -> None:
    found = bus_paths(netlist_of(ChoosyAdder(ToyAdderConfig()), tmp_path))
    assert {(path.source, path.sink) for path in found} == {
        ("m0_axi_rvalid", "m0_axi_rready"),
        ("m0_axi_bresp", "m0_axi_bready"),
    }


class Waiting(wiring.Component):
    """A lazy fork with an output whose ready needs its valid."""

    def __init__(self) -> None:
        signature = stream.Signature(1)
        super().__init__({"i": wiring.In(signature), "o": wiring.Out(signature).array(2)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.lazy = lazy = Fork(1, 2)
        wiring.connect(m, wiring.flipped(self.i), lazy.i)
        for inside, outside in zip(lazy.o, self.o, strict=True):
            m.d.comb += [outside.valid.eq(inside.valid), outside.payload.eq(inside.payload)]
        m.d.comb += [
            lazy.o[0].ready.eq(self.o[0].ready),
            lazy.o[1].ready.eq(self.o[1].ready & self.o[1].valid),
        ]
        return m


@pytest.mark.slow
def test_an_output_of_a_lazy_fork_that_waits_for_its_valid_is_named(tmp_path: Path) -> None:
    netlist = netlist_of(Waiting(), tmp_path)
    assert lazy_forks(netlist) == [("lazy",)]
    (path,) = fork_paths(netlist)
    assert path.startswith("lazy.o__1__valid -> ")
    assert path.endswith(" -> lazy.o__1__ready")


@pytest.mark.slow
def test_no_valid_of_a_stream_follows_from_its_ready(tmp_path: Path) -> None:
    parts = {name: build() for name, build in PARTS.items()}
    netlists = netlists_of(parts, tmp_path)
    assert [f"{name}: {path}" for name in parts for path in stream_paths(netlists[name])] == []


class Impatient(wiring.Component):
    """A stream that offers only in cycles with a transfer."""

    def __init__(self) -> None:
        signature = stream.Signature(1)
        super().__init__({"i": wiring.In(signature), "o": wiring.Out(signature)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += [
            self.i.ready.eq(self.o.ready),
            self.o.valid.eq(self.i.valid & self.o.ready),
            self.o.payload.eq(self.i.payload),
        ]
        return m


@pytest.mark.slow
def test_a_valid_that_waits_for_ready_is_named(tmp_path: Path) -> None:
    found = stream_paths(netlist_of(Impatient(), tmp_path))
    assert [str(path) for path in found] == ["o__ready -> i__ready -> o__valid"]


def components_with_streams(folder: str) -> set[type]:
    """The classes of components of a folder of hw, without those that start with an underscore."""
    found: set[type] = set()
    for file in (HW / folder).glob("*.py"):
        module = import_module(f"tilewright.hw.{folder}.{file.stem}")
        found |= {
            one
            for name, one in getmembers(module, isclass)
            if issubclass(one, wiring.Component)
            and one.__module__ == module.__name__
            and not name.startswith("_")
        }
    return found


WITHOUT_STREAMS = {
    "AcceleratorTop", "Activity", "CacheTags", "DelayRing", "JobStates", "KeptWord",
    "ValidPipeline",
}  # fmt: skip
"""The bus of the first is that of the accelerators above."""


def test_every_part_with_streams_is_there() -> None:
    built = set()
    for build in PARTS.values():
        part = build()
        part._MustUse__silence = True
        built.add(type(part))
    missing = {
        one.__name__
        for folder in ("stream", "axi", "job", "channels")
        for one in components_with_streams(folder) - built
    }
    assert missing == WITHOUT_STREAMS
