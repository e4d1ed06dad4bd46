"""Hand-written limits of an accelerator's parameters and job registers, and changes of the rules
that they must find.

Hardware, models and the refusals that the suite draws are all made from the same rows: a row that
is missing, or wrong, would be wrong in all of them. A table says the numbers once more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tilewright.hw.spec.config import Config, Flag, IntRange, OneOf, SubsetOf
from tilewright.hw.spec.registers.job_spec import Check, JobSpec, Rule
from tilewright.hw.spec.unit import Unit
from tilewright.sim.device.model import first_broken


@dataclass(frozen=True, kw_only=True)
class Setting:
    """Accepted and refused values of a configuration's parameter.

    Parameters
    ----------
    name: of the parameter
    accepted, refused: values
    must: what a refusal says that is allowed
    given: other parameters, with which the accepted values go together
    """

    name: str
    accepted: tuple[Any, ...]
    refused: tuple[Any, ...]
    must: str
    given: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Edge:
    """Accepted and refused values of job registers.

    Parameters
    ----------
    registers: names, and offsets, which are the detail of a refusal
    accepted: values
    refused: values, and the code of the error
    given: other registers, under which that holds
    """

    registers: Mapping[str, int]
    accepted: tuple[int, ...]
    refused: Mapping[int, int]
    given: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The table of a unit.

    Parameters
    ----------
    settings: of its parameters
    config: changes of its small configuration, to which the edges belong
    edges: of the registers of its jobs
    job: registers that obey all rules; the others are 0
    reads: registers with addresses of arrays that jobs of the exercise read, each of which the
        suite lets fail
    """

    settings: tuple[Setting, ...]
    config: Mapping[str, Any] = field(default_factory=dict)
    edges: tuple[Edge, ...] = ()
    job: Mapping[str, int] = field(default_factory=dict)
    reads: tuple[str, ...] = ()


def settings_of(text: str) -> tuple[Setting, ...]:
    """Settings of integers from lines of a table, ``name | accepted | refused | must``."""
    found = []
    for line in text.strip().splitlines():
        name, accepted, refused, must = (part.strip() for part in line.split("|"))
        numbers = [tuple(int(x) for x in part.split()) for part in (accepted, refused)]
        found.append(Setting(name=name, accepted=numbers[0], refused=numbers[1], must=must))
    return tuple(found)


MEMORY = settings_of("""
    data_bits   | 64 128 512   | 32 96 1024 0       | a power of two in 64..512
    interleave  | 64 128 2048  | 32 96 4096 0       | a power of two in 64..2048
    addr_bits   | 32 33 64     | 31 65 0            | an integer in 32..64
    outstanding | 2 4 256      | 1 3 512 0          | a power of two in 2..256
""")
"""Parameters of the accelerators that read striped memory."""

STAGES = settings_of("""
    adder_stages      | 1 2 3 | 0 4 | an integer in 1..3
    multiplier_stages | 1 2 3 | 0 4 | an integer in 1..3
""")
"""Parameters of the operators that several accelerators share."""

SEMIRINGS = (
    "mma", "minplus", "maxplus", "minmul", "maxmul", "minmax", "maxmin", "orand", "addnorm",
)  # fmt: skip


def one_of(name: str, *words: str, accepted: tuple[str, ...] = (), **given: Any) -> Setting:
    """A word of a list; ``accepted``: those that go together with what is given, if not all."""
    return Setting(
        name=name,
        accepted=accepted or words,
        refused=("other", "", 1),
        must=f"one of {', '.join(words)}",
        given=given,
    )


def subset(name: str, *words: str, **given: Any) -> Setting:
    """Some words of a list."""
    return Setting(
        name=name,
        accepted=(words, words[-1:]),
        refused=(("other",), (), (words[0], words[0]), words[0]),
        must=f"a non-empty subset of {', '.join(words)}",
        given=given,
    )


def flag(name: str) -> Setting:
    """True or false."""
    return Setting(name=name, accepted=(False, True), refused=(0, 1, "true"), must="true or false")


def bases(
    registers: Mapping[str, int],
    *,
    step: int,
    misaligned: int,
    too_far: int,
    given: Mapping[str, int] | None = None,
) -> Edge:
    """Addresses of 40 bits, multiples of ``step``; codes of errors."""
    last = 0xFF_FFFF_FFFF - step + 1
    return Edge(
        registers=registers,
        accepted=(0, step, last),
        refused={step // 2: misaligned, 1: misaligned, last + 1: misaligned, 1 << 40: too_far},
        given=given or {},
    )


def rule_complaints(limits: Limits, spec: JobSpec, register: str = "") -> Iterator[str]:
    """Returns the rows of a table, or of one register, that contradict the rules of a spec."""
    offsets = {row.name: row.offset for row in spec.job}
    for edge in limits.edges:
        job = dict.fromkeys(offsets, 0) | dict(limits.job) | dict(edge.given)
        wanted = {**dict.fromkeys(edge.accepted, 0), **edge.refused}
        for name, offset in edge.registers.items():
            for value, code in wanted.items() if register in ("", name) else ():
                broken = first_broken(spec, job | {name: value})
                said = broken and (spec.code(broken.error), offsets[broken.register])
                if said != ((code, offset) if code else None):
                    yield f"{name} {value:#x}: {said}, expected {code} at {offset:#x}"


def parameter_complaints(limits: Limits, config: type[Config]) -> list[str]:
    """Returns the rows of a table that a configuration contradicts."""
    found = []
    for row in limits.settings:
        refusal = f"`{row.name}` must be {row.must}, not "
        for values, wanted in ((row.accepted, ""), (row.refused, refusal)):
            for value in values:
                said = ""
                try:
                    config(**{**row.given, row.name: value})
                except (TypeError, ValueError) as error:
                    said = str(error)
                if not said.startswith(wanted) or bool(said) != bool(wanted):
                    found.append(f"{row.name} {value!r}: {said or 'nothing is refused'}")
    return found


def _looser(check: Check) -> Iterator[Check]:
    """Yields the same rule with one more allowed value, or a few."""
    match check.rule:
        case Rule.ONE_OF:
            missing = next(n for n in range(len(check.choices) + 1) if n not in check.choices)
            yield replace(check, choices=(*check.choices, missing))
        case Rule.AT_MOST:
            yield replace(check, number=check.number + 1)
        case Rule.BELOW:
            yield replace(check, number=2 * check.number)
        case Rule.MULTIPLE_OF:
            yield replace(check, number=check.number // 2)
    for name in check.factors:
        yield replace(check, factors=tuple(x for x in check.factors if x != name))


def _stricter(check: Check) -> Iterator[Check]:
    """Yields the same rule with one allowed value fewer, or a few, or without its condition."""
    if check.when is not None and check.rule is not Rule.AT_MOST:
        # Limits are left out: another limit may be lower anyway.
        yield replace(check, when=None)
    match check.rule:
        case Rule.ONE_OF:
            for choice in check.choices:
                yield replace(check, choices=tuple(x for x in check.choices if x != choice))
        case Rule.AT_MOST:
            yield replace(check, number=check.number - 1)
        case Rule.BELOW:
            yield replace(check, number=check.number // 2)
        case Rule.MULTIPLE_OF:
            yield replace(check, number=2 * check.number)


def breakable(spec: JobSpec, check: Check) -> bool:
    """Returns whether some value of its register breaks a rule."""
    most = (1 << spec.registers[check.register].field("value").width) - 1
    match check.rule:
        case Rule.AT_MOST:
            return check.number < most or bool(check.factors)
        case Rule.BELOW:
            return check.number <= most
        case Rule.MULTIPLE_OF:
            return check.number > 1
        case _:
            return True


def changed_rules(spec: JobSpec) -> Iterator[tuple[str, str, JobSpec]]:
    """Each rule that a value can break, deleted, made looser, and made stricter, with its
    register."""
    for place, check in enumerate(spec.checks):
        if not breakable(spec, check):
            continue
        before, after = spec.checks[:place], spec.checks[place + 1 :]
        what = f"{check.register} {check.rule.name} {check.number or ''} {check.when or ''}"
        yield f"{what} deleted", check.register, replace(spec, checks=(*before, *after))
        for kind, others in (("looser", _looser(check)), ("stricter", _stricter(check))):
            for other in others:
                changed = replace(spec, checks=(*before, other, *after))
                yield f"{what} {kind}", check.register, changed


def _changed_ranges(allowed: Any) -> Iterator[tuple[str, Any]]:
    """A range without one of its rules, with another end, with a word less or more."""
    match allowed:
        case IntRange(low, high, power, multiple):
            steps = power or multiple != 1
            if low > 0 or not steps:
                yield "lower", replace(allowed, low=low // 2 if steps else low - 1)
            yield "higher", replace(allowed, high=2 * high if steps else high + 1)
            yield "less high", replace(allowed, high=high // 2 if steps else high - 1)
            yield "less low", replace(allowed, low=2 * low or 1 if steps else low + 1)
            if power:
                yield "any number", replace(allowed, power_of_two=False)
            if multiple != 1:
                yield "any multiple", replace(allowed, multiple_of=1)
        case OneOf(words) | SubsetOf(words):
            kind = type(allowed)
            yield "another word", kind((*words, "other"))
            for word in words:
                yield f"without {word}", kind(tuple(x for x in words if x != word))
        case Flag():
            yield "a number", IntRange(0, 1)


def changed_parameters(config: type[Config]) -> Iterator[tuple[str, str, Any]]:
    """Each range of a parameter, deleted (None), made looser, and made stricter, with the name of
    the parameter."""
    for item in config.parameters():
        yield f"{item.name} deleted", item.name, None
        for what, allowed in _changed_ranges(item.metadata["allowed"]):
            yield f"{item.name} {what}", item.name, allowed


def range_complaints(limits: Limits, name: str, allowed: Any) -> bool:
    """Returns whether a range that replaces a parameter's own contradicts the table: it accepts a
    refused value, refuses an accepted one, or gives another message."""

    def said(value: Any) -> str:
        try:
            if allowed is not None:
                allowed.check(name, value)
        except (TypeError, ValueError) as error:
            return str(error)
        return ""

    rows = [row for row in limits.settings if row.name == name]
    return any(said(x) for row in rows for x in row.accepted) or not all(
        said(x).startswith(f"`{name}` must be {row.must}, not ")
        for row in rows
        for x in row.refused
    )


def all_named(limits: Limits, unit: Unit) -> bool:
    """Returns whether a table has a row for each parameter of a unit."""
    return {row.name for row in limits.settings} == {x.name for x in unit.config.parameters()}
