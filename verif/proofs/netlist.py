"""Combinational paths of a design, bit by bit, through all its instances, from a yosys netlist."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tilewright.verif.kit.front_ends import run_yosys

_BITWISE = {"$not", "$pos", "$and", "$or", "$xor", "$xnor", "$bwmux", "$buf"}
"""Cells in which a bit of the output follows from the same bits of the inputs only."""

_MULTIPLEXERS = {"$mux", "$pmux"}
"""Cells in which it follows from the same bits of the data, and from every bit of the select."""

_NO_LOGIC = {"$scopeinfo", "$meminit", "$meminit_v2", "$memwr", "$memwr_v2", "$print", "$check"}
"""Cells without an output that anything reads in the same cycle."""

_READS = {"$memrd", "$memrd_v2"}
"""Read ports of memories."""

_NOT_OURS = {"$dlatch", "$sr", "$anyconst", "$anyseq", "$tribuf"}
"""Cells that no design of ours has."""

Node = tuple[tuple[str, ...], int]
"""A bit of a design: the names of the instances that it is in, and its number in the innermost."""


@dataclass(frozen=True)
class SignalPath:
    """A combinational path.

    Parameters
    ----------
    source, sink: ports of the design
    names: the named signals on the way, both ports included
    """

    source: str
    sink: str
    names: tuple[str, ...]

    def __str__(self) -> str:
        return " -> ".join(self.names)


class _Module:
    """A module: its ports, the names of its bits, and the cells that read them.

    Members
    -------
    inputs, outputs: the bits of each port, by name
    instances: the module of each instance, by name
    readers: of a bit, the bits that follow from it, and the ports of instances that it is at: the
        instance, its port, and the place in that
    drivers: of a port of an instance, the bits that it is at
    """

    def __init__(self, text: Mapping[str, Any], modules: Iterable[str]) -> None:
        self.inputs: dict[str, list[Any]] = {}
        self.outputs: dict[str, list[Any]] = {}
        self.names: dict[int, str] = {}
        self.instances: dict[str, str] = {}
        self.readers: dict[int, list[int | tuple[str, str, int]]] = defaultdict(list)
        self.drivers: dict[tuple[str, str], list[Any]] = {}
        for name, net in text["netnames"].items():
            for bit in () if net.get("hide_name") else net["bits"]:
                if isinstance(bit, int) and len(name) < len(self.names.get(bit, name + " ")):
                    self.names[bit] = name
        for name, port in text["ports"].items():
            ports = self.inputs if port["direction"] == "input" else self.outputs
            ports[name] = port["bits"]
        self.places = {
            bit: (name, place)
            for name, bits in self.outputs.items()
            for place, bit in enumerate(bits)
        }
        known = set(modules)
        for name, cell in text["cells"].items():
            if cell["type"] in known:
                self._instance(name, cell)
            else:
                for source, sink in _edges(cell):
                    self.readers[source].append(sink)

    def _instance(self, name: str, cell: Mapping[str, Any]) -> None:
        self.instances[name] = cell["type"]
        for port, bits in cell["connections"].items():
            if cell["port_directions"][port] == "output":
                self.drivers[name, port] = bits
                continue
            for place, bit in enumerate(bits):
                if isinstance(bit, int):
                    self.readers[bit].append((name, port, place))


class Netlist:
    """A design as a graph of the bits of all its instances.

    Parameters
    ----------
    modules: yosys' description of modules, as JSON
    top: the name of the design's

    Members
    -------
    inputs, outputs: the ports' names

    Raises ValueError for a cell of which it is not known whether it has a clock.
    """

    def __init__(self, modules: Mapping[str, Any], top: str) -> None:
        self._texts, self._top = modules, top
        self._read: dict[str, _Module] = {}
        self.inputs = tuple(self._module(top).inputs)
        self.outputs = tuple(self._module(top).outputs)

    def _module(self, name: str) -> _Module:
        if name not in self._read:
            self._read[name] = _Module(self._texts[name], self._texts)
        return self._read[name]

    def _within(self, instances: tuple[str, ...]) -> _Module:
        module = self._module(self._top)
        for name in instances:
            module = self._module(module.instances[name])
        return module

    def _following(self, node: Node) -> Iterator[Node]:
        """The bits that a cell, or the border of an instance, is all between."""
        instances, bit = node
        module = self._within(instances)
        for reader in module.readers.get(bit, ()):
            if isinstance(reader, int):
                yield instances, reader
                continue
            name, port, place = reader
            inner = self._module(module.instances[name]).inputs[port]
            yield (*instances, name), inner[place]
        if instances and bit in module.places:
            port, place = module.places[bit]
            outside = self._within(instances[:-1]).drivers.get((instances[-1], port), [])
            if place < len(outside) and isinstance(outside[place], int):
                yield instances[:-1], outside[place]

    def paths_from(self, source: str, sinks: Iterable[str]) -> Iterator[SignalPath]:
        """Yields the shortest combinational path from an input port to each output port that it
        reaches."""
        top = self._module(self._top)
        before = self._reached(((), bit) for bit in top.inputs[source])
        for sink in sinks:
            ends = (((), bit) for bit in top.outputs[sink])
            end = next((node for node in ends if node in before), None)
            if end is not None:
                yield SignalPath(source, sink, self._named(before, source, end, sink))

    def instances(self, kind: str) -> Iterator[tuple[str, ...]]:
        """Yields the paths of the instances whose module's name contains ``kind``."""
        waiting: list[tuple[str, ...]] = [()]
        while waiting:
            place = waiting.pop()
            for name, module in self._within(place).instances.items():
                waiting.append((*place, name))
                if kind in module:
                    yield (*place, name)

    def has_clock(self, instance: tuple[str, ...]) -> bool:
        return "clk" in self._within(instance).inputs

    def count(self, instance: tuple[str, ...], output: str) -> int:
        """Counts the outputs of an instance whose names differ in a number that starts at 0."""
        outputs, number = self._within(instance).outputs, 0
        while output.format(number) in outputs:
            number += 1
        return number

    def paths_back(self, instance: tuple[str, ...], output: str, port: str) -> list[str]:
        """Returns the combinational path, if one exists, from an output of an instance through its
        surroundings to an input of it."""
        module = self._within(instance)
        sources = [(instance, bit) for bit in module.outputs[output]]
        before = self._reached(sources)
        ends = [(instance, bit) for bit in module.inputs[port] if (instance, bit) in before]
        first, last = (".".join((*instance, name)) for name in (output, port))
        return [" -> ".join(self._named(before, first, end, last)) for end in ends[:1]]

    def _reached(self, nodes: Iterable[Node]) -> dict[Node, Node | None]:
        """The bits that follow from some, and for each the one before it."""
        before: dict[Node, Node | None] = dict.fromkeys(nodes)
        front = list(before)
        while front:
            reached = []
            for node in front:
                for following in self._following(node):
                    if following not in before:
                        before[following] = node
                        reached.append(following)
            front = reached
        return before

    def paths(
        self, sources: Iterable[str], sinks: Callable[[str], Iterable[str]]
    ) -> list[SignalPath]:
        """The paths from each of the sources to the sinks that go with it."""
        return [path for source in sources for path in self.paths_from(source, sinks(source))]

    def _named(
        self, before: Mapping[Node, Node | None], source: str, end: Node, sink: str
    ) -> tuple[str, ...]:
        names: list[str] = [sink]
        node = before[end]
        while node is not None:
            instances, bit = node
            name = self._within(instances).names.get(bit)
            if name is not None:
                full = ".".join((*instances, name))
                if full != names[-1]:
                    names.append(full)
            node = before[node]
        if names[-1] != source:
            names.append(source)
        return tuple(reversed(names))


def _flip_flop(kind: str) -> bool:
    return kind.endswith(("ff", "ffe", "ffce", "ffsr"))


def _edges(cell: Mapping[str, Any]) -> Iterator[tuple[int, int]]:
    """The pairs of an input's and an output's bit with a combinational path through a cell."""
    kind, bits, flow = cell["type"], cell["connections"], cell["port_directions"]
    if kind in _NO_LOGIC or _flip_flop(kind):
        return
    memory = kind.startswith("$mem") and kind not in _READS
    if not kind.startswith("$") or memory or kind in _NOT_OURS:
        raise ValueError(f"it is not known what `{kind}` does")
    if kind in _READS and int(cell["parameters"]["CLK_ENABLE"], 2):
        return
    for output in (name for name, way in flow.items() if way == "output"):
        targets = bits[output]
        for name, sources in bits.items():
            if flow[name] == "output":
                continue
            straight = kind in _BITWISE or (kind in _MULTIPLEXERS and name in ("A", "B"))
            if straight and len(sources) % len(targets) == 0:
                times = len(sources) // len(targets)
                pairs: Iterable[tuple[Any, Any]] = zip(sources, targets * times, strict=True)
            else:
                # A narrower operand may be extended, by its highest bit if it is signed.
                pairs = ((one, other) for one in sources for other in targets)
            for one, other in pairs:
                if isinstance(one, int) and isinstance(other, int):
                    yield one, other


def read_netlists(units: Mapping[str, str], directory: Path) -> dict[str, Netlist]:
    """The netlists of modules and all below them, made in a scratch directory.

    Parameters
    ----------
    units: Verilog by the name of its top module; no two of them have a module of one name
    """
    (directory / "netlist.v").write_text("\n".join(units.values()))
    run_yosys(
        "read_verilog -sv netlist.v; hierarchy -check; proc -norom; write_json netlist.json",
        directory,
    )
    modules = json.loads((directory / "netlist.json").read_text())["modules"]
    return {top: Netlist(modules, top) for top in units}
