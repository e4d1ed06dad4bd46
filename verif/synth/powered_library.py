"""The cells of the target ``cmos`` with random power, and records of runs, for tests of power."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import combinations
from pathlib import Path

import numpy as np
from tilewright.synth.cells import library_text
from tilewright.synth.library.liberty_text import Group, parse_liberty
from tilewright.synth.power.flow import Prepared
from tilewright.synth.power.recording import Recording

CYCLES = 150
"""Cycles of the record of the accumulator."""

TEMPLATE = """
power_lut_template (two) { variable_1 : input_transition_time;
  variable_2 : total_output_net_capacitance; index_1 ("1, 200"); index_2 ("0.5, 40"); }
power_lut_template (one) { variable_1 : input_transition_time; index_1 ("1, 200"); }
"""


def _numbers(values: Sequence[float]) -> str:
    return ", ".join(f"{value:.6g}" for value in values)


class _Maker:
    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def tables(self, rows: int) -> list[Group]:
        """Tables of both edges, over slews, and over loads with two rows."""
        found = []
        for edge in ("rise", "fall"):
            base = self.rng.uniform(-0.002, 0.02)
            values = (base + self.rng.uniform(-0.0005, 0.0005, (2, rows))).tolist()
            group = Group(f"{edge}_power", ["two" if rows == 2 else "one"])
            lines = [_numbers(row) for row in values]
            group.lists["values"] = [
                lines if rows == 2 else [_numbers([one for row in values for one in row])]
            ]
            found.append(group)
        return found

    def power(self, rows: int, **facts: str) -> Group:
        return Group("internal_power", [], dict(facts), {}, self.tables(rows))

    def add(self, cell: Group) -> None:
        """Give a cell power: with ``when`` for some states of another pin, and without."""
        pins = {pin.arguments[0]: pin for pin in cell.named("pin")}
        inputs = [name for name, pin in pins.items() if pin.attributes["direction"] == "input"]
        state = next(iter(cell.named("ff")), None)
        clock = state.attributes["clocked_on"] if state else ""
        for name, pin in pins.items():
            others = [one for one in inputs if one != name]
            if name in inputs:
                if others:
                    pin.groups.append(self.power(1, when=f"!{others[0]}"))
                if self.rng.random() < 0.6:
                    pin.groups.append(self.power(1))
                continue
            for related in [clock] if clock else inputs:
                rest = [one for one in inputs if one != related]
                for one, two in combinations(rest, 2):
                    if not clock:
                        pin.groups.append(
                            self.power(2, related_pin=related, when=f"{one} * !{two}")
                        )
                if not rest or self.rng.random() < 0.8:
                    pin.groups.append(self.power(2, related_pin=related))
        for name in inputs:
            leak = {"value": f"{self.rng.uniform(1, 50):.6g}", "when": name}
            cell.groups.append(Group("leakage_power", [], leak))
        if self.rng.random() < 0.5:
            cell.attributes["cell_leakage_power"] = f"{self.rng.uniform(1, 50):.6g}"


def write_library(path: Path, seed: int = 1) -> Path:
    """Write the library, whose power a seed decides; returns its path."""
    text = library_text()
    place = text.index("{") + 1
    tree = parse_liberty(text[:place] + TEMPLATE + text[place:])
    tree.attributes |= {
        "nom_voltage": "0.9", "voltage_unit": "1V", "leakage_power_unit": "1nW",
        "default_operating_conditions": "typical",
    }  # fmt: skip
    typical = {"process": "1", "temperature": "25", "voltage": "0.9"}
    tree.groups.insert(0, Group("operating_conditions", ["typical"], typical))
    maker = _Maker(seed)
    for cell in tree.named("cell"):
        maker.add(cell)
    # OpenSTA wants the conditions before they become the default.
    default = "default_operating_conditions : typical;\n"
    text = tree.written().replace(default, "")
    place = text.index("cell (")
    path.write_text(text[:place] + default + text[place:])
    return path


def write_vcd(
    path: Path, module: str, signals: Mapping[str, tuple[int, Sequence[int | str]]]
) -> Path:
    """Write a dump: clock ``clk``, and of each signal its width and its value in each cycle, a
    number or text; changes come with the rising edge before their cycle."""
    codes = {name: f"!{number}" for number, name in enumerate(signals)}
    lines = ["$timescale 1ps $end", f"$scope module {module} $end", "$var wire 1 c clk $end"]
    lines += [
        f"$var wire {width} {codes[name]} {name} {f'[{width - 1}:0] ' if width > 1 else ''}$end"
        for name, (width, _) in signals.items()
    ]
    lines += ["$upscope $end", "$enddefinitions $end"]
    count = len(next(iter(signals.values()))[1])
    for cycle in range(count):
        lines += [f"#{1000 * cycle}", "0c" if cycle == 0 else "1c"]
        for name, (width, values) in signals.items():
            if not cycle or values[cycle] != values[cycle - 1]:
                value = values[cycle]
                text = value if isinstance(value, str) else f"{value:0{width}b}"
                lines.append(f"b{text} {codes[name]}" if width > 1 else f"{text}{codes[name]}")
        lines += [f"#{1000 * cycle + 500}", "0c"]
    path.write_text("\n".join([*lines, f"#{1000 * count}", "1c", ""]))
    return path


@cache
def accumulator_signals() -> dict[str, tuple[int, list[int]]]:
    """A run of the accumulator, computed here."""
    rng = np.random.default_rng(3)
    x = rng.integers(0, 1 << 16, CYCLES).tolist()
    x[20:40] = [x[20]] * 20
    reset = [int(n in (0, 70)) for n in range(CYCLES)]
    enable = (rng.random(CYCLES) < 0.7).astype(int).tolist()
    sums = [0]
    for n in range(CYCLES - 1):
        low, high = x[n] & 255, x[n] >> 8
        added = (sums[-1] + 2 * low * high + high) % (1 << 20)
        sums.append(0 if reset[n] else added if enable[n] else sums[-1])
    return {"rst": (1, reset), "en": (1, enable), "x": (16, x), "sum": (20, sums)}


def accumulator_record(
    prepared: Prepared, path: Path, **changed: tuple[int, list[int | str]]
) -> Recording:
    """The record of that run, with other values for some signals; without those of width 0."""
    signals: Mapping[str, tuple[int, list[int | str]]] = {**accumulator_signals(), **changed}  # type: ignore[dict-item]
    write_vcd(path / "run.vcd", "accumulator", {k: v for k, v in signals.items() if v[0]})
    return prepared.read(path / "run.vcd", "clk")
