"""Jobs of an accelerator, through its registers and its memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from tilewright.sim.rtl.accelerator import AxiBehaviour, NativeAccelerator
from tilewright.verif.catalogue.described.drawing import LIST, Job, JobSource
from tilewright.verif.catalogue.described.images import read_matrix, touched
from tilewright.verif.catalogue.described.operations import Matrices, located, operands_of
from tilewright.verif.catalogue.described.registers import Rules


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
