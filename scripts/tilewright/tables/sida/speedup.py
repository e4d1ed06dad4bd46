"""Compares SIDA at the paper's size, by the cycle model, with ideal accelerators."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from math import log2
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import UserError
from ...synth.tables import Row, Table

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from ...hw.spec.sida import WideSidaConfig
    from ...sim.timing.dram import MemoryModel

__all__ = [
    "COLUMNS",
    "RATIOS",
    "VERTICES",
    "fitting",
    "graphs",
    "paper_machine",
    "sida_speedup",
]

VERTICES = 1 << 17
"""Vertices of generated graphs."""
_LARGEST = 1 << 20
"""Vertices of a further R-MAT graph, with ``full``."""
_GIGABYTES = 32.0
"""A second of each of the 16 channels, 512 in all."""
_SEED = 13
RATIOS = {"1/2": 2, "1/20": 20, "1/200": 200}
"""Elements of the matrix over those that may wait, the nearest power of two."""
COLUMNS = [
    "over ideal",
    "over fused",
    "of the oracle, %",
    "bandwidth, %",
    "ahead, at most",
    "held, %",
    "matrix read",
]
_DIGITS = (2, 2, 1, 1, 2, 1, 2)
_MEANT = 5
"""Columns of which there is a mean."""
_PAPER_ORACLE, _PAPER_BANDWIDTH = 66.78, 92.94
"""Geometric means of the paper, the latter of what is bound by memory."""


def sida_speedup(
    target: str,
    progress: Callable[[str], None] = lambda said: None,
    *,
    files: Sequence[Path] = (),
    full: bool = False,
    only: str = "",
    settings: Sequence[str] = (),
    vertices: int = VERTICES,
) -> Table:
    """A pass of each computation between others, on matrices of the files, or on generated graphs:
    two iterations of an ideal accelerator without reuse between operators over it, the same of one
    that fuses element-wise work with products; the oracle's, a bound, in percent of it; share of
    the memory's bandwidth; how many times as fast it is at most if elements are loaded ahead
    wherever the memory is idle while columns come; the most that waits, in percent of the elements;
    bytes of the matrix that are read, over its size by columns. By rows it has late elements alone.
    At 1 GHz, with 16 channels of HBM2.

    Parameters
    ----------
    target: "cmos", the default: nothing is synthesised
    progress: is told what comes next
    full: an R-MAT graph of 2^20 vertices, too, which takes as long as all others
    only: part of the name of a line, such as "sssp, R-MAT"
    settings: parameters of the accelerator, NAME=VALUE; buffers are as the lines need them
    vertices: of generated graphs

    Raises
    ------
    UserError for another target, a wrong parameter, a file that is no square matrix or is too
    large, or if nothing is chosen.
    """
    if target != "cmos":
        raise UserError(f"sida-speedup is computed by a model: no --target, not {target!r}")
    from .computations import timed

    config, memory = paper_machine(settings)
    found: dict[str, list[float]] = {}
    for name, graph in graphs(files, vertices, large=full):
        for app, make in timed(graph).items():
            lines = {f"{app}, {name}, {label}": ratio for label, ratio in RATIOS.items()}
            lines = {line: ratio for line, ratio in lines.items() if only in line}
            if not lines:
                continue
            try:
                part = make()
            except ValueError as error:
                progress(f"{app}, {name}: left out, {error}")
                continue
            for line, ratio in lines.items():
                progress(line)
                one = part.time(fitting(config, part.size, part.elements, ratio), memory)
                matrix = part.passes * (4 * (part.size + 1) + part.elements * 8)
                read = ("pointers", "rows", "values", "again")
                found[line] = [
                    one.ideal.cycles / one.cycles,
                    one.fused.cycles / one.cycles,
                    100 * one.oracle.cycles / one.cycles,
                    100 * one.bandwidth,
                    one.loaded_ahead,
                    100 * one.counts["held"] / max(1, part.elements),
                    sum(one.counts[f"bytes_{each}"] for each in read) / matrix,
                ]
    if not found:
        raise UserError(f"--only must be part of the name of a line, not {only!r}")
    none = [None] * len(COLUMNS)
    rows = [Row(line, none, ours, _DIGITS) for line, ours in found.items()]
    return Table(
        "sida-speedup, passes at the paper's size", "model", COLUMNS, [*rows, *_means(found)]
    )


def _means(found: dict[str, list[float]]) -> Iterator[Row]:
    """Geometric means of all lines with two products a pass, and by the ratio of the buffer."""
    import numpy as np

    from .computations import APART

    twice = {line: ours for line, ours in found.items() if line.split(",")[0] not in APART}
    for label in ("", *RATIOS):
        lines = [ours for line, ours in twice.items() if line.endswith(f", {label}") or not label]
        if len(lines) > 1:
            means = np.exp(np.log([ours[:_MEANT] for ours in lines]).mean(axis=0)).tolist()
            rest = [None] * (len(COLUMNS) - _MEANT)
            paper = [None, None, _PAPER_ORACLE, _PAPER_BANDWIDTH, None, *rest]
            name = f"geometric mean, {label}" if label else "geometric mean"
            yield Row(name, [None] * len(COLUMNS) if label else paper, [*means, *rest], _DIGITS)


def paper_machine(settings: Sequence[str]) -> tuple[WideSidaConfig, MemoryModel]:
    """The accelerator of the paper's size, with these parameters, and its memory. UserError for a
    wrong one."""
    from ...hw.spec.sida import SIDA, WideSidaConfig
    from ...settings import read_config
    from ...sim.timing.dram import HBM

    config = read_config(replace(SIDA, config=WideSidaConfig), None, settings)
    assert isinstance(config, WideSidaConfig)
    return config, replace(HBM, name="hbm2", gigabytes=_GIGABYTES)


def graphs(files: Sequence[Path], vertices: int, *, large: bool) -> Iterator[tuple[str, csr_array]]:
    """Yields the graphs of the files, or generated ones, and a ``large`` one besides."""
    from ..generated_matrices import GRAPHS, rmat
    from .reuse import matrices_of

    if files:
        yield from matrices_of(files, vertices)
        return
    for name, generate in GRAPHS.items():
        graph = generate(vertices, _SEED)
        yield f"{name} of {graph.shape[0]:,}", graph
    if large:
        yield f"R-MAT of {_LARGEST:,}", rmat(_LARGEST, _SEED)


def fitting(config: WideSidaConfig, size: int, elements: int, ratio: int) -> WideSidaConfig:
    """Returns a configuration with buffers for this share of the matrix, and for its vectors."""
    words = max(1, elements) / ratio
    vectors = 1 << (size - 1).bit_length()
    return replace(
        config,
        buffer_words=max(64, 4 * config.pes, 1 << max(0, round(log2(words)))),
        vector_words=max(64, config.subtensor, 2 * config.pes, vectors),
    )
