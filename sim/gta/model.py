"""GTA as software sees it: registers and a memory, jobs done in no time."""

from __future__ import annotations

from collections import Counter

import numpy as np
import numpy.typing as npt

from ...hw.spec.gta import GtaConfig
from ...hw.spec.jobs.gta import beat_bytes, burst_beats, job_spec, mask_registers
from ...hw.spec.jobs.gta_commands import COMMAND_BYTES, KINDS, MEMORIES, command_fields
from ..device.model import ModelDevice
from .command_rules import first_fault
from .execute import execute
from .lane_memories import LaneMemories
from .regions import Region, first_torn, region_of

__all__ = ["TIMELESS", "GtaModel"]

TIMELESS = (
    "operations", "bytes_read", "bytes_written", "bytes_list", "bytes_left", "bytes_top",
    "bytes_result",
)  # fmt: skip
"""Counters that do not tell of time: the model has them."""

Bytes = npt.NDArray[np.uint8]


class _Failure(Exception):
    """A job that ends with an error: its name, and the detail."""


class GtaModel(ModelDevice):
    """What a job leaves in memory is the hardware's, bit for bit, and so are the counters of
    ``TIMELESS``; the others are zero.

    Commands are done in the order of the list, which is one of those that their numbers allow:
    what a list leaves in which a command touches what another one does, and does not wait for it,
    is the hardware's affair. Of a job that fails all commands before the wrong one are done.

    Parameters
    ----------
    config: see :class:`GtaConfig`
    memory_bytes: size of the memory, which begins at address 0; the bus fails behind it

    Members
    -------
    memory: the memory, uint8
    lanes: the lanes' memories
    """

    def __init__(self, config: GtaConfig, memory_bytes: int = 1 << 22) -> None:
        self._config = config
        self.lanes = LaneMemories(config)
        super().__init__(job_spec(config), memory_bytes)

    @property
    def config(self) -> GtaConfig:
        return self._config

    def _job(self) -> tuple[str, int, dict[str, int]]:
        counts: Counter[str] = Counter()
        try:
            self._commands(counts)
        except _Failure as failure:
            error, detail = failure.args
            return error, detail, dict(counts)
        return "none", 0, dict(counts)

    def _commands(self, counts: Counter[str]) -> None:
        layout, masks = self._values["LAYOUT"], self._masks()
        torn = first_torn(masks, layout)
        if torn is not None:
            raise _Failure("masks", torn)
        before = dict.fromkeys(KINDS, 0)
        size = self._values["COMMANDS"] * COMMAND_BYTES
        for number in range(self._values["COMMANDS"]):
            content = self._rows(self._values["LIST"] + number * COMMAND_BYTES, 0, 1, COMMAND_BYTES)
            fault = first_fault(self._config, masks, layout, content.tobytes(), before)
            if fault is not None:
                raise _Failure(fault, number)
            kind, fields = command_fields(content.tobytes())
            before[kind] += 1
            if kind == "execute":
                region = region_of(masks, layout, fields["group"])
                assert region is not None
                self._execute(region, fields)
                counts["operations"] += 1
            elif kind == "load":
                self._load(fields, counts)
            else:
                self._store(fields, counts)
        counts["bytes_list"] += size
        counts["bytes_read"] += size

    def _masks(self) -> list[int]:
        found = []
        for register in mask_registers(self._config):
            word = self._values[register.name]
            found += [register.get(word, field.name) for field in register.fields]
        return found

    def _places(
        self, base: int, stride: int, rows: int, size: int, error: str
    ) -> npt.NDArray[np.int64]:
        """Addresses of rows, (rows, size). Raises _Failure with the first beat outside."""
        beat = beat_bytes(self._config)
        if base >= self.memory_bytes:
            raise _Failure(error, base)
        # Sums of 62 bits at most do not reach the end of 64.
        reach = (1 << min(self._config.addr_bits, 62)) - 1
        firsts = (base + stride * np.arange(rows, dtype=np.int64)) & reach
        ends = firsts + -(-size // beat) * beat
        outside = np.flatnonzero(ends > self.memory_bytes)
        if len(outside):
            # A write says where its burst begins, a read which beat it is.
            part = beat * burst_beats(self._config) if error == "bus_write" else beat
            first = int(firsts[outside[0]])
            raise _Failure(error, max(first, self.memory_bytes // part * part))
        return firsts[:, None] + np.arange(size)

    def _rows(self, base: int, stride: int, rows: int, size: int) -> Bytes:
        """Rows of the memory."""
        return self.memory[self._places(base, stride, rows, size, "bus_read")]

    def _execute(self, region: Region, fields: dict[str, int]) -> None:
        """Do an EXECUTE; of other lanes, another one."""
        execute(self.lanes, region, fields)

    def _load(self, fields: dict[str, int], counts: Counter[str]) -> None:
        size, rows = fields["row_bytes"], fields["rows"]
        self.lanes.load(fields, self._rows(fields["base"], fields["stride"], rows, size))
        beat = beat_bytes(self._config)
        moved = rows * -(-size // beat) * beat
        counts[f"bytes_{MEMORIES[fields['memory']]}"] += moved
        counts["bytes_read"] += moved

    def _store(self, fields: dict[str, int], counts: Counter[str]) -> None:
        rows = self.lanes.store(fields)
        count, size = rows.shape
        places = self._places(fields["base"], fields["stride"], count, size, "bus_write")
        self.memory[places] = rows
        counts["bytes_written"] += rows.size
