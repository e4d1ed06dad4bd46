"""The commands on RTL, compared with the model's, and on the cycle model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from scipy.sparse import csr_array, eye_array
from tilewright.apps.common import session
from tilewright.hw.spec.sida import SidaConfig
from tilewright.registry import commands
from tilewright.sim.sida.model import SidaModel
from tilewright.verif.kit.commands import Run
from tilewright.verif.kit.pages import examples, page
from tilewright.verif.kit.sampling import by_size
from tilewright.verif.sida.apps.files import report, save_graph
from tilewright.verif.sida.configs import CONFIGS, WINDOWED, small
from tilewright.verif.sida.iterations.solving import random_graph

CONFIG = small(**CONFIGS[by_size("tiny", "tiny", "small")])
NAMES = ("pes", "subtensor", "buffer_words", "vector_words", "window", "channels", "data_bits",
         "outstanding")  # fmt: skip
RTL = ("--backend", "rtl", *(
    word for name in NAMES for word in ("--set", f"{name}={getattr(CONFIG, name)}")
))  # fmt: skip
"""The configuration that other benches build."""


def checked(run: Run, *arguments: object) -> dict[str, Any]:
    """A report of a run that equals the model's."""
    found = report(run, *arguments, *RTL)
    assert found["backend"] == "rtl"
    assert found["checked"] > found["vertices" if "vertices" in found else "rows"]
    assert found["mismatches"] == 0
    counts = found["counters"]
    assert counts["cycles"] * CONFIG.pes >= counts["elements"] > 0
    # A job over vectors is a pass over a matrix without elements.
    assert counts["passes_done"] == max(found["passes"], found["jobs"])
    streams = ("pointers", "rows", "values", "again", "vectors", "program")
    assert counts["bytes_read"] == sum(counts[f"bytes_{name}"] for name in streams)
    assert found["limits"]["oracle"]["cycles"] < counts["cycles"]
    assert "bit for bit equal" in run.out
    return found


@pytest.mark.slow
def test_every_command_runs_on_rtl(run: Run) -> None:
    graph = random_graph(7, 90, density=0.05)
    path = save_graph(run, graph)
    found = checked(run, "pagerank", path)
    assert found["reference"]["wrong"] == 0
    assert found["counters"]["held"] > 0
    for app in ("bfs", "sssp", "kcore"):
        assert checked(run, app, path)["reference"]["wrong"] == 0
    assert checked(run, "khop", path, "--hops", 3)["wasted"] == 1
    both = csr_array(graph + graph.T)
    assert checked(run, "label", save_graph(run, both), "--labels", "0,1")["passes"] > 2
    matrix = save_graph(run, both + 60 * eye_array(90))
    found = checked(run, "cg", matrix, "--set", "value=fp32")
    assert 2 * found["passes"] == 2 * found["iterations"] == found["jobs"] > 2
    assert found["reference"]["wrong"] == found["counters"]["held"] == 0
    found = checked(run, "cg", matrix, "--form", "pipelined", "--set", "value=fp32")
    assert (found["passes"], found["jobs"]) == (-(-found["iterations"] // 2), 1)
    found = checked(run, "bicgstab", save_graph(run, graph + 60 * eye_array(90)),
                    "--set", "value=fp32")  # fmt: skip
    assert found["reference"]["wrong"] == 0
    assert found["iterations"] > 1
    found = checked(run, "gmres", save_graph(run, graph + 60 * eye_array(90)), "--restart", 5,
                    "--set", "value=fp32")  # fmt: skip
    assert (found["reference"]["wrong"], found["wasted"]) == (0, 0)
    assert found["iterations"] == found["scipy_iterations"] > 5
    assert found["counters"]["held"] > 0
    program = run.directory / "p.ew"
    program.write_text("vector v\ne1:\n  out y\ne2:\n  store v, y\n  out y\n")
    checked(run, "passes", path, "--program", program, "--passes", 2,
            "--second-semiring", "minplus")  # fmt: skip


@pytest.mark.long
def test_more_rows_than_there_is_room_for(run: Run) -> None:
    """The product is one job, or a part of a sequence of jobs."""
    config = small(**WINDOWED["windowed"])
    given = [word for name in (*NAMES, "rows_limit")
             for word in ("--set", f"{name}={getattr(config, name)}")]  # fmt: skip
    matrix = save_graph(run, random_graph(7, 150, density=0.03) + 60 * eye_array(150))
    for app, *more in (("pagerank",), ("gmres", "--restart", 5)):
        found = report(run, app, matrix, *more, "--backend", "rtl", *given)
        assert found["mismatches"] == 0
        assert found["checked"] > 150
        counts = found["counters"]
        streams = ("pointers", "rows", "values", "again", "vectors", "program", "windows_read")
        assert counts["bytes_read"] == sum(counts[f"bytes_{name}"] for name in streams)
        assert 0 < counts["bytes_windows_written"] < counts["bytes_written"]
        for name in ("read", "written"):
            assert f"windows {counts[f'bytes_windows_{name}']:,}" in " ".join(run.out.split())


@pytest.mark.slow
def test_a_value_that_differs_is_found(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model with a wrong bit takes the place of the RTL."""

    class Wrong(SidaModel):
        def _job(self) -> tuple[str, int, dict[str, int]]:
            found = super()._job()
            self.memory[self._values["VECTOR_0"]] ^= 1
            return found

    monkeypatch.setattr(session, "rtl_device", lambda unit, config, size: Wrong(config, size))
    path = save_graph(run, random_graph(7, 20, density=0.2))
    found = report(run, "sssp", path, "--backend", "rtl", status=1)
    assert found["mismatches"] > 0
    assert "DIFFERENT" in run.out


# The pages of SIDA's applications: their examples run, and the first names every command.

PAGE = page("sida-applications.md")
EXAMPLES = {"sida-applications.md": 5, "sida-solvers.md": 3}


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_examples_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = examples(page(name), "python")
    assert len(blocks) == EXAMPLES[name]
    exec(compile("\n".join(blocks), name, "exec"), {})


def test_every_command_is_there() -> None:
    text = PAGE.read_text()
    ours = [name for name, work in commands().items() if ".iterations." in work.function]
    assert len(ours) >= 7
    assert [name for name in ours if f"| `{name}` |" not in text] == []
    assert [name for name in ours if f"    tilewright run {name} " not in text] == []


SETTINGS = tuple(word for name in NAMES for word in ("--set", f"{name}={getattr(CONFIG, name)}"))


@pytest.mark.long
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


@pytest.mark.long
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
