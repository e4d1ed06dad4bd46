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
from tilewright.hw.emit.unit import Emitted
from tilewright.sim.rtl.build import build_library
from tilewright.sim.rtl.glue import Harness, glue_head, member

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
