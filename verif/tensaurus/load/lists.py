"""Lists of tiles that hold, some of them barely."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from math import prod
from typing import Any

from amaranth.hdl import Value
from tilewright.hw.spec.jobs.tensaurus_operations import TILE_BYTES, tile_words
from tilewright.hw.spec.tensaurus import KERNELS, TensaurusConfig
from tilewright.hw.tensaurus.layouts import SlotKind, job_layout, tile_layout
from tilewright.hw.tensaurus.load.matrix_loader import MatrixLoader
from tilewright.hw.tensaurus.load.tensor_loader import TensorLoader
from tilewright.hw.tensaurus.load.tile_fetcher import TileFetcher
from tilewright.verif.channels.striped.memory_bench import (
    MANNERS,
    ChannelMemory,
    Image,
    high_base,
)
from tilewright.verif.native.parts import NativeParts
from tilewright.verif.stream.agents import simulate

Slot = tuple[SlotKind, int, tuple[int, ...]]
"""Kind, value, indices; of a header the slice, of an end nothing."""

END: Slot = (SlotKind.END, 0, ())


@dataclass
class SparseTile:
    """A stream: slices dealt out to rows as CISS demands, each where fewest slots are.

    Parameters
    ----------
    shape: slices, then the sizes of the other modes; of more than 1000 slices up to 20 are drawn
    share: of the slices that are not empty
    longest: values of a slice at most
    first_row: rows before it have no slice

    Members
    -------
    entries: slots of each entry, as bits
    rows: what each row must get
    """

    config: TensaurusConfig
    shape: tuple[int, ...]
    rng: random.Random
    share: float = 0.8
    longest: int = 12
    first_row: int = 0
    entries: list[list[int]] = field(default_factory=list)
    rows: list[list[Slot]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.layout = layout = self.config.layout(len(self.shape))
        slots: list[list[int]] = [[] for _ in range(self.config.rows)]
        self.rows = [[] for _ in slots]
        for slice_ in self._numbers():
            if self.rng.random() >= self.share:
                continue
            row = min(range(self.first_row, len(slots)), key=lambda n: (len(slots[n]), n))
            slots[row].append(layout.header(slice_))
            self.rows[row].append((SlotKind.HEADER, 0, (slice_,)))
            for _ in range(self.rng.randint(1, self.longest)):
                index = tuple(self.rng.choice([0, n - 1, self.rng.randrange(n)])
                              for n in self.shape[1:])  # fmt: skip
                value = self._value()
                slots[row].append(self.pack(value, index))
                self.rows[row].append((SlotKind.VALUE, value, index))
        entries = max(map(len, slots)) + 1
        for row, got in enumerate(slots):
            got += [layout.no_op] * (entries - len(got))
            self.rows[row].append(END)
        self.entries = [list(entry) for entry in zip(*slots, strict=True)]

    def _numbers(self) -> Sequence[int]:
        most = self.shape[0] - 1
        if most < 1000:
            return range(most + 1)
        bits = most.bit_length()
        drawn = [self.rng.getrandbits(self.rng.randint(1, bits)) for _ in range(20)]
        return sorted({most, *(number for number in drawn if number < most)})

    def _value(self) -> int:
        bits = self.config.format.bits
        smallest = 1 if self.layout.marker == "zero" else 0
        return self.rng.choice([smallest, (1 << bits) - 1, self.rng.randrange(1, 1 << bits)])

    def pack(self, value: int, index: tuple[int, ...]) -> int:
        """A slot."""
        config = self.config
        places = [config.format.bits + n * config.index_bits for n in range(len(index))]
        return value | sum(i << at for i, at in zip(index, places, strict=True))

    @property
    def bytes(self) -> bytes:
        bits, size = self.layout.slot_bits, self.layout.entry_bytes
        return b"".join(
            sum(slot << row * bits for row, slot in enumerate(entry)).to_bytes(size, "little")
            for entry in self.entries
        )

    def before(self, entry: int) -> list[int]:
        """Returns the number of slots that each row receives from the entries before this one."""
        return [
            min(entry, len(slots)) for slots in self.rows
        ]  # A row has a slot in every entry until it ends.


@dataclass
class DenseTile:
    """A dense tensor by rows: slices a pitch apart."""

    config: TensaurusConfig
    shape: tuple[int, ...]
    rng: random.Random
    rows: list[list[Slot]] = field(default_factory=list)

    def __post_init__(self) -> None:
        config, rng = self.config, self.rng
        width = config.format.bits // 8
        size = 1
        for n in self.shape[1:]:
            size *= n
        lines = -(-size * width // config.line_bytes) + rng.choice([0, 0, 1])
        self.pitch = lines * config.line_bytes
        self.rows = [[] for _ in range(config.rows)]
        content = []
        for slice_ in range(self.shape[0]):
            row = self.rows[slice_ % config.rows]
            row.append((SlotKind.HEADER, 0, (slice_,)))
            data = bytearray()
            for index in product(*map(range, self.shape[1:])):
                value = rng.choice([0, rng.randrange(1 << 8 * width)])
                data += value.to_bytes(width, "little")
                row.append((SlotKind.VALUE, value, index))
            content.append(bytes(data) + rng.randbytes(self.pitch - len(data)))
        for row in self.rows:
            row.append(END)
        self.bytes = b"".join(content)


def _config(rows: int, cols: int, vlen: int, **others: Any) -> TensaurusConfig:
    sizes = {"spm_bytes": 1024, "out_bytes": 2048, "banks": 2, "addr_bits": 32}
    return TensaurusConfig(rows=rows, cols=cols, vlen=vlen, **{**sizes, **others})


CONFIGS = {
    "small": _config(2, 2, 2, channels=1, data_bits=64, outstanding=4, row_queue=2),
    "four": _config(3, 1, 4, channels=4, data_bits=128, outstanding=8, order=4, marker="bit",
                    index_bits=16, value="fp16"),
    "odd": _config(5, 2, 3, channels=3, data_bits=512, outstanding=2, order=4, value="fp64"),
    "one": _config(1, 3, 1, channels=2, data_bits=64, interleave=128, outstanding=4, order=2,
                   marker="bit", semiring="minplus", value="int32", index_bits=16),
    "bytes": _config(4, 2, 2, channels=2, data_bits=256, outstanding=4, value="int8",
                     index_bits=16),
    "default": TensaurusConfig(addr_bits=32),
}  # fmt: skip


NATIVE = NativeParts(
    "tensaurus_loaders",
    {
        kind.__name__: partial(kind, CONFIGS["small"])
        for kind in (MatrixLoader, TensorLoader, TileFetcher)
    },
)


def under_test(kind: Any, config: TensaurusConfig) -> tuple[Any, Any]:
    """Returns a loader and what runs a bench on it: the Verilog in the small configuration, else
    Amaranth's simulator."""
    if config == CONFIGS["small"]:
        return NATIVE[kind.__name__], partial(NATIVE.simulate, kind.__name__)
    part = kind(config)
    return part, partial(simulate, part)


def job_bits(config: TensaurusConfig, **fields: int) -> int:
    """A job; what is not named is 1, but for the regions and the list, 0."""
    ones = dict.fromkeys(("order", "vectors", "scalars_1", "scalars_2", "tiles"), 1)
    return int(job_layout(config).const({**ones, **fields}).as_bits())


def tile_bits(config: TensaurusConfig, **fields: int) -> int:
    """A tile that was checked."""
    return int(tile_layout(config).const(fields).as_bits())


@dataclass
class List:
    """A job and its tiles, drawn so that they hold, some of them barely. The job has ``further``
    tiles, which are not here; with ``direct`` the output is in memory."""

    name: str
    seed: int
    tiles: int = 12
    kernel: str = ""
    dense: int | None = None
    further: int = 0
    direct: bool = False
    fields: list[dict[str, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.config = config = CONFIGS[self.name]
        self.random = rng = random.Random(f"{self.name} {self.seed} {self.kernel}")
        kinds = KERNELS if config.order > 2 else ("mm", "mv")
        self.kernel = self.kernel or rng.choice(kinds)
        self.order = 2 if self.kernel in ("mm", "mv") else rng.randint(3, config.order)
        self.dense = rng.randrange(2) if self.dense is None else self.dense
        most = min(config.tlen, config.olen)
        self.vectors = 1 if self.kernel == "mv" else rng.randint(1, most)
        self.scalars = {1: 1, 2: 1, 3: 1}
        if self.kernel == "ttmc":
            for mode in range(1, self.order - 1):
                used = self.vectors * prod(self.scalars.values())
                self.scalars[mode] = rng.randint(1, most // used)
        self._loaded = dict.fromkeys(range(1, self.order), 0)
        self.regions = {mode: self._region(mode) for mode in (1, 2, 3)}
        for number in range(self.tiles):
            self.fields.append(self._tile(final=number == self.tiles - 1))

    def is_scalar(self, mode: int) -> bool:
        return self.kernel == "mv" or (self.kernel == "ttmc" and mode < self.order - 1)

    def _region(self, mode: int) -> int:
        config = self.config
        if self.is_scalar(mode):
            return self.random.randrange(config.spm_units - 4) * config.vlen
        return self.random.randrange(config.spm_units - config.tlen - 4)

    def room(self, mode: int) -> int:
        """Rows that the operand may have."""
        config, region = self.config, self.regions[mode]
        if self.is_scalar(mode):
            return (config.spm_scalars - region) // self.scalars[mode]
        return (config.spm_units - region) // self.vectors

    @property
    def slices(self) -> int:
        """Slices that fit into the output."""
        config = self.config
        if self.direct:
            return config.memory_slices
        if self.kernel == "mv":
            return config.out_units * config.unit_values
        return config.out_units // (self.vectors * prod(self.scalars.values()))

    def _tile(self, *, final: bool) -> dict[str, int]:
        rng, config = self.random, self.config
        line = config.line_bytes

        def address() -> int:
            return rng.randrange(1 << config.addr_bits) // line * line

        found = {
            "load": rng.getrandbits(32),
            "last": int(final) | rng.getrandbits(31) << 1 | rng.randrange(2),
            "slices": rng.choice([1, self.slices, rng.randint(1, self.slices)]),
            "entries": rng.choice([1, rng.getrandbits(32) | 1]),
            "tensor": address(),
            "output": address(),
            "pitch": rng.getrandbits(32) // line * line,
        }
        if self.dense:
            found["entries"] *= rng.randrange(2)
        else:
            found["pitch"] += rng.randrange(2)
        for mode in (1, 2, 3):
            if mode < self.order:
                # An operand that is not loaded must be present.
                found["load"] |= int(not self._loaded[mode]) << mode - 1
                loads = found["load"] >> mode - 1 & 1
                room = self.room(mode) if loads else self._loaded[mode]
                size = rng.choice([1, room, rng.randint(1, room)])
                found[f"size_{mode}"] = size
                if loads:
                    self._loaded[mode] = size
            else:
                found[f"size_{mode}"] = rng.getrandbits(32)
            used = mode < self.order and found["load"] >> mode - 1 & 1
            found[f"operand_{mode}"] = address() if used else rng.getrandbits(64)
        return found

    def job(self, base: int) -> int:
        return job_bits(
            self.config,
            kernel=KERNELS.index(self.kernel),
            order=self.order,
            dense=int(bool(self.dense)),
            direct=int(self.direct),
            vectors=self.vectors,
            scalars_1=self.scalars[1],
            scalars_2=self.scalars[2],
            **{f"region_{mode}": region for mode, region in self.regions.items()},
            tiles=self.tiles + self.further,
            list=base,
        )


def fetched(lists: Sequence[List]) -> list[tuple[int, int | None]]:
    """Returns the number of tiles that all users get of each list from a fetcher of the small
    configuration, and the number of the wrong one. Of a job with further tiles behind its list it
    takes those of the list, and stops."""
    part, simulate = under_test(TileFetcher, CONFIGS["small"])
    found: list[tuple[int, int | None]] = []

    async def bench(sim: Any) -> None:
        for seed, tiles in enumerate(lists):
            config = tiles.config
            image = Image(config, seed, high_base(config, config.addr_bits, seed))
            behind = bytes(16 * TILE_BYTES if tiles.further else 0)
            base = image.place(b"".join(map(tile_words, tiles.fields)) + behind)
            memory = ChannelMemory(
                part.ar[0], part.r[0], config.geometry, 0, image.bytes, MANNERS["even"],
                seed=seed, base=image.base,
            )  # fmt: skip
            sim.set(Value.cast(part.job), tiles.job(base))
            for out in part.tiles:
                sim.set(out.ready, 1)
            counts = [0] * len(part.tiles)
            quiet = wrong = 0
            assert sim.get(part.idle)
            for cycle in range(3000):
                sim.set(part.start, int(cycle == 0))
                memory.drive(sim, cycle)
                memory.observe(sim, cycle)
                valid = [sim.get(out.valid) for out in part.tiles]
                for user, out in enumerate(part.tiles):
                    if valid[user]:
                        final = counts[user] == tiles.tiles - 1 and not tiles.further
                        assert sim.get(out.payload).final == final
                counts = [count + one for count, one in zip(counts, valid, strict=True)]
                await sim.tick()
                if tiles.further and counts[0] == tiles.tiles:
                    break
                wrong, idle = sim.get(part.wrong), sim.get(part.idle)
                quiet = quiet + 1 if memory.quiet and not any(valid) else 0
                if (wrong and quiet > 12) or (idle and cycle > 1):
                    break
            else:
                raise AssertionError("the tiles neither end nor are wrong")
            assert len(set(counts)) == 1, "not all users got the tiles"
            found.append((counts[0], sim.get(part.number) if wrong else None))
            sim.set(part.stop, 1)
            for later in range(cycle + 1, cycle + 40):
                memory.drive(sim, later)
                memory.observe(sim, later)
                await sim.tick()
            assert memory.quiet
            sim.set(part.stop, 0)

    simulate(bench)
    return found
