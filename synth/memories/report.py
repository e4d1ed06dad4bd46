"""Describes the large memories in a synthesis report."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .estimate import Estimate
from .laws import Law

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

__all__ = [
    "MemoryLaw",
    "MemoryReport",
    "RegisterFile",
    "memory_reports",
    "memory_table",
    "register_file_reports",
]


@dataclass(frozen=True, kw_only=True)
class MemoryReport:
    """A large memory, which is not synthesised but estimated.

    Members
    -------
    name: says its words, their bits, its read and write ports
    instances: how many the whole design has
    bits: of one; total: of all
    realised: macros of one, their words and bits, and the ports of each
    area: of one, in the library's unit
    access_ns: from the clock to its read data
    read_pj, write_pj: energy of an access; leakage_nw: of one. None where these are not known
    extrapolated: what is beyond the macros that the estimate is from; empty if nothing is
    """

    name: str
    instances: int
    bits: int
    total: int
    realised: str = ""
    area: float = 0.0
    access_ns: float = 0.0
    read_pj: float | None = None
    write_pj: float | None = None
    leakage_nw: float | None = None
    extrapolated: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class RegisterFile:
    """Memories of one shape that are made of flip-flops; the logic has their area.

    Members
    -------
    words, width: of each; instances: how many the whole design has
    """

    words: int
    width: int
    instances: int


@dataclass(frozen=True, kw_only=True)
class MemoryLaw:
    """The source of the estimates of memories.

    Members
    -------
    title: in a few words; source: in more
    formula: of area and access time
    area_error, access_error: of the formula at the macros it is fitted over, and at each of these
        where it is fitted over the others; no area's where transistors are counted
    two_ports: area of a macro with two ports, in that of one with one; None likewise
    """

    title: str
    source: str
    formula: str
    area_error: str
    access_error: str
    two_ports: float | None

    @classmethod
    def of(cls, law: Law) -> MemoryLaw:
        """Describes a law for a report."""
        return cls(
            title=law.title,
            source=law.source,
            formula=law.formula(),
            area_error=str(law.area.errors) if law.area else "",
            access_error=str(law.access_ns.errors),
            two_ports=law.two_ports if law.area else None,
        )

    def print(self, console: Console) -> None:
        """Write it to a Rich console."""
        said = [f"memories by {self.title}", self.formula]
        if self.area_error:
            said.append(f"error of the area {self.area_error}")
        said += [f"error of the access time {self.access_error}", f"source: {self.source}"]
        if self.two_ports:
            said.append(f"a macro with two ports has {self.two_ports:g} times the area of one port")
        console.print("\n  ".join(said), highlight=False)


def memory_reports(
    estimates: Mapping[str, Estimate], bits: Mapping[str, int], counts: Mapping[str, int]
) -> tuple[MemoryReport, ...]:
    """The memories of a design, by the names of their modules; most bits first.

    ``bits``: of each; ``counts``: its instances.
    """
    same = ("realised", "area", "access_ns", "read_pj", "write_pj", "leakage_nw", "extrapolated")
    rows = [
        MemoryReport(
            name=name, instances=counts[name], bits=bits[name], total=bits[name] * counts[name],
            **{member: getattr(one, member) for member in same},
        )
        for name, one in estimates.items()
    ]  # fmt: skip
    return tuple(sorted(rows, key=lambda row: (-row.total, row.name)))


def register_file_reports(
    modules: Mapping[str, Sequence[tuple[int, int]]], counts: Mapping[str, int]
) -> tuple[RegisterFile, ...]:
    """The register files of a design, by the modules that have them; most bits of one first.

    ``counts``: instances of each module.
    """
    found: dict[tuple[int, int], int] = defaultdict(int)
    for module, sizes in modules.items():
        for size in sizes:
            found[size] += counts[module]
    order = sorted(found, key=lambda size: (-size[0] * size[1], size))
    return tuple(RegisterFile(words=w, width=b, instances=found[w, b]) for w, b in order)


def memory_table(
    memories: Sequence[MemoryReport], register_files: Sequence[RegisterFile]
) -> RenderableType:
    """Table of memories, for a Rich console."""
    from rich.table import Table

    table = Table(title="memories", title_justify="left")
    for heading in ("memory", "realised as macros, each"):
        table.add_column(heading, overflow="fold")
    for heading in ("count", "bits", "area of one", "access, ns"):
        table.add_column(heading, justify="right", no_wrap=True)
    for one in memories:
        beyond = "".join(f"\nextrapolated: {what}" for what in one.extrapolated)
        figures = f"{one.instances:,}", f"{one.bits:,}", f"{one.area:,.0f}"
        table.add_row(one.name, one.realised + beyond, *figures, f"{one.access_ns:.3f}")
    for each in register_files:
        bits = f"{each.words * each.width:,}"
        name = f"{each.words} x {each.width}"
        table.add_row(name, "flip-flops", f"{each.instances:,}", bits, "in the logic", "")
    return table
