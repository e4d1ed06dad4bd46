"""Base of all accelerators' drivers: places in memory, registers by name, ends of jobs."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tilewright.hw.spec.registers.job_spec import Error, JobSpec, Rule, checks_of
from tilewright.hw.spec.registers.register_map import number
from tilewright.sim.device.driver import JobRegisters, JobStatus, Placement
from tilewright.sim.device.model import ModelDevice
from tilewright.sim.device.protocol import JobError
from tilewright.verif.kit.job_checks import Mismatch, check_restarts

pytestmark = pytest.mark.quick

SPEC = JobSpec(
    accelerator="adder",
    letters=b"TWAD",
    version=3,
    constants=(),
    detail="a register, an address or a row",
    counters={"cycles": "of the job", "words": "that were added"},
    errors=(
        Error("zero_size", 1, "register", "WORDS is 0"),
        Error("bus_read", 4, "address", "a response was not OKAY"),
        Error("carry", 200, "row", "a sum does not fit"),
    ),
    job=(number("COUNT", 0x80, "rw", 32, "words"), number("BASE", 0x88, "rw", 64, "of them")),
    checks=checks_of("zero_size", ("COUNT",), Rule.NON_ZERO),
)


class Adder(ModelDevice):
    """Adds bytes; a sum of 128 or more does not fit."""

    config = None

    def __init__(self, spec: JobSpec = SPEC) -> None:
        super().__init__(spec, 64)

    def _job(self) -> tuple[str, int, dict[str, int]]:
        base, count = self._values["BASE"], self._values["COUNT"]
        if base + count > self.memory_bytes:
            return "bus_read", self.memory_bytes, {}
        total = 0
        for row, byte in enumerate(self.read_memory(base, count)):
            total += byte
            if total >= 128:
                return "carry", row, {"words": row}
        self.write_memory(0, bytes([total]))
        return "none", 0, {"words": count}


def test_a_job_and_its_counters() -> None:
    device = Adder()
    device.write_memory(8, bytes([1, 2, 100, 30]))
    registers = JobRegisters(device, SPEC)
    assert registers.submit({"COUNT": 3, "BASE": 8}) == JobStatus(
        accelerator="adder", counts={"cycles": 0, "words": 3}
    )
    assert device.read_memory(0, 1) == bytes([103])
    assert registers.read("BASE") == 8
    # Acknowledged bits are cleared.
    assert (registers.read("STATUS"), device.irq()) == (0, False)
    assert registers.run().counts["words"] == 3


@pytest.mark.parametrize(
    ("job", "error", "detail", "where"),
    [
        ({"COUNT": 0, "BASE": 1 << 40}, "zero_size", 0x80, "COUNT"),
        ({"COUNT": 3, "BASE": 1 << 40}, "bus_read", 64, "address 0x40"),
        ({"COUNT": 4, "BASE": 8}, "carry", 3, "row 3"),
    ],
)
def test_a_job_that_fails(job: dict[str, int], error: str, detail: int, where: str) -> None:
    device = Adder()
    device.write_memory(8, bytes([1, 2, 100, 30]))
    registers = JobRegisters(device, SPEC)
    before = device.memory.copy()
    status = registers.submit(job)
    assert (status.error, status.detail, status.where) == (error, detail, where)
    assert status.counts == {"cycles": 0, "words": 3 if error == "carry" else 0}
    assert (device.memory == before).all()
    with pytest.raises(JobError) as raised:
        status.check("another")
    assert str(raised.value) == f"the adder stopped with error {error} ({where})"
    assert (raised.value.error, raised.value.detail) == (error, detail)
    status.check("another", error)


class Hoarder(Adder):
    """A start leaves what the job before has left."""

    def _start(self) -> None:
        before = self._values["STATUS"] & 6
        super()._start()
        self._values["STATUS"] |= before


def test_a_start_clears_the_end_of_the_job_before() -> None:
    check_restarts(Adder(), SPEC, {"COUNT": 3, "BASE": 8}, at_once=True)
    with pytest.raises(Mismatch, match=r"^interrupt and status \(True, 262\) right after a start"):
        check_restarts(Hoarder(), SPEC, {"COUNT": 3, "BASE": 8}, at_once=True)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("COUNT", 1 << 32, "`COUNT` takes 0..4294967295, not 4294967296"),
        ("COUNT", -1, "`COUNT` takes 0..4294967295, not -1"),
        ("BASE", 1 << 64, "`BASE` takes 0..18446744073709551615, not 18446744073709551616"),
        ("BASE", np.int64(-8), "`BASE` takes 0..18446744073709551615, not -8"),
    ],
)
def test_a_value_that_the_words_do_not_hold(name: str, value: int, message: str) -> None:
    registers = JobRegisters(Adder(), SPEC)
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        registers.write(name, value)
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        registers.submit({"COUNT": 3, "BASE": 8} | {name: value})
    assert (registers.read("COUNT"), registers.read("BASE"), registers.read("STATUS")) == (0, 0, 0)


def test_what_is_no_integer() -> None:
    registers = JobRegisters(Adder(), SPEC)
    value: Any = 1.0
    with pytest.raises(TypeError, match=r"^`COUNT` must be an integer, not 1\.0$"):
        registers.write("COUNT", value)


def test_integers_of_numpy() -> None:
    registers = JobRegisters(Adder(), SPEC)
    written = np.array([0xFFFF_FFFF], np.uint32)[0], np.array([1 << 40], np.int64)[0]
    registers.write_all({"COUNT": written[0], "BASE": written[1]})
    assert (registers.read("COUNT"), registers.read("BASE")) == (0xFFFF_FFFF, 1 << 40)


def test_another_accelerator_is_refused() -> None:
    other = replace(SPEC, letters=b"TWXX")
    with pytest.raises(ValueError, match=r"^the device's ID must be 0x58585754, not 0x44415754$"):
        JobRegisters(Adder(), other)


def test_places_follow_each_other() -> None:
    memory = Placement(100, 1000, 64)
    assert memory.left == 872
    assert memory.fit({"a": 1, "b": 64, "c": 0, "d": 65}, "all") == {
        "a": 128, "b": 192, "c": 256, "d": 256
    }  # fmt: skip
    assert memory.take(65, "a matrix") == 128
    with memory.scratch():
        assert memory.take(1, "a matrix") == 256
        assert memory.left == 1000 - 320
    assert memory.take(1000 - 256, "all that is left") == 256
    assert memory.left == 0


def test_long_places_begin_in_other_banks() -> None:
    memory = Placement(100, 1 << 16, 64, span=1024)
    sizes = {"a": 1024, "b": 511, "c": 2048, "d": 1024, "e": 64}
    places = memory.fit(sizes, "all")
    assert places == {"a": 1024, "b": 2048, "c": 3072 + 320, "d": 5440 + 320, "e": 6784}
    many = memory.fit(dict.fromkeys(map(str, range(16)), 1024), "vectors")
    assert {place % 1024 // 64 for place in many.values()} == set(range(16))
    ends = [place + 1024 for place in many.values()]
    assert all(end <= place for end, place in zip(ends, list(many.values())[1:], strict=False))


def test_too_little_memory() -> None:
    memory = Placement(100, 1000, 64)
    message = r"^873 bytes of memory are needed for both; 872 are left$"
    with pytest.raises(ValueError, match=message):
        memory.fit({"a": 128, "b": 745}, "both")
    memory.take(512, "one")
    with pytest.raises(ValueError, match=r"^361 bytes of memory are needed for it; 360 are left$"):
        memory.take(361, "it")
    assert memory.take(360, "it") == 640
