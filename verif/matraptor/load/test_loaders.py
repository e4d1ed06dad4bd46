"""MatRaptor's loaders: every token, every beat, one a cycle, under memories of every kind."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from amaranth.hdl import Cat, Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from scipy.sparse import csr_array
from tilewright.hw.axi.crossbar import ReadCrossbar
from tilewright.hw.axi.interconnect import ReadInterconnect
from tilewright.hw.axi.layouts import address_layout
from tilewright.hw.axi.ports import ManagerPort
from tilewright.hw.emit.unit import Emitted, emit_component
from tilewright.hw.matraptor.layouts import job_layout, left_layout, product_layout, row_layout
from tilewright.hw.matraptor.load.a_loader import SparseALoader
from tilewright.hw.matraptor.load.b_loader import SparseBLoader
from tilewright.hw.spec.matraptor import MatRaptorConfig
from tilewright.verif.bench.cocotb_build import SettingsBuild
from tilewright.verif.kit.front_ends import complaints
from tilewright.verif.kit.sampling import by_size, slow_but
from tilewright.verif.matraptor.load.loader_jobs import LoaderJob, ends_mask, random_matrix

UNITS = (("a", "pairs"), ("a", "entries"), ("b", "pairs"), ("b", "entries"))


class Loaders(wiring.Component):
    """The loaders of all lanes; what A's sends is not connected to B's.

    Parameters
    ----------
    config: see ``MatRaptorConfig``
    direct: of one lane; each of its four readers has a port of its own, without a crossbar

    Members
    -------
    left, i, product: arrays of streams, by lane
    start: of the A loaders
    job, stop: of all
    rows_in_lane: array
    idle, error, index_error: a bit for each loader, A's of a lane below B's; B's of each lane
    error_address: of each loader; index_row: of each lane
    beats: a bit for each reader of each lane, in the order of ``UNITS``: a beat has come
    """

    def __init__(self, config: MatRaptorConfig, *, direct: bool = False) -> None:
        self._config, self._direct = config, direct
        self._channel_bits = max(1, (config.channels - 1).bit_length())
        count = len(UNITS) if direct else config.channels
        self._ports = [
            ManagerPort(
                prefix=f"m{index}_axi",
                addr_bits=config.addr_bits,
                data_bits=config.data_bits,
                id_bits=config.slot_bits if direct else config.id_bits,
            )
            for index in range(count)
        ]
        self.axi_ports = [port.describe() for port in self._ports]
        members: dict[str, wiring.Member] = {}
        for port in self._ports:
            members |= port.members()
        lanes = config.lanes
        super().__init__(
            {
                **members,
                "left": Out(stream.Signature(left_layout(config))).array(lanes),
                "i": In(stream.Signature(left_layout(config))).array(lanes),
                "product": Out(stream.Signature(product_layout(config))).array(lanes),
                "start": In(1),
                "stop": In(1),
                "job": In(job_layout(config)),
                "rows_in_lane": In(32).array(lanes),
                "idle": Out(2 * lanes),
                "error": Out(2 * lanes),
                "error_address": Out(config.addr_bits).array(2 * lanes),
                "index_error": Out(lanes),
                "index_row": Out(row_layout(config)).array(lanes),
                "beats": Out(len(UNITS) * lanes),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        lanes = [self._lane(m, lane) for lane in range(config.lanes)]
        parts = [part for lane in lanes for part in lane]
        m.d.comb += [
            self.idle.eq(Cat(part.idle for part in parts)),
            self.error.eq(Cat(part.error for part in parts)),
            self.index_error.eq(Cat(b.index_error for _, b in lanes)),
            self.beats.eq(
                Cat(
                    getattr(lane["ab".index(x)], f"read_beats_{what}")
                    for lane in lanes
                    for x, what in UNITS
                )
            ),
        ]
        for part, address in zip(parts, self.error_address, strict=True):
            m.d.comb += address.eq(part.error_address)
        if self._direct:
            for (x, what), port in zip(UNITS, self._ports, strict=True):
                loader = lanes[0]["ab".index(x)]
                read = SimpleNamespace(
                    ar=getattr(loader, f"{what}_ar"), r=getattr(loader, f"{what}_r")
                )
                self._connect(m, port, read)
        else:
            self._cross(m, lanes)
        return m

    def _connect(self, m: Module, port: ManagerPort, read: Any) -> None:
        """Connects a routed reader to a port without the channel of its requests."""
        layout = address_layout(port.addr_bits, port.id_bits)
        ar = stream.Signature(layout).create(path=(f"{port.prefix}_ar",))
        m.d.comb += [ar.valid.eq(read.ar.valid), read.ar.ready.eq(ar.ready)]
        for name in ("address", "length", "id"):
            m.d.comb += ar.payload[name].eq(read.ar.payload[name])
        port.connect(m, self, read=SimpleNamespace(ar=ar, r=read.r))

    def _lane(self, m: Module, lane: int) -> tuple[SparseALoader, SparseBLoader]:
        a, b = SparseALoader(self._config), SparseBLoader(self._config)
        m.submodules[f"a_{lane}"], m.submodules[f"b_{lane}"] = a, b
        wiring.connect(m, a.o, wiring.flipped(self.left[lane]))
        wiring.connect(m, b.i, wiring.flipped(self.i[lane]))
        wiring.connect(m, b.o, wiring.flipped(self.product[lane]))
        m.d.comb += [
            a.lane.eq(lane),
            a.rows_in_lane.eq(self.rows_in_lane[lane]),
            a.start.eq(self.start),
            self.index_row[lane].eq(b.index_row),
        ]
        for part in (a, b):
            m.d.comb += [part.job.eq(self.job), part.stop.eq(self.stop)]
        return a, b

    def _cross(self, m: Module, lanes: list[tuple[SparseALoader, SparseBLoader]]) -> None:
        config = self._config
        widths = {"addr_bits": config.addr_bits, "data_bits": config.data_bits}
        m.submodules.crossbar = crossbar = ReadCrossbar(
            config.lanes, config.channels, **widths, lane_id_bits=config.lane_id_bits
        )
        for index, lane in enumerate(lanes):
            mux = ReadInterconnect(
                len(UNITS), **widths, channel_bits=self._channel_bits, slot_bits=config.slot_bits
            )
            m.submodules[f"mux_{index}"] = mux
            for unit, (x, what) in enumerate(UNITS):
                loader = lane["ab".index(x)]
                wiring.connect(m, getattr(loader, f"{what}_ar"), mux.reader_ar[unit])
                wiring.connect(m, getattr(loader, f"{what}_r"), mux.reader_r[unit])
            wiring.connect(m, mux.ar, crossbar.lane_ar[index])
            wiring.connect(m, mux.r, crossbar.lane_r[index])
        for ar, r, port in zip(crossbar.ar, crossbar.r, self._ports, strict=True):
            port.connect(m, self, read=SimpleNamespace(ar=ar, r=r))


pytestmark = pytest.mark.long

BENCH = "tilewright.verif.matraptor.load.loader_bench"
ROUGH = {"latency": [1, 200], "stall": 0.3, "mixed": True, "modes": True, "gap": 0.2, "pause": 0.3}
EVEN = {"latency": [1, 30], "mixed": True}
SEEDS = by_size(2, 2, 4)


def _config(lanes: int, channels: int, **others: Any) -> MatRaptorConfig:
    return MatRaptorConfig(lanes=lanes, channels=channels, **{"outstanding": 8, **others})


CONFIGS = {
    "direct": _config(1, 1, data_bits=64, outstanding=32),
    "1x1": _config(1, 1, data_bits=64, outstanding=16),
    "2x2": _config(2, 2, data_bits=128),
    "4x2": _config(4, 2, data_bits=64, interleave=128),
    "2x4": _config(2, 4, data_bits=128, interleave=128, value="fp64", addr_bits=64),
    "3x3": _config(3, 3, data_bits=512, value="fp16", index_bits=16, outstanding=2),
    "3x1": _config(3, 1, data_bits=512, value="fp64", interleave=128),
    "2x6": _config(2, 6, data_bits=64, value="int32", index_bits=16, addr_bits=32),
}
"""Configurations by lanes and channels. "direct": each reader has a memory to itself."""


def _direct(name: str) -> bool:
    return name == "direct"


@cache
def emitted(name: str) -> Emitted:
    top = Loaders(CONFIGS[name], direct=_direct(name))
    return emit_component(top, name="matraptor_loaders")


@cache
def build(name: str) -> SettingsBuild:
    return SettingsBuild(emitted(name))


def _tokens(layout: Any) -> list[int]:
    return [1 << layout["present"].offset, ends_mask(layout)]


def run(name: str, tasks: list[LoaderJob], scenarios: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The summaries of scenarios (see ``loader_bench``)."""
    config = CONFIGS[name]
    settings = {
        **{x: getattr(config, x) for x in ("lanes", "channels", "data_bits", "interleave")},
        "slot_bits": config.slot_bits,
        "direct": _direct(name),
        "ports": 4 if _direct(name) else config.channels,
        "tokens": {
            "left": _tokens(left_layout(config)),
            "product": _tokens(product_layout(config)),
        },
        "tasks": [task.describe() for task in tasks],
        "scenarios": scenarios,
    }
    return list(build(name).run(BENCH, settings, seed=1))


def _matrices(config: MatRaptorConfig) -> list[LoaderJob]:
    """Jobs of all shapes: empty rows, short and long ones, fewer rows than lanes, gaps, ranges of
    columns."""
    rng = np.random.default_rng(5)
    block = config.layout.block_pairs * config.channels

    def some(rows: int, mean: float, empty: float = 0.2, k: int = 40) -> tuple[Any, Any]:
        b = random_matrix(rng, k, 300, mean=3 * config.beat_entries / 2, empty=empty)
        return random_matrix(rng, rows, k, mean=mean, empty=empty), b

    pairs = [
        some(2 * block + 5, 2),
        some(block + 3, 6, 0.0),
        some(1, 9, 0.0),
        some(config.lanes + 1, 30, k=70),
        (csr_array((block + 2, 7), dtype=int), random_matrix(rng, 7, 9, mean=3)),
        (random_matrix(rng, 9, 7, mean=3), csr_array((7, 9), dtype=int)),
    ]
    jobs = [LoaderJob(config=config, a=a, b=b) for a, b in pairs]
    # Rows of A in any places: gaps, and pointers that go down.
    a, b = some(block + 7, 3)
    lengths = np.diff(a.indptr)
    pointers = np.zeros(len(lengths), np.int64)
    for channel in range(config.channels):
        mine = np.arange(channel, len(lengths), config.channels)
        at = 0
        for row in rng.permutation(mine):
            at += int(rng.integers(0, 6))
            pointers[row] = at
            at += int(lengths[row])
    # One column, half of them, none, all.
    ranges = (150, 150), (0, 149), (80, 79), (0, 299)
    jobs += [replace(jobs[n % 2], columns=columns) for n, columns in enumerate(ranges)]
    return [*jobs, LoaderJob(config=config, a=a, b=b, a_pointers=pointers)]


def _index_job(config: MatRaptorConfig) -> LoaderJob:
    """B has fewer rows than A asks for."""
    rng = np.random.default_rng(6)
    a = random_matrix(rng, 4 * config.lanes + 1, 30, mean=3)
    return LoaderJob(config=config, a=a, b=random_matrix(rng, 30, 50, mean=4), b_rows=24)


def scenarios(name: str) -> tuple[list[LoaderJob], dict[str, list[dict[str, Any]]]]:
    """The tasks, and the scenarios by the test that judges them; all run in one simulation."""
    jobs = [*_matrices(CONFIGS[name]), _index_job(CONFIGS[name])]
    last = len(jobs) - 1
    choice = random.Random(3)
    patterns = [{**p, "seed": n} for n in range(SEEDS) for p in (ROUGH, EVEN)]
    runs = [{"task": n, **EVEN, "seed": n} for n in range(last)]
    runs += [{"task": choice.randrange(2), **p} for p in patterns]
    runs += [{"task": 1, "pause": 0.8}, {"task": 0, "stall": 0.7}]
    return jobs, {
        "run": [{"kind": "run", **s} for s in runs],
        "stop": [
            {"kind": "stop", "rounds": 4, "task": (0, 1, 6, 7)[n % 4], **p}
            for n, p in enumerate(patterns)
        ],
        "error": [{"kind": "error", "task": choice.randrange(4), **p} for p in patterns],
        "index": [{"kind": "index", "task": last, "after": 0, **p} for p in patterns[-1:]],
    }


@cache
def results(name: str) -> dict[str, list[tuple[dict[str, Any], dict[str, Any]]]]:
    """Scenarios and their summaries."""
    jobs, groups = scenarios(name)
    found = iter(run(name, jobs, [s for group in groups.values() for s in group]))
    return {kind: [(s, next(found)) for s in group] for kind, group in groups.items()}


def judged(name: str, kind: str) -> list[dict[str, Any]]:
    """The summaries of a kind of scenario; fails if one found a fault."""
    for scenario, result in results(name)[kind]:
        assert result["faults"] == [], scenario
    return [result for _, result in results(name)[kind]]


every_config = pytest.mark.parametrize("name", slow_but([], CONFIGS, ["3x1", "2x6"]))


@every_config
def test_every_token_comes_and_nothing_is_read_in_vain(name: str) -> None:
    found = judged(name, "run")
    assert sum(result["overtakes"] for result in found) > 50


@every_config
def test_stop_in_the_middle_of_anything(name: str) -> None:
    assert len(judged(name, "stop")) == 2 * SEEDS


@every_config
def test_an_error_stops_only_those_who_get_it(name: str) -> None:
    assert min(result["errors"] for result in judged(name, "error")) > 0


@every_config
def test_a_row_that_does_not_exist_is_reported(name: str) -> None:
    assert len(judged(name, "index")) == 1


def _dense(rows: int, cols: int) -> csr_array:
    return csr_array(np.arange(1, rows * cols + 1).reshape(rows, cols) % 50 + 1)


def _rates() -> dict[str, tuple[LoaderJob, dict[str, Any]]]:
    """Long rows, and rows of one entry, each loader by itself, at two latencies."""
    config = CONFIGS["direct"]
    single = csr_array((np.ones(400, int), (np.arange(400), np.arange(400) * 7 % 400)))
    long_rows = LoaderJob(config=config, a=_dense(4, 250), b=_dense(250, 3))
    long_b = LoaderJob(config=config, a=_dense(2, 8), b=_dense(8, 75))
    diagonal = LoaderJob(config=config, a=single, b=single)
    found = {}
    for latency in (1, 20):
        for name, job in (("a", long_rows), ("b", long_b), ("a", diagonal), ("b", diagonal)):
            kind = "short" if job is diagonal else "long"
            scenario = {"kind": "run", "loaders": name, "latency": [latency, latency]}
            found[f"{name} {kind} {latency}"] = (job, scenario)
    return found


@cache
def rates() -> dict[str, dict[str, Any]]:
    wanted = _rates()
    tasks = [job for job, _ in wanted.values()]
    scenarios = [{**s, "task": n} for n, (_, s) in enumerate(wanted.values())]
    return dict(zip(wanted, run("direct", tasks, scenarios), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("name", _rates())
def test_a_token_every_cycle(name: str) -> None:
    found = rates()[name]
    assert found["faults"] == []
    stream = {"a": "left 0", "b": "product 0"}[name[0]]
    moved, cycles = found["tokens"][stream]
    assert moved >= 400
    assert cycles == moved


@pytest.mark.slow
@pytest.mark.parametrize("loaders", ["a", "b"])
def test_long_rows_fill_the_port(loaders: str) -> None:
    """One lane, one channel, 64 bits, entries of 8 bytes: one beat a cycle over the port."""
    config = CONFIGS["1x1"]
    a, b = (_dense(8, 400), _dense(400, 1)) if loaders == "a" else (_dense(2, 12), _dense(12, 150))
    job = LoaderJob(config=config, a=a, b=b)
    (found,) = run("1x1", [job], [{"kind": "run", "task": 0, "loaders": loaders}])
    assert found["faults"] == []
    ((beats, cycles),) = found["r"]
    assert beats > 3000
    assert beats >= 0.98 * cycles


@every_config
def test_verilator_finds_nothing(name: str, tmp_path: Any) -> None:
    assert complaints("verilator", emitted(name).verilog, "matraptor_loaders", tmp_path) == ""
