"""MatRaptor as software sees it: registers and a memory, jobs done in no time by the models."""

from __future__ import annotations

import numpy as np

from ..hw.spec.job_registers import Check
from ..hw.spec.matraptor import MatRaptorConfig
from ..hw.spec.matraptor_registers import (
    ARRAYS,
    CHECKS,
    COUNTERS,
    ERRORS,
    limits,
    register_map,
)
from .c2sr import C2sr, to_csr
from .c2sr_image import from_image, image
from .dram import MemoryModel
from .matraptor import SparseProduct, spgemm
from .matraptor_cycles import Cycles, simulate
from .model_device import ModelDevice

__all__ = ["MatRaptorModel"]


class MatRaptorModel(ModelDevice):
    """What a job leaves in memory is the hardware's, bit for bit; what it counts comes from the
    cycle model, or without one is what does not depend on time, the rest being zero.

    A job that fails leaves no part of C. B's columns must ascend in every row, else ValueError.

    Parameters
    ----------
    config: of the accelerator
    memory_bytes: size of the memory, which begins at address 0
    channel: what each memory channel does, for the cycle model
    gigahertz: clock of the accelerator, for the cycle model

    Members
    -------
    memory: the memory, uint8
    cycles: what the cycle model found for the last job, None without one
    """

    cycles: Cycles | None

    def __init__(
        self,
        config: MatRaptorConfig,
        memory_bytes: int = 1 << 22,
        *,
        channel: MemoryModel | None = None,
        gigahertz: float = 2.0,
    ) -> None:
        self._config = config
        self._channel, self._gigahertz = channel, gigahertz
        self.cycles = None
        super().__init__(register_map(config), memory_bytes)

    @property
    def config(self) -> MatRaptorConfig:
        return self._config

    def _job(self) -> tuple[int, int, dict[str, int]]:
        counts = dict.fromkeys(COUNTERS, 0)
        for check in CHECKS:
            if self._fails(check):
                return ERRORS[check.error], self._map[check.register].offset, counts
        rows, b_rows = self._values["ROWS"], self._values["B_ROWS"]
        try:
            a, b = self._operand("A", rows), self._operand("B", b_rows)
        except IndexError:
            return ERRORS["bus_read"], self.memory_bytes, counts
        outside = a.patterns().columns >= b_rows
        if outside.any():
            entry = int(np.argmax(outside))
            row = int(np.searchsorted(a.patterns().starts, entry, side="right")) - 1
            return ERRORS["index"], row, counts
        a = C2sr(layout=a.layout, shape=(rows, b_rows), lengths=a.lengths, pointers=a.pointers,
                 columns=a.columns, values=a.values)  # fmt: skip
        found = spgemm(self._config, a, b, capacity=self._values["CAPACITY"])
        for error, wrong in (("overflow", found.overflow), ("region", found.region)):
            if len(wrong):
                return ERRORS[error], int(wrong[0]), counts
        assert found.c is not None
        blocks = image(
            found.c, pairs_base=self._values["C_PAIRS"], entries_base=self._values["C_ENTRIES"]
        )
        for block in blocks:
            self.write_memory(block.address, block.data.tobytes())
        return ERRORS["none"], 0, counts | self._counts(a, b, found)

    def _operand(self, name: str, rows: int) -> C2sr:
        return from_image(
            self.read_memory,
            self._config.layout,
            (rows, limits(self._config)["ROWS"]),
            pairs_base=self._values[f"{name}_PAIRS"],
            entries_base=self._values[f"{name}_ENTRIES"],
        )

    def _counts(self, a: C2sr, b: C2sr, found: SparseProduct) -> dict[str, int]:
        statistics = found.statistics
        if self._channel is None:
            return {
                "operations": statistics.products,
                "results": statistics.results,
                "merge_steps": statistics.merge_steps,
                "lane_busy_max": int(statistics.lane_products.max()),
                "lane_busy_min": int(statistics.lane_products.min()),
            }
        right = to_csr(b)
        right.resize(b.shape[0], int(right.indices.max(initial=0)) + 1)
        self.cycles = simulate(
            self._config, to_csr(a), right, memory=self._channel, gigahertz=self._gigahertz
        )
        return {name: getattr(self.cycles, name) for name in COUNTERS}

    def _fails(self, check: Check) -> bool:
        value, layout = self._values[check.register], self._config.layout
        if check.error == "zero_size":
            return value == 0
        if check.error == "size_limit":
            return value > limits(self._config)[check.register]
        if check.error == "misaligned_base":
            return value % layout.interleave != 0
        if check.error == "misaligned_capacity":
            return value % layout.block_entries != 0
        assert check.register.lower() in ARRAYS
        return value >> self._config.addr_bits != 0
