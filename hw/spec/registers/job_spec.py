"""The jobs of an accelerator as data: registers, rules, counters, errors.

One :class:`JobSpec` says all of it, and everybody reads it there: the hardware's registers and the
check of a job (``hw/job``), models and drivers (``sim/device``), the values with which a bench
breaks a rule (``verif/kit/job_checks.py``), the sidecar and the tables of the documentation.

A new accelerator needs a module of ``hw/spec/jobs``, with a function ``job_spec`` from its
configuration to its JobSpec, and to name it in its ``Unit``. From that its top (``AcceleratorTop``)
has the registers, its control (``control_members``, ``first_broken``) the job and its check, its
counters (``counter_members``) their outputs; its model (``ModelDevice``) and its driver
(``JobDriver``) the same in software; and benches that go over all registered accelerators hold
hardware, models and its page against each other.

A rule of a new kind is a member of :class:`Rule`, and a line in each of ``hw/job/checks.py``,
``sim/device/model.py`` and ``verif/kit/job_checks.py``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

from ..sidecar.operation import Condition, OperationEntry
from ..sidecar.traffic import Traffic
from .register_map import CONTROL, Field, Register, RegisterMap, counter_registers, identity, number

__all__ = ["DETAILS", "Check", "Condition", "Error", "JobSpec", "Rule", "checks_of"]

DETAILS: dict[str, str] = {
    "register": "the offset of the job register that was wrong",
    "address": "the address at which the bus failed",
    "row": "the number of a row",
    "column": "the number of a column",
    "instruction": "the number of a word of a program",
    "tile": "the number of a tile",
    "command": "the number of a command of the job's list",
    "lane": "the number of a lane",
    "entry": "the number of an entry of a stream, and 2^32 times that of its tile",
}
"""Contents that ERROR_DETAIL may have."""


class Rule(Enum):
    """Rules for the number in a job register."""

    ONE_OF = "one of the check's `choices`"
    NON_ZERO = "not zero"
    AT_MOST = "at most the check's `number`"
    BELOW = "less than the check's `number`, a power of two"
    MULTIPLE_OF = "a multiple of the check's `number`, a power of two"


_POWERS = (Rule.BELOW, Rule.MULTIPLE_OF)


@dataclass(frozen=True, kw_only=True)
class Check:
    """A rule that a job register must obey before the job runs.

    Parameters
    ----------
    register: a job register that is one number
    rule: what that must be
    number, choices: see :class:`Rule`
    error: the name of the error if it is not
    when: the rule counts only then; None: always
    factors: other job registers that are one number, by which the number is multiplied first
    """

    register: str
    rule: Rule
    number: int = 0
    choices: tuple[int, ...] = ()
    error: str
    when: Condition | None = None
    factors: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.rule in _POWERS and (self.number < 1 or self.number & (self.number - 1)):
            what = f"`number` of {self.register}"
            raise ValueError(f"{what} must be a power of two for this rule, not {self.number}")


def checks_of(
    error: str,
    registers: Iterable[str],
    rule: Rule,
    number: int | Mapping[str, int] = 0,
    *,
    when: Mapping[str, Condition | None] | None = None,
) -> tuple[Check, ...]:
    """The same rule for several registers.

    Parameters
    ----------
    number: of all, or by register
    when: conditions, by register
    """
    return tuple(
        Check(
            register=name,
            rule=rule,
            number=number if isinstance(number, int) else number[name],
            error=error,
            when=(when or {}).get(name),
        )
        for name in registers
    )


@dataclass(frozen=True)
class Error:
    """A way in which a job ends badly.

    Parameters
    ----------
    name: unique in its accelerator
    code: in STATUS, 1..255
    detail: what ERROR_DETAIL holds: a key of ``DETAILS``
    doc: what was wrong, one line
    """

    name: str
    code: int
    detail: str
    doc: str

    def __post_init__(self) -> None:
        if self.detail not in DETAILS:
            allowed = ", ".join(DETAILS)
            raise ValueError(f"`detail` of {self.name} must be one of {allowed}, not {self.detail}")
        if not 0 < self.code < 256:
            raise ValueError(f"`code` of {self.name} must be in 1..255, not {self.code}")


@dataclass(frozen=True, kw_only=True)
class JobSpec:
    """Registers of an accelerator that runs jobs, and the rules of a job.

    Parameters
    ----------
    accelerator: what messages call it
    letters: what register ID holds, four letters
    version: of the register map and of what registers do: the upper 16 bits count changes that
        break drivers, the lower 16 those that a driver may ignore
    constants: the CONFIG registers
    detail: what ERROR_DETAIL holds, one line
    counters: what is counted from the start of a job to its end, each (name, doc); registers have
        these names in upper case
    errors: those that there are
    job: the registers that say what to do
    checks: rules for them; the first one that is broken, in this order, is reported
    operations: what jobs compute, and how their operands lie in memory
    traffic: of each manager, what it may do on the bus

    Members
    -------
    registers: the whole map
    """

    accelerator: str
    letters: bytes
    version: int
    constants: tuple[Register, ...]
    detail: str
    counters: Mapping[str, str]
    errors: tuple[Error, ...]
    job: tuple[Register, ...]
    checks: tuple[Check, ...]
    operations: tuple[OperationEntry, ...] = ()
    traffic: tuple[Traffic, ...] = ()

    def __post_init__(self) -> None:
        _check_unique("errors", [error.name for error in self.errors])
        _check_unique("codes", [error.code for error in self.errors])
        for check in self.checks:
            for name in (check.register, *check.factors):
                if [item.name for item in self._job_register(name).fields] != ["value"]:
                    raise ValueError(f"{name} must be one number to be checked")
            if self.error(check.error).detail != "register":
                raise ValueError(f"`detail` of {check.error} must be register: {check.register}")
            for part in check.when.parts if check.when else ():
                self._job_register(part.register).field(part.field)

    def _job_register(self, name: str) -> Register:
        for register in self.job:
            if register.name == name:
                return register
        raise ValueError(f"a rule must be about a job register, not {name}")

    @cached_property
    def registers(self) -> RegisterMap:
        """Identity, constants, control, counters, and the job's."""
        return RegisterMap(
            registers=(
                *identity(self.letters, self.version),
                *self.constants,
                *CONTROL,
                number("ERROR_DETAIL", 0x28, "ro", 64, self.detail),
                *counter_registers(self.counters),
                *self.job,
            )
        )

    @property
    def members(self) -> dict[str, Field]:
        """Fields of the job's registers, by their names in the hardware."""
        return {register.member(item): item for register in self.job for item in register.fields}

    def error(self, name: str) -> Error:
        """An error by name; KeyError if there is none."""
        for error in self.errors:
            if error.name == name:
                return error
        raise KeyError(name)

    def error_of(self, code: int) -> Error:
        """An error by its code; KeyError if there is none."""
        for error in self.errors:
            if error.code == code:
                return error
        raise KeyError(code)

    def code(self, name: str) -> int:
        """The code of an error; KeyError if there is none."""
        return self.error(name).code


def _check_unique(what: str, values: Collection[object]) -> None:
    if len(set(values)) != len(values):
        raise ValueError(f"{what} must be different, not {list(values)}")
