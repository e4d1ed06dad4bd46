"""Cell libraries in Liberty format."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from fnmatch import fnmatchcase
from hashlib import sha256
from pathlib import Path

import numpy as np
from tilewright.hw.spec.host.inputs import read_bytes

from ..base.cache import cached
from .cells import Arc, Cell, Library, Pin, Table, WireLoad
from .liberty_text import Group, merged, parse_liberty, resistance_unit, units, without_power

__all__ = ["TableReader", "liberty_content", "load_library", "naming", "read_library"]

SENSES = {
    "positive_unate": ((0, 0), (1, 1)),
    "negative_unate": ((0, 1), (1, 0)),
    "non_unate": ((0, 0), (0, 1), (1, 0), (1, 1)),
}
"""Pairs of (input edge, output edge) of an arc; 0 is rising, 1 falling."""


class TableReader:
    """Reads the tables of a library, over slews in ns and loads in pF."""

    def __init__(self, library: Group) -> None:
        self.time, self.load = units(library)
        self.templates = {
            group.arguments[0]: group
            for group in library.groups
            if group.name in ("lu_table_template", "power_lut_template") and group.arguments
        }

    def table(self, group: Group, unit: float | None = None) -> Table:
        """A table; ``unit`` is that of its values, by default the library's unit of time in ns."""
        name = group.arguments[0] if group.arguments else "scalar"
        values = np.array(group.numbers("values")) * (self.time if unit is None else unit)
        if values.size == 1:
            return Table(np.zeros(1), np.zeros(1), values.reshape(1, 1))
        template = self.templates.get(name, Group("", []))
        axes, kinds = [], []
        for index in ("1", "2"):
            numbers = group.numbers(f"index_{index}") or template.numbers(f"index_{index}")
            if not numbers:
                break
            kind = template.attributes.get(f"variable_{index}", "")
            loads = kind == "total_output_net_capacitance"
            axes.append(np.array(numbers) * (self.load if loads else self.time))
            kinds.append("load" if loads else kind)
        if values.size != int(np.prod([len(axis) for axis in axes])):
            raise ValueError(f"a table of {values.size} values does not fit its axes")
        values = values.reshape([len(axis) for axis in axes])
        if len(axes) == 1:
            row = kinds[0] != "load"
            axes = [axes[0], np.zeros(1)] if row else [np.zeros(1), axes[0]]
            values = values.reshape([len(axis) for axis in axes])
        elif kinds[0] in ("load", "constrained_pin_transition"):
            axes, values = axes[::-1], values.T
        return Table(axes[0], axes[1], np.ascontiguousarray(values))


class _Reader(TableReader):
    def arcs(self, pin: Group, target: str) -> list[Arc]:
        found = []
        for timing in pin.named("timing"):
            kind = timing.attributes.get("timing_type", "combinational")
            sense = timing.attributes.get("timing_sense", "non_unate")
            tables = {group.name: group for group in timing.groups}
            names = {"setup_rising": ("rise_constraint", "fall_constraint")}.get(
                kind, ("cell_rise", "cell_fall")
            )
            wanted = kind in ("combinational", "rising_edge", "setup_rising")
            if not wanted or not set(names) <= set(tables):
                continue
            delay = (self.table(tables[names[0]]), self.table(tables[names[1]]))
            slew = None
            if kind != "setup_rising":
                slew = (
                    self.table(tables["rise_transition"]),
                    self.table(tables["fall_transition"]),
                )
            edges = SENSES.get(sense, SENSES["non_unate"])
            if kind != "combinational":
                edges = ((0, 0), (0, 1))
            label = {"rising_edge": "clock", "setup_rising": "setup"}.get(kind, kind)
            for source in timing.attributes.get("related_pin", "").split():
                found.append(Arc(source, target, label, edges, delay, slew))
        return found

    def cell(self, group: Group) -> Cell:
        pins: dict[str, Pin] = {}
        arcs: list[Arc] = []
        clock, three_state = "", False
        for pin in group.named("pin"):
            name, facts = pin.arguments[0], pin.attributes
            plain = float(facts.get("capacitance", 0))
            caps = tuple(float(facts.get(f"{e}_capacitance", plain)) for e in ("rise", "fall"))
            output = facts.get("direction") == "output"
            pins[name] = Pin(
                name,
                output,
                (caps[0] * self.load, caps[1] * self.load),
                facts.get("function", "") if output else "",
            )
            arcs += self.arcs(pin, name)
            three_state |= "three_state" in facts
            if facts.get("clock") == "true":
                clock = name
        state = [g for g in group.groups if g.name in ("ff", "latch", "ff_bank", "latch_bank")]
        for item in state:
            clock = clock or item.attributes.get("clocked_on", "").strip()
        avoided = group.attributes.get("dont_use") == "true"
        return Cell(
            name=group.arguments[0],
            area=float(group.attributes.get("area", 0)),
            pins=pins,
            arcs=tuple(arcs),
            state="".join(item.written() for item in state),
            clock=clock,
            usable=not (three_state or avoided),
        )


def _wire_loads(tree: Group) -> dict[str, WireLoad]:
    """The library's wire-load models, by name."""
    found = {}
    for group in tree.named("wire_load"):
        facts, name = group.attributes, group.arguments[0] if group.arguments else ""
        pairs = [[float(x) for x in pair[:2]] for pair in group.lists.get("fanout_length", [])]
        _, load = units(tree)
        found[name] = WireLoad(
            name=name,
            lengths=tuple(sorted((pins, length) for pins, length in pairs)),
            slope=float(facts.get("slope", 0)),
            capacitance=float(facts.get("capacitance", 0)) * load,
            resistance=float(facts.get("resistance", 0)) * resistance_unit(tree),
        )
    return found


def _wire_areas(tree: Group, models: dict[str, WireLoad]) -> tuple[tuple[float, WireLoad], ...]:
    """The models of the default selection by area, each with the area from which on it holds."""
    default = tree.attributes.get("default_wire_load_selection", "")
    rows = [
        row
        for group in tree.named("wire_load_selection")
        if group.arguments == [default]
        for row in group.lists.get("wire_load_from_area", [])
    ]
    known = [(float(row[0]), models[row[2]]) for row in rows if len(row) == 3 and row[2] in models]
    return tuple(sorted(known, key=lambda pair: pair[0]))


def load_library(text: str, dont_use: Sequence[str] = ()) -> Library:
    """A library from its Liberty text. Raises ValueError if it is malformed.

    ``dont_use``: patterns of names of cells that are not usable, with ``*``, ``?`` and ``[...]``.
    """
    tree = parse_liberty(text)
    reader = _Reader(tree)
    cells: dict[str, Cell] = {}
    usable: list[Group] = []
    for group in tree.named("cell"):
        if not group.arguments:
            raise ValueError("a cell without a name")
        name = group.arguments[0]
        if any(fnmatchcase(name, pattern) for pattern in dont_use):
            group.attributes["dont_use"] = "true"
        cells[name] = reader.cell(group)
        if cells[name].usable:
            usable.append(group)
    if not cells:
        raise ValueError("it has no cells")
    wire_loads = _wire_loads(tree)
    wire_areas = _wire_areas(tree, wire_loads)
    head = [group for group in tree.groups if group.name != "cell"]
    gates = [group for group in usable if not cells[group.arguments[0]].sequential]
    tree.groups = [*head, *gates]
    gates_text = tree.written()
    for group in usable:
        for pin in group.groups:
            pin.groups = [inner for inner in pin.groups if inner.name != "timing"]
    tree.groups = usable
    return Library(
        name=tree.arguments[0] if tree.arguments else "",
        text=text,
        outlines=tree.written(),
        gates=gates_text,
        cells=cells,
        wire_load=wire_loads.get(tree.attributes.get("default_wire_load", "")),
        wire_areas=wire_areas,
    )


_known: dict[tuple[str, tuple[str, ...]], Library] = {}


def read_library(*paths: str | os.PathLike[str], dont_use: Sequence[str] = ()) -> Library:
    """A library from its Liberty files, each gzipped or not; ``dont_use``: see ``load_library``.

    The files are parsed once: the cache keeps their text without power, by their content. Raises
    ValueError that names the file.
    """
    files = tuple(map(Path, paths))
    contents = [liberty_content(path) for path in files]
    digest = sha256(b"".join(sha256(content).digest() for content in contents)).hexdigest()

    def stripped() -> str:
        trees = [_tree(*each) for each in zip(files, contents, strict=True)]
        for tree in trees:
            without_power(tree)
        with naming(files):
            return merged(trees).written()

    key = digest, tuple(sorted(dont_use))
    if key not in _known:
        text = cached(("liberty", "1", digest), stripped)
        with naming(files):
            _known[key] = load_library(text, dont_use)
    return replace(_known[key], files=files)


def liberty_content(path: Path) -> bytes:
    """The content of a Liberty file, gzipped or not. Raises ValueError that names the file."""
    try:
        content = read_bytes(path)
    except OSError as error:
        reason = error.strerror or str(error)
        raise ValueError(f"liberty file {path} cannot be read: {reason}") from None
    try:
        return gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"liberty file {path} cannot be read: {error}") from None


def _tree(path: Path, content: bytes) -> Group:
    with naming([path]):
        tree = parse_liberty(content.decode("utf-8").replace("\r\n", "\n"))
        if not any(tree.named("cell")):
            raise ValueError("it has no cells")
    return tree


@contextmanager
def naming(files: Sequence[Path]) -> Iterator[None]:
    """Names the files in errors of what they contain."""
    try:
        yield
    except (ValueError, KeyError, IndexError) as error:
        names = ",".join(map(str, files))
        raise ValueError(f"liberty file {names} is not a usable library: {error}") from None
