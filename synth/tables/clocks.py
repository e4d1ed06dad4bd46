"""The clock that a unit reaches in a cell library: measured once, and kept."""

from __future__ import annotations

import ast
import json
from collections import defaultdict
from dataclasses import asdict, dataclass, replace
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..base.cache import cached, found
from ..base.yosys import yosys_version
from ..flow import synthesize_verilog
from ..memories.estimate import library_law
from ..report import AsicReport, PathReport
from ..targets import target_library
from ..timing.analysis import fo4

if TYPE_CHECKING:
    from tilewright.hw.emit.unit import Emitted

__all__ = ["Clock", "Column", "Limit", "column", "kept_clock", "measured_clock"]

FLOW = Path(__file__).parents[1]
"""The folder of the sources that decide what is measured; its tables do not."""


@dataclass(frozen=True, kw_only=True)
class Limit:
    """The critical path, which limits a clock.

    Members
    -------
    kind: "register to register", "input to register", ...
    start, end: the registers or ports, by hierarchical name
    module: the one in which the path spends the most time; share: which part of the path, 0..1
    source: Python file and line where the path is longest in that module; empty if not known
    memory: part of the path that is access and setup time of memories, 0..1
    """

    kind: str
    start: str
    end: str
    module: str
    share: float
    source: str
    memory: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Clock:
    """Area and critical path of a unit for one effort.

    Members
    -------
    area: of the logic, in the library's unit
    memory_bits: of the large memories, which are not synthesised; memory_area: of these, estimated
    cells: how many
    ns, fo4: length of the critical path; None without one
    limit: where that is; None without one
    reason: why there is no path; empty if there is one
    """

    area: float
    memory_bits: int
    memory_area: float
    cells: int
    ns: float | None = None
    fo4: float | None = None
    limit: Limit | None = None
    reason: str = ""


@dataclass(frozen=True)
class Column:
    """A library: its name, a digest of its text, its FO4 in ns, the delay of an inverter that
    drives four, and the folder of the known libraries, if it is not that of the environment."""

    name: str
    digest: str
    fo4: float
    liberty_path: Path | None = None


def column(name: str, liberty_path: Path | None = None) -> Column:
    """The library of a name. Raises ValueError if its files are missing or wrong."""
    library = target_library(name, liberty_path=liberty_path)
    assert library is not None
    texts = library.text, library.outlines, library.gates, repr(library_law(library))
    digest = sha256("\0".join(texts).encode()).hexdigest()
    return Column(name, digest, fo4(library)[0], liberty_path)


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


@cache
def _flow() -> str:
    """A digest of the program that measures; its comments, docstrings and layout do not count."""
    digest = sha256()
    for path in sorted(FLOW.rglob("*.py")):
        if path.parent.name != "tables":
            tree = ast.parse(path.read_text(encoding="utf-8"))
            for node in ast.walk(tree):
                if isinstance(body := getattr(node, "body", None), list):
                    node.body = [one for one in body if not _is_docstring(one)]  # type: ignore[attr-defined]
            digest.update(ast.dump(tree).encode())
    return digest.hexdigest()


def _key(emitted: Emitted, library: Column, effort: str) -> tuple[str, ...]:
    """All that decides a result."""
    config = json.dumps(emitted.sidecar["config"], sort_keys=True)
    design = emitted.sidecar["module"], config, emitted.verilog
    flow = _flow(), yosys_version(), effort
    return ("clock", *flow, library.name, library.digest, *design)


def _limit(path: PathReport) -> Limit:
    times: dict[str, float] = defaultdict(float)
    for segment in path.segments:
        times[segment.module] += segment.increment
    module = max(times, key=lambda name: times[name])
    inside = [segment for segment in path.segments if segment.module == module]
    longest = max(inside, key=lambda segment: segment.increment)
    return Limit(
        kind=path.kind, start=path.start, end=path.end, module=module,
        share=times[module] / path.ns, source=longest.source, memory=path.memory_ns / path.ns,
    )  # fmt: skip


def _memories(report: AsicReport) -> dict[str, Any]:
    return {"memory_bits": report.memory_bits, "memory_area": report.memory_area}


def _measure(emitted: Emitted, library: Column, effort: str) -> Clock:
    whole = synthesize_verilog(
        emitted.verilog, emitted.sidecar["module"], library.name, source=emitted.source,
        config=emitted.sidecar["config"], effort=effort, liberty_path=library.liberty_path,
    )  # fmt: skip
    assert isinstance(whole, AsicReport)
    size = Clock(area=whole.area, cells=whole.cells, **_memories(whole))
    path = whole.path
    if path is None or not path.segments:
        return replace(size, reason="no register, input or output has a path to another")
    return replace(size, ns=path.ns, fo4=path.fo4, limit=_limit(path))


def _read(text: str) -> Clock:
    values = json.loads(text)
    limit = values.pop("limit")
    return Clock(**values, limit=Limit(**limit) if limit else None)


def kept_clock(emitted: Emitted, library: Column, effort: str) -> Clock | None:
    """A result that the cache has; None if it was not measured yet."""
    text = found(_key(emitted, library, effort))
    return None if text is None else _read(text)


def measured_clock(emitted: Emitted, library: Column, effort: str) -> Clock:
    """Measures a unit in a library, mapped for "area" or "speed", or takes the result from the
    cache. It is found again by the unit's Verilog and configuration, the library, the effort and
    the program that measures.

    Raises as ``synthesize_verilog``.
    """
    key = _key(emitted, library, effort)
    return _read(cached(key, lambda: json.dumps(asdict(_measure(emitted, library, effort)))))
