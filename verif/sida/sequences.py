"""Drawn sequences of jobs: two matrices, three vectors, and programs of one product and of two."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array
from tilewright.hw.spec.formats import Format
from tilewright.sim.numbers.values import encode
from tilewright.sim.sida.iterations.graphs import columns_of
from tilewright.sim.sida.iterations.jobs import Job, Setup, together
from tilewright.verif.sida.iterations.random_graphs import random_graph

PROGRAMS = together(
    "scalar s\nvector a\nvector b\nreduce first sum\nreduce second max",
    {
        "both": "e1:\n load r1, a\n fma r1, s, y, r1\n reduce first, r1\n out r1\n"
                "e2:\n mul r1, y, first\n reduce second, r1\n store b, r1\n out r1",
        "one": "e1:\n load r1, b\n fma r1, second, y, r1\n mul r1, r1, s\n store a, r1\n out r1",
    },
)  # fmt: skip

EVERY_JOB = (
    Job(program="both", x="b", matrix="left"),
    Job(program="one", x="b", matrix="right", second=False),
    Job(program="both", x="a"),
    Job(program="one", x="a", second=False),
    Job(program="both", x="a", matrix="right"),
)
"""Products of either matrix, once or twice, and sweeps over vectors."""


def drawn_setup(seed: int, size: int, fmt: Format, density: float = 0.3) -> Setup:
    """Two matrices, and drawn vectors."""
    rng = np.random.default_rng(seed)
    return Setup(
        size=size,
        matrices={
            name: columns_of(csr_array(random_graph(seed + more, size, density=density)), fmt)
            for more, name in enumerate(("left", "right"))
        },
        programs=PROGRAMS,
        vectors={name: encode(rng.normal(size=(size, 1)), fmt) for name in ("a", "b", "c")},
        given={"s": 0.5, "first": 0.0, "second": 0.25},
    )
