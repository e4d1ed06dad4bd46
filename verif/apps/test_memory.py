"""``tilewright run`` of sparse products: the memory they take; what is refused for want of it."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.io import mmread, mmwrite
from scipy.sparse import random_array
from tilewright.apps.common import memory, session
from tilewright.apps.common.memory import available_memory, in_words
from tilewright.apps.common.options import DeviceOptions
from tilewright.apps.common.units.matraptor import LINE_BYTES, choose_sparse_unit
from tilewright.apps.graphs.commands import mcl, triangles
from tilewright.errors import UserError
from tilewright.sim.device.placement import NoRoom, Placement
from tilewright.sim.matraptor.driver import SparseDriver
from tilewright.verif.kit.commands import Run
from tilewright.verif.kit.sampling import slow_but

GIBIBYTE = 1 << 30
MODEL = ("--backend", "model")
FIGURES = {
    "spgemm": LINE_BYTES * 2,
    "mcl": mcl.VERTEX_BYTES,
    "triangles": triangles.VERTEX_BYTES,
}
"""Bytes for a row and a column without entries, by command."""


def almost_empty(path: Path, size: int) -> Path:
    """A square matrix of one entry."""
    path.write_text(f"%%MatrixMarket matrix coordinate real general\n{size} {size} 1\n2 1 1\n")
    return path


@pytest.mark.parametrize("backend", ["model", "cycles", "rtl"])
@pytest.mark.parametrize(
    ("command", "line"),
    [
        ("spgemm", "a product of 2000000000 x 2000000000 would take some 558.8 GiB of memory"),
        ("mcl", "clusters of 2000000000 vertices would take some 838.2 GiB of memory"),
        ("triangles", "triangles of 2000000000 vertices would take some 1.3 TiB of memory"),
    ],
)
def test_a_header_that_asks_for_too_much(
    run: Run, monkeypatch: pytest.MonkeyPatch, command: str, line: str, backend: str
) -> None:
    monkeypatch.setattr(memory, "available_memory", lambda: 24 * GIBIBYTE)
    file = almost_empty(run.directory / "a.mtx", 2_000_000_000)
    said = run.refused(command, file, "--backend", backend)
    assert said == f"{file}: {line}; 24.0 GiB are available"


@pytest.mark.slow
@pytest.mark.parametrize("command", FIGURES)
def test_the_estimate_is_not_far_off(run: Run, command: str) -> None:
    taken = []
    for size in (10, 10, 20_000):
        file = almost_empty(run.directory / "a.mtx", size)
        tracemalloc.start()
        try:
            assert run(command, file, *MODEL) == 0
            taken.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
    each = (taken[-1] - taken[-2]) / 20_000
    assert FIGURES[command] / 3 < each < FIGURES[command]


def test_what_is_available(monkeypatch: pytest.MonkeyPatch) -> None:
    assert 0 < available_memory() < 1 << 50
    code = "import resource; from tilewright.apps.common.memory import available_memory;"
    code += "a = available_memory(); resource.setrlimit(resource.RLIMIT_{0}, ({1},) * 2);"
    code += "print(a, available_memory())"
    for name in ("AS", "DATA"):
        command = [sys.executable, "-c", code.format(name, GIBIBYTE)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        before, after = map(int, done.stdout.split())
        assert after < min(before, GIBIBYTE)
    sizes = {0: "0 bytes", 1023: "1023 bytes", 1536: "1.5 KiB", 1 << 40: "1.0 TiB"}
    assert {size: in_words(size) for size in sizes} == sizes


def test_no_room_says_how_much_would_do() -> None:
    with pytest.raises(NoRoom) as caught:
        Placement(100, 1000, 64).fit({"a": 128, "b": 745}, "both")
    assert caught.value.end == 128 + 128 + 745


def test_devices_grow_with_their_jobs(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs of which the first has more room than there is, and parts of it again."""
    monkeypatch.setattr(session, "FIRST_BYTES", 1 << 12)
    made: list[int] = []
    honest = session.opened

    def counted(choice: Any, backend: str, size: int) -> Any:
        made.append(size)
        return honest(choice, backend, size)

    monkeypatch.setattr(session, "opened", counted)
    file, output = run.directory / "a.mtx", run.directory / "c.mtx"
    matrix = random_array((60, 60), density=0.3, rng=np.random.default_rng(6)).tocoo()
    mmwrite(file, matrix)
    settings = ("--set", "queues=3", "--set", "queue_depth=8", "--set", "value=fp64")
    assert run("spgemm", file, "-o", output, *settings, *MODEL) == 0
    assert made[0] == 1 << 12 < made[-1] < 1 << 20
    expected = (matrix @ matrix).toarray()
    np.testing.assert_allclose(mmread(output).toarray(), expected, rtol=1e-13)
    choice = choose_sparse_unit(DeviceOptions(backend="model", settings=["addr_bits=32"]))

    def beyond(driver: object) -> None:
        raise NoRoom("beyond its addresses", (1 << 32) + 1)

    with pytest.raises(UserError, match=r"^beyond its addresses$"):
        session.Session(choice, SparseDriver).run(beyond)

    def none(choice: Any, backend: str, size: int) -> Any:
        if made:
            raise MemoryError
        return counted(choice, backend, size)

    made.clear()
    monkeypatch.setattr(session, "opened", none)
    with pytest.raises(UserError, match=r"^the product takes .* KiB of the accelerator's memory; "):
        run("spgemm", file, *settings, *MODEL)


@pytest.mark.parametrize("backend", slow_but([], ["model", "cycles", "rtl"], ["model", "rtl"]))
def test_a_small_product_in_little_memory(tmp_path: Path, backend: str) -> None:
    """As under ``ulimit -v 8000000``."""
    file = almost_empty(tmp_path / "a.mtx", 6)
    words = ["run", "spgemm", str(file), "--backend", backend, "--lanes", "2"]
    words += ["--set", "queues=5", "--set", "outstanding=16"]
    limited = ["sh", "-c", 'ulimit -v 8000000; exec "$@"', "-", sys.executable, "-m", "tilewright"]
    done = subprocess.run(
        [*limited, *words],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "6 x 6, 1 entries" in done.stdout
