"""A small top and a C++ bench that runs many cases on it, as a library that Python calls."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from amaranth.hdl import Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In
from tilewright.hw.emit.unit import Emitted
from tilewright.sim.rtl.build import build_library
from tilewright.sim.rtl.glue import Harness, glue_head, member
from tilewright.verif.native.parts import pass_members


class SpoiltPart(wiring.Component):
    """Base of the wrappers, each of which overrides what ``pass_through`` connects.

    Parameters
    ----------
    inner: the part; its members are streams, arrays of one stream, and plain values
    ways: what is done to it, and the fault that must be found

    Members
    -------
    those of the part, and ``spoil``: in; which of ``ways``, from 1; 0: none
    """

    def __init__(self, inner: Any, ways: Mapping[str, Any]) -> None:
        self._inner, self._ways = inner, ways
        super().__init__({**inner.signature.members, "spoil": In(range(len(ways) + 1))})

    def pass_through(self, m: Module) -> dict[str, Value]:
        """Connects all members with those of the part; returns whether each way was requested."""
        m.submodules.inner = inner = self._inner
        pass_members(m, inner, self)
        return {name: self.spoil == number for number, name in enumerate(self._ways, 1)}

    def held(self, m: Module, *ports: Any) -> list[Signal]:
        """Returns for each port whether its VALID waited for READY in the previous cycle."""
        waits = [Signal(name=f"held_{number}") for number in range(len(ports))]
        m.d.sync += [w.eq(port.valid & ~port.ready) for w, port in zip(waits, ports, strict=True)]
        return waits


WAYS = {
    "W waits for AWREADY": ("not done",),
    "AWVALID comes late": ("w before its aw",),
    "idle does not wait for responses": ("idle while the bus owes something",),
    "addresses are slow in their queue": ("a response comes before its address can leave",),
    "WVALID has gaps": ("w takes back its valid", "w pauses within a burst"),
    "WDATA does not stay": ("w changes before ready",),
    "AWADDR does not stay": ("aw changes before ready",),
    "WLAST is late": ("wlast is wrong",),
    "an address is wrong": ("is written wrongly", "is written twice", "crosses a boundary"),
    "WSTRB is all ones": ("is written wrongly", "is written twice"),
    "WVALID follows WREADY": ("a VALID follows a READY",),
    "AWVALID follows AWREADY": ("a VALID follows a READY",),
    "idle never comes": ("no idle after a stop", "not done"),
    "requests are taken during a stop": ("a request is taken during a stop",),
    "errors are kept back": ("no error after a bad response",),
}
"""Defects of a writer, each with the faults of which one must be found."""


class SpoiltWriter(SpoiltPart):
    """A writer of one channel and one part."""

    def __init__(self, inner: Any) -> None:
        super().__init__(inner, WAYS)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        inner, way = self._inner, self.pass_through(m)
        time = Signal(8)
        m.d.sync += time.eq(time + 1)
        aw, w = inner.aw[0], inner.w[0]
        # Bursts accepted whose last beat has not gone.
        accepted = Signal(8)
        address_moves = self.aw[0].valid & self.aw[0].ready
        last_moves = self.w[0].valid & self.w[0].ready & w.payload.last
        m.d.sync += accepted.eq(accepted + address_moves - last_moves)

        def gate(port: Any, inside: Any, name: str, condition: Any) -> None:
            """VALID and READY only under a condition."""
            with m.If(way[name] & ~condition):
                m.d.comb += [port.valid.eq(0), inside.ready.eq(0)]

        gate(self.w[0], w, "W waits for AWREADY", accepted != 0)
        gate(self.w[0], w, "WVALID has gaps", time[0])
        gate(self.w[0], w, "WVALID follows WREADY", self.w[0].ready)
        gate(self.aw[0], aw, "AWVALID follows AWREADY", self.aw[0].ready)
        waited = Signal(3)
        m.d.sync += waited.eq(0)
        with m.If(aw.valid & ~aw.ready):
            m.d.sync += waited.eq(waited + (waited != 7))
        gate(self.aw[0], aw, "AWVALID comes late", waited == 7)
        with m.If(way["idle does not wait for responses"] & ~aw.valid & ~w.valid):
            m.d.comb += self.idle.eq(1)
        with m.If(way["idle never comes"]):
            m.d.comb += self.idle.eq(0)
        with m.If(way["errors are kept back"]):
            m.d.comb += self.error.eq(0)
        with m.If(way["requests are taken during a stop"] & self.stop):
            m.d.comb += self.request[0].ready.eq(1)
        late = Signal(4)
        m.d.sync += late.eq(inner.answerable.replicate(4) & ((late << 1) | 1))
        with m.If(way["addresses are slow in their queue"]):
            m.d.comb += self.answerable.eq(late.all())
        aw_held, w_held = self.held(m, self.aw[0], self.w[0])
        with m.If(way["WDATA does not stay"] & w_held):
            m.d.comb += self.w[0].payload.data.eq(~w.payload.data)
        with m.If(way["AWADDR does not stay"] & aw_held):
            m.d.comb += self.aw[0].payload.address.eq(~aw.payload.address)
        before = Signal()
        with m.If(w.valid & w.ready):
            m.d.sync += before.eq(w.payload.last)
        with m.If(way["WLAST is late"]):
            m.d.comb += self.w[0].payload.last.eq(before)
        with m.If(way["an address is wrong"]):
            m.d.comb += self.aw[0].payload.address.eq(aw.payload.address ^ 8)
        with m.If(way["WSTRB is all ones"]):
            m.d.comb += self.w[0].payload.strobe.eq(~0)
        return m


BASES = (0x37F0, 0xCBF8)
"""Addresses at which the traffic of each part begins; it crosses a boundary of many bits."""

ALWAYS = (1, 1, 1)
"""READY in all cycles."""

NEVER = (-1, 1, 0)
"""No stop."""

_CPP = Path(__file__).with_name("cpp")

Table = npt.NDArray[np.int32]


class _Verdict(ctypes.Structure):
    """``Verdict`` of ports.h."""

    _fields_ = (
        ("text", ctypes.c_char * 200),
        ("cycles", ctypes.c_int32),
        ("idle_after", ctypes.c_int32),
        ("overtakes", ctypes.c_int32),
        ("moved", ctypes.c_int32),
    )


@dataclass(frozen=True)
class Found:
    """Totals of a set of runs.

    Parameters
    ----------
    runs, cycles: how many there were, in all
    fault: of the last run, empty if it is as it should be
    longest: cycles of the longest run
    idle_after: most cycles from a stop to idle
    overtakes, moved: responses before older ones, and bursts or accesses, in all
    """

    runs: int
    cycles: int
    fault: str
    longest: int
    idle_after: int
    overtakes: int
    moved: int


class Library:
    """One top with its bench.

    Parameters
    ----------
    emitted: the top
    bench: name of the bench's file and of its functions
    constants: what the bench must know of the top
    """

    def __init__(self, emitted: Emitted, bench: str, constants: Mapping[str, int]) -> None:
        def glue(sidecar: Mapping[str, Any]) -> str:
            known = "".join(
                f"constexpr unsigned {name} = {value};\n" for name, value in constants.items()
            )
            return glue_head(sidecar) + known + _ports(sidecar)

        harness = Harness(_CPP / f"{bench}.cpp", (_CPP / "ports.h",), glue)
        path = build_library(emitted.verilog, emitted.sidecar, harness=harness)
        self._library, self._bench = ctypes.CDLL(str(path)), bench
        self.function("create").restype = ctypes.c_void_p
        self._handle = ctypes.c_void_p(self.function("create")())
        self._finish = weakref.finalize(self, self.function("destroy"), self._handle)

    def function(self, name: str) -> Any:
        return getattr(self._library, f"{self._bench}_{name}")

    def call(self, name: str, *arguments: Any) -> Any:
        return self.function(name)(self._handle, *arguments)

    def run(self, cases: Table) -> Found:
        """Run cases, a row each, until one finds a fault."""
        cases = np.ascontiguousarray(cases, np.int32)
        verdict, cycles = _Verdict(), ctypes.c_uint64()
        self.function("run").restype = ctypes.c_uint64
        runs = self.call(
            "run",
            ctypes.c_void_p(cases.ctypes.data),
            ctypes.c_uint64(len(cases)),
            ctypes.byref(verdict),
            ctypes.byref(cycles),
        )
        fault = verdict.text.decode()
        if fault:
            fault += f"; case {cases[runs - 1].tolist()}"
        return Found(
            int(runs),
            int(cycles.value),
            fault,
            verdict.cycles,
            verdict.idle_after,
            verdict.overtakes,
            verdict.moved,
        )


def _ports(sidecar: Mapping[str, Any]) -> str:
    """``find_port`` of a top."""
    names = [s[kind] for s in sidecar["streams"] for kind in ("valid", "ready", "payload")]
    names += [port["name"] for port in sidecar.get("ports", ())]
    rows = "".join(
        f'    if (!std::strcmp(name, "{name}")) {{ *at = &{member(name)}; '
        f"*bytes = sizeof {member(name)}; return true; }}\n"
        for name in names
    )
    head = "inline bool find_port(Model& m, const char* name, void** at, unsigned* bytes) {\n"
    return f"{head}{rows}    return false;\n}}\n"


def all_patterns(count: int, *, repeats: bool) -> list[tuple[int, int, int]]:
    """Returns all patterns of READY of this many cycles, as (bits, count, repeats): repeated, with
    at least one high cycle, or once, followed by READY high throughout."""
    return [(bits, count, int(repeats)) for bits in range(int(repeats), 1 << count)]


def payloads(words: list[int]) -> tuple[bytes, int]:
    """Packs words one after the other as the bench reads them, and returns the bytes of each."""
    size = max(16, -(-max(word.bit_length() for word in words) // 32) * 4)
    return b"".join(word.to_bytes(size, "little") for word in words), size


def table_of(*columns: Iterable[Any]) -> Table:
    """All combinations of what columns may hold, a row each; a column's value may be a tuple."""
    blocks = []
    for column in columns:
        rows = [value if isinstance(value, tuple) else (value,) for value in column]
        blocks.append(np.array(rows, np.int32))
    places = np.indices([len(block) for block in blocks]).reshape(len(blocks), -1)
    return np.hstack([block[place] for block, place in zip(blocks, places, strict=True)])
