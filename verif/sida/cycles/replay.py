"""Drives a part's inputs and records its outputs cycle by cycle, at native speed.

A model runs first, with whoever gives to it and takes from it at random, and writes down what it
saw; the hardware gets the same inputs in the same cycles, whatever it does. As long as it does what
the model did these are what a well-behaved neighbour would have given.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from amaranth.hdl import Cat, Module, Mux, Value, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from tilewright.hw.emit.unit import emit_component
from tilewright.hw.spec.jobs.sida import BASES, VECTOR_BASES
from tilewright.hw.spec.sida import SidaConfig
from tilewright.sim.rtl.streams import NativeSimulation, pack, unpack
from tilewright.sim.timing.compiled import inlined
from tilewright.sim.timing.parts import fields

Ints = npt.NDArray[np.int64]

_SET = np.dtype(fields("base", "columns", "final", "begin", "end"))


class Sets(NamedTuple):
    """``sets`` [set]: records; ``rows``, ``offsets`` [set, leaf]."""

    sets: Any
    rows: Any
    offsets: Any


def any_sets(config: SidaConfig, rng: np.random.Generator, count: int) -> Sets:
    """Sets of any rows, many of them again and again, of columns that do not descend."""
    pes, size = config.pes, config.vector_words
    found = Sets(
        np.zeros(count, _SET),
        rng.integers(0, size, (count, pes)),
        np.sort(rng.integers(0, pes, (count, pes)), axis=1),
    )
    hubs = rng.integers(0, size, 3)
    which = rng.random((count, pes)) < rng.random()
    found.rows[which] = rng.choice(hubs, int(which.sum()))
    found.sets["base"] = np.sort(rng.integers(0, size, count))
    found.sets["columns"] = rng.integers(0, pes + 1, count)
    ends = np.sort(rng.integers(0, pes + 1, (count, 2)), axis=1)
    ends[rng.random(count) < 0.7] = [0, pes]
    found.sets["begin"], found.sets["end"] = ends.T
    return found


def set_inputs(config: SidaConfig, given: Sets, shown: Ints) -> dict[str, npt.NDArray[Any]]:
    """Inputs of a part's stream of sets: by cycle the set that is there, -1: none."""
    leaves = np.arange(config.pes)
    sets = given.sets[shown]
    there = shown >= 0
    inside = (sets["begin"][:, None] <= leaves) & (leaves < sets["end"][:, None])
    # The fields of an absent leaf may have any value.
    return {
        "i_valid": there,
        **{f"i_{name}": sets[name] for name in ("base", "columns", "final")},
        "i_leaves_valid": inside,
        "i_leaves_row": given.rows[shown],
        "i_leaves_offset": given.offsets[shown],
    }


@inlined
def show_set(m: Any, given: Sets, number: int) -> None:
    """A set at ``m.set``."""
    record, one = m.set, given.sets[number]
    record.base = one.base
    record.columns = one.columns
    record.final = one.final
    record.begin = one.begin
    record.end = one.end
    for leaf in range(m.pes):
        record.present[leaf] = one.begin <= leaf < one.end
        record.row[leaf] = given.rows[number, leaf]
        record.offset[leaf] = given.offsets[number, leaf]


def job_registers(**given: int) -> dict[str, int]:
    """Zero but for those that are given."""
    numbers = ("ROWS", "PASSES", "SECOND_PRODUCT", "TRANSPOSED", "WORDS", "ENTRY")
    bases = (name.upper() for name in (*BASES, *VECTOR_BASES))
    return dict.fromkeys((*numbers, *bases), 0) | given


_Ports = dict[str, list[Any]]
"""Bits of each port's field, by name; of an array, those of all its elements."""


def _fields(name: str, value: Any) -> Iterator[tuple[str, list[Any]]]:
    """The fields that a port's value has, each with its values; one of no array has one."""
    if isinstance(value, data.View) and isinstance(value.shape(), data.ArrayLayout):
        found: _Ports = {}
        for element in value:
            for field, bits in _fields(name, element):
                found.setdefault(field, []).extend(bits)
        yield from found.items()
    elif isinstance(value, data.View):
        for field, _ in value.shape():
            yield from _fields(f"{name}_{field}", value[field])
    else:
        yield name, [Value.cast(value)]


def _ports(part: wiring.Component) -> tuple[_Ports, _Ports]:
    """Inputs and outputs; a stream's payload goes by the stream's name."""
    inputs: _Ports = {}
    outputs: _Ports = {}
    for path, member, value in part.signature.flatten(part):
        name = "_".join(str(step) for step in path if step != "payload")
        side = outputs if member.flow is Out else inputs
        for field, bits in _fields(name, value):
            assert field not in inputs
            assert field not in outputs
            side[field] = bits
    return inputs, outputs


def _layout(ports: _Ports) -> data.StructLayout:
    def shape(values: list[Any]) -> Any:
        bits = unsigned(len(values[0]))
        return bits if len(values) == 1 else data.ArrayLayout(bits, len(values))

    return data.StructLayout({name: shape(values) for name, values in ports.items()})


class Replay(wiring.Component):
    """A part between two streams: each transfer at ``i`` has all its inputs in a cycle, that at
    ``o`` all its outputs in it."""

    def __init__(self, part: wiring.Component) -> None:
        self._part = part
        self._inputs, self._outputs = _ports(part)
        super().__init__(
            {
                "i": In(stream.Signature(_layout(self._inputs))),
                "o": Out(stream.Signature(_layout(self._outputs))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.part = self._part
        given = self.i.payload
        m.d.comb += [self.i.ready.eq(1), self.o.valid.eq(self.i.valid)]
        for name, values in self._inputs.items():
            # Nothing comes before the first cycle.
            bits = Mux(self.i.valid, Value.cast(given[name]), 0)
            m.d.comb += Cat(values).eq(bits)
        for name, values in self._outputs.items():
            m.d.comb += Value.cast(self.o.payload[name]).eq(Cat(values))
        return m


class Replayed:
    """A part in the native simulation.

    Parameters
    ----------
    part: as it was made
    """

    def __init__(self, part: wiring.Component) -> None:
        self._unit = NativeSimulation(emit_component(Replay(part), name="replay"))

    def run(self, inputs: Mapping[str, npt.NDArray[Any]], cycles: int) -> dict[str, Any]:
        """Returns the outputs of ``cycles`` cycles after the reset, by name.

        ``inputs``: by name (cycles,) or (cycles, elements) patterns; 0 where none are given. Names
        are those of the ports and of their fields with "_" between, without ``payload``.
        """
        entry = self._unit.stream("i")
        given: dict[str, Any] = {}
        for field in entry["fields"]:
            shape = (cycles, *field.get("shape", ()))
            values = inputs.get(field["name"], np.zeros(shape, np.uint64))
            given[field["name"]] = np.asarray(values).astype(np.uint64)
        unknown = set(inputs) - set(given)
        assert not unknown, sorted(unknown)
        self._unit.reset()
        words, _ = self._unit.run_streams({"i": pack(given, entry)}, {"o": cycles})
        return unpack(words["o"], self._unit.stream("o"))
