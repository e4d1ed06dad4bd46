"""Longest waits, found by visiting every state that a claim can reach.

A claim is as for the prover (``verif/stream/prover.py``), with outputs ``waits_...``: of each the
most cycles on end are counted in which it is set. yosys makes a circuit of the claim and ABC makes
it small, leaving out all that no output depends on, such as data; a program in C++ visits the
states. Memories, and registers without reset, are 0 at first.
"""

from __future__ import annotations

import atexit
import resource
import shutil
import subprocess
import tempfile
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tilewright.hw.emit.hierarchy import ports_of
from tilewright.sim.rtl.toolchain import find_compiler
from tilewright.verif.kit.front_ends import run_yosys
from tilewright.verif.proofs.claim import Claim
from tilewright.verif.stream.prover import CARRIER, CARRIER_TEXT, claim_text

_SOURCE = Path(__file__).with_name("cpp") / "explorer.cpp"
_STATES = 60_000_000
"""Most states; this number takes at least 2 GB."""

_TO_AIGER = (
    "read_rtlil claim.il; read_verilog -sv proof.sv; prep -flatten -top proof; memory_map; "
    "opt -full; async2sync; formalff -clk2ff; techmap; dffunmap; opt -fast; "
    "setundef -zero -init; setundef -zero; aigmap; opt_clean; write_aiger -zinit claim.aig"
)
_REDUCE = "+read_aiger,claim.aig;strash;scorr;dc2;scorr;dc2;write_aiger,reduced.aig"


@dataclass(frozen=True)
class Explored:
    """Results of an exploration of all states.

    Parameters
    ----------
    longest: by name, the most cycles on end that a wait lasts; None: for ever
    reached: the cycle in which each event can be first; None: never
    broken: likewise, of what must not be
    states, steps: how many there are; of steps, each combination of inputs counts
    stuck: states in which the surroundings cannot keep what they promise
    cycles: until the last state is reached
    seconds: of the processor that it took
    sizes: of the circuit
    """

    longest: dict[str, int | None]
    reached: dict[str, int | None]
    broken: dict[str, int | None]
    states: int
    steps: int
    stuck: int
    cycles: int
    seconds: float
    sizes: dict[str, int]


def _processor_seconds() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


@cache
def _program() -> Path:
    folder = tempfile.mkdtemp(prefix="explorer")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    program = Path(folder) / "explorer"
    command = [*find_compiler().command, "-O3", "-march=native", "-Wno-psabi", "-std=c++17"]
    subprocess.run([*command, "-o", str(program), str(_SOURCE)], check=True)
    return program


def _wrapper(ports: dict[str, tuple[str, int]], outputs: list[str]) -> str:
    """A module around a claim, which has been reset, with these outputs in order."""
    flows = {name: n for name, (flow, n) in ports.items() if flow == "i"}
    lines = ["module proof(input clk,"]
    lines += [f"  input [{n - 1}:0] {name}," for name, n in flows.items()]
    lines += [f"  output ask_{number}," for number in range(len(outputs))]
    lines[-1] = lines[-1].removesuffix(",") + ");"
    lines += ["  claim claim(.clk(clk), .rst(1'b0)"]
    lines += [f"    , .{name}({name})" for name in flows]
    lines += [f"    , .{name}(ask_{n})" for n, name in enumerate(outputs) if name in ports]
    lines += ["  );"]
    lines += [f"  assign ask_{n} = 1;" for n, name in enumerate(outputs) if name not in ports]
    return "\n".join([*lines, "endmodule"]) + "\n"


def explore(claim: Claim, directory: Path, *, states: int = _STATES) -> Explored:
    """Visit all states of a claim.

    Parameters
    ----------
    directory: for files
    states: that there may be
    """
    program = _program()
    begin = _processor_seconds()
    ports = {name: (flow, len(signal)) for name, flow, signal in ports_of(claim)}
    names = {
        kind: [name for name in ports if name.startswith(f"{kind}_")]
        for kind in ("waits", "reached", "broken")
    }
    outputs = ["allowed", *(name for kind in names.values() for name in kind)]
    (directory / "claim.il").write_text(claim_text(claim))
    (directory / "proof.sv").write_text(_wrapper(ports, outputs))
    (directory / "carrier.il").write_text(CARRIER_TEXT)
    script = f"+backup;{_REDUCE.removeprefix('+')};restore"
    run_yosys(f"{_TO_AIGER}; {CARRIER.format(script=script)}", directory)
    counts = [str(len(kind)) for kind in names.values()]
    done = subprocess.run(
        [str(program), "reduced.aig", *counts, str(states)],
        cwd=directory,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise AssertionError(done.stderr.strip())
    rows = [line.split() for line in done.stdout.splitlines()]
    sizes = {key: int(value) for key, value in rows if key not in ("wait", "event")}
    found = [int(value) for key, value in rows if key in ("wait", "event")]
    values = iter([None if value < 0 else value for value in found])
    longest, reached, broken = (
        {name.removeprefix(f"{kind}_"): next(values) for name in names[kind]} for kind in names
    )
    return Explored(
        longest,
        reached,
        broken,
        states=sizes["states"],
        steps=sizes["steps"],
        stuck=sizes["dead"],
        cycles=sizes["cycles"],
        seconds=_processor_seconds() - begin,
        sizes=sizes,
    )
