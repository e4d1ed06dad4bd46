"""Measures the elements per cycle of SIDA, and their memory traffic, on the RTL."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ...hw.spec.elementwise.assembler import assemble
from ...hw.spec.semirings import SEMIRINGS
from ...hw.spec.sida import SIDA, SidaConfig
from ...synth.tables import Row, Table
from ..generated_matrices import GRAPHS
from ..matraptor import needs_simulation

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from ...sim.sida.driver import SidaDriver

__all__ = [
    "CONFIGS",
    "MATRICES",
    "MEMORY_BYTES",
    "TRANSPOSED",
    "VERTICES",
    "matrix_bytes",
    "one_pass",
    "sida_rates",
]

CONFIGS = {
    "4 a cycle": SidaConfig(pes=4, vector_words=1024, buffer_words=32768),
    "4 a cycle, buffer of 256, steps of 16": SidaConfig(
        pes=4, subtensor=16, vector_words=1024, buffer_words=256, outstanding=16
    ),
    "4 a cycle, buffer of 256": SidaConfig(
        pes=4, vector_words=1024, buffer_words=256, outstanding=16
    ),
    "16 a cycle": SidaConfig(vector_words=1024, buffer_words=32768),
}
"""All with the default memory: four channels of 128 bits, eight elements a cycle. So four a cycle
are limited by the cores, 16 by the memory. With a small buffer a reader has few blocks under way:
all that columns ask for at the beginning is before what the first rows ask for."""

TRANSPOSED = ("R-MAT", "2-D grid")
"""Matrices whose second product is with the transpose, too."""

VERTICES = 1024
"""Rows of the matrices."""

_SEED = 7

MEMORY_BYTES = 1 << 21
"""Bytes of the memory that holds them."""

_PROGRAM = assemble(
    """
vector x
vector z

e1:
    mul r1, y, 0.25
    store z, r1
    out r1
e2:
    mul r1, y, 0.25
    store x, r1
    out r1
"""
)


def _band(vertices: int, seed: int) -> csr_array:
    from scipy.sparse import csr_array, diags_array

    return csr_array(
        diags_array([np.ones(vertices)] * 33, offsets=range(-16, 17), shape=(vertices, vertices))
    )


def _upper(vertices: int, seed: int) -> csr_array:
    from scipy.sparse import csr_array, random_array, triu

    found = random_array((vertices, vertices), density=0.04, rng=np.random.default_rng(seed))
    return csr_array(triu(found, k=40))


MATRICES: dict[str, Callable[[int, int], csr_array]] = {
    "R-MAT": GRAPHS["R-MAT"],
    "2-D grid": GRAPHS["2-D grid"],
    "band of 33": _band,
    "above the diagonal": _upper,
}
"""Generators of matrices from the vertices and a seed."""


def sida_rates(
    target: str,
    progress: Callable[[str], None] = lambda said: None,
    *,
    matrices: tuple[str, ...] = tuple(MATRICES),
) -> Table:
    """Runs one pass of two products, with a multiplication after each whose result is stored, on a
    memory that answers in the next cycle; matrices of 1,024 rows in fp32. For some of them the
    second product is with the transpose, too.

    The first column counts from the first elements to the last, the next three from the begin of
    the pass until the last elements are taken: what the ports carry of the matrix by columns, and
    when elements waited for z, or for room. Bytes are those of the columns and rows that are read
    over the matrix' size by columns, and all that is read and written over that of the matrix, of x
    and of the two vectors that are stored.

    Parameters
    ----------
    target: "cmos", the default: nothing is synthesised
    progress: is told what comes next
    matrices: see ``MATRICES``

    Raises UserError for another target, or if there is no Verilator, or no compiler, and
    RuntimeError if a result is not the model's.
    """
    with needs_simulation("sida-rates", target):
        from ...hw.emit.unit import emit
        from ...sim.rtl.accelerator import NativeAccelerator
        from ...sim.sida.driver import SidaDriver

        rows = []
        for name, config in CONFIGS.items():
            progress(f"building {name}")
            with NativeAccelerator(emit(SIDA, config), config, memory_bytes=MEMORY_BYTES) as device:
                products = [(kind, False) for kind in matrices]
                products += [(kind, True) for kind in matrices if kind in TRANSPOSED]
                for kind, transposed in products:
                    label = f"{name}: {kind}{', transpose' if transposed else ''}"
                    progress(label)
                    rows.append(_row(label, kind, transposed, SidaDriver(device)))
    columns = [
        "elements a cycle, %",
        "memory busy, %",
        "wait z, %",
        "wait room, %",
        "held at most, %",
        "lost panels",
        "matrix bytes",
        "all bytes",
    ]
    return Table("sida-rates", "RTL", columns, rows)


def one_pass(
    label: str, kind: str, transposed: bool, driver: SidaDriver
) -> tuple[dict[str, int], int]:
    """Runs a pass of two products; returns the counters, and the elements of the matrix. The result
    must be the model's, else RuntimeError names ``label``."""
    from ...sim.numbers.values import encode
    from ...sim.sida.iterations.graphs import columns_of
    from ...sim.sida.iterations.problem import Problem, solve
    from ...sim.sida.result.products import Rules

    config, rng = driver.config, np.random.default_rng(_SEED)
    matrix = columns_of(MATRICES[kind](VERTICES, _SEED), config.format)
    x = encode(rng.standard_normal(matrix.size), config.format)[:, None]
    problem = Problem(
        program=_PROGRAM,
        semiring=SEMIRINGS["mma"],
        matrix=matrix,
        x=x,
        scalars={},
        vectors={"x": x, "z": x},
        stop=None,
        transposed=transposed,
    )
    found = driver.solve(problem, 2)
    if not np.array_equal(found.result, solve(Rules.of(config), problem, 2).result):
        raise RuntimeError(f"the result of {label} is not the model's")
    (counts,) = driver.jobs
    return counts, len(matrix.rows)


def _row(label: str, kind: str, transposed: bool, driver: SidaDriver) -> Row:
    counts, elements = one_pass(label, kind, transposed, driver)
    config = driver.config
    value = config.format.bits // 8
    busy = counts["busy_cycles"] + counts["stalls"]
    by_columns = sum(counts[f"bytes_{name}"] for name in ("pointers", "rows", "values"))
    stored = matrix_bytes(elements, value)
    once = stored + 3 * value * VERTICES
    port = config.channels * config.geometry.beat_bytes
    ours = [
        100 * elements / (config.pes * busy),
        100 * by_columns / (port * counts["column_cycles"]),
        100 * counts["wait_z"] / counts["column_cycles"],
        100 * counts["wait_held"] / counts["column_cycles"],
        100 * counts["held"] / elements,
        counts["lost"],
        (by_columns + counts["bytes_again"]) / stored,
        (counts["bytes_read"] + counts["bytes_written"]) / once,
    ]
    return Row(label, [None] * len(ours), ours, [1, 1, 1, 1, 1, 0, 3, 3])


def matrix_bytes(elements: int, value: int) -> int:
    """Bytes of a matrix by columns, with values of so many bytes."""
    return 4 * (VERTICES + 1) + (4 + value) * elements
