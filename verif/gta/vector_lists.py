"""Random commands on vectors."""

from __future__ import annotations

import numpy as np
from tilewright.hw.spec.gta import FORMATS_OF_GTA, GtaConfig
from tilewright.hw.spec.jobs.gta_commands import OPERATIONS, lane_words
from tilewright.hw.spec.jobs.gta_vector import OCTET, VECTOR_FUNCTIONS, functions_of

__all__ = ["random_vectors"]

_CHAINS = ("dot", "sum")


def random_vectors(rng: np.random.Generator, config: GtaConfig, group: int) -> dict[str, int]:
    """The fields of an EXECUTE in SIMD of any function and format; it may not fit the banks."""
    format = str(rng.choice([*config.integers, *config.floats]))
    function = str(rng.choice(functions_of(format)))
    edge, results = lane_words(config, "left"), lane_words(config, "result")
    near = bool(rng.integers(2))
    return {
        "operation": OPERATIONS.index("simd"),
        "format": FORMATS_OF_GTA.index(format),
        "group": group,
        "function": tuple(VECTOR_FUNCTIONS).index(function),
        "amount": int(rng.integers(OCTET)),
        "chain": int(rng.integers(1, 6)) if function in _CHAINS else 1,
        "use_c": int(rng.integers(2)),
        "time": int(rng.integers(1, 4 if near else 2 * results + 1)),
        "left_base": int(rng.integers(edge if near else edge // 4)),
        "top_base": int(rng.integers(edge if near else edge // 4)),
        "result_base": 2 * int(rng.integers(results // (2 if near else 8))),
    }
