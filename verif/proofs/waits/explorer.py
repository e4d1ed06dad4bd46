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
from typing import Any
from unittest.mock import patch

from amaranth.hdl import Cat, Const, Module, Signal
from tilewright.hw.axi import crossbar
from tilewright.hw.axi.burst_reader import BurstReader
from tilewright.hw.axi.crossbar import ReadCrossbar
from tilewright.hw.axi.managers import ReadManager
from tilewright.hw.channels import striped_reader
from tilewright.hw.channels.striped_reader import StripedReader
from tilewright.hw.emit.hierarchy import ports_of
from tilewright.hw.stream.multiplex import RoundRobin
from tilewright.sim.rtl.toolchain import find_compiler
from tilewright.verif.kit.front_ends import run_yosys
from tilewright.verif.native.parts import each_of
from tilewright.verif.proofs.claim import Claim, opened
from tilewright.verif.proofs.waits.answering import (
    GEOMETRY,
    AnsweringReads,
    Channel,
    chosen,
    offer,
    offer_blocks,
    promise,
    since_stop,
    small_part,
    watch,
)
from tilewright.verif.stream.prover import CARRIER, CARRIER_TEXT, claim_text


class DroppingReader(BurstReader):
    """A reader that loses a beat that arrives while ``o`` is not ready."""

    def elaborate(self, platform: object) -> Module:
        m = super().elaborate(platform)
        m.d.comb += m.submodules.buffer.i.valid.eq(self.r.valid & self.o.ready)
        return m


class FixedPriority(RoundRobin):
    """An arbiter that prefers its first input, so that the last one may wait for ever."""

    def elaborate(self, platform: object) -> Module:
        m = Module()
        offered: Any = Cat(i.valid for i in self.i).any()
        m.d.comb += self.o.valid.eq(offered)
        for number, i in reversed(list(enumerate(self.i))):
            earlier = Cat(other.valid for other in list(self.i)[:number]).any()
            m.d.comb += i.ready.eq(self.o.ready & ~earlier)
            with m.If(i.valid):
                m.d.comb += [self.o.payload.payload.eq(i.payload), self.o.payload.source.eq(number)]
        return m


def read_waits(
    readers: int,
    *,
    patience: int,
    outstanding: int = 1,
    burst_beats: int = 1,
    kind: type[BurstReader] = BurstReader,
) -> Claim:
    """A ``ReadManager``, or a ``BurstReader`` for 0 readers: requests of 1 or 2 beats."""
    part = small_part(ReadManager, kind, readers, burst_beats, outstanding)
    requests, outputs = each_of(part.request), each_of(part.o)

    def describe(claim: Claim) -> None:
        m = claim.m
        m.submodules.part = part
        AnsweringReads(
            claim,
            part,
            most=outstanding,
            ids=max(1, readers),
            burst_beats=burst_beats,
            patience=patience,
        )
        since, ways = since_stop(claim, part), []
        for n, (request, o) in enumerate(zip(requests, outputs, strict=True)):
            two = claim.free(f"request_{n}_two")
            place = claim.free(f"request_{n}_place") if burst_beats > 1 else Const(0, 1)
            payload = Cat(place, Const(0, 4), ~two, two)
            taken = offer(claim, f"request_{n}", request, payload, drops=part.stop, quiet=since)
            m.d.comb += o.ready.eq(claim.free(f"o_{n}_ready"))
            promise(claim, f"o_{n}", o.valid & ~o.ready, patience)
            ways.append((taken, request.payload.beats, o.valid & o.ready))
        taken, beats, beat = chosen(claim, ways)
        most = 2 * burst_beats + 6
        watch(claim, "request", taken, [(beats, beat)], most=most, dropped=part.stop | since)

    return Claim(describe)


def striped_read_waits(
    *,
    patience: int,
    line_blocks: int = 2,
    requests: int = 1,
    most_blocks: int = 2,
    spoilt: bool = False,
) -> Claim:
    """A ``StripedReader`` of two channels, two blocks of one beat in flight in each.

    No more than ``requests`` wait before a channel, so a queue of two there does as that of eight.

    Parameters
    ----------
    spoilt: a line waits for all channels, those that it does not need included
    """
    part = StripedReader(GEOMETRY, line_blocks=line_blocks, outstanding=2, requests=requests)

    def describe(claim: Claim) -> None:
        m = claim.m
        with patch.object(striped_reader, "_BEHIND", 2):
            m.submodules.part = inside = opened(part)
        if spoilt:
            whole = Cat(getattr(inside.submodules, f"reader_{n}").o.valid for n in range(2)).all()
            inside.d.comb += inside.submodules.sent.i.valid.eq(
                inside.submodules.waiting.o.valid & whole
            )
        for n in range(2):
            bus = Channel(part, n, ("ar", "r"))
            AnsweringReads(claim, bus, most=1, ids=2, patience=patience, name=f"m{n}_")
        since = since_stop(claim, part)
        quiet = part.stop | since
        taken, blocks, _ = offer_blocks(
            claim, part, most_blocks=most_blocks, line_blocks=line_blocks, quiet=since
        )
        o = part.o
        m.d.comb += o.ready.eq(claim.free("o_ready"))
        promise(claim, "o", o.valid & ~o.ready, patience)
        lines = blocks if line_blocks == 1 else (blocks + 1) >> 1
        orders = [(lines, o.valid & o.ready)]
        watch(claim, "request", taken, orders, most=requests * most_blocks, dropped=quiet)

    return Claim(describe)


def crossbar_waits(
    *, patience: int, most: int = 1, arbiter: type[RoundRobin] = RoundRobin
) -> Claim:
    """A ``ReadCrossbar`` of two lanes and two channels: bursts of one beat, whose ID in the lane
    is the number of the channel, ``most`` in flight a lane. A lane is always ready for a beat."""
    part = ReadCrossbar(2, 2, addr_bits=5, data_bits=8, lane_id_bits=1)

    def describe(claim: Claim) -> None:
        m = claim.m
        with patch.object(crossbar, "RoundRobin", arbiter):
            m.submodules.part = opened(part)
        for n in range(2):
            bus = Channel(part, n, ("ar", "r"))
            AnsweringReads(
                claim, bus, most=most, ids=2, patience=patience, shift=1, low=n, name=f"m{n}_"
            )
        ways = []
        for n in range(2):
            ar, r = part.lane_ar[n], part.lane_r[n]
            owed = Signal(range(most + 1), name=f"lane_{n}_owed")
            channel = claim.free(f"lane_{n}_channel")
            payload = Cat(Const(0, 5), Const(0, 8), channel, channel)
            taken = offer(claim, f"lane_{n}", ar, payload, quiet=owed == most)
            done = r.valid & r.ready
            m.d.sync += owed.eq(owed + taken - done)
            claim.waits(f"accepted_{n}", ar.valid & ~ar.ready)
            # Requests of a lane to different channels may overtake each other.
            ways.append((taken & ~ar.payload.channel, done & ~r.payload.id[0]))
        taken, done = chosen(claim, ways)
        watch(claim, "request", taken, [(1, done)], most=most)

    return Claim(describe)


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
