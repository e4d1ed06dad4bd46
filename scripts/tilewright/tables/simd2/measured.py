"""Measures the applications, and compares the results with the paper's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import exp, log

import numpy as np

from ...apps.common.graph import Graph, from_edges
from ...apps.common.units.engine_products import timed_products
from ...apps.common.units.matrix_unit import EngineChoice, EngineOptions, choose_engine
from ...apps.common.units.matrix_unit_numbers import numbers_of
from ...apps.common.units.matrix_unit_products import EngineTally
from ...apps.graphs.closure import Notation, worst_case
from ...apps.graphs.hops import fewest_hops, settling
from ...apps.graphs.options import ALGORITHMS
from ...apps.graphs.problems import PROBLEMS, Problem
from ...clocks import measured
from ...errors import UserError
from ...synth.tables import Row, Table
from ...synth.tables.table import Figures

__all__ = ["DEGREE", "FEATURES", "GEMM", "LAYER", "PAPERS_SIZES", "SEED", "generated"]


SEED = 1
"""Seed of the graphs."""
FEATURES = 128
"""Features of the points of knn: the paper gives only the number of points."""
GEMM = 4096
"""Rows, columns and depth of products that belong to no application."""
DEGREE = 8
"""Edges drawn for each vertex."""
LAYER = 256
"""Vertices of a layer of a graph without cycles, whose edges lead to later layers."""

_LARGE, _MIDDLE = (4096, 8192, 16384), (1024, 4096, 8192)
PAPERS_SIZES: dict[str, tuple[int, int, int]] = {
    "apsp": _LARGE, "aplp": _LARGE, "mcp": _LARGE, "maxrp": _LARGE, "minrp": _LARGE,
    "mst": (1024, 2048, 4096), "gtc": _MIDDLE, "knn": _LARGE,
}  # fmt: skip
"""Small, medium, large: the paper's table of inputs."""


def generated(name: str, vertices: int, seed: int) -> Graph:
    """A graph for an application, its edges between random vertices."""
    problem, rng = PROBLEMS[name], np.random.default_rng(seed)
    count = DEGREE * vertices // (2 if problem.undirected else 1)
    rows, cols = rng.integers(0, vertices, (2, count))
    weights = _weights(problem, rng, count)
    kept = rows != cols
    if problem.acyclic:
        rows, cols = np.minimum(rows, cols), np.maximum(rows, cols)
        kept = rows // LAYER != cols // LAYER
    rows, cols, weights = rows[kept], cols[kept], weights[kept]
    title = f"generated graph for {name}"
    graph = from_edges(title, vertices, rows, cols, weights, problem.combine)
    return graph.undirected(problem.combine) if problem.undirected else graph


def _weights(problem: Problem, rng: np.random.Generator, count: int) -> np.ndarray:
    if problem.weights == "ignored":
        return np.ones(count)
    if problem.joining == "product":
        return 0.5 ** rng.integers(0, 2, count)
    most = 100 if problem.joining == "selection" else 32
    return rng.integers(1, most + 1, count).astype(np.float64)


Shape = tuple[int, int, int]


def vector_interval(setting: EngineChoice, operation: str) -> int:
    """Cycles in which a vector unit of the same width does an operation of the matrix unit.

    It has a lane for each element of a tile of D, as many as the matrix unit is given elements of A
    in a cycle. For each k a lane does (x), then (+), an instruction a cycle; multiplying and adding
    is one.
    """
    depth = setting.config.unit.depth
    return depth if operation == "mma" else 2 * depth


@dataclass
class Times:
    """Times of products on one engine.

    Of an operation count its latency and the widths of its operands and results alone, which all
    semirings of a unit may share.
    """

    setting: EngineChoice
    known: dict[tuple[object, ...], EngineTally] = field(default_factory=dict)

    def of(self, operation: str, shape: Shape, *, use_c: bool, vector: bool) -> EngineTally:
        """Returns the counters of one product."""
        setting, unit = self.setting, self.setting.config.unit
        interval = unit.initiation_interval[operation]
        if vector:
            interval = vector_interval(setting, operation)
        one = unit.operations[operation]
        widths = one.operand_bits, one.result_bits
        key = (unit.latency[operation], interval, *widths, shape, use_c)
        if key not in self.known:
            self.known[key] = timed_products(
                setting, operation, shape, use_c=use_c, interval=interval
            )
        return self.known[key]


Progress = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Measured:
    """Results of one algorithm of an application at one size.

    Parameters
    ----------
    name, size, algorithm: which
    iterations, unchecked: with and without the convergence check; None: there are none
    cycles: of an iteration
    busy: share of them in which the unit has an operation
    vector: cycles of an iteration with the vector unit
    """

    name: str
    size: int
    algorithm: str
    iterations: int | None
    unchecked: int | None
    cycles: int
    busy: float
    vector: int

    @property
    def label(self) -> str:
        return f"{self.name} {self.size:,}, {self.algorithm}"

    def passes(self, iterations: int | None) -> float | None:
        """Speedup over one pass of n^3 on the vector unit."""
        return None if iterations is None else self.vector / (iterations * self.cycles)

    @property
    def figures(self) -> Figures:
        """Results in the order of the table's columns."""

        def millions(iterations: int | None) -> float | None:
            return None if iterations is None else iterations * self.cycles / 1e6

        if self.unchecked is None:
            return [None, self.cycles / 1e6, None, None, 100 * self.busy,
                    self.vector / self.cycles, None, None]  # fmt: skip
        return [
            self.iterations, millions(self.iterations), self.unchecked, millions(self.unchecked),
            100 * self.busy, self.vector / self.cycles, self.passes(self.iterations),
            self.passes(self.unchecked),
        ]  # fmt: skip


@lru_cache(maxsize=4)
def _times(unit: str, given: tuple[str, ...]) -> Times:
    """Returns the times of an engine around a unit, in front of HBM, at 2 GHz."""
    options = EngineOptions(unit=unit, settings=list(given), on="engine", backend="cycles")
    setting = choose_engine(options)
    assert setting
    return Times(setting)


def _setting(name: str, given: Sequence[str]) -> Times:
    """Reliabilities are powers of two with large exponents: bf16 holds them, as wide as fp16."""
    named = any(text.partition("=")[0].strip() == "format" for text in given)
    products = name in PROBLEMS and PROBLEMS[name].joining == "product"
    return _times("simd2", (*given, "format=bf16") if products and not named else tuple(given))


def measure(name: str, size: int, given: Sequence[str], progress: Progress) -> list[Measured]:
    """An application at a size: both algorithms. Raises UserError for what cannot be."""
    times = _setting(name, given)
    operation = "addnorm" if name == "knn" else PROBLEMS[name].operation
    if operation not in times.setting.config.unit.operations:
        built_with = ",".join(times.setting.config.unit.operations)
        raise UserError(f"`ops` must include {operation} for {name}, not {built_with!r}")
    shape = (size, FEATURES if name == "knn" else size, size)
    progress(f"{name} {size:,}: cycles")
    unit, vector = (
        times.of(operation, shape, use_c=name != "knn", vector=vector) for vector in (False, True)
    )
    known = {"cycles": unit.cycles, "busy": unit.utilisation, "vector": vector.cycles}
    if name == "knn":
        algorithm = f"{FEATURES} features"
        return [Measured(name=name, size=size, algorithm=algorithm, iterations=None,
                         unchecked=None, **known)]  # type: ignore[arg-type] # fmt: skip
    progress(f"{name} {size:,}: iterations")
    numbers = numbers_of(times.setting.config.unit, operation)
    graph = generated(name, size, SEED)
    hops = fewest_hops(Notation(PROBLEMS[name], numbers), graph).most
    return [
        Measured(
            name=name,
            size=size,
            algorithm=algorithm,
            iterations=settling(algorithm, hops, size)[0],
            unchecked=worst_case(algorithm, size),
            **known,  # type: ignore[arg-type]
        )
        for algorithm in ALGORITHMS
    ]


def compared(found: Sequence[Measured], given: Sequence[str], progress: Progress) -> Table:
    """The figures that the papers' text has, beside ours: from the least to the most."""
    progress("products of m3xu")
    graphs = [one for one in found if one.algorithm == "leyzorek"]
    ours: dict[str, list[float]] = {
        "products": [one.vector / one.cycles for one in graphs],
        "knn": [one.vector / one.cycles for one in found if one.name == "knn"],
        "with": [x for one in graphs if (x := one.passes(one.iterations))],
        "without": [x for one in graphs if (x := one.passes(one.unchecked))],
    }
    simd2, m3xu = _times("simd2", tuple(given)), _times("m3xu", ())
    cube = (GEMM, GEMM, GEMM)
    fused: list[float] = []
    if "mma" in simd2.setting.config.unit.operations:
        unit, vector = (simd2.of("mma", cube, use_c=True, vector=on).cycles for on in (False, True))
        fused.append(vector / unit)
    shares = [
        100 * m3xu.of(mode, cube, use_c=True, vector=False).utilisation
        for mode in ("fp32", "fp32c")
    ]
    means = [_mean(ours["with"])] if ours["with"] else []
    return Table(
        "simd2-applications, figures of the papers' text", "cycle model", ["from", "to"],
        [
            _row("semiring products, over the vector unit", (7.9, 9.9), ours["products"]),
            _row("plus-multiply, over the vector unit", (3.1, 5.96), fused),
            _row("knn, over the vector unit", (4.79, 6.43), ours["knn"]),
            _row("Leyzorek with the check, over one pass: geometric mean", (6.94, 8.25), means),
            _row("Leyzorek without the check, over one pass", (1.11, 10.91), ours["without"]),
            _row("m3xu, fp32 and fp32c: share of the peak, % (software: 63)", (94, None), shares),
        ],
    )  # fmt: skip


def _mean(values: Sequence[float]) -> float:
    return exp(sum(map(log, values)) / len(values))


def _row(label: str, paper: Figures, ours: Sequence[float]) -> Row:
    return Row(label, paper, [min(ours), max(ours)] if ours else [None, None])


def notes_of(given: Sequence[str]) -> list[str]:
    """Returns the notes of the tables: the configuration and the method."""
    setting = _times("simd2", tuple(given)).setting
    config, memory = setting.config, setting.memory
    rows, cols, depth = config.tile_shape
    lanes = rows * cols
    block = " x ".join(map(str, config.block))
    return [
        f"Engine: engine_simd2, {rows} x {cols} x {depth} tiles, {config.unit.lane_bits}-bit "
        f"operands, blocks of {block} tiles, {config.managers} x {config.data_bits} bits, each in "
        f"front of {memory.name} of {memory.gigabytes:g} GB/s, {setting.gigahertz:g} GHz, which "
        f"is assumed. {measured('engine_simd2', config.resolved())}",
        f"Vector unit: {lanes} lanes in the same engine, one for each element of D's tile, an "
        f"operation a lane and cycle: {vector_interval(setting, 'minplus')} cycles for what the "
        f"matrix unit does in one, {vector_interval(setting, 'mma')} where multiplying and adding "
        f"is one operation.",
        "One pass: n^3 steps on the vector unit, what Floyd and Warshall's algorithm needs; the "
        "papers' baselines are programs on a GPU.",
        f"Graphs: generated, seed {SEED}, {DEGREE} edges a vertex between random vertices (mst: "
        f"undirected); aplp and minrp in layers of {LAYER} vertices. Weights: 1..32 (apsp, aplp), "
        f"1..100 (mcp, mst), 1 or 1/2 (maxrp, minrp, in bf16).",
        "Values are not computed; nothing rounds, so iterations follow from the graphs, exactly. "
        "Between iterations the host rounds and compares: not counted.",
    ]
