"""MatRaptor's loaders: every token, every beat, one a cycle, under memories of every kind."""

from __future__ import annotations

import random
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array
from tilewright.hw.emit.unit import Emitted, emit_component
from tilewright.hw.matraptor.layouts import left_layout, product_layout
from tilewright.hw.spec.matraptor import MatRaptorConfig
from tilewright.verif.bench.settings_job import SettingsBuild
from tilewright.verif.kit.front_ends import complaints
from tilewright.verif.kit.sampling import by_size, slow_but
from tilewright.verif.matraptor.load.loader_jobs import LoaderJob, ends_mask, random_matrix
from tilewright.verif.matraptor.load.loader_top import Loaders

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
"""By lanes and channels. "direct": each reader has a memory to itself."""


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
    """Jobs of all shapes: empty rows, short and long ones, fewer rows than lanes, gaps."""
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
        "stop": [{"kind": "stop", "rounds": 4, "task": n % 2, **p} for n, p in enumerate(patterns)],
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
