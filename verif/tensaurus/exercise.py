"""Products on any Tensaurus, through its driver: a few small ones, and large ones."""

from __future__ import annotations

import numpy as np
from tilewright.sim.tensaurus.driver import TensorDevice, TensorDriver
from tilewright.sim.tensaurus.model import TensaurusModel
from tilewright.verif.tensaurus.jobs import TensorRtl, check_case, fitting, random_case, run_case

_MOST, _VALUES = 16, 1200


def exercise(device: TensorDevice, rng: np.random.Generator) -> int:
    """Each kernel of the device, of a sparse and of a dense tensor, some with sums in memory, held
    against the model. Returns their number."""
    config = device.config
    count = 0
    by_name = {(kernel.name, kernel.order): kernel for kernel in fitting(config)}
    for number, kernel in enumerate(by_name.values()):
        dense = bool(number % 2)
        store = "memory" if number in (1, 2) and kernel.name != "mv" else "buffer"
        case = random_case(
            rng, config, kernel=kernel, dense=dense, store=store, most=5, values=20
        )  # fmt: skip
        model = TensaurusModel(config, device.memory_bytes)
        found, expected = (run_case(TensorDriver(on), case) for on in (device, model))
        assert np.array_equal(found, expected), case.work
        count += 1
    return count


def soak(device: TensorRtl, rng: np.random.Generator) -> None:
    """A product of any kernel, of a sparse or a dense tensor, with sums on chip or in memory."""
    case = random_case(rng, device.config, store=None, most=_MOST, values=_VALUES)
    check_case(rng, device, case)
