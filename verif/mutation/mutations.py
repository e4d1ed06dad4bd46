"""Faults of a netlist: a list of all, a sample of them, and the netlist with a selector."""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tilewright.verif.kit.front_ends import run_yosys

ORIGIN = "origin: "
"""Begins the comment that says which Python module a Verilog module comes from."""

SELECT = "native_mutant_select"
"""The port that selects a mutation; 0: none."""

SELECT_BITS = 12

_CLOCKS = ("CLK", "ARST", "RD_CLK", "WR_CLK")
"""Pins that no mutation changes: a design has one clock."""


@dataclass(frozen=True)
class Mutation:
    """A fault.

    Parameters
    ----------
    module: path of the Python module of the component
    cell: the cell of the netlist, the unit of sampling
    change: options of yosys's ``mutate``
    where: the line of the emitted Verilog
    """

    module: str
    cell: str
    change: str
    where: str

    @property
    def short(self) -> str:
        """Short description for readers."""
        words = self.change.split()
        options = dict(zip(words[::2], words[1::2], strict=True))
        bit = f"[{options['-portbit']}]" if "-portbit" in options else ""
        control = f" by bit {options['-ctrlbit']}" if "-ctrlbit" in options else ""
        return f"{options['-mode']} {options.get('-port', '')}{bit}{control}: {self.where}"


def _places(verilog: str, stand_ins: Mapping[str, str]) -> list[str]:
    """Returns the Python module of each line of a text, or "" outside of modules. ``stand_ins``
    names a bench's class for each module that has no separate component."""
    found, origin, inside = [""], "", False
    for line in verilog.split("\n"):
        if line.startswith(f"// {ORIGIN}"):
            # A test's module has no package before it.
            origin = line.removeprefix(f"// {ORIGIN}").removeprefix("tilewright.")
            module = origin.rpartition(".")[0]
            origin = stand_ins.get(origin, f"{module.replace('.', '/')}.py")
        inside |= line.startswith("module ")
        found.append(origin if inside else "")
        if line.startswith("endmodule"):
            origin, inside = "", False
    return found


def all_mutations(
    verilog: str,
    top: str,
    directory: Path,
    folders: Sequence[str],
    stand_ins: Mapping[str, str],
) -> list[Mutation]:
    """The mutations of the modules of some folders. The prepared netlist stays in the directory."""
    (directory / "unit.v").write_text(verilog)
    run_yosys(
        f"read_verilog -sv unit.v; hierarchy -top {top}; proc; flatten; opt -full; wreduce; "
        "opt -full; delete t:$scopeinfo; opt_clean -purge; rename -top mutated; "
        "write_rtlil prepared.il; mutate -list 10000000 -o list.txt",
        directory,
    )
    places, lines = _places(verilog, stand_ins), verilog.split("\n")
    always_read = _read_at_once((directory / "prepared.il").read_text())
    found = []
    for row in (directory / "list.txt").read_text().splitlines():
        match = re.fullmatch(r"mutate (.*?)((?: -src \S+)*)", row)
        assert match, row
        numbers = [int(n) for n in re.findall(r" -src unit\.v:(\d+)\.", match[2])]
        wanted = [n for n in numbers if places[n].startswith(tuple(folders))]
        port = re.search(r"-port (\S+)", match[1])
        cell = re.search(r"-cell (\S+)", match[1])
        if wanted and port and port[1] not in _CLOCKS:
            assert cell
            if port[1] == "EN" and cell[1] in always_read:
                continue
            text = lines[wanted[0] - 1].strip()
            found.append(Mutation(places[wanted[0]], cell[1], match[1], text))
    return sorted(found, key=lambda one: one.change)


def _read_at_once(netlist: str) -> set[str]:
    """Ports that read a memory without a clock: they have no enable that could be wrong."""
    cells = re.findall(r"^  cell \$memrd\S* (\S+)\n(.*?)^  end$", netlist, re.M | re.S)
    return {name for name, text in cells if re.search(r"\\CLK_ENABLE (1'0|0)$", text, re.M)}


def sample(
    mutations: Iterable[Mutation], wanted: Mapping[str, int], rng: random.Random
) -> list[Mutation]:
    """Draws the wanted number of each module: cells in random order, one mutation of each at a
    time."""
    by_module: dict[str, dict[str, list[Mutation]]] = defaultdict(lambda: defaultdict(list))
    for one in mutations:
        by_module[one.module][one.cell].append(one)
    chosen = []
    for module, cells in sorted(by_module.items()):
        left, rows = wanted.get(module, 0), sorted(cells.items())
        while left and rows:
            rng.shuffle(rows)
            for _, row in rows[:left]:
                chosen.append(row.pop(rng.randrange(len(row))))
            left -= min(left, len(rows))
            rows = [(cell, row) for cell, row in rows if row]
    return chosen


def with_selector(mutations: Sequence[Mutation], top: str, directory: Path) -> str:
    """Returns the prepared netlist with all of some mutations: number ``n``, counted from 1, is
    active while :data:`SELECT` is ``n``."""
    if len(mutations) >= 1 << SELECT_BITS:
        raise ValueError(f"at most {(1 << SELECT_BITS) - 1} mutations, not {len(mutations)}")
    script = ["read_rtlil prepared.il"]
    for number, one in enumerate(mutations, 1):
        script.append(f"mutate {one.change} -ctrl {SELECT} {SELECT_BITS} {number}")
    script += [f"rename mutated {top}", "write_verilog -noattr mutated.v"]
    (directory / "apply.ys").write_text("\n".join(script) + "\n")
    run_yosys("script apply.ys", directory)
    return (directory / "mutated.v").read_text()
