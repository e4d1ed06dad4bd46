"""Random jobs of an accelerator, within what its sidecar says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
from tilewright.verif.catalogue.described.images import arrays, write_list, write_matrix
from tilewright.verif.catalogue.described.operations import (
    Matrices,
    Shape,
    located,
    operands,
    operands_of,
    shape_of,
)


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


Memory = npt.NDArray[np.uint8]
Arrays = dict[str, list[tuple[int, int]]]

_TRIES = 10_000

LIST = "the operation's list"
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
    arrays: Arrays

    def shape(self, operand: Mapping[str, Any]) -> Shape:
        """Rows, columns and further sizes of an operand."""
        return shape_of(operand, self.sizes)


def _product(factors: Any, sizes: Mapping[str, int]) -> int:
    return prod(-(-sizes[x["size"]] // x["divided_by"]) for x in factors)


def _within_limits(operation: Mapping[str, Any], sizes: Mapping[str, int]) -> bool:
    return all(
        _product(limit["product_of"], sizes) <= limit["at_most"] for limit in operation["limits"]
    )


def _places_of(region: Mapping[str, Any], sizes: Mapping[str, int]) -> int:
    """Places that a region takes."""
    step = region["multiple_of"]
    return -(-_product(region["product_of"], sizes) // step) * step


class JobSource:
    """Draws jobs of one accelerator.

    Parameters
    ----------
    sidecar: of the unit
    memory_bytes: of its memory
    rng: of sizes, elements and places, of what lies around, and of choices that do not matter
    """

    def __init__(
        self, sidecar: Mapping[str, Any], memory_bytes: int, rng: np.random.Generator
    ) -> None:
        self._sidecar, self._memory_bytes, self._rng = sidecar, memory_bytes, rng
        self._rules = Rules(sidecar)

    def draw(self, operation: Mapping[str, Any], *, most: int, small: bool) -> Job:
        """A random job that obeys all rules."""
        rng = self._rng
        sizes, registers = self._sizes(operation, most)
        found = operands(rng, self._sidecar, operation, sizes, small=small)
        transposed: set[str] = set()
        for operand in operation["operands"]:
            if when := operand.get("used_when"):
                if rng.integers(2):
                    self._rules.put(registers, when)
                else:
                    del found[operand["name"]]
            if (how := operand["placement"].get("transposed")) and rng.integers(2):
                self._rules.put(registers, how)
                transposed.add(operand["name"])
        memory = rng.integers(0, 256, self._memory_bytes, np.uint8)
        rooms, placed = self._place(operation, sizes, registers, transposed)
        job = Job(operation, sizes, found, registers, memory, rooms, placed)
        for operand in operands_of(operation, "in"):
            self._write(job, operand, operand["name"] in transposed)
        if listed := operation.get("list"):
            write_list(memory, listed, registers)
        assert not self._rules.broken(registers)
        return job

    def _sizes(
        self, operation: Mapping[str, Any], most: int
    ) -> tuple[dict[str, int], dict[str, int]]:
        """Draws sizes up to ``most``, or one step of their register, for tensors of up to ``most``
        squared elements. Also returns all job registers, with only those of sizes, of regions and
        of the operation set."""
        for _ in range(_TRIES):
            sizes: dict[str, int] = {}
            registers = dict.fromkeys(self._sidecar["jobs"]["registers"], 0)
            for setting in operation["select"]:
                self._rules.put(registers, setting)
            for size in operation["sizes"]:
                scale = size.get("scale", 1)
                largest = max(1, min(most, size.get("most", most)) // scale)
                drawn = int(self._rng.integers(1, largest + 1))
                sizes[size["name"]] = size.get("value", drawn * scale)
                if where := size.get("register", size.get("part")):
                    registers[where] = drawn
            said = {size.get("register") for size in operation["sizes"]}
            if (
                not any(rule["register"] in said for rule in self._rules.broken(registers))
                and _within_limits(operation, sizes)
                and all(prod(shape_of(x, sizes)) <= most**2 for x in _tensors(operation))
                and self._regions(operation, sizes, registers)
            ):
                return sizes, registers
        raise AssertionError(f"no sizes of {operation['name']} obey its rules and limits")

    def _regions(
        self, operation: Mapping[str, Any], sizes: Mapping[str, int], registers: dict[str, int]
    ) -> bool:
        """Places the regions of operands one after the other, in any order, with gaps; returns
        whether all fit."""
        ends: dict[str, int] = {}
        for index in self._rng.permutation(len(operation["operands"])).tolist():
            region = operation["operands"][index].get("region")
            if region is None:
                continue
            gap = int(self._rng.integers(3)) * region["multiple_of"]
            begin = ends.get(region["memory"], 0) + gap
            begin = -(-begin // region["multiple_of"]) * region["multiple_of"]
            registers[region["register"]] = begin
            ends[region["memory"]] = begin + _places_of(region, sizes)
            if ends[region["memory"]] > region["at_most"]:
                return False
        return True

    def _place(
        self,
        operation: Mapping[str, Any],
        sizes: Mapping[str, int],
        registers: dict[str, int],
        transposed: set[str],
    ) -> tuple[dict[str, int], Arrays]:
        """Returns the registers of all arrays, placed one after the other, the capacities of
        results, and the arrays by operand."""
        rooms: dict[str, int] = {}
        placed: Arrays = {}
        end = 0
        if listed := operation.get("list"):
            # An operation's list has one record.
            registers[listed["base"]] = int(self._rng.integers(2)) * listed["align"]
            registers[listed["count"]] = 1
            end = registers[listed["base"]] + listed["bytes"]
            placed[LIST] = [(registers[listed["base"]], listed["bytes"])]
        for index in self._rng.permutation(len(operation["operands"])).tolist():
            operand = operation["operands"][index]
            place = located(operand)
            if place["kind"] == "register":
                continue
            shape = shape_of(operand, sizes)
            # Twice as many entries as elements: there may be gaps, and all may be in one channel.
            room = 2 * prod(shape) + shape[0] + shape[1]
            if asked := place.get("room"):
                number = -(-room // asked["multiple_of"]) * asked["multiple_of"]
                registers[asked["register"]] = number
                room = rooms[operand["name"]] = number * asked["times"]
            region = operand.get("region")
            needed = arrays(
                place,
                shape,
                transposed=operand["name"] in transposed,
                room=room,
                behind=region["multiple_of"] - 1 if region else 0,
            )
            registers.update(needed.strides)
            for base, size in needed.sizes.items():
                apart = int(self._rng.integers(2))
                registers[base] = (-(-end // needed.align) + apart) * needed.align
                end = registers[base] + size
                placed.setdefault(operand["name"], []).append((registers[base], size))
        assert end <= self._memory_bytes
        return rooms, placed

    def _write(self, job: Job, operand: Mapping[str, Any], transposed: bool) -> None:
        place, matrix = located(operand), job.operands.get(operand["name"])
        if matrix is None:
            return
        if place["kind"] == "register":
            low = self._rules.field(place["register"], place["field"])["low"]
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


def _tensors(operation: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Operands of more modes than two."""
    return [x for x in operation["operands"] if x.get("more")]
