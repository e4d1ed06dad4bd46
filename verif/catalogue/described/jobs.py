"""Jobs of an accelerator, through its registers and its memory."""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from tilewright.sim.rtl.accelerator import AxiBehaviour, NativeAccelerator
from tilewright.verif.catalogue.described.drawing import LIST, Job, JobSource, Rules
from tilewright.verif.catalogue.described.images import read_matrix, touched
from tilewright.verif.catalogue.described.operations import Matrices, located, operands_of

_VARIABLE = re.compile(r"\s*\$var \w+ +\d+ (\S+) (\w+)(?: \[\d+:\d+\])? \$end")
_OTHERS = {"lock": 0, "prot": 0, "qos": 0}


def _edges(waves: Path, clock: str, prefixes: tuple[str, ...]) -> Iterator[dict[str, int]]:
    """The values of the ports with a prefix just before each rising edge of the clock."""
    names: dict[str, set[str]] = {}
    values: dict[str, int] = {}
    before: dict[str, int] = {}
    with waves.open() as file:
        for line in file:
            if found := _VARIABLE.match(line):
                code, name = found.groups()
                if name == clock or name.startswith(prefixes):
                    names.setdefault(code, set()).add(name)
            elif line.startswith("#"):
                before = dict(values)
            elif line[0] in "01b":
                bits, code = line[1:].split() if line[0] == "b" else (line[0], line[1:].strip())
                for name in names.get(code, ()):
                    values[name] = int(bits, 2)
                    if name == clock and bits == "1" and before:
                        yield before


class _Side:
    """One direction of a manager."""

    def __init__(self, port: Mapping[str, Any], said: Mapping[str, Any], letter: str) -> None:
        self._port, self._said, self._letter = port, said, letter
        self.under_way: Counter[int] = Counter()
        self.bursts = 0

    def request(self, now: Mapping[str, int]) -> int:
        """AR or AW is taken; returns the beats."""
        at = {
            name: now[f"{self._port['prefix']}_a{self._letter}{name}"]
            for name in ("id", "addr", "len", "size", "burst", "cache", *_OTHERS)
        }
        port, said, beats = self._port, self._said, at["len"] + 1
        size = port["beat_bytes"]
        assert beats <= said["longest_beats"]
        assert (at["burst"], 1 << at["size"], at["cache"]) == (1, size, port["cache"])
        assert {name: at[name] for name in _OTHERS} == _OTHERS
        assert at["addr"] % size == 0
        last = at["addr"] + beats * size - 1
        assert at["addr"] // port["boundary_bytes"] == last // port["boundary_bytes"]
        if blocks := port.get("blocks"):
            for end in (at["addr"], last):
                assert end // blocks["bytes"] % blocks["count"] == blocks["number"]
        rest = at["id"]
        for part in said["id_parts"]:
            mask = ((1 << part["bits"]) - 1) << part["low"]
            assert (at["id"] & mask) >> part["low"] < part["count"], (part["name"], at["id"])
            rest &= ~mask
        assert rest == 0
        self.under_way[at["id"]] += 1
        assert self.under_way[at["id"]] <= said["outstanding_per_id"]
        assert self.under_way.total() <= said["outstanding"]
        self.bursts += 1
        return beats

    def response(self, identity: int) -> None:
        """The last one of a burst."""
        self.under_way[identity] -= 1


def check_bus(sidecar: Mapping[str, Any], waves: Path) -> dict[str, tuple[int, int]]:
    """Raises AssertionError if a burst differs from the sidecar in kind, alignment, length, ID or
    number in flight, or if data lead the AWVALID of their burst.

    Returns
    -------
    by prefix the bursts read and written
    """
    managers = [port for port in sidecar["axi"] if port["role"] == "manager"]
    nothing = {"longest_beats": 0, "outstanding": 0, "outstanding_per_id": 0, "id_parts": []}
    sides = {
        port["prefix"]: (
            _Side(port, port.get("reads", nothing), "r"),
            _Side(port, port.get("writes", nothing), "w"),
        )
        for port in managers
    }
    unsent: dict[str, deque[int]] = {prefix: deque() for prefix in sides}
    offered = dict.fromkeys(sides, False)
    for now in _edges(waves, sidecar["clock"], tuple(f"{prefix}_" for prefix in sides)):
        for prefix, (reads, writes) in sides.items():

            def taken(channel: str, prefix: str = prefix, now: Mapping[str, int] = now) -> bool:
                names = (f"{prefix}_{channel}valid", f"{prefix}_{channel}ready")
                return all(now.get(name, 0) for name in names)

            if taken("r") and now[f"{prefix}_rlast"]:
                reads.response(now[f"{prefix}_rid"])
            if taken("b"):
                writes.response(now[f"{prefix}_bid"])
            if now.get(f"{prefix}_awvalid", 0):
                if not offered[prefix]:
                    unsent[prefix].append(now[f"{prefix}_awlen"] + 1)
                offered[prefix] = not taken("aw")
            if taken("w"):
                assert unsent[prefix], "data lead the AWVALID of their burst"
                unsent[prefix][0] -= 1
                assert now[f"{prefix}_wlast"] == (unsent[prefix][0] == 0)
                if not unsent[prefix][0]:
                    unsent[prefix].popleft()
            if taken("ar"):
                reads.request(now)
            if taken("aw"):
                writes.request(now)
    return {prefix: (reads.bursts, writes.bursts) for prefix, (reads, writes) in sides.items()}


class JobDriver:
    """Drives one accelerator.

    Parameters
    ----------
    sidecar: of the unit
    device: its Verilog, with a memory
    rng: of places, of what lies around, and of choices that do not matter
    """

    def __init__(
        self, sidecar: Mapping[str, Any], device: NativeAccelerator[None], rng: np.random.Generator
    ) -> None:
        self._sidecar, self._device = sidecar, device
        self._jobs, self._rules = sidecar["jobs"], Rules(sidecar)
        self._registers = self._rules.registers
        self._source = JobSource(sidecar, device.memory_bytes, rng)

    # Registers

    def read(self, register: str) -> int:
        """Reads a register, whose words of 32 bits follow each other."""
        entry = self._registers[register]
        words = range(entry["bits"] // 32)
        read = self._device.read_register
        return sum(read(entry["offset"] + 4 * word) << 32 * word for word in words)

    def write(self, register: str, value: int) -> None:
        """Write a register."""
        entry = self._registers[register]
        for word in range(entry["bits"] // 32):
            part = value >> 32 * word & 0xFFFF_FFFF
            self._device.write_register(entry["offset"] + 4 * word, part)

    def _control(self, name: str, value: int = 1) -> int:
        """The word of the register of a control with this in it."""
        where = self._jobs["controls"][name]
        return value << int(self._rules.field(where["register"], where["field"])["low"])

    def state(self, name: str) -> int:
        """Reads the value of a control."""
        where = self._jobs["controls"][name]
        field = self._rules.field(where["register"], where["field"])
        return self.read(where["register"]) >> field["low"] & ((1 << field["width"]) - 1)

    def check_constants(self) -> None:
        """Raise AssertionError if a register of constants reads otherwise than it says."""
        for name, entry in self._registers.items():
            for field in entry["fields"]:
                if field["constant"]:
                    value = self.read(name) >> field["low"] & ((1 << field["width"]) - 1)
                    assert value == field["reset"], (name, field["name"])

    # Jobs

    def draw(self, operation: Mapping[str, Any], *, most: int, small: bool) -> Job:
        """A random job that obeys all rules."""
        return self._source.draw(operation, most=most, small=small)

    def start(self, job: Job, **changes: int) -> dict[str, Any]:
        """Run a job, some registers with other values; returns the name of the error, or None, and
        the detail."""
        self._device.write_memory(0, job.memory.tobytes())
        for name, value in (job.registers | changes).items():
            if name in self._registers:
                self.write(name, value)
        control = self._jobs["controls"]
        assert control["start"]["register"] == control["interrupt_enable"]["register"]
        word = self._control("start") | self._control("interrupt_enable")
        self.write(control["start"]["register"], word)
        self._device.wait()
        assert not self.state("busy")
        error = self.state("error")
        assert error != self.state("done")
        code, detail = self.state("error_code"), self.state("error_detail")
        self.write(control["done"]["register"], self._control("done") | self._control("error"))
        assert not self._device.irq()
        names = {x["code"]: x["name"] for x in self._jobs["errors"]}
        return {"error": names[code] if error else None, "detail": detail}

    def results(self, job: Job) -> Matrices:
        """Returns the results of a job that completed without error. Raises AssertionError if other
        bytes have changed."""
        memory = np.frombuffer(self._device.read_memory(0, len(job.memory)), np.uint8)
        unchanged, found = np.ones(len(memory), np.bool_), {}
        for operand in operands_of(job.operation, "out"):
            place, shape = located(operand), job.shape(operand)
            room = job.rooms.get(operand["name"], 0)
            found[operand["name"]] = read_matrix(memory, place, job.registers, shape, room)
            unchanged[touched(memory, place, job.registers, shape)] = False
        assert np.array_equal(memory[unchanged], job.memory[unchanged])
        return found

    # Rules

    def check_rules(self, job: Job) -> None:
        """Break each rule that counts for a job: it must end with that rule's error, say which
        register was wrong, and leave memory as it was. Raises AssertionError."""
        kinds = {x["name"]: (x["detail"], x["found"]) for x in self._jobs["errors"]}
        for rule, value in self._rules.wrong_values(job.registers):
            end = self.start(job, **{rule["register"]: value})
            offset = self._registers[rule["register"]]["offset"]
            assert end == {"error": rule["error"], "detail": offset}, (rule, value)
            assert kinds[rule["error"]] == ("register", "before")
            memory = self._device.read_memory(0, len(job.memory))
            assert memory == job.memory.tobytes()

    def check_failures(self, job: Job) -> None:
        """Let the bus fail wherever a job reads, and wherever it writes: it must end with an error
        that names such an address, and change nothing but the result. Raises AssertionError."""
        kinds = {x["name"]: (x["detail"], x["found"]) for x in self._jobs["errors"]}
        beat = min(port["beat_bytes"] for port in self._sidecar["axi"] if port["role"] == "manager")
        failing = dict.fromkeys(range(0, len(job.memory), beat), 2)
        for behaviour, direction in (
            (AxiBehaviour(read_errors=failing), "in"),
            (AxiBehaviour(write_errors=failing), "out"),
        ):
            self._device.behave(behaviour)
            end = self.start(job)
            assert kinds[end["error"]] == ("address", "during")
            concerned = {x["name"] for x in operands_of(job.operation, direction)}
            concerned |= {LIST} if direction == "in" else set()
            spans = [x for name in concerned for x in job.arrays.get(name, ())]
            assert any(base <= end["detail"] < base + size for base, size in spans)
            memory = np.frombuffer(self._device.read_memory(0, len(job.memory)), np.uint8)
            changed = np.flatnonzero(memory != job.memory)
            results = [x for y in operands_of(job.operation, "out") for x in job.arrays[y["name"]]]
            inside = [(changed >= base) & (changed < base + size) for base, size in results]
            assert np.logical_or.reduce(inside).all()
        self._device.behave(AxiBehaviour())
