"""The model device on rows of B whose columns do not ascend: it ends as the hardware does."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from tilewright.hw.spec.jobs.matraptor import job_spec
from tilewright.sim.device.job_registers import JobRegisters
from tilewright.sim.matraptor.model import MatRaptorModel
from tilewright.verif.kit.sampling import cases
from tilewright.verif.matraptor.cases import SparseCase, place_case, random_matrix
from tilewright.verif.matraptor.jobs import load_case
from tilewright.verif.matraptor.outer.outer_cases import outer_case
from tilewright.verif.matraptor.outer.outer_jobs import rows_about
from tilewright.verif.matraptor.samples import config

MEMORY_BYTES = 1 << 16


@pytest.mark.parametrize("mode", ["rows", "outer"])
@pytest.mark.parametrize("lanes", [1, 2, 3])
def test_the_first_row_that_reads_it(mode: str, lanes: int) -> None:
    rng = np.random.default_rng(lanes)
    cfg = config(queues=3, queue_depth=64, lanes=lanes, channels=lanes, outer_product=True)
    device: Any = MatRaptorModel(cfg, MEMORY_BYTES)
    ends: Counter[str] = Counter()
    for _ in range(max(12, cases(40))):
        a = random_matrix(rng, cfg, (5, 6), 0.25)
        b = random_matrix(rng, cfg, (6, 8), 1.0)
        row = int(rng.integers(6))
        case: SparseCase
        if mode == "outer":
            case = outer_case(rng, cfg, MEMORY_BYTES, a, b)
            about = rows_about(case, np.array([row]))
        else:
            case = place_case(rng, cfg, MEMORY_BYTES, a, b)
            starts, columns, _ = a.patterns()
            about = [i for i in range(5) if row in columns[starts[i] : starts[i + 1]]]
        load_case(rng, device, case)
        _repeat_a_column(rng, device, case, row)
        before = device.memory.copy()
        status = JobRegisters(device, job_spec(cfg)).submit({"MODE": 0} | case.registers)
        expected = ("unsorted", about[0]) if about else ("none", 0)
        assert (status.error, status.detail) == expected
        assert np.array_equal(device.memory, before) == bool(about)
        ends[status.error] += 1
    assert min(ends["unsorted"], ends["none"]) > 0


def _repeat_a_column(rng: np.random.Generator, device: Any, case: SparseCase, row: int) -> None:
    """Repeats, in a full row of B, the column of an earlier entry, or writes a smaller one."""
    cfg = case.config
    where = case.row_addresses("b", case.b, row).reshape(-1, cfg.layout.entry_bytes)
    entry = int(rng.integers(1, 8))
    word = int(case.b.patterns().values[8 * row + entry])
    word |= int(rng.integers(entry)) << cfg.format.bits
    device.write_memory(int(where[entry][0]), word.to_bytes(cfg.layout.entry_bytes, "little"))
