"""Small accelerators of every kind for the benches of the whole."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array
from tilewright.hw.spec.formats import Format
from tilewright.hw.spec.sida import SidaConfig
from tilewright.sim.numbers.values import encode
from tilewright.sim.sida.iterations.graphs import columns_of
from tilewright.sim.sida.iterations.jobs import Job, Setup, together
from tilewright.verif.sida.iterations.solving import random_graph

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


CONFIGS: dict[str, dict[str, Any]] = {
    "small": {},
    # The waiting elements do not fit into the buffer.
    "tiny": {"buffer_words": 64, "subtensor": 16, "channels": 1, "window": 4, "outstanding": 4},
    "int32": {"value": "int32", "channels": 3, "semirings": ("mma", "minplus", "maxmin"),
              "subtensor": 4},
    "fp16": {"value": "fp16", "data_bits": 64, "interleave": 128, "adder_stages": 1,
             "multiplier_stages": 1, "semirings": ("mma", "addnorm", "orand")},
    "fp64": {"value": "fp64", "subtensor": 8, "channels": 4, "buffer_words": 128},
    # Everything as small as it may be, but for the channels.
    "least": {"value": "fp16", "subtensor": 4, "buffer_words": 64, "window": 2, "outstanding": 2,
              "channels": 3, "adder_stages": 1, "multiplier_stages": 1},
    "wide": {"pes": 16, "subtensor": 32, "channels": 4, "buffer_words": 256, "vector_words": 256},
    "all": {"semirings": ("mma", "minplus", "maxplus", "minmul", "maxmul", "minmax", "maxmin",
                          "orand", "addnorm", "aril-add")},
}  # fmt: skip


WINDOWED: dict[str, dict[str, Any]] = {
    # A few times as many rows as there is room for on chip.
    "windowed": {"subtensor": 16, "vector_words": 64, "rows_limit": 512},
    "windowed, tiny": {"buffer_words": 64, "subtensor": 32, "vector_words": 64, "rows_limit": 512,
                       "channels": 1, "window": 4, "outstanding": 4},
    "windowed, int32": {"value": "int32", "channels": 3, "semirings": ("mma", "minplus", "maxmin"),
                        "subtensor": 16, "vector_words": 64, "rows_limit": 1024},
    "windowed, fp64": {"value": "fp64", "subtensor": 8, "channels": 4, "buffer_words": 128,
                       "vector_words": 64, "rows_limit": 256},
    "windowed, wide": {"pes": 16, "subtensor": 64, "channels": 4, "buffer_words": 256,
                       "vector_words": 64, "rows_limit": 1024, "value": "fp16"},
    "windowed, all on chip": {"subtensor": 16, "vector_words": 256, "rows_limit": 256},
}  # fmt: skip
"""Accelerators whose vectors are in memory, and a window of them on chip."""


def small(**changes: Any) -> SidaConfig:
    """Four elements a cycle, matrices of up to 128 rows."""
    given: dict[str, Any] = {
        "pes": 4, "subtensor": 8, "buffer_words": 512, "vector_words": 128, "channels": 2,
        "data_bits": 64, "outstanding": 8, "program_words": 64,
    }  # fmt: skip
    return SidaConfig(**{**given, **changes})
