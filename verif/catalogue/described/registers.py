"""Values of job registers, and the rules that restrict them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod
from typing import Any


def breaks(rule: Mapping[str, Any], value: int, registers: Mapping[str, int]) -> bool:
    """Returns whether a value breaks its register's rule, given the values of the other
    registers."""
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


class Rules:
    """The rules of a unit's jobs, and the fields of its registers."""

    def __init__(self, sidecar: Mapping[str, Any]) -> None:
        self._jobs = sidecar["jobs"]
        self.registers: dict[str, dict[str, Any]] = {x["name"]: x for x in sidecar["registers"]}

    def field(self, register: str, name: str) -> dict[str, Any]:
        """Returns the sidecar's entry for a field."""
        fields: list[dict[str, Any]] = self.registers[register]["fields"]
        return next(x for x in fields if x["name"] == name)

    def put(self, registers: dict[str, int], setting: Mapping[str, Any]) -> None:
        """Have a field, which is zero, hold what a setting says."""
        low = self.field(setting["register"], setting["field"])["low"]
        registers[setting["register"]] |= setting["value"] << low

    def counting(self, registers: Mapping[str, int]) -> Iterator[dict[str, Any]]:
        """Yields the rules that apply to these registers."""
        for rule in self._jobs["rules"]:
            when = rule.get("when")
            if when is None or self._holds(when, registers):
                yield rule

    def _holds(self, when: Mapping[str, Any], registers: Mapping[str, int]) -> bool:
        """Returns whether a condition, and every condition chained to it, holds for these
        registers."""
        field = self.field(when["register"], when["field"])
        value = registers[when["register"]] >> field["low"] & ((1 << field["width"]) - 1)
        also = "also" not in when or self._holds(when["also"], registers)
        return bool(value == when["value"]) and also

    def broken(self, registers: Mapping[str, int]) -> list[dict[str, Any]]:
        """Returns the rules that these registers break."""
        return [
            rule
            for rule in self.counting(registers)
            if breaks(rule, registers[rule["register"]], registers)
        ]

    def wrong_values(self, registers: Mapping[str, int]) -> Iterator[tuple[dict[str, Any], int]]:
        """Rules that count for these registers, each with a value of its register that breaks it,
        and no rule before it; where no value does, the rule is left out."""
        rules = list(self.counting(registers))
        for rule in rules:
            name = rule["register"]
            same = [x for x in rules if x["register"] == name]
            steps = [x["number"] for x in same if x["must"] == "multiple_of"]
            width = self.field(name, "value")["width"]
            times = prod(registers[other] for other in rule.get("factors", ()))
            number, step = rule.get("number", 0) // times, max([1, *steps])
            value = {
                "one_of": max([0, *rule.get("choices", ())]) + 1,
                "non_zero": 0,
                "at_most": -(-(number + 1) // step) * step,
                "below": -(-number // step) * step,
                "multiple_of": registers[name] + number // 2,
            }[rule["must"]]
            if not value >> width and breaks(rule, value, registers):
                yield rule, value
