"""Runs jobs on the array: random operands and slices, and what leaves held against the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache

import numpy as np
import numpy.typing as npt
from tilewright.hw.emit.unit import emit_component
from tilewright.hw.spec.formats import FloatFormat
from tilewright.hw.spec.tensaurus import KERNELS, TensaurusConfig
from tilewright.hw.tensaurus.layouts import SlotKind
from tilewright.sim.rtl.streams import NativeSimulation, Pauses, pack, unpack

from .array_unit import ArrayUnit, Entry, Operands, Patterns, Slice, slice_sum

JOBS = {
    **{f"mm {v}": ("mm", 2, v, (1, 1)) for v in (1, 2, 3, 4)},
    "mv": ("mv", 2, 1, (1, 1)),
    **{f"mttkrp 3, {v}": ("mttkrp", 3, v, (1, 1)) for v in (1, 2, 3, 4)},
    **{
        f"ttmc 3, {v} {f}": ("ttmc", 3, v, (f, 1))
        for v, f in ((1, 1), (1, 3), (1, 4), (2, 2), (3, 1), (4, 1))
    },
    **{f"mttkrp 4, {v}": ("mttkrp", 4, v, (1, 1)) for v in (1, 3, 4)},
    **{
        f"ttmc 4, {v} {f1} {f2}": ("ttmc", 4, v, (f1, f2))
        for v, f1, f2 in ((1, 1, 1), (1, 2, 2), (2, 1, 2), (2, 2, 1), (1, 1, 3), (1, 4, 1))
    },
}
"""Kernel, order, vectors, scalars."""

_PLAIN = Pauses()

_LATEST = 50
"""Number of polls, at the end, for whether all has left the array."""


def small(**parameters: object) -> TensaurusConfig:
    """A small configuration of the array."""
    defaults: dict[str, object] = {
        "rows": 2,
        "cols": 2,
        "vlen": 2,
        "order": 4,
        "spm_bytes": 1024,
        "banks": 4,
        "out_bytes": 4096,
        "channels": 1,
        "data_bits": 64,
    }
    return TensaurusConfig(**{**defaults, **parameters})  # type: ignore[arg-type]


def values_of(
    config: TensaurusConfig, rng: np.random.Generator, shape: Sequence[int], special: float = 0.0
) -> Patterns:
    """Operands: small numbers whose sums are rounded; a share of them any pattern."""
    bits, fmt = config.format.bits, config.format
    anything = rng.integers(0, 1 << 63, shape, dtype=np.uint64) >> np.uint64(1)
    anything = (anything ^ (anything << np.uint64(13))) & np.uint64((1 << bits) - 1)
    if not isinstance(fmt, FloatFormat):
        return anything
    low = anything & np.uint64((1 << fmt.fraction_bits) - 1)
    bias = (1 << (fmt.exponent_bits - 1)) - 1
    exponent = rng.integers(bias - 3, bias + 4, shape).astype(np.uint64)
    sign = rng.integers(0, 2, shape).astype(np.uint64)
    plain = low | exponent << np.uint64(fmt.fraction_bits) | sign << np.uint64(bits - 1)
    return np.where(rng.random(shape) < special, anything, plain)


@dataclass(frozen=True)
class Tile:
    """Operands and, by row, slices."""

    job: Operands
    slices: list[list[Slice]]
    sides: int = 0


@dataclass
class ArrayBench:
    """One array, and jobs for it.

    Parameters
    ----------
    config: of the accelerator
    """

    config: TensaurusConfig
    unit: NativeSimulation = field(init=False)

    def __post_init__(self) -> None:
        self.unit = _unit(self.config)
        self.unit.reset()

    def counts(self) -> dict[str, int]:
        """Counts since the job came."""
        taken, _ = self.unit.run_streams({"query": self._packed("query", [{"": 0}])}, {"counts": 1})
        found = unpack(taken["counts"], self.unit.stream("counts"))
        return {name: int(values[0]) for name, values in found.items()}

    def begin(self, job: Operands, *, mute: bool = False, clear: bool = False) -> None:
        """The job's registers."""
        fields: dict[str, object] = {
            "kernel": KERNELS.index(job.kernel),
            "order": job.order,
            "vectors": job.vectors,
            "scalars_1": job.scalars[0],
            "scalars_2": job.scalars[1],
            "mute": int(mute),
            "clear": int(clear),
            **{f"region_{mode}": base for mode, base in self.regions(job).items()},
        }
        self.unit.run_streams({"job": self._packed("job", [fields])}, {})

    def regions(self, job: Operands) -> dict[int, int]:
        """Returns the first place of each mode's operand; operands follow one another, and scalars
        follow a vector."""
        units, scalars, found = 1, self.config.vlen, {}
        for mode, dense in enumerate(job.dense, 1):
            if self._by_units(job, mode):
                found[mode] = units
                units += len(dense) * job.vectors
            else:
                found[mode] = scalars
                scalars += -(-dense.size // self.config.vlen) * self.config.vlen
        assert units <= self.config.spm_units
        assert scalars <= self.config.spm_scalars
        return found

    def load(self, tile: Tile) -> None:
        """The operands, in their sides."""
        job, config = tile.job, self.config
        writes: list[dict[str, object]] = []
        scalars = {side: np.zeros(config.spm_scalars, np.uint64) for side in (0, 1)}
        used: set[tuple[int, int]] = set()
        for mode, base in self.regions(job).items():
            side, values = tile.sides >> (mode - 1) & 1, job.dense[mode - 1]
            if self._by_units(job, mode):
                units = values.reshape(-1, config.unit_values)
                for n, unit in enumerate(units):
                    writes.append({"side": side, "address": base + n, "data": unit})
            else:
                scalars[side][base : base + values.size] = values.ravel()
                vectors = range(base // config.vlen, -(-(base + values.size) // config.vlen))
                used |= {(side, n) for n in vectors}
        for side, n in sorted(used):
            data = np.zeros(config.unit_values, np.uint64)
            data[: config.vlen] = scalars[side][n * config.vlen : (n + 1) * config.vlen]
            writes.append({"scalar": 1, "side": side, "address": n, "data": data})
        self.unit.run_streams({"write": self._packed("write", writes)}, {})

    def run(self, tiles: Sequence[Tile], pauses: Pauses = _PLAIN) -> int:
        """The tiles of a job one after the other, checked; the cycles."""
        rows = range(self.config.rows)
        given: dict[str, list[dict[str, object]]] = {f"slots__{r}": [] for r in rows}
        for tile in tiles:
            for r, slices in enumerate(tile.slices):
                given[f"slots__{r}"] += self.slots(slices)
        given["tiles"] = [{"sides": tile.sides} for tile in tiles]
        given["open"] = [{"": 1} for _ in tiles]
        job = tiles[0].job
        vectors = job.scalars[0] * job.scalars[1] * job.vectors
        touched = sum(bool(s.entries) for tile in tiles for row in tile.slices for s in row)
        taken, cycles = self.unit.run_streams(
            {name: self._packed(name, lines) for name, lines in given.items() if lines},
            {"o": touched * vectors},
            pauses=pauses,
        )
        found = unpack(taken["o"], self.unit.stream("o"))
        self._check(tiles, found, vectors)
        pulses = len(tiles) * self.config.rows
        for _ in range(_LATEST):
            counts = self.counts()
            if counts["quiet"]:
                break
        assert (counts["row_done"], counts["drained"], counts["quiet"]) == (pulses, pulses, 1)
        return cycles

    def run_in_part(self, tile: Tile, slots: int, pauses: Pauses) -> None:
        """Runs up to ``slots`` slots of each row of a tile, without the last one, and checks
        nothing."""
        given: dict[str, list[dict[str, object]]] = {
            f"slots__{r}": self.slots(slices)[:-1][:slots] for r, slices in enumerate(tile.slices)
        }
        given["tiles"] = [{"sides": tile.sides}]
        given["open"] = [{"": 1}]
        self.unit.run_streams(
            {name: self._packed(name, lines) for name, lines in given.items() if lines},
            {},
            pauses=pauses,
        )

    def slots(self, slices: Sequence[Slice]) -> list[dict[str, object]]:
        """A row's slots of a tile."""
        modes = self.config.order - 1
        filler = (1 << min(20, self.config.index_bits)) - 1
        lines: list[dict[str, object]] = []
        for one in slices:
            first = [one.number] + [filler] * (modes - 1)
            lines.append({"kind": SlotKind.HEADER.value, "value": 0, "index": first})
            for index, value in one.entries:
                padded = [*index, *[filler] * (modes - len(index))]
                lines.append({"kind": SlotKind.VALUE.value, "value": value, "index": padded})
        lines.append({"kind": SlotKind.END.value, "value": 0, "index": [filler] * modes})
        return lines

    def _check(
        self, tiles: Sequence[Tile], found: dict[str, npt.NDArray[np.generic]], vectors: int
    ) -> None:
        """Slices leave by row in their order, each vector after vector."""
        width = self.config.unit_values
        row_of: dict[int, int] = {}
        queues: list[list[tuple[int, int, Patterns]]] = [[] for _ in range(self.config.rows)]
        for tile in tiles:
            for r, slices in enumerate(tile.slices):
                for one in slices:
                    if not one.entries:
                        continue
                    assert row_of.setdefault(one.number, r) == r
                    total = slice_sum(self.config, tile.job, one)
                    for v in range(vectors):
                        queues[r].append((one.number, v, total[v]))
        for number, vector, values in zip(
            found["slice"].tolist(), found["vector"].tolist(), found["data"], strict=True
        ):
            expected = queues[row_of[number]].pop(0)
            assert (number, vector) == expected[:2]
            want = np.atleast_1d(expected[2])
            got = values.astype(np.uint64).reshape(width)[: len(want)]
            wrong = np.flatnonzero(got != want)
            assert not len(wrong), (
                f"value {wrong[0]} of vector {vector} of slice {number} is {got[wrong[0]]:#x}, "
                f"not {want[wrong[0]]:#x}"
            )

    def _by_units(self, job: Operands, mode: int) -> bool:
        return job.kernel in ("mttkrp", "mm") or (job.kernel == "ttmc" and mode == job.order - 1)

    def _packed(self, name: str, lines: Sequence[dict[str, object]]) -> npt.NDArray[np.uint32]:
        stream = self.unit.stream(name)
        if not stream["fields"]:
            return np.array([[next(iter(line.values()))] for line in lines], np.uint32)
        fields: dict[str, npt.NDArray[np.uint64]] = {}
        for entry in stream["fields"]:
            column = [line.get(entry["name"], 0) for line in lines]
            fields[entry["name"]] = np.array(column, np.uint64)
        return pack(fields, stream)


@cache
def _unit(config: TensaurusConfig) -> NativeSimulation:
    return NativeSimulation(emit_component(ArrayUnit(config), name="array_unit"))


def random_job(
    config: TensaurusConfig,
    rng: np.random.Generator,
    kernel: str,
    order: int,
    *,
    vectors: int = 1,
    scalars: tuple[int, int] = (1, 1),
    sizes: Sequence[int] = (5, 6, 7),
    special: float = 0.0,
) -> Operands:
    """Operands of so many rows."""
    dense = []
    for mode in range(1, order):
        by_units = kernel in ("mttkrp", "mm") or (kernel == "ttmc" and mode == order - 1)
        columns = [vectors, config.unit_values] if by_units else [scalars[mode - 1]]
        if kernel == "mv":
            columns = [1]
        dense.append(values_of(config, rng, [sizes[mode - 1], *columns], special))
    return Operands(kernel=kernel, order=order, vectors=vectors, scalars=scalars, dense=dense)


def random_tile(
    config: TensaurusConfig,
    rng: np.random.Generator,
    job: Operands,
    *,
    slices: int,
    lengths: Sequence[int],
    sides: int = 0,
    special: float = 0.0,
) -> Tile:
    """Slices with as many entries as drawn from ``lengths``, dealt out to the rows in turn."""
    sizes = [len(dense) for dense in job.dense]
    rows: list[list[Slice]] = [[] for _ in range(config.rows)]
    places = int(np.prod(sizes))
    for number in range(slices):
        count = min(places, int(rng.choice(lengths)))
        chosen = np.sort(rng.choice(places, count, replace=False))
        indices = np.stack(np.unravel_index(chosen, sizes), 1).tolist()
        values = values_of(config, rng, [count], special).tolist()
        entries: list[Entry] = [
            (tuple(index), value) for index, value in zip(indices, values, strict=True)
        ]
        rows[number % config.rows].append(Slice(number, entries))
    return Tile(job, rows, sides)
