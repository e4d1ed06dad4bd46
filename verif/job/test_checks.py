"""The rules of jobs: hardware, models and benches read the same ones, and read them alike."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from tilewright.hw.job.checks import first_broken as broken_in_hardware
from tilewright.hw.spec.c2sr_converter import C2srConverterConfig
from tilewright.hw.spec.config import Config
from tilewright.hw.spec.engine import Simd2EngineConfig
from tilewright.hw.spec.jobs.tensaurus import job_spec as tensaurus_jobs
from tilewright.hw.spec.matraptor import MatRaptorConfig
from tilewright.hw.spec.registers.job_spec import Check, Condition, Error, JobSpec, Rule, checks_of
from tilewright.hw.spec.registers.register_map import Field, Register, number
from tilewright.hw.spec.tensaurus import TensaurusConfig
from tilewright.registry import entries
from tilewright.sim.device.model import counts, first_broken
from tilewright.verif.kit.job_checks import wrong_values
from tilewright.verif.kit.sampling import cases
from tilewright.verif.native.parts import NativeParts

Values = dict[str, int]

_FACTORS = ("FACTOR_0", "FACTOR_1", "FACTOR_2")


def _every_rule() -> JobSpec:
    """Returns a job of no accelerator with every rule, with and without a condition on a field of
    several bits."""
    is_2, is_0 = (Condition(register="KIND", field="which", value=value) for value in (2, 0))
    both = replace(is_2, also=Condition(register="KIND", field="twice"))
    when = {"OF_2": is_2, "OF_0": is_0}
    errors = ("choice", "zero", "size", "range", "multiple")
    return JobSpec(
        accelerator="example",
        letters=b"NONE",
        version=1,
        constants=(),
        detail="the register",
        counters={"cycles": "of the job"},
        errors=tuple(Error(name, code, "register", "") for code, name in enumerate(errors, 7)),
        job=(
            Register(
                name="KIND",
                offset=0x80,
                fields=(Field(name="which", low=3, width=2), Field(name="twice", low=9)),
            ),
            number("OF_2", 0x84, "rw", 7, ""),
            number("OF_0", 0x88, "rw", 33, ""),
            number("CHOICE", 0x90, "rw", 32, ""),
            number("SIZE", 0x94, "rw", 32, ""),
            *(number(name, 0x98 + 4 * n, "rw", 4, "") for n, name in enumerate(_FACTORS)),
        ),
        checks=(
            Check(register="CHOICE", rule=Rule.ONE_OF, choices=(4, 0, 16, 1 << 20), error="choice"),
            *checks_of("zero", when, Rule.NON_ZERO, when=when),
            *checks_of("size", when, Rule.AT_MOST, 100, when=when),
            *checks_of("size", ("SIZE",), Rule.AT_MOST, 1 << 19, when={"SIZE": is_0}),
            *checks_of("size", ("SIZE",), Rule.AT_MOST, 15, when={"SIZE": is_2}),
            *checks_of("range", when, Rule.BELOW, 1 << 6),
            *checks_of("multiple", when, Rule.MULTIPLE_OF, 4, when=when),
            *checks_of("multiple", ("SIZE",), Rule.MULTIPLE_OF, 1),
            *checks_of("multiple", ("SIZE",), Rule.MULTIPLE_OF, 2, when={"SIZE": both}),
            *checks_of("zero", _FACTORS, Rule.NON_ZERO),
            Check(
                register=_FACTORS[0],
                factors=_FACTORS[1:],
                rule=Rule.AT_MOST,
                number=12,
                error="size",
                when=is_0,
            ),
        ),
    )


def _others() -> Iterator[tuple[str, Config]]:
    """Configurations with limits that others do not have."""
    yield "engine_simd2", Simd2EngineConfig(ops=("mma", "minplus"), data_bits=512, addr_bits=64)
    shared = MatRaptorConfig(lanes=6, channels=2, index_bits=16, addr_bits=64)
    yield "matraptor", shared
    for config in (shared, MatRaptorConfig(), MatRaptorConfig(lanes=1, channels=1, value="fp16")):
        yield "matraptor", replace(config, outer_product=True)
    yield "c2sr_converter", C2srConverterConfig(index_bits=16, interleave=256, addr_bits=64)


def _specs() -> dict[str, JobSpec]:
    """Returns the jobs of every registered accelerator, and of some further configurations."""
    units = {name: entry.unit for name, entry in entries().items() if entry.unit.jobs}
    found = {name: unit.job_spec(unit.config()) for name, unit in units.items()}
    small = {name: entries()[name].small_config for name in units}
    for order, semiring in ((2, "mma"), (4, "mma"), (3, "minplus")):
        unit = TensaurusConfig(order=order, semiring=semiring, marker="bit", tlen=2, channels=6)
        found[f"tensaurus {order} {semiring}"] = tensaurus_jobs(unit)
    found |= {f"{name} small": units[name].job_spec(config) for name, config in small.items()}
    for which, (name, config) in enumerate(_others()):
        found[f"{name} {which}"] = units[name].job_spec(config)
    return {**found, "every rule": _every_rule()}


SPECS = _specs()


class Evaluator(wiring.Component):
    """The check of a job, alone: ``spec.members``, and what is wrong."""

    def __init__(self, spec: JobSpec) -> None:
        self._spec = spec
        fields = {name: In(field.width) for name, field in spec.members.items()}
        super().__init__({**fields, "code": Out(8), "detail": Out(64)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        code, detail = broken_in_hardware(m, self._spec, self)
        m.d.comb += [self.code.eq(code), self.detail.eq(detail)]
        return m


RTL = NativeParts(
    "checks", {name.replace(" ", "_"): partial(Evaluator, spec) for name, spec in SPECS.items()}
)


def in_hardware(name: str, jobs: list[Values]) -> list[tuple[int, int]]:
    """Code and detail of each job, of one of ``SPECS``."""
    spec, part, found = SPECS[name], name.replace(" ", "_"), []
    dut = RTL[part]

    async def bench(ctx: Any) -> None:
        for job in jobs:
            for register in spec.job:
                for field in register.fields:
                    value = register.get(job[register.name], field.name)
                    ctx.set(getattr(dut, register.member(field)), value)
            await ctx.delay(1e-9)
            found.append((ctx.get(dut.code), ctx.get(dut.detail)))

    RTL.simulate(part, bench)
    return found


def in_software(spec: JobSpec, job: Values) -> tuple[int, int]:
    """The same of the models' evaluator."""
    check = first_broken(spec, job)
    if check is None:
        return 0, 0
    return spec.code(check.error), spec.registers[check.register].offset


def _conditions(spec: JobSpec) -> list[Values]:
    """Registers for each case that rules tell apart."""
    found: list[Values] = [{}]
    for when in {check.when for check in spec.checks if check.when is not None}:
        job: Values = {}
        for part in when.parts:
            word = spec.registers[part.register].put(**{part.field: part.value})
            job[part.register] = job.get(part.register, 0) | word
        if job not in found:
            found.append(job)
    return found


def good_job(spec: JobSpec, given: Values) -> Values:
    """A job that obeys all rules: a choice, or what all sizes are multiples of."""
    job = {register.name: 0 for register in spec.job} | given
    for check in spec.checks:
        if check.register in given or not counts(spec, check.when, job):
            continue
        same = [other for other in spec.checks if other.register == check.register]
        multiples = [other.number for other in same if other.rule is Rule.MULTIPLE_OF]
        if check.rule is Rule.ONE_OF:
            job[check.register] = check.choices[0]
        elif check.rule is Rule.NON_ZERO:
            job[check.register] = max([1, *multiples])
    return job


def _near(rng: np.random.Generator, spec: JobSpec, register: Register) -> int:
    """A value near one at which a rule begins or ends to hold, or any."""
    width = max(field.low + field.width for field in register.fields)
    rules = [check for check in spec.checks if check.register == register.name]
    edges = [0, 1, *(check.number for check in rules), *(c for x in rules for c in x.choices)]
    kind = rng.integers(4)
    if kind == 0:
        value = int(rng.integers(1 << 63)) >> int(rng.integers(64))
    elif kind == 1:
        value = 1 << int(rng.integers(width))
    else:
        value = edges[int(rng.integers(len(edges)))] + int(rng.integers(-1, 2)) * int(kind == 2)
    return value % (1 << width)


@pytest.mark.parametrize("name", SPECS)
def test_every_rule_is_broken_alone(name: str) -> None:
    """The bench's value, and that value only, is refused with the rule's error and register."""
    spec = SPECS[name]
    jobs, expected, seen = [], [], set()
    for given in _conditions(spec):
        good = good_job(spec, given)
        jobs.append(good)
        expected.append((0, 0))
        for check, value in wrong_values(spec, good).items():
            job = good | {check.register: value}
            broken = first_broken(spec, job)
            # A rule may count under several conditions.
            assert broken is not None
            assert (broken.register, broken.error) == (check.register, check.error)
            jobs.append(job)
            expected.append((spec.code(check.error), spec.registers[check.register].offset))
            seen.add(check)
    assert [in_software(spec, job) for job in jobs] == expected
    assert in_hardware(name, jobs) == expected
    for check in set(spec.checks) - seen:
        # No value of the register is too large, or every one is a multiple.
        width = spec.registers[check.register].field("value").width
        assert check.number == 1 or check.number >= (1 << width) - 1


@pytest.mark.parametrize("name", SPECS)
def test_every_bit_alone(name: str) -> None:
    """Registers that rules are about have one bit set, or one that is not as in a good job."""
    spec = SPECS[name]
    registers = sorted({check.register for check in spec.checks})
    jobs = []
    for given in _conditions(spec):
        good = good_job(spec, given)
        for register in registers:
            width = max(f.low + f.width for f in spec.registers[register].fields)
            for bit in range(width):
                jobs.append(good | {register: 1 << bit})
                jobs.append(good | {register: good[register] ^ 1 << bit})
    assert in_hardware(name, jobs) == [in_software(spec, job) for job in jobs]


@pytest.mark.parametrize("name", SPECS)
def test_the_first_rule_that_is_broken_wins(name: str) -> None:
    """Hardware and models report the same rule for any values."""
    spec = SPECS[name]
    print("seed 1")
    rng = np.random.default_rng(1)
    jobs = []
    for _ in range(cases(1000)):
        job = {register.name: _near(rng, spec, register) for register in spec.job}
        # Often only few are wrong.
        good = good_job(spec, {})
        kept = rng.random() ** 3
        jobs.append({x: job[x] if rng.random() < kept else good[x] for x in job})
    found = in_hardware(name, jobs)
    assert found == [in_software(spec, job) for job in jobs]
    of_registers = [error for error in spec.errors if error.detail == "register"]
    assert len(set(found)) > len(of_registers) // 2


def test_wrong_specs_are_refused() -> None:
    spec = _every_rule()
    parts = {name: getattr(spec, name) for name in spec.__dataclass_fields__}

    def refusal(**changes: Any) -> str:
        with pytest.raises((KeyError, ValueError)) as raised:
            JobSpec(**parts | changes)
        return str(raised.value)

    def rule(**changes: Any) -> Check:
        parts: dict[str, Any] = {"register": "SIZE", "rule": Rule.NON_ZERO, "error": "zero"}
        return Check(**parts | changes)

    assert refusal(checks=(rule(register="CYCLES"),)) == (
        "a rule must be about a job register, not CYCLES"
    )
    assert refusal(checks=(rule(register="KIND"),)) == "KIND must be one number to be checked"
    assert refusal(checks=(rule(error="one"),)) == "'one'"
    assert refusal(checks=(rule(when=Condition(register="KIND", field="what")),)) == (
        "the field of KIND must be one of which, twice, not 'what'"
    )
    twice = (*spec.errors, Error("another", 7, "row", ""))
    assert refusal(errors=twice) == "codes must be different, not [7, 8, 9, 10, 11, 7]"
    twice = (*spec.errors, Error("zero", 2, "row", ""))
    assert refusal(errors=twice).startswith("errors must be different, not ['choice',")
    on_bus = tuple(Error(e.name, e.code, "address", "") for e in spec.errors)
    assert refusal(errors=on_bus) == "`detail` of choice must be register: CHOICE"
    with pytest.raises(ValueError, match=r"^`number` of SIZE must be a power of two for this"):
        rule(rule=Rule.MULTIPLE_OF, number=12)
    with pytest.raises(ValueError, match=r"^`code` of late must be in 1\.\.255, not 256$"):
        Error("late", 256, "row", "")
    with pytest.raises(ValueError, match=r"^`detail` of late must be one of register, address, r"):
        Error("late", 1, "channel", "")
