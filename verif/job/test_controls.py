"""The job control of every accelerator as Verilog: checks, latched registers, failures and ends."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import pytest
from amaranth.hdl import Value
from tilewright.hw.c2sr_converter.converter import FAILURES, ConverterControl
from tilewright.hw.engine.job_control import JobControl as EngineControl
from tilewright.hw.gta.control.job_control import JobControl as GtaControl
from tilewright.hw.matraptor.control import Control as MatRaptorControl
from tilewright.hw.sida.pass_control import COLUMN_ERRORS, ROW_ERRORS
from tilewright.hw.sida.pass_control import Control as SidaControl
from tilewright.hw.spec.jobs.gta import READS as GTA_READS
from tilewright.hw.spec.jobs.sida import VECTOR_BASES
from tilewright.hw.spec.registers.job_spec import Check, JobSpec, Rule
from tilewright.hw.spec.sida import SidaConfig
from tilewright.hw.spec.tensaurus import READS as TENSAURUS_READS
from tilewright.hw.spec.unit import named_object
from tilewright.hw.t2s.t2s import JobControl as T2sControl
from tilewright.hw.tensaurus.tensaurus import STREAM_ERRORS
from tilewright.hw.tensaurus.tensaurus import Control as TensaurusControl
from tilewright.registry import entries
from tilewright.sim.device.model import breaks, first_broken
from tilewright.verif.conformance.limits import Limits
from tilewright.verif.kit.sampling import by_size
from tilewright.verif.native.parts import NativeParts

pytestmark = pytest.mark.slow

Failure = tuple[str, int | None, str, str]
"""Port, its bit (None: all of it), the error, and the port with the detail."""


def _bus(reads: tuple[str, ...]) -> list[Failure]:
    found = [("read_error", n, "bus_read", f"{name}_address") for n, name in enumerate(reads)]
    return [*found, ("write_error", None, "bus_write", "write_address")]


_ONE_BUS: list[Failure] = [
    ("read_error", None, "bus_read", "read_address"),
    ("write_error", None, "bus_write", "write_address"),
]


@dataclass(frozen=True)
class Kind:
    """The control of an accelerator.

    Parameters
    ----------
    component: its class
    failures: what ends a job, the one that is reported first
    ready: an input that is high when a job may begin
    """

    component: Callable[[Any], Any]
    failures: tuple[Failure, ...]
    ready: str = ""


KINDS = {
    "engine_simd2": Kind(EngineControl, tuple(_ONE_BUS)),
    "t2s": Kind(T2sControl, tuple(_ONE_BUS)),
    "c2sr_converter": Kind(
        ConverterControl, tuple((name, None, name, f"{name}_detail") for name in FAILURES)
    ),
    "matraptor": Kind(MatRaptorControl, (("write_error", None, "bus_write", "write_address"),)),
    "tensaurus": Kind(
        TensaurusControl,
        (
            *_bus(TENSAURUS_READS),
            ("tile_error", None, "tile", "tile"),
            *((f"{name}_error", None, name, "entry entry_tile") for name in STREAM_ERRORS),
        ),
        ready="ready",
    ),
    "gta": Kind(GtaControl, tuple(_bus(GTA_READS))),
    "sida": Kind(
        SidaControl,
        (
            *_bus(SidaConfig(**entries()["sida"].small).readers),
            ("program_error", None, "program", "instruction"),
            *((f"{name}_error", None, name, "column") for name in COLUMN_ERRORS),
            *((f"{name}_error", None, name, "row") for name in ROW_ERRORS),
            ("disagree_error", None, "disagree", "disagree_row"),
        ),
    ),
}

CONFIGS: dict[str, Any] = {name: entries()[name].small_config for name in KINDS}
SPECS: dict[str, JobSpec] = {name: entries()[name].unit.job_spec(CONFIGS[name]) for name in KINDS}
RTL = NativeParts(
    "job_controls", {name: partial(kind.component, CONFIGS[name]) for name, kind in KINDS.items()}
)
LONGEST = 300
"""Cycles that a check takes at most."""


def good_jobs(name: str) -> list[dict[str, int]]:
    """Registers of jobs that may run, from the handwritten limits."""
    spec, limits = SPECS[name], named_object(entries()[name].limits)
    assert isinstance(limits, Limits)
    base = {row.name: 0 for row in spec.job} | dict(limits.job)
    found = [base]
    for edge in limits.edges:
        for register in edge.registers:
            found += [base | dict(edge.given) | {register: value} for value in edge.accepted]
    return [values for values in found if first_broken(spec, values) is None]


@cache
def rules_of(name: str) -> dict[str, list[Check]]:
    """The rules that look at each register."""
    spec = SPECS[name]
    found: dict[str, list[Check]] = {row.name: [] for row in spec.job}
    for check in spec.checks:
        when = check.when.parts if check.when else ()
        for register in {check.register, *check.factors, *(part.register for part in when)}:
            found[register].append(check)
    return found


def drawn(name: str, rng: random.Random, jobs: list[dict[str, int]]) -> dict[str, int]:
    """A job; of some every register is another one, with any bits that its rules allow; of some a
    register, or several, have bits changed that break rules."""
    spec = SPECS[name]
    values = dict(rng.choice(jobs))
    for row in spec.job:
        for _ in range(3):
            bits = rng.randrange(row.bits + 1)
            mask = (1 << row.bits) - (1 << rng.randrange(row.bits)) if rng.random() < 0.5 else -1
            written = rng.getrandbits(bits) & mask & sum(item.mask for item in row.fields)
            other = values | {row.name: written}
            if not any(breaks(spec, check, other) for check in rules_of(name)[row.name]):
                values = other
                break
    factors = sorted({name for check in spec.checks if check.factors
                      for name in (check.register, *check.factors)})  # fmt: skip
    if factors and rng.random() < 0.5:
        # Products near their limits.
        values |= {name: rng.randrange(1, 5) for name in factors}
    elif rng.random() < 0.4:
        names = sorted({check.register for check in spec.checks})
        for register in rng.sample(names, rng.choice([1, 1, 2])):
            (item,) = spec.registers[register].fields
            values[register] ^= 1 << item.low + rng.randrange(item.width)
    return values


def changed_bits(name: str, job: dict[str, int], register: str) -> Iterator[dict[str, int]]:
    """The job with another value of each bit of a register, and with zero there."""
    (item,) = SPECS[name].registers[register].fields
    yield job | {register: 0}
    for bit in range(item.low, item.low + item.width):
        yield job | {register: job[register] ^ 1 << bit}


def single_bits(name: str, job: dict[str, int], register: str) -> Iterator[dict[str, int]]:
    """The job with each power of two in a register: none may be taken for zero."""
    (item,) = SPECS[name].registers[register].fields
    for bit in range(item.low, item.low + item.width):
        yield job | {register: 1 << bit}


def breaking(
    name: str, check: Check, jobs: list[dict[str, int]], rng: random.Random
) -> list[dict[str, int]]:
    """The changes of a job's register that break a rule of it before any other. Every rule has
    some, but for those that all values of 32 bits keep."""
    for job in rng.sample(jobs, len(jobs)):
        found = list(changed_bits(name, job, check.register))
        broken = [one for one in found if first_broken(SPECS[name], one) is check]
        if broken:
            return broken
    assert check.error == "size_limit", check
    assert SPECS[name].registers[check.register].bits == 32
    assert not any(breaks(SPECS[name], check, job) for job in jobs)
    return []


@cache
def planned(name: str) -> list[tuple[dict[str, int], Check | None]]:
    """Jobs, and the first rule that each breaks."""
    rng, jobs = random.Random(f"controls {name}"), good_jobs(name)
    some = [drawn(name, rng, jobs) for _ in range(by_size(30, 400, 5000))]
    registers = sorted({check.register for check in SPECS[name].checks})
    every = [one for register in registers
             for one in changed_bits(name, rng.choice(jobs), register)]  # fmt: skip
    every += [
        one for check in SPECS[name].checks for one in breaking(name, check, jobs + some, rng)
    ]
    every += [
        one
        for check in SPECS[name].checks
        if check.rule is Rule.NON_ZERO
        for one in single_bits(name, rng.choice(jobs), check.register)
    ]
    every += some
    return [(values, first_broken(SPECS[name], values)) for values in every]


def fields_of(spec: JobSpec, values: Mapping[str, int]) -> dict[str, int]:
    """The values of the hardware's members."""
    return {
        register.member(item): register.get(values[register.name], item.name)
        for register in spec.job
        for item in register.fields
    }


def latched(name: str, fields: Mapping[str, int]) -> Iterator[tuple[str, int]]:
    """Yields the values that the control latches, by the names in its ``job``."""
    config = CONFIGS[name]
    if name == "engine_simd2":
        operations = {one.opcode: one for one in config.unit.operations.values()}
        operation = operations[fields["op"]]
        lanes = operation.operand_bits // config.unit.lane_bits
        yield "transposed_b", fields["flags_transposed_b"]
        yield "use_c", fields["flags_use_c"]
        yield from ((f"{size}1", fields[size] - 1) for size in "mn")
        yield "k1", fields["k"] * lanes - 1
        yield "element", 1 << list(config.element_lanes).index(lanes)
        yield "result", 1 << list(config.result_widths).index(operation.result_bits)
    for field, value in fields.items():
        if name == "sida" and field in ("first", "second"):
            codes = [row.opcode for row in config.operators]
            if value in codes:
                yield field, codes.index(value)
        elif name == "sida" and field in VECTOR_BASES:
            continue
        elif name == "matraptor" and field == "end_column":
            yield field, value or 1 << 32
        else:
            yield field, value


def check_latched(sim: Any, part: Any, name: str, fields: Mapping[str, int]) -> None:
    if name == "gta":
        assert sim.get(part.job_list) == fields["list"]
        assert sim.get(part.job_commands) == fields["commands"]
        csr = sim.get(part.csr)
        assert csr.layout == fields["layout"]
        return
    job = sim.get(part.job)
    known = set(job.shape().members)
    for field, value in latched(name, fields):
        if field in known:
            # Bits that a job cannot use are dropped: its rules do not look at registers that it
            # does not read.
            width = job.shape()[field].width
            assert job[field] == value & (1 << width) - 1, field
    if name == "sida":
        mask = (1 << CONFIGS[name].addr_bits) - 1
        assert [job.vectors[n] for n in range(len(VECTOR_BASES))] == [
            fields[base] & mask for base in VECTOR_BASES
        ]
    if name == "matraptor":
        lanes = CONFIGS[name].lanes
        counts = sim.get(part.lane_rows)
        assert [counts[n] for n in range(lanes)] == [
            len(range(lane, fields["rows"], lanes)) for lane in range(lanes)
        ]


class Control:
    """One control and its inputs."""

    def __init__(self, sim: Any, name: str, rng: random.Random) -> None:
        self.sim, self.name, self.rng = sim, name, rng
        self.kind, self.spec, self.part = KINDS[name], SPECS[name], RTL[name]
        self.runs = False

    def put(self, port: str, value: int) -> None:
        self.sim.set(Value.cast(getattr(self.part, port)), value)

    def get(self, port: str) -> int:
        return int(self.sim.get(Value.cast(getattr(self.part, port))))

    def registers(self, fields: Mapping[str, int]) -> None:
        for field, value in fields.items():
            self.put(field, value)

    async def tick(self, count: int = 1) -> None:
        for _ in range(count):
            await self.sim.tick()

    def expect(self, **values: int) -> None:
        if hasattr(self.part, "running"):
            # It is high from the cycle of ``go`` to that in which the job ends.
            values["running"] = int(self.runs or self.get("go"))
        found = {port: self.get(port) for port in values}
        assert found == values, self.name

    async def begin(self, values: Mapping[str, int]) -> tuple[int, int] | None:
        """Starts a job; its registers change at once. Returns the code and the detail of its check,
        or None if it runs."""
        fields = fields_of(self.spec, values)
        self.registers(fields)
        self.put("soft_reset", 0)
        self.expect(busy=0, taken=0, go=0, stop=0, done=0, error=0)
        self.put("start", 1)
        self.expect(busy=0, taken=1)
        await self.tick()
        self.put("start", 0)
        self.registers({name: self.rng.getrandbits(64) for name in fields})
        waits = self.rng.randrange(6) if self.kind.ready else 0
        if self.kind.ready:
            self.put(self.kind.ready, int(not waits))
        for cycle in range(LONGEST):
            if self.kind.ready:
                self.put(self.kind.ready, int(cycle >= waits))
            self.expect(busy=1, taken=0, done=0, stop=0, code=0, detail=0)
            if self.get("error"):
                self.expect(go=0)
                await self.tick()
                self.expect(busy=0, error=0)
                return self.get("code"), self.get("detail")
            if self.get("go"):
                assert cycle >= waits
                check_latched(self.sim, self.part, self.name, fields)
                await self.tick()
                self.runs = True
                check_latched(self.sim, self.part, self.name, fields)
                return None
            await self.tick()
        raise AssertionError(f"{self.name} neither begins nor ends its check")

    async def finish(self) -> None:
        """The job ends well."""
        await self.running(self.rng.randrange(4))
        self.put("finished", 1)
        self.put("quiet", 1)
        for _ in range(3):
            if self.get("done"):
                break
            self.expect(busy=1, error=0, stop=0)
            await self.tick()
        self.expect(busy=1, done=1, error=0)
        await self.tick()
        self.runs = False
        self.put("finished", self.rng.randrange(2))
        self.expect(busy=0, done=0, error=0, code=0)

    async def running(self, cycles: int) -> None:
        self.put("finished", 0)
        self.put("quiet", 0)
        for _ in range(cycles):
            await self.tick()
            self.expect(busy=1, done=0, error=0, stop=0, go=0, code=0)

    async def fail(self, wanted: tuple[int, int] | None) -> None:
        """Failures hold, or a soft reset comes: the job is stopped, and ends when all is quiet."""
        if wanted is None:
            self.put("soft_reset", 1)
            await self.tick()
            self.put("soft_reset", 0)
        for _ in range(3):
            if self.get("stop"):
                break
            self.expect(busy=1, done=0, error=0)
            await self.tick()
        for _ in range(self.rng.randrange(1, 4)):
            self.expect(stop=1, busy=1, done=0, error=0)
            await self.tick()
        self.put("finished", self.rng.randrange(2))
        self.put("quiet", 1)
        self.expect(stop=1, busy=1, done=0, error=int(wanted is not None))
        await self.tick()
        self.quiet_inputs()
        code, detail = wanted or (0, 0)
        self.expect(stop=0, busy=0, done=0, error=0, code=code, detail=detail)
        # A job that was stopped is counted one cycle longer.
        await self.tick()
        self.runs = False
        self.expect(stop=0, busy=0, done=0, error=0, code=code, detail=detail)

    def quiet_inputs(self) -> None:
        for port, *_ in self.kind.failures:
            self.put(port, 0)
        if self.name == "matraptor":
            self.put("failures", 0)
        if self.name == "gta":
            self.put("command_wrong", 0)

    def set_failures(self) -> tuple[int, int]:
        """Some causes hold; returns code and detail of the first."""
        kind, rng = self.kind, self.rng
        count = min(len(kind.failures), rng.choice([1, 1, 2, 3]))
        chosen = sorted(rng.sample(range(len(kind.failures)), count))
        wanted: tuple[int, int] | None = None
        levels: dict[str, int] = {}
        details: dict[str, int] = {}
        for ports in sorted({ports for *_, ports in kind.failures}):
            for port in ports.split():
                details[port] = rng.getrandbits(len(Value.cast(getattr(self.part, port))))
                self.put(port, details[port])
        for number in chosen:
            port, bit, error, where = kind.failures[number]
            levels[port] = levels.get(port, 0) | 1 << (bit or 0)
            first, *more = where.split()
            detail = details[first] | (details[more[0]] << 32 if more else 0)
            wanted = wanted or (self.spec.code(error), detail)
        for port, level in levels.items():
            self.put(port, level)
        if self.name == "matraptor" and rng.random() < 0.6:
            wanted = self._lane_failures()
        if self.name == "gta" and rng.random() < 0.3:
            code, number = rng.randrange(1, 256), rng.getrandbits(len(self.part.command))
            self.put("command_wrong", code)
            self.put("command", number)
            if not levels:
                wanted = code, number
        assert wanted
        return wanted

    def _lane_failures(self) -> tuple[int, int]:
        """Failures of MatRaptor's lanes, which come before those of the writer."""
        config, rng = CONFIGS[self.name], self.rng
        layout = self.part.failures.shape().elem_shape
        lanes = rng.sample(range(config.lanes), rng.randint(1, config.lanes))
        fields = []
        wanted = None
        for lane in range(config.lanes):
            name = rng.choice(["bus_read", "bus_write", "overflow", "unsorted", "index", "region"])
            code = next((e.code for e in self.spec.errors if e.name == name), 0)
            code = code if lane in lanes else 0
            place = {"index": rng.getrandbits(config.index_bits)}
            address = rng.getrandbits(config.addr_bits)
            fields.append({"code": code, "address": address, "row": place})
            if code and wanted is None:
                number = place["index"] * config.channels + lane
                wanted = code, address if name in ("bus_read", "bus_write") else number
        word = sum(layout.const(one).as_bits() << n * layout.size for n, one in enumerate(fields))
        self.put("failures", word)
        if wanted is None:
            return self.set_failures()
        return wanted


@pytest.mark.parametrize("name", KINDS)
def test_jobs_of_any_registers_and_any_end(name: str) -> None:
    rng = random.Random(f"ends {name}")
    ran = {"refused": 0, "finished": 0, "failed": 0, "reset": 0}

    async def bench(sim: Any) -> None:
        control = Control(sim, name, rng)
        spec = control.spec
        for values, broken in planned(name):
            found = await control.begin(values)
            if broken is not None:
                wanted = spec.error(broken.error).code, spec.registers[broken.register].offset
                assert found == wanted, values
                ran["refused"] += 1
                continue
            assert found is None, values
            end = rng.choice(["finished", "failed", "failed", "reset"])
            if end == "finished":
                await control.finish()
            else:
                await control.running(rng.randrange(3))
                await control.fail(control.set_failures() if end == "failed" else None)
            ran[end] += 1

    RTL.simulate(name, bench)
    assert min(ran.values()) > 10
