"""Random lists of commands, and what a device has to do with them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from tilewright.hw.spec.gta import BANKS, FORMATS_OF_GTA, GtaConfig, is_float, limbs
from tilewright.hw.spec.jobs.gta import beat_bytes, job_spec, mask_registers
from tilewright.hw.spec.jobs.gta_commands import (
    COMMAND_BYTES,
    DEALS,
    FIELDS,
    KINDS,
    MEMORIES,
    OPERATIONS,
    command_bytes,
    lane_words,
    most_folds,
    widths_of_results,
)
from tilewright.hw.spec.jobs.gta_vector import OCTET, VECTOR_FUNCTIONS, functions_of
from tilewright.sim.device.driver import JobRegisters, JobStatus
from tilewright.sim.gta.model import TIMELESS, GtaModel, first_fault
from tilewright.sim.gta.regions import Region, region_of
from tilewright.sim.gta.tiles.program import CommandList, LaneJob
from tilewright.sim.gta.timed import TimedGta
from tilewright.verif.kit.job_checks import JobRtl, QuietAtEnd
from tilewright.verif.kit.sampling import draw_until


class Executes(CommandList):
    """A list without LOADs and STOREs, in which nothing waits.

    Parameters
    ----------
    group: the mask of the lanes whose EXECUTEs are kept; None: of all
    """

    def __init__(self, group: int | None = None) -> None:
        super().__init__()
        self._group = group

    def add(
        self, kind: str, fields: Mapping[str, int], behind: Mapping[str, int] | None = None
    ) -> int:
        if kind != "execute" or self._group not in (None, fields.get("group", 0)):
            return 1
        return super().add(kind, fields)


def busy_cycles(timed: TimedGta, listed: Executes, job: LaneJob) -> int:
    """Returns the cycles in which at least one command of the list is in flight, with operands on
    chip."""
    timed.write_memory(0, listed.to_bytes())
    registers = {"LIST": 0, "COMMANDS": len(listed), **job.registers(timed.config)}
    status = JobRegisters(timed, job_spec(timed.config)).submit(registers)
    assert status.error == "none"
    return status.counts["busy_cycles"]


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


_LIST_BYTES = 1 << 12
"""Bytes of the list, at the start of memory; sources and results follow, each in one half of the
rest."""

Command = tuple[str, dict[str, int]]


@dataclass(frozen=True, kw_only=True)
class ListCase:
    """A job.

    Parameters
    ----------
    config: of the device
    layout, masks: of its lanes
    commands: kinds and fields
    memory: all of it before the job, the list included
    """

    config: GtaConfig
    layout: int
    masks: tuple[int, ...]
    commands: tuple[Command, ...]
    memory: npt.NDArray[np.uint8]

    @property
    def registers(self) -> dict[str, int]:
        """The job's, by name."""
        found = {"LIST": 0, "COMMANDS": len(self.commands), "LAYOUT": self.layout}
        lane = 0
        for register in mask_registers(self.config):
            fields = {field.name: self.masks[lane + n] for n, field in enumerate(register.fields)}
            found[register.name] = register.put(**fields)
            lane += len(fields)
        return found

    def with_list(self, *commands: Command) -> ListCase:
        """The same lanes and memory with another list."""
        memory = self.memory.copy()
        content = b"".join(command_bytes(kind, fields) for kind, fields in commands)
        memory[: len(content)] = np.frombuffer(content, np.uint8)
        return replace(self, commands=tuple(commands), memory=memory)

    def written(self) -> npt.NDArray[np.bool_]:
        """Marks the bytes of memory that STOREs may write."""
        found = np.zeros(len(self.memory), np.bool_)
        for kind, fields in self.commands:
            if kind == "store":
                size = fields["row_bytes"] >> (fields["narrow"] != 0)
                for row in range(fields["rows"]):
                    begin = fields["base"] + row * fields["stride"]
                    found[begin : begin + size] = True
        return found


def _masks(rng: np.random.Generator, config: GtaConfig) -> tuple[int, tuple[int, ...]]:
    """A layout, and masks that cut the lanes into rectangles."""
    layout = int(rng.integers(config.lanes.bit_length()))
    rows, cols = config.lanes >> layout, 1 << layout
    parts = [(0, 0, rows, cols)]
    for _ in range(int(rng.integers(3))):
        top, left, down, across = parts.pop(int(rng.integers(len(parts))))
        if rng.integers(2) and down > 1:
            cut = int(rng.integers(1, down))
            parts += [(top, left, cut, across), (top + cut, left, down - cut, across)]
        elif across > 1:
            cut = int(rng.integers(1, across))
            parts += [(top, left, down, cut), (top, left + cut, down, across - cut)]
        else:
            parts.append((top, left, down, across))
    numbers = rng.permutation(1 << config.mask_bits)[: len(parts)].tolist()
    masks = [0] * config.lanes
    for number, (top, left, down, across) in zip(numbers, parts, strict=True):
        for lane in Region(cols, top * cols + left, down, across).lanes:
            masks[lane] = number
    return layout, tuple(masks)


def _rows(
    rng: np.random.Generator, config: GtaConfig, memory: str, base: int, room: int
) -> dict[str, int]:
    """Rows of any number and size that fit a memory of the lanes, and ``room`` bytes from base."""
    beat, words = beat_bytes(config), lane_words(config, memory)
    deal = int(rng.integers(len(DEALS)))
    lanes = int(rng.integers(1, config.lanes + 1))
    step = int(rng.integers(0, (config.lanes - 1) // max(1, lanes - 1) + 1))
    first = int(rng.integers(config.lanes - (lanes - 1) * step))
    again = int(rng.choice([1, 1, 2, 3]))
    own = int(rng.integers(1, max(2, words // again + 1)))
    word = int(rng.integers(words - own * again + 1))
    most = min(own * 16 * DEALS[deal].banks, room // beat * beat)
    row_bytes = (
        int(rng.integers(max(1, most - 40), most + 1))
        if rng.integers(2)
        else int(rng.integers(1, most + 1))
    )
    rows = int(rng.integers(1, again * BANKS * lanes // DEALS[deal].banks + 1))
    stride = -(-row_bytes // beat) * beat + beat * int(rng.integers(3))
    rows = min(rows, max(1, room // stride))
    start = base + beat * int(rng.integers(max(0, room - rows * stride) // beat + 1))
    return {
        "deal": deal, "rows": rows, "row_bytes": row_bytes, "base": start, "stride": stride,
        "first": first, "step": step, "lanes": lanes, "word": word, "words": own,
    }  # fmt: skip


def _execute(
    rng: np.random.Generator, config: GtaConfig, layout: int, masks: tuple[int, ...]
) -> dict[str, int]:
    """Folds of any kind that fit, or vectors."""
    group = int(rng.choice(masks))
    if not rng.integers(3):
        return random_vectors(rng, config, group)
    region = region_of(masks, layout, group)
    assert region is not None
    name = str(rng.choice([*config.integers, *config.floats]))
    ws = not is_float(name) and bool(rng.integers(2))
    rows = region.array[0]
    count = 1 if is_float(name) else limbs(name)
    width = int(rng.choice(widths_of_results(name)))
    edge, results = lane_words(config, "left"), lane_words(config, "result")
    most = min(
        config.edge_bytes, config.most_products if not ws and not is_float(name) else 1 << 30
    )
    last = int(rng.integers(1, rows + 1))
    return {
        "operation": 0 if ws else 1,
        "format": FORMATS_OF_GTA.index(name),
        "group": group,
        "use_c": int(rng.integers(2)),
        "lateral": int(rng.integers(2)),
        "overlap": int(rng.integers(2)),
        "result_size": width.bit_length() - 3,
        "rows_last": last if ws else -(-last // count) * count,
        "row_folds": int(rng.integers(1, min(5, most_folds(config) + 1))),
        "col_folds": int(rng.integers(1, min(5, most_folds(config) + 1))) if rng.integers(2) else 1,
        "time": int(rng.integers(1, min(most, 40) + 1)),
        "left_base": int(rng.integers(edge)),
        "top_base": int(rng.integers(edge)),
        "result_base": 2 * int(rng.integers(results // 2)),
        "left_stride": int(rng.integers(max(1, edge // 4))),
        "top_stride": int(rng.integers(max(1, edge // 4))),
        "result_stride": 2 * int(rng.integers(1, max(2, results // 8))),
    }


def random_command(
    rng: np.random.Generator, config: GtaConfig, layout: int, masks: tuple[int, ...], size: int
) -> Command:
    """A command that holds, and waits for nothing."""
    half = (size - _LIST_BYTES) // 2 // 512 * 512

    def draw() -> Command | None:
        kind = str(rng.choice(KINDS))
        if kind == "load":
            memory = int(rng.integers(len(MEMORIES)))
            rows = _rows(rng, config, MEMORIES[memory], _LIST_BYTES, 2 * half)
            fields = {"memory": memory, **rows}
        elif kind == "store":
            fields = {
                "narrow": int(rng.integers(3)),
                **_rows(rng, config, "result", _LIST_BYTES + half, half),
            }
            if fields["narrow"]:
                fields["row_bytes"] = max(1, fields["row_bytes"] // 16) * 16
        else:
            fields = _execute(rng, config, layout, masks)
        content = command_bytes(kind, fields)
        fault = first_fault(config, masks, layout, content, dict.fromkeys(KINDS, 0))
        return (kind, fields) if fault is None else None

    return draw_until(draw)


def random_case(rng: np.random.Generator, config: GtaConfig, size: int, most: int = 12) -> ListCase:
    """Draws a list in which every command waits for all earlier ones of the other kinds."""
    layout, masks = _masks(rng, config)
    commands, before = [], dict.fromkeys(KINDS, 0)
    for _ in range(int(rng.integers(1, most + 1))):
        kind, fields = random_command(rng, config, layout, masks, size)
        needs = {f"{other}s": count for other, count in before.items() if other != kind}
        commands.append((kind, {**fields, **needs}))
        before[kind] += 1
    assert len(commands) * COMMAND_BYTES <= _LIST_BYTES
    memory = rng.integers(0, 256, size, dtype=np.uint8)
    case = ListCase(config=config, layout=layout, masks=masks, commands=(), memory=memory)
    return case.with_list(*commands)


def refilling_case(rng: np.random.Generator, config: GtaConfig, size: int) -> ListCase:
    """A list that loads all of the lanes' memories: afterwards nothing in them is of a job before.

    After a job that was broken off they are not what the model has.
    """
    commands = []
    for number, name in enumerate(MEMORIES):
        row_bytes = 16 * lane_words(config, name)
        stride = -(-row_bytes // beat_bytes(config)) * beat_bytes(config)
        fields = {
            "memory": number, "rows": BANKS * config.lanes, "row_bytes": row_bytes,
            "base": _LIST_BYTES, "stride": stride, "lanes": config.lanes, "step": 1,
        }  # fmt: skip
        commands.append(("load", fields))
    memory = rng.integers(0, 256, size, dtype=np.uint8)
    masks = (0,) * config.lanes
    case = ListCase(config=config, layout=0, masks=masks, commands=(), memory=memory)
    return case.with_list(*commands)


def check(device: JobRtl[GtaConfig], model: GtaModel, case: ListCase) -> JobStatus:
    """Runs a job on both and compares status, memory (all of it, or after an error the bytes that
    no STORE may write), and the counters that do not depend on time."""
    ends = []
    for one in (model, QuietAtEnd(device)):
        one.write_memory(0, case.memory.tobytes())
        status = JobRegisters(one, job_spec(case.config)).submit(case.registers)
        ends.append((status, np.frombuffer(one.read_memory(0, len(case.memory)), np.uint8)))
    (wanted, memory), (found, left) = ends
    ended = (found.error, found.detail), (wanted.error, wanted.detail)
    assert ended[0] == ended[1], f"{ended}: {case.commands}"
    outside = np.ones(len(left), np.bool_) if found.error == "none" else ~case.written()
    wrong = np.flatnonzero((left != memory) & outside)
    assert not len(wrong), f"{len(wrong)} bytes are wrong, first {wrong[0]:#x}: {case.commands}"
    if found.error == "none":
        counts: Any = [{name: x.counts[name] for name in TIMELESS} for x in (found, wanted)]
        assert counts[0] == counts[1], f"{counts}: {case.commands}"
    return found


def _near(rng: np.random.Generator, value: int, bits: int) -> int:
    """Another value of a field: beside it, any, a small one, or one with a single bit changed."""
    drawn = (
        value + int(rng.choice([-1, 1])),
        int(rng.integers(1 << min(bits, 62))),
        int(rng.integers(8)),
        value ^ 1 << int(rng.integers(bits)),
    )
    return drawn[int(rng.integers(len(drawn)))] % (1 << bits)


def spoilt_case(rng: np.random.Generator, config: GtaConfig, size: int) -> ListCase:
    """A command with another value in one of its fields, or a bit changed anywhere; before it some
    LOADs that hold. It may hold, too."""
    case = random_case(rng, config, size, most=1)
    kind, fields = random_command(rng, config, case.layout, case.masks, size)
    before: list[Command] = []
    while len(before) < int(rng.integers(3)):
        drawn = random_command(rng, config, case.layout, case.masks, size)
        before += [drawn] if drawn[0] == "load" else []
    fields = {**fields, "loads": len(before)}
    names = [name for name in FIELDS[kind] if name != "kind"]
    name = names[int(rng.integers(len(names)))]
    spoilt = {**fields, name: _near(rng, fields.get(name, 0), FIELDS[kind][name][1])}
    if kind != "execute" and not rng.integers(12):
        spoilt = {**fields, "base": fields["base"] | 1 << int(rng.integers(32, 64))}
    case = case.with_list(*before, (kind, spoilt))
    if not rng.integers(5):
        # A bit that belongs to no field, as a rule.
        bit = int(rng.integers(8 * COMMAND_BYTES))
        case.memory[len(before) * COMMAND_BYTES + bit // 8] ^= np.uint8(1 << bit % 8)
    assert command_bytes(kind, spoilt)[0] == KINDS.index(kind) + 1
    return case
