"""GTA as software sees it: registers and a memory, jobs done in no time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from ...hw.spec.gta import (
    BANKS,
    FORMATS_OF_GTA,
    LEFT_WORD_BYTES,
    ROWS,
    GtaConfig,
    element_bytes,
    is_float,
    limbs,
)
from ...hw.spec.jobs.gta import beat_bytes, burst_beats, job_spec, mask_registers
from ...hw.spec.jobs.gta_commands import (
    COMMAND_BYTES,
    DEALS,
    KINDS,
    MEMORIES,
    NARROWINGS,
    OPERATIONS,
    command_fields,
    lane_words,
    most_folds,
    widths_of_results,
)
from ..device.model import ModelDevice
from .execute import execute
from .lane_memories import LaneMemories
from .regions import Region, first_torn, region_of
from .vector.tiling import vector_faults


def first_fault(
    config: GtaConfig,
    masks: Sequence[int],
    layout: int,
    content: bytes,
    before: Mapping[str, int],
) -> str | None:
    """The error of a command in memory; None if it holds.

    Parameters
    ----------
    masks, layout: of the job
    before: how many of each kind are before it in the list
    """
    try:
        kind, fields = command_fields(content)
    except ValueError:
        return "command"
    if kind == "execute":
        found = _execute_faults(config, masks, layout, fields)
    else:
        found = _row_faults(config, kind, fields)
    late = any(fields[f"{name}s"] > count for name, count in before.items())
    if "command" not in found and late:
        return "command_order"
    return found[0] if found else None


def _words(count: int) -> int:
    return -(-count // LEFT_WORD_BYTES)


def _row_faults(config: GtaConfig, kind: str, fields: Mapping[str, int]) -> list[str]:
    """Returns the errors of a LOAD or a STORE, in the order in which they are reported."""
    if fields["deal"] >= len(DEALS):
        return ["command"]
    deal, store = DEALS[fields["deal"]], kind == "store"
    if store:
        narrow = fields["narrow"] != 0
        part = narrow and (deal.element < 8 or fields["row_bytes"] % deal.element)
        meaningless = fields["narrow"] >= len(NARROWINGS) or deal.element == 1 or part
    else:
        meaningless = fields["memory"] >= len(MEMORIES)
    if meaningless:
        return ["command"]
    lanes, found = fields["lanes"], []
    last = fields["first"] + (lanes - 1) * fields["step"]
    if not lanes or max(lanes, fields["first"] + 1) > config.lanes or last >= config.lanes:
        return ["command_lanes"]
    if not fields["rows"] or not fields["row_bytes"]:
        return ["command_size"]
    again = (fields["rows"] * deal.banks - 1) // (BANKS * lanes)
    memory = "result" if store else MEMORIES[fields["memory"]]
    own = -(-fields["row_bytes"] // (LEFT_WORD_BYTES * deal.banks))
    if fields["word"] + again * fields["words"] + own > lane_words(config, memory):
        found.append("command_memory")
    if fields["base"] % beat_bytes(config) or fields["stride"] % beat_bytes(config):
        found.append("command_base")
    if fields["base"] >> config.addr_bits:
        found.append("command_range")
    return found


def _execute_faults(
    config: GtaConfig, masks: Sequence[int], layout: int, fields: Mapping[str, int]
) -> list[str]:
    """Returns the errors of an EXECUTE, in the order in which they are reported."""
    if fields["operation"] >= len(OPERATIONS):
        return ["command"]
    if OPERATIONS[fields["operation"]] == "simd":
        return vector_faults(config, masks, layout, fields)
    if fields["result_base"] % 2 or fields["result_stride"] % 2:
        return ["command"]
    ws = OPERATIONS[fields["operation"]] == "ws"
    usable = (*config.integers, *config.floats)
    name = FORMATS_OF_GTA[fields["format"]] if fields["format"] < len(FORMATS_OF_GTA) else ""
    if name not in usable or (is_float(name) and ws):
        return ["command_format"]
    width = 4 << fields["result_size"]
    if width not in widths_of_results(name):
        return ["command_format"]
    region = region_of(masks, layout, fields["group"])
    if region is None:
        return ["command_lanes"]
    rows, last = region.array[0], fields["rows_last"]
    count = 1 if is_float(name) else limbs(name)
    if (
        not all(fields[size] for size in ("row_folds", "col_folds", "time", "rows_last"))
        or last > rows
        or (not ws and last % count)
    ):
        return ["command_size"]
    found = []
    if not _fits(config, fields, name, rows, width):
        found.append("command_memory")
    if not is_float(name) and (rows if ws else fields["time"]) > config.most_products:
        found.append("command_sum")
    return found


def _fits(config: GtaConfig, fields: Mapping[str, int], name: str, rows: int, width: int) -> bool:
    """Returns whether operands and results lie within the banks."""
    edge, results = lane_words(config, "left"), lane_words(config, "result")
    sides = {"left": edge, "top": edge, "result": results}
    folds, time = most_folds(config), fields["time"]
    if any(
        fields[f"{side}_{what}"] >= most
        for side, most in sides.items()
        for what in ("base", "stride")
    ):
        return False
    if max(fields["row_folds"], fields["col_folds"]) > folds or time > config.edge_bytes:
        return False
    ws = OPERATIONS[fields["operation"]] == "ws"
    count = 1 if is_float(name) else limbs(name)
    used = fields["row_folds"] * (ROWS if is_float(name) else rows)
    stream = time * element_bytes(name) if ws or is_float(name) else time
    elements = time if ws else used // count
    ends = {
        "left": (fields["row_folds"], stream),
        "top": (fields["col_folds"], used if ws else stream),
        "result": (fields["col_folds"], -(-elements // count) * width),
    }
    if fields["col_folds"] > 1 and fields["result_stride"] < _words(ends["result"][1]):
        return False
    return all(
        fields[f"{side}_base"] + (number - 1) * fields[f"{side}_stride"] + _words(size)
        <= sides[side]
        for side, (number, size) in ends.items()
    )


TIMELESS = (
    "operations", "bytes_read", "bytes_written", "bytes_list", "bytes_left", "bytes_top",
    "bytes_result",
)  # fmt: skip
"""Counters that do not tell of time: the model has them."""

Bytes = npt.NDArray[np.uint8]


class _Failure(Exception):
    """A job that ends with an error: its name, and the detail."""


class GtaModel(ModelDevice):
    """Behavioural model of GTA. Its jobs leave the same bits in memory as the hardware's, and the
    counters of ``TIMELESS`` agree; the others are zero.

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
        self.config: Final = config
        self.lanes = LaneMemories(config)
        super().__init__(job_spec(config), memory_bytes)

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
            fault = first_fault(self.config, masks, layout, content.tobytes(), before)
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
        for register in mask_registers(self.config):
            word = self._values[register.name]
            found += [register.get(word, field.name) for field in register.fields]
        return found

    def _places(
        self, base: int, stride: int, rows: int, size: int, error: str
    ) -> npt.NDArray[np.int64]:
        """Addresses of rows, (rows, size). Raises _Failure with the first beat outside."""
        beat = beat_bytes(self.config)
        if base >= self.memory_bytes:
            raise _Failure(error, base)
        # Sums of 62 bits at most do not reach the end of 64.
        reach = (1 << min(self.config.addr_bits, 62)) - 1
        firsts = (base + stride * np.arange(rows, dtype=np.int64)) & reach
        ends = firsts + -(-size // beat) * beat
        outside = np.flatnonzero(ends > self.memory_bytes)
        if len(outside):
            # A write says where its burst begins, a read which beat it is.
            part = beat * burst_beats(self.config) if error == "bus_write" else beat
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
        beat = beat_bytes(self.config)
        moved = rows * -(-size // beat) * beat
        counts[f"bytes_{MEMORIES[fields['memory']]}"] += moved
        counts["bytes_read"] += moved

    def _store(self, fields: dict[str, int], counts: Counter[str]) -> None:
        rows = self.lanes.store(fields)
        count, size = rows.shape
        places = self._places(fields["base"], fields["stride"], count, size, "bus_write")
        self.memory[places] = rows
        counts["bytes_written"] += rows.size
