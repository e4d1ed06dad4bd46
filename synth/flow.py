"""Synthesis: from a unit, or any Verilog, to area and timing in one of the targets.

``cmos`` is the project's own cell library, ``liberty:FILE`` any other (:mod:`.targets`); both go
through the same steps for every design. The hierarchy is kept: each different module is mapped
once (``mapping``), then the mapped modules are put together (``flattening``), nets of high fan-out
get buffer trees (``fanout``), and static timing analysis runs over the whole of it, across modules
(``timing``). A large design is not put together: its modules get the buffer trees, and models of
the modules the paths across them (:mod:`.effort`).
Large memories are not mapped: their area and their access time are estimated by their shape
(``memories``). Paths end at their inputs, with a setup time, and begin at their read data.
``ecp5`` and ``ice40`` are placed and routed (``fpga``).
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import starmap
from typing import Any

from tilewright.hw.spec.host.activity import activity
from tilewright.hw.spec.unit import Unit

from .curve import CurvePoint, EffortFigures
from .effort import MOST_FLAT, Implementation, ImplementationRequest, Implementer
from .fpga import place_and_route, require_nextpnr
from .library.cells import NAND2, Library, WireLoad
from .mapping.abc import map_module
from .mapping.hierarchy import Design, split_design
from .mapping.netlist import MappedModule, Netlist, read_mapped
from .memories.cells import memory_module, with_memories
from .memories.estimate import Estimate
from .memories.report import MemoryLaw, memory_reports, register_file_reports
from .path_report import Source, path_report
from .report import AsicReport, ModuleArea, Report
from .targets import target_library
from .timing.analysis import fo4
from .timing.opensta import opensta_available, opensta_delay

__all__ = ["map_modules", "synthesize", "synthesize_verilog"]

WORKERS = 2


def no_source(module: str, signal: str) -> str:
    """Returns an empty source: a signal of Verilog that was not generated has none."""
    return ""


def map_modules(design: Design, library: Library, mapping: str) -> dict[str, MappedModule]:
    """The modules of a design, each mapped once."""
    memories = {name: one.memory for name, one in design.modules.items() if one.memory}
    names = [name for name in design.order() if name not in memories]
    mapped = {name: memory_module(memory) for name, memory in memories.items()}
    with (
        activity(f"synthesizing modules, {mapping}", total=len(names)) as shown,
        ThreadPoolExecutor(WORKERS) as pool,
    ):
        texts = pool.map(lambda name: map_module(design, name, library, mapping), names)
        for name, text in zip(names, texts, strict=True):
            mapped[name] = read_mapped(text, name, library)
            shown.step()
    return mapped


def _module_areas(
    design: Design,
    modules: Mapping[str, MappedModule],
    library: Library,
    estimates: Mapping[str, Estimate],
) -> tuple[ModuleArea, ...]:
    rows = []
    whole: dict[str, float] = {}
    bits: dict[str, int] = {}
    memory: dict[str, float] = {}
    counts = design.counts()
    for name in design.order():
        if name in estimates:
            whole[name], bits[name] = 0.0, design.modules[name].memory_bits
            memory[name] = estimates[name].area
            continue
        area, flip_flops = [0.0, 0.0], 0
        for kind, pins in modules[name].cells.items():
            cell = library.cells[kind]
            area[cell.sequential] += cell.area * len(pins)
            flip_flops += cell.sequential * len(pins)
        children = design.modules[name].children.values()
        whole[name] = sum(area) + sum(whole[child] for child in children)
        bits[name] = sum(bits[child] for child in children)
        memory[name] = sum(memory[child] for child in children)
        rows.append(
            ModuleArea(
                name=name,
                instances=counts[name],
                combinational=area[0],
                sequential=area[1],
                flip_flops=flip_flops,
                total=sum(area) * counts[name],
                whole=whole[name],
                memory_bits=bits[name],
                memory_area=memory[name],
            )
        )
    return tuple(sorted(rows, key=lambda row: (-row.total, row.name)))


def _checked(netlist: Netlist | None, library: Library, wires: WireLoad | None) -> float:
    """The slowest path by OpenSTA."""
    if netlist is None:
        raise ValueError(f"a cross-check needs a design of at most {MOST_FLAT:,} cells")
    return opensta_delay(netlist, library, wires)


def _timing_by(memories: bool, flat: bool, wires: WireLoad | None) -> str:
    how = "over the whole netlist" if flat else "by models of the modules"
    by = f"static timing analysis {how}, " + (
        "without wires" if wires is None else f"wires by the library's wire-load model {wires.name}"
    )
    return by + (", memories by their access and setup times" if memories else "")


@dataclass(frozen=True, kw_only=True)
class _Asked(ImplementationRequest):
    """The request of a synthesis in standard cells; see ``synthesize_verilog``."""

    source: Source
    cross_check: bool
    together: bool
    curve: bool

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.cross_check and not opensta_available():
            raise ValueError("a cross-check needs OpenSTA: the command `sta` is not installed")


def _chosen(implementer: Implementer, asked: _Asked) -> tuple[Implementation, dict[str, Any]]:
    """The implementation that is asked for, and what is reported of all."""
    one = implementer.plain
    found = {"area": one}
    facts: dict[str, Any] = {}
    if asked.effort == "speed" or asked.curve:
        found["speed"] = fast = implementer.fastest()
        facts["least_period_ns"] = fast.ns
    if asked.effort == "speed":
        one = fast if asked.period is None else implementer.smallest(asked.period)
    if asked.curve:
        facts["curve"] = tuple(starmap(CurvePoint, implementer.curve()))
    facts["efforts"] = tuple(
        EffortFigures(effort=name, area=each.area, ns=each.ns) for name, each in found.items()
    )
    return one, facts


def _asic(
    verilog: str, top: str, target: str, library: Library, asked: _Asked, config: dict[str, Any]
) -> AsicReport:
    wired = asked.wired(library)
    with activity("reading the Verilog"):
        design = split_design(verilog, top)
    held = {name: one.memory for name, one in design.modules.items() if one.memory}
    library, estimates, law = with_memories(library, held)
    buffer_area, buffers, path, flat = 0.0, 0, None, True
    wires: WireLoad | None = None
    facts: dict[str, Any] = {}
    mapped = partial(map_modules, design, library)
    if asked.together:
        with activity("putting the modules together") as shown:
            implementer = Implementer(design, library, mapped, wired, shown.about)
            chosen, facts = _chosen(implementer, asked)
            wires = implementer.wires
        modules, buffers, flat = chosen.modules, chosen.buffers, chosen.netlist is not None
        buffer_area = buffers * chosen.buffer.area if chosen.buffer else 0.0
        checked = _checked(chosen.netlist, library, wires) if asked.cross_check else None
        path = path_report(chosen.timing, design, asked.source, checked)
    else:
        modules = mapped("area")
    rows = _module_areas(design, modules, library, estimates)
    bits = {name: design.modules[name].memory_bits for name in estimates}
    memories = memory_reports(estimates, bits, design.counts())
    memory_bits = sum(memory.total for memory in memories)
    memory_area = sum(memory.area * memory.instances for memory in memories)
    counts, period = design.counts(), asked.period
    cells = sum(
        counts[name] * sum(map(len, module.cells.values()))
        for name, module in modules.items()
        if not design.modules[name].memory_bits
    )
    combinational = sum(row.combinational * row.instances for row in rows)
    sequential = sum(row.sequential * row.instances for row in rows)
    area = combinational + sequential + buffer_area
    nand2 = library.smallest(2, NAND2)
    assert nand2 is not None
    return AsicReport(
        unit=top,
        target=target,
        library=library.name,
        area_unit="transistors" if target == "cmos" else "library units",
        area=area,
        combinational=combinational,
        sequential=sequential,
        buffer_area=buffer_area,
        buffers=buffers,
        nand2_equivalents=area / nand2.area,
        transistors=round(area) if target == "cmos" else None,
        flip_flops=sum(row.flip_flops * row.instances for row in rows),
        cells=cells + buffers,
        modules=rows,
        path=path,
        fo4_ns=fo4(library)[0],
        timing_by=_timing_by(bool(memories), flat, wires) if asked.together else "",
        memory_bits=memory_bits,
        memories=memories,
        register_files=register_file_reports(
            {name: module.register_files for name, module in design.modules.items()}, counts
        ),
        memory_area=memory_area,
        memory_law=MemoryLaw.of(law) if law else None,
        area_with_memories=area + memory_area,
        nand2_equivalents_with_memories=(area + memory_area) / nand2.area,
        slack_ns=period - path.ns if period is not None and path else None,
        period_ns=period,
        config=config,
        effort=asked.effort,
        wires=asked.wires,
        **facts,
    )


def synthesize_verilog(
    verilog: str,
    top: str,
    target: str = "cmos",
    *,
    config: Mapping[str, Any] | None = None,
    period: float | None = None,
    source: Source = no_source,
    cross_check: bool = False,
    together: bool = True,
    effort: str = "area",
    wires: str = "none",
    curve: bool = False,
    dont_use: Sequence[str] = (),
    liberty_path: str | os.PathLike[str] | None = None,
) -> Report:
    """Synthesize Verilog.

    Parameters
    ----------
    verilog: the text of all modules
    top: name of the top module, which has its clock from a port
    target, dont_use, liberty_path: see ``target_library``
    config: for the report only
    period: of the clock that is wanted, in ns: the report then has the slack. Places and routes for
        it, but for 100 MHz by default
    source: from the name of a module, and of a signal in there, to their file and line, for the
        report; empty where that is not known
    cross_check: let OpenSTA analyse the same netlist too, and report what it finds
    together: whether the modules are put together, for buffers of nets that cross them and for
        timing; else there are only their areas, each module's as often as there are instances
    effort: "area" maps all modules for area, at any period. "speed" chooses mappings and sizes for
        the fastest design, or for the smallest one that meets the period; see :mod:`.effort`
    wires: "none", or "wireload" for those of the library's wire-load model for a design of this
        area, or its default one
    curve: find the smallest designs for a series of periods, too

    Raises ValueError for an unknown target, a bad library file or bad Verilog, MissingExtra
    for a tool that is not installed, ToolError for a tool that fails.
    """
    asked = _Asked(
        period=period, source=source, cross_check=cross_check, together=together, effort=effort,
        wires=wires, curve=curve,
    )  # fmt: skip
    library = target_library(target, dont_use, liberty_path)
    facts = dict(config or {})
    if library is None:
        return place_and_route(verilog, top, target, config=facts, period=period, source=source)
    return _asic(verilog, top, target, library, asked, facts)


def synthesize(
    unit: Unit | str,
    config: Any,
    target: str = "cmos",
    *,
    dont_use: Sequence[str] = (),
    liberty_path: str | os.PathLike[str] | None = None,
    **options: Any,
) -> Report:
    """Generate a unit, or the catalogue's of a name, and synthesize it, with the options of
    ``synthesize_verilog``."""
    from tilewright.hw.emit.unit import emit

    if target_library(target, dont_use, liberty_path) is None:
        require_nextpnr(target)
    emitted = emit(unit, config)
    return synthesize_verilog(
        emitted.verilog,
        emitted.sidecar["module"],
        target,
        config=emitted.sidecar["config"],
        source=emitted.source,
        dont_use=dont_use,
        liberty_path=liberty_path,
        **options,
    )
