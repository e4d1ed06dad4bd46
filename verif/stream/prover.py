"""Proofs that no sequence of inputs breaks a rule, however long, by property-directed reachability.

A claim is a component around the hardware, which stays as it is. Of its outputs each ``broken_...``
must never be set, and each ``reached_...`` can be: so it is known that what is proved is not about
a design in which nothing happens. Runs count only while ``allowed`` is set, if there is such an
output: what the surroundings promise. Everything else is free in every cycle.

The prover is ABC, which yosys holds: ``pdr`` for all sequences, ``bmc3`` for all of some length. In
the first cycle the reset is on, and never again; memories hold anything.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from amaranth.back import rtlil
from amaranth.hdl import ClockDomain, Fragment, Module, Value
from amaranth.hdl._ir import PortDirection
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from tilewright.hw.emit.hierarchy import ports_of
from tilewright.verif.kit.front_ends import run_yosys

# Proofs that no sequence of inputs breaks a rule, however long, by property-directed
# reachability.
#
# A claim is a component around the hardware, which stays as it is. Of its outputs each
# ``broken_...`` must never be set, and each ``reached_...`` can be: so it is known that what is
# proved is not about a design in which nothing happens. Runs count only while ``allowed`` is set,
# if there is such an output: what the surroundings promise. Everything else is free in every
# cycle.
#
# The prover is ABC, which yosys holds: ``pdr`` for all sequences, ``bmc3`` for all of some length.
# In the first cycle the reset is on, and never again; memories hold anything.

_SECONDS = 300
"""A proof that takes so long does not end."""

_FLOWS = {"i": PortDirection.Input, "o": PortDirection.Output}
_BREAKS, _REACHES = "broken", "reached"


@dataclass(frozen=True)
class Verdict:
    """Result of the prover.

    Parameters
    ----------
    holds: nothing breaks the rule, in any number of cycles or in ``cycles``; None: not found out
    cycles: that were looked at, if not all: of a broken rule those to its break
    reached: the cycle in which each ``reached_...`` can be set first, counted from 0, the reset's;
        None if none was found
    seconds: that it took
    """

    holds: bool | None
    cycles: int | None
    reached: dict[str, int | None]
    seconds: float


def _wrapper(ports: dict[str, tuple[str, int]]) -> tuple[str, list[str]]:
    """A module around a claim, with an output for each question; and their names."""
    outputs = [name for name, (flow, _) in ports.items() if flow == "o"]
    broken = [name for name in outputs if name.startswith(_BREAKS)]
    reached = [name for name in outputs if name.startswith(_REACHES)]
    if not broken:
        raise ValueError("a claim must have an output `broken`, or one that starts so")
    lines = ["module proof(input clk,"]
    lines += [f"  input [{n - 1}:0] {name}," for name, (flow, n) in ports.items() if flow == "i"]
    lines += [f"  output ask_{number}," for number in range(len(reached) + 1)]
    lines[-1] = lines[-1].removesuffix(",") + ");"
    lines += [f"  wire {name};" for name in outputs]
    lines += [
        "  reg started = 0, held_before = 1;",
        f"  wire held = held_before & ({'allowed' if 'allowed' in outputs else '1'} | ~started);",
        "  always @(posedge clk) begin started <= 1; held_before <= held; end",
        "  claim claim(.clk(clk), .rst(~started)",
        *(f"    , .{name}({name})" for name in ports),
        "  );",
        f"  assign ask_0 = started & held & ({' | '.join(broken)});",
        *(
            f"  assign ask_{number} = started & held & {name};"
            for number, name in enumerate(reached, 1)
        ),
        "endmodule",
    ]
    return "\n".join(lines) + "\n", reached


_TO_AIGER = (
    "read_rtlil claim.il; setattr -unset init; delete t:$meminit t:$meminit_v2; "
    "read_verilog -sv proof.sv; prep -flatten -top proof; memory_map; opt -full; async2sync; "
    "formalff -clk2ff; techmap; dffunmap; opt -fast; setundef -anyseq; aigmap; opt_clean; "
    "write_aiger -zinit -symbols claim.aig"
)
"""Nothing but what the reset sets has a value in the first cycle, memories included."""

CARRIER = "design -reset; read_rtlil carrier.il; abc -script {script}"
"""ABC runs only on a design, and has to give it back."""

CARRIER_TEXT = r"""
module \carrier
  wire input 1 \a
  wire input 2 \b
  wire output 3 \y
  cell $_AND_ \and
    connect \A \a
    connect \B \b
    connect \Y \y
  end
end
"""


def _script(cycles: int | None, within: int, count: int) -> str:
    """The questions to ABC: the rule first."""
    ask = f"pdr,-T,{_SECONDS}" if cycles is None else f"bmc3,-T,{_SECONDS},-F,{cycles + 1}"
    steps = ["backup"]
    for number in range(count + 1):
        steps += ["read_aiger,claim.aig", f"cone,-O,{number}", "strash"]
        if number == 0 and cycles is None:
            # Registers that are always equal become one: some of the claim's are the part's.
            steps += ["scorr", "dc2", "scorr", "write_aiger,reduced.aig"]
        steps += [ask if number == 0 else f"bmc3,-T,{_SECONDS},-F,{within}"]
        steps += [f"write_status,status_{number}"]
    return "+" + ";".join([*steps, "restore"])


def claim_text(claim: wiring.Component) -> str:
    """The claim's RTLIL, with clock and reset whether it needs them or not."""
    ports = {name: (signal, _FLOWS[flow]) for name, flow, signal in ports_of(claim)}
    domain = ClockDomain("sync")
    design = Fragment.get(claim, None)
    design.add_domains(domain)
    clocks = {"clk": (domain.clk, PortDirection.Input), "rst": (domain.rst, PortDirection.Input)}
    text: str = rtlil.convert(design, name="claim", ports={**ports, **clocks}, emit_src=False)
    return text


def _constant_zeros(file: Path) -> list[bool]:
    """Returns for each output of an AIGER file whether it is a constant zero; ABC does not report
    these."""
    header, rest = file.read_bytes().split(b"\n", 1)
    latches, outputs = (int(word) for word in header.split()[3:5])
    lines = rest.split(b"\n", latches + outputs)
    return [int(line) == 0 for line in lines[latches : latches + outputs]]


def _status(directory: Path, number: int) -> tuple[bool | None, int]:
    """Returns whether an output can never be set, and the cycles that were examined or that it
    takes."""
    if _constant_zeros(directory / "claim.aig")[number]:
        return True, 0
    words = (directory / f"status_{number}").read_text().split()
    if words[0] == "snl_SAT":
        return False, int(words[4])
    return {"snl_UNSAT": True, "snl_UNK": None}[words[0]], int(words[1])


def prove(
    claim: wiring.Component, directory: Path, *, cycles: int | None = None, within: int = 60
) -> Verdict:
    """Looks for a sequence of inputs that breaks a claim, and for one that reaches each of its
    events.

    Parameters
    ----------
    directory: for files
    cycles: how many to look at; default: a proof for all
    within: cycles in which a ``reached_...`` has to be set
    """
    begin = time.monotonic()
    ports = {name: (flow, len(signal)) for name, flow, signal in ports_of(claim)}
    wrapper, reached = _wrapper(ports)
    (directory / "claim.il").write_text(claim_text(claim))
    (directory / "proof.sv").write_text(wrapper)
    (directory / "carrier.il").write_text(CARRIER_TEXT)
    script = _script(cycles, within, len(reached))
    run_yosys(f"{_TO_AIGER}; {CARRIER.format(script=script)}", directory)
    never, looked = _status(directory, 0)
    if cycles is None and _constant_zeros(directory / "reduced.aig")[0]:
        never = True
    if cycles is not None and never is None and looked >= cycles:
        never = True
    found = dict(_reached(directory, reached))
    return Verdict(never, cycles if never else looked, found, time.monotonic() - begin)


def _reached(directory: Path, names: list[str]) -> Iterator[tuple[str, int | None]]:
    for number, name in enumerate(names, 1):
        never, cycle = _status(directory, number)
        yield name, cycle if never is False else None


def never_broken(watched: wiring.Component, directory: Path, *, cycles: int | None = None) -> bool:
    """Proves that the component never sets ``broken`` after its reset, whatever its inputs are:
    within ``cycles``, or in any number of cycles. Raises AssertionError if the prover reaches no
    result."""
    holds = prove(watched, directory, cycles=cycles).holds
    assert holds is not None, "the prover found neither a proof nor a break"
    return holds


class Colliding(wiring.Component):
    """A part between any source and any sink, with a look at a memory inside.

    Parameters
    ----------
    part: has streams ``i`` and ``o``
    memory: the name of the memory in it, which has a port to write and one to read

    Members
    -------
    valid, payload, ready, clear: what the source, the sink and ``clear``, if there is one, do
    broken: a word is read in the cycle in which it is written
    """

    def __init__(self, part: Any, memory: str) -> None:
        self._part, self._memory = part, memory
        inputs = {name: In(1) for name in ("valid", "ready", "clear")}
        payload = In(len(Value.cast(part.i.payload)))
        super().__init__({**inputs, "payload": payload, "broken": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        part = self._part
        inside = part.elaborate(platform)
        part.elaborate = lambda platform: inside
        m.submodules.part = part
        memory = getattr(inside.submodules, self._memory)
        (write,), (read,) = memory.write_ports, memory.read_ports
        m.d.comb += [
            part.i.valid.eq(self.valid),
            Value.cast(part.i.payload).eq(self.payload),
            part.o.ready.eq(self.ready),
            self.broken.eq(read.en & write.en & (read.addr == write.addr)),
        ]
        if hasattr(part, "clear"):
            m.d.comb += part.clear.eq(self.clear)
        return m
