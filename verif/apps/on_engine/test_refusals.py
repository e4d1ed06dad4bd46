"""``--on engine`` refuses bad input with one line, before anything is built."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tilewright.verif.apps.graphs.examples import RING, write_graph
from tilewright.verif.kit.commands import Run


@pytest.fixture(autouse=True)
def no_build(monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(*arguments: Any, **named: Any) -> None:
        raise AssertionError("a refused input must not reach the engine")

    monkeypatch.setattr("tilewright.apps.common.units.engine_products.EngineProduct", forbidden)
    monkeypatch.setattr("tilewright.apps.common.units.engine_products.run_job", forbidden)


ENGINE = "--on engine"
CYCLES = "--on engine --backend cycles"
VALUES = "must come with a backend that computes values, rtl or model, not with cycles"
TIME = "needs a backend that counts cycles, rtl or cycles, not model"
ALONE = "is of a cycle model: it must come with --on engine, not alone, as"
REFUSED: dict[str, tuple[str, str]] = {
    "--on nonsense": ("gemm A B", "--on must be unit or engine, not 'nonsense'"),
    "--memory flat": ("gemm A B", f"--memory {ALONE} 'flat'"),
    "--gigahertz 2": ("knn", f"--gigahertz {ALONE} 2.0"),
    "--backend cycles": (
        "apsp G", "backend must be rtl or model without --on engine, not 'cycles'"
    ),
    f"{ENGINE} --backend fast": (
        "gtc G", "backend must be one of rtl, cycles, model, not 'fast'"
    ),
    f"{ENGINE} --memory ddr": (
        "gemm A B", "memory must be one of hbm, hbm32, hbm-refresh, flat, not 'ddr'"
    ),
    f"{ENGINE} --memory hbm": (
        "gemm A B", "memory must be flat with the rtl backend, not 'hbm'"
    ),
    f"{ENGINE} --backend model --memory hbm": ("gemm A B", f"--memory {TIME}"),
    f"{ENGINE} --backend model --gigahertz 1": ("apsp G", f"--gigahertz {TIME}"),
    f"{ENGINE} --unit engine_simd2": (
        "gemm A B", "unit must be one of simd2, m3xu with --on engine, not 'engine_simd2'"
    ),
    f"{ENGINE} --waves x.vcd": ("gemm A B", "x.vcd: waves are not written with --on engine"),
    f"{ENGINE} --unit tensaurus": (
        "gemm A B", "unit must be one of simd2, m3xu with --on engine, not 'tensaurus'"
    ),
    f"{ENGINE} --unit m3xu_wide": (
        "gemm A B", "unit must be one of simd2, m3xu with --on engine, not 'm3xu_wide'"
    ),
    f"{ENGINE} --unit m3xu": (
        "mcp G", "unit must be one that computes maxmin for mcp (simd2), not 'm3xu'"
    ),
    f"{ENGINE} --mode fp16 --set modes=fp32": (
        "gemm A B", "mode must be fp32 for products on m3xu, not 'fp16'"
    ),
    f"{ENGINE} --set ops=mma": ("apsp G", "`ops` must include minplus for apsp, not 'mma'"),
    f"{ENGINE} --sparse": ("apsp G", "--on must not be given with --sparse, not 'engine'"),
    f"{CYCLES} -o d.npy": ("gemm A B", f"--output {VALUES}"),
    f"{CYCLES} --picture d.png": ("maxrp G", f"--picture {VALUES}"),
    f"{CYCLES} --tree t.mtx": ("mst G", f"--tree {VALUES}"),
    f"{CYCLES} --labels A": ("knn", f"--labels {VALUES}"),
    f"{CYCLES} --distances d.npy": ("knn", f"--distances {VALUES}"),
    f"{CYCLES} -k 2000": ("knn", "--neighbours must be in 1..1500, the points there are, not 2000"),
    CYCLES: ("gemm A A", "A: must have 3 rows, as A is 2 x 3, not 2"),
    f"{CYCLES} --unit m3xu": ("gemm A E", "E: must have at least one element, not 0 x 3"),
    f"{CYCLES} --set addr_bits=32 --unit simd2": (
        "gemm L W",
        "the matrices take 11,320,415,360 bytes; addresses of 32 bits reach 4,294,967,296",
    ),
    f"{CYCLES} --memory flat": ("knn A", "A: points need a second file with the queries"),
    f"{CYCLES} --memory hbm": ("knn A L", "L: must have 3 columns, as A has, not 1"),
    f"{CYCLES} --weights share": (
        "maxrp G",
        "G: with the convergence check iterations are foreseen only where fp16 does not round, "
        "but the edge 1 -> 2 has the weight 0.222222, no power of two; --no-convergence-check "
        "takes the worst case",
    ),
    f"{CYCLES} --algorithm floyd": (
        "apsp G", "--algorithm must be one of leyzorek, bellman-ford, not 'floyd'"
    ),
}  # fmt: skip


@pytest.mark.parametrize("options", REFUSED)
def test_refused_in_one_line(run: Run, options: str) -> None:
    command, expected = REFUSED[options]
    edges = [(i, j, max(w, 1)) for i, j, w in RING]
    files = {"G": write_graph(run.directory / "g.mtx", edges, 5)}
    shapes = {"A": (2, 3), "B": (3, 4), "E": (0, 3), "L": (60_000, 1), "W": (1, 46_640)}
    for name, shape in shapes.items():
        files[name] = run.save(f"{name}.npy", np.ones(shape, np.int8))
    words = [files.get(word, word) for word in f"{command} {options}".split()]
    said = run.refused(*words)
    for name, file in files.items():
        said = said.replace(str(file), name)
    assert said == expected


def test_sizes_over_the_limits(run: Run) -> None:
    graph = write_graph(run.directory / "g.mtx", RING, 16_385)
    line = run.refused("apsp", graph, *CYCLES.split())
    assert line == (
        f"{graph}: 16385 vertices are too many for the cycles backend, which takes at most 16384; "
        f"each iteration would be {4097**3:,} operations of the unit; run sssp finds "
        "paths from one vertex"
    )
    small = write_graph(run.directory / "g.mtx", RING, 1025)
    assert "the rtl backend, which takes at most 1024" in run.refused(
        "apsp", small, *ENGINE.split()
    )
    files = [run.save(f"{n}.npy", np.ones(s)) for n, s in (("a", (9000, 1)), ("b", (1, 9000)))]
    line = run.refused("gemm", *files, *ENGINE.split())
    assert line.endswith("9000 x 9000 elements are too many; at most 67108864 are allowed")


def test_a_damaged_file_is_refused_without_its_values(run: Run) -> None:
    """Refuses a header that announces more data than the file holds, text, and files without a
    matrix."""
    good = run.save("a.npy", np.ones((50, 60)))
    short = run.directory / "s.npy"
    short.write_bytes(good.read_bytes()[:-8])
    line = run.refused("gemm", short, good, *CYCLES.split())
    assert line.startswith(f"{short}: damaged or unsupported .npy file")
    vector = run.save("v.npy", np.ones(5))
    line = run.refused("gemm", vector, good, *CYCLES.split())
    assert line == f"{vector}: must hold a matrix (2 dimensions), not 1 dimension"
