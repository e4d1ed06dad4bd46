"""The commands on the cycle model."""

from __future__ import annotations

import pytest
from tilewright.hw.spec.sida import SidaConfig
from tilewright.verif.kit.commands import Run
from tilewright.verif.sida.apps.files import report, save_graph
from tilewright.verif.sida.configs import small
from tilewright.verif.sida.iterations.solving import random_graph

pytestmark = pytest.mark.long

CONFIG = small()
NAMES = ("pes", "subtensor", "buffer_words", "vector_words", "channels", "data_bits",
         "outstanding")  # fmt: skip
SETTINGS = tuple(word for name in NAMES for word in ("--set", f"{name}={getattr(CONFIG, name)}"))


@pytest.mark.slow
def test_a_size_that_is_not_built(run: Run) -> None:
    """Settings that the user leaves out equal those of a built size. The results are those of the
    model alone."""
    path = save_graph(run, random_graph(5, 200, density=0.05))
    settings = ("--set", "pes=1024", "--set", "subtensor=2048", "--set", "vector_words=2097152")
    found, timed = (
        report(run, "bfs", path, *settings, "--backend", backend) for backend in ("model", "cycles")
    )
    assert timed["config"]["pes"] == found["config"]["pes"] == 1024
    assert timed["config"]["buffer_words"] == SidaConfig().buffer_words
    counts = timed["counters"]
    assert counts["elements"] == found["counters"]["elements"] == timed["passes"] * timed["edges"]
    # A step has all columns: each pass takes at least a set.
    assert timed["passes"] <= counts["busy_cycles"] < counts["cycles"]
    assert timed["limits"]["oracle"]["cycles"] < counts["cycles"]


@pytest.mark.slow
def test_commands_on_the_cycle_model(run: Run) -> None:
    """Results are those of the model alone; time passes, more or less by the memory."""
    path = save_graph(run, random_graph(7, 90, density=0.05))
    for app in ("bfs", "pagerank"):
        found = report(run, app, path, *SETTINGS, "--backend", "model")
        took = []
        for memory in ("flat", "hbm"):
            options = ("--backend", "cycles", "--memory", memory, "--gigahertz", "0.5")
            timed = report(run, app, path, *SETTINGS, *options)
            assert f"at 0.5 GHz on {memory}: " in run.out
            assert " at 500 MHz" in run.out
            assert (timed["backend"], timed["memory"]) == ("cycles", memory)
            assert timed["gigahertz"] == 0.5
            for name in ("iterations", "passes", "wasted", "settled", "residual", "reference"):
                assert timed[name] == found[name]
            counts = timed["counters"]
            given = {name: value for name, value in found["counters"].items() if value}
            assert {name: counts[name] for name in given} == given
            streams = ("pointers", "rows", "values", "again", "vectors", "program")
            assert counts["bytes_read"] == sum(counts[f"bytes_{name}"] for name in streams)
            assert timed["limits"]["oracle"]["cycles"] < counts["cycles"]
            took.append(counts["cycles"])
        assert took[0] != took[1]
