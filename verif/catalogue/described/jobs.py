"""Jobs of an accelerator, through its registers and its memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
from tilewright.sim.rtl.accelerator import AxiBehaviour, NativeAccelerator
from tilewright.verif.catalogue.described.images import (
    arrays,
    read_matrix,
    touched,
    write_list,
    write_matrix,
)
from tilewright.verif.catalogue.described.operations import Matrices, operands, operands_of

__all__ = ["Job", "JobDriver"]

Memory = npt.NDArray[np.uint8]

_TRIES = 1000

_LIST = "the operation's list"
"""Its name among the arrays of a job."""


@dataclass(frozen=True)
class Job:
    """A job with everything at its place.

    Parameters
    ----------
    operation: of the sidecar
    sizes: by name
    operands: those that it uses, by name
    registers: what each job register holds, and each part of the operation's list
    memory: before the job
    rooms: of each sparse result
    arrays: base and size of the arrays of each operand
    """

    operation: Mapping[str, Any]
    sizes: dict[str, int]
    operands: Matrices
    registers: dict[str, int]
    memory: Memory
    rooms: dict[str, int]
    arrays: dict[str, list[tuple[int, int]]]

    def shape(self, operand: Mapping[str, Any]) -> tuple[int, int]:
        """Rows and columns of an operand."""
        return self.sizes[operand["rows"]], self.sizes[operand["columns"]]


def _within_limits(operation: Mapping[str, Any], sizes: Mapping[str, int]) -> bool:
    return all(
        prod(-(-sizes[x["size"]] // x["divided_by"]) for x in limit["product_of"])
        <= limit["at_most"]
        for limit in operation["limits"]
    )


def _breaks(rule: Mapping[str, Any], value: int, registers: Mapping[str, int]) -> bool:
    number = rule.get("number", 1)
    value *= prod(registers[name] for name in rule.get("factors", ()))
    broken: dict[str, bool] = {
        "one_of": value not in rule.get("choices", ()),
        "non_zero": value == 0,
        "at_most": value > number,
        "below": value >= number,
        "multiple_of": value % number != 0,
    }
    return broken[rule["must"]]


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
        self._sidecar, self._device, self._rng = sidecar, device, rng
        self._jobs = sidecar["jobs"]
        self._registers = {x["name"]: x for x in sidecar["registers"]}

    # Registers

    def read(self, register: str) -> int:
        """A register, whose words of 32 bits lie one behind the other."""
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

    def _field(self, register: str, name: str) -> dict[str, Any]:
        fields: list[dict[str, Any]] = self._registers[register]["fields"]
        return next(x for x in fields if x["name"] == name)

    def _control(self, name: str, value: int = 1) -> int:
        """The word of the register of a control with this in it."""
        where = self._jobs["controls"][name]
        return value << int(self._field(where["register"], where["field"])["low"])

    def state(self, name: str) -> int:
        """What a control reads as."""
        where = self._jobs["controls"][name]
        field = self._field(where["register"], where["field"])
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
        rng = self._rng
        sizes, registers = self._draw_sizes(operation, most)
        found = operands(rng, self._sidecar, operation, sizes, small=small)
        transposed: set[str] = set()
        for operand in operation["operands"]:
            if when := operand.get("used_when"):
                if rng.integers(2):
                    self._put(registers, when)
                else:
                    del found[operand["name"]]
            if (how := operand["placement"].get("transposed")) and rng.integers(2):
                self._put(registers, how)
                transposed.add(operand["name"])
        memory = rng.integers(0, 256, self._device.memory_bytes, np.uint8)
        rooms, placed = self._place(operation, sizes, registers, transposed)
        job = Job(operation, sizes, found, registers, memory, rooms, placed)
        for operand in operands_of(operation, "in"):
            self._write(job, operand, operand["name"] in transposed)
        if listed := operation.get("list"):
            write_list(memory, listed, registers)
        rules = self._rules(registers)
        broken = [x for x in rules if _breaks(x, registers[x["register"]], registers)]
        assert not broken
        return job

    def _put(self, registers: dict[str, int], setting: Mapping[str, Any]) -> None:
        low = self._field(setting["register"], setting["field"])["low"]
        registers[setting["register"]] |= setting["value"] << low

    def _draw_sizes(
        self, operation: Mapping[str, Any], most: int
    ) -> tuple[dict[str, int], dict[str, int]]:
        """Sizes of at most ``most``, or a single step of their register; and all job registers, of
        which only those of sizes are set, and what selects the operation."""
        for _ in range(_TRIES):
            sizes: dict[str, int] = {}
            registers = dict.fromkeys(self._jobs["registers"], 0)
            for setting in operation["select"]:
                self._put(registers, setting)
            for size in operation["sizes"]:
                scale = size.get("scale", 1)
                largest = max(1, min(most, size.get("most", most)) // scale)
                drawn = int(self._rng.integers(1, largest + 1))
                sizes[size["name"]] = size.get("value", drawn * scale)
                if where := size.get("register", size.get("part")):
                    registers[where] = drawn
            said = {size.get("register") for size in operation["sizes"]}
            rules = [rule for rule in self._rules(registers) if rule["register"] in said]
            broken = any(_breaks(x, registers[x["register"]], registers) for x in rules)
            if not broken and _within_limits(operation, sizes):
                return sizes, registers
        raise AssertionError(f"no sizes of {operation['name']} obey its rules and limits")

    def _place(
        self,
        operation: Mapping[str, Any],
        sizes: Mapping[str, int],
        registers: dict[str, int],
        transposed: set[str],
    ) -> tuple[dict[str, int], dict[str, list[tuple[int, int]]]]:
        """Registers of all arrays, which lie one behind the other; returns the rooms of results,
        and the arrays by operand."""
        rooms: dict[str, int] = {}
        placed: dict[str, list[tuple[int, int]]] = {}
        end = 0
        if listed := operation.get("list"):
            # An operation's list has one record.
            registers[listed["base"]] = int(self._rng.integers(2)) * listed["align"]
            registers[listed["count"]] = 1
            end = registers[listed["base"]] + listed["bytes"]
            placed[_LIST] = [(registers[listed["base"]], listed["bytes"])]
        for index in self._rng.permutation(len(operation["operands"])).tolist():
            operand = operation["operands"][index]
            place = operand["placement"]
            if place["kind"] == "register":
                continue
            shape = sizes[operand["rows"]], sizes[operand["columns"]]
            # Twice as many entries as elements: there may be gaps, and all may be in one channel.
            room = 2 * prod(shape) + shape[0] + shape[1]
            if asked := place.get("room"):
                number = -(-room // asked["multiple_of"]) * asked["multiple_of"]
                registers[asked["register"]] = number
                room = rooms[operand["name"]] = number * asked["times"]
            needed = arrays(place, shape, transposed=operand["name"] in transposed, room=room)
            registers.update(needed.strides)
            for base, size in needed.sizes.items():
                apart = int(self._rng.integers(2))
                registers[base] = (-(-end // needed.align) + apart) * needed.align
                end = registers[base] + size
                placed.setdefault(operand["name"], []).append((registers[base], size))
        assert end <= self._device.memory_bytes
        return rooms, placed

    def _write(self, job: Job, operand: Mapping[str, Any], transposed: bool) -> None:
        place, matrix = operand["placement"], job.operands.get(operand["name"])
        if matrix is None:
            return
        if place["kind"] == "register":
            low = self._field(place["register"], place["field"])["low"]
            job.registers[place["register"]] |= int(matrix[0, 0]) << low
            return
        write_matrix(
            job.memory,
            place,
            job.registers,
            job.shape(operand),
            matrix,
            transposed=transposed,
            gaps=self._rng,
        )

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
        """What a job left that ended well. Raises AssertionError if other bytes have changed."""
        memory = np.frombuffer(self._device.read_memory(0, len(job.memory)), np.uint8)
        unchanged, found = np.ones(len(memory), np.bool_), {}
        for operand in operands_of(job.operation, "out"):
            place, shape = operand["placement"], job.shape(operand)
            room = job.rooms.get(operand["name"], 0)
            found[operand["name"]] = read_matrix(memory, place, job.registers, shape, room)
            unchanged[touched(memory, place, job.registers, shape)] = False
        assert np.array_equal(memory[unchanged], job.memory[unchanged])
        return found

    # Rules

    def _rules(self, registers: Mapping[str, int]) -> Iterator[dict[str, Any]]:
        """Those that count for these registers."""
        for rule in self._jobs["rules"]:
            when = rule.get("when")
            if when is not None:
                field = self._field(when["register"], when["field"])
                value = registers[when["register"]] >> field["low"] & ((1 << field["width"]) - 1)
                if value != when["value"]:
                    continue
            yield rule

    def check_rules(self, job: Job) -> None:
        """Break each rule that counts for a job: it must end with that rule's error, say which
        register was wrong, and leave memory as it was. Raises AssertionError."""
        kinds = {x["name"]: (x["detail"], x["found"]) for x in self._jobs["errors"]}
        for rule, value in self._wrong_values(job):
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
            concerned |= {_LIST} if direction == "in" else set()
            spans = [x for name in concerned for x in job.arrays.get(name, ())]
            assert any(base <= end["detail"] < base + size for base, size in spans)
            memory = np.frombuffer(self._device.read_memory(0, len(job.memory)), np.uint8)
            changed = np.flatnonzero(memory != job.memory)
            results = [x for y in operands_of(job.operation, "out") for x in job.arrays[y["name"]]]
            inside = [(changed >= base) & (changed < base + size) for base, size in results]
            assert np.logical_or.reduce(inside).all()
        self._device.behave(AxiBehaviour())

    def _wrong_values(self, job: Job) -> Iterator[tuple[dict[str, Any], int]]:
        """Rules that count for a job, each with a value of its register that breaks it, and no rule
        before it; where no value does, the rule is left out."""
        rules = list(self._rules(job.registers))
        for rule in rules:
            name = rule["register"]
            same = [x for x in rules if x["register"] == name]
            steps = [x["number"] for x in same if x["must"] == "multiple_of"]
            width = self._field(name, "value")["width"]
            times = prod(job.registers[other] for other in rule.get("factors", ()))
            number, step = rule.get("number", 0) // times, max([1, *steps])
            value = {
                "one_of": max([0, *rule.get("choices", ())]) + 1,
                "non_zero": 0,
                "at_most": -(-(number + 1) // step) * step,
                "below": -(-number // step) * step,
                "multiple_of": job.registers[name] + number // 2,
            }[rule["must"]]
            if not value >> width and _breaks(rule, value, job.registers):
                yield rule, value
