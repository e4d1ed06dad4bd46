"""Products on any MatRaptor: a few small ones through its driver, and large ones."""

from __future__ import annotations

import numpy as np
from tilewright.sim.matraptor.driver import MODES, SparseDevice, SparseDriver
from tilewright.sim.matraptor.model import MatRaptorModel
from tilewright.verif.matraptor.cases import random_case, random_matrix
from tilewright.verif.matraptor.jobs import SparseRtl, check_case
from tilewright.verif.matraptor.outer.outer_cases import check_outer, in_rows, random_outer

_MOST = 60

_SHAPES = (1, 1, 1), (9, 7, 8)
"""Rows of A, of B, and columns of B."""


def exercise(device: SparseDevice, rng: np.random.Generator) -> int:
    """Products in every mode of the device, and of operands in CSR where it reads that, held
    against the model. Returns their number."""
    config = device.config
    count = 0
    more = ("csr", "csr-arrays") if config.csr else ()
    modes = [(mode, "c2sr") for mode in (MODES if config.outer_product else MODES[:1])]
    for mode, layout in [*modes, *(("rows", layout) for layout in more)]:
        for rows, inner, cols in _SHAPES:
            a = random_matrix(rng, config, (rows, inner), 0.4)
            b = random_matrix(rng, config, (inner, cols), 0.4)
            model = MatRaptorModel(config, device.memory_bytes)
            found, expected = (
                SparseDriver(on).multiply(a, b, mode=mode, layout=layout).patterns()
                for on in (device, model)
            )
            for one, other in zip(found, expected, strict=True):
                assert np.array_equal(one, other), (mode, layout)
            count += 1
    return count


def soak(device: SparseRtl, rng: np.random.Generator) -> None:
    """A product in either mode of the device."""
    config, size = device.config, device.memory_bytes
    if config.outer_product and rng.integers(2):
        check_outer(rng, device, random_outer(rng, config, size))
        return
    case = random_case(rng, config, size, most=_MOST)
    check_case(rng, device, in_rows(rng, case) if config.outer_product else case)
