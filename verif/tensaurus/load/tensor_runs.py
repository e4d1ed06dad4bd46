"""Tiles of tensors through the tensor loader, and what its rows get."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from tilewright.hw.spec.tensaurus import TensaurusConfig
from tilewright.hw.tensaurus.layouts import SlotKind, slot_layout
from tilewright.hw.tensaurus.load.tensor_loader import TensorLoader
from tilewright.verif.channels.striped.memories import Manner
from tilewright.verif.channels.striped.memory_bench import Image, MemoryBench
from tilewright.verif.stream.agents import Sink, Source
from tilewright.verif.tensaurus.load.configs import CONFIGS, job_bits, tile_bits
from tilewright.verif.tensaurus.load.streams import DenseTile, Slot, SparseTile

__all__ = ["Run", "dense_tiles", "sparse_tiles"]

_ERRORS = ("stream", "slice", "index")


class Run:
    """Tiles, and the slots that the rows get.

    Parameters
    ----------
    stall: share of the cycles in which a row takes nothing; the first row ``slow`` instead
    """

    def __init__(
        self,
        config: TensaurusConfig,
        tiles: Sequence[SparseTile | DenseTile],
        manner: Manner,
        *,
        stall: float = 0.0,
        slow: float | None = None,
        seed: Any = 0,
        stop_at: int | None = None,
        bad: tuple[int, int] | None = None,
        wrong: bool = False,
    ) -> None:
        self.config, self.tiles = config, tiles
        order = len(tiles[0].shape)
        dense = isinstance(tiles[0], DenseTile)
        image = Image(config, seed)
        self.bases = [image.place(tile.bytes) for tile in tiles]
        words = [self._tile(number, base) for number, base in enumerate(self.bases)]
        self.part = part = TensorLoader(config)
        source = Source(part.tiles, words, gap=stall / 2, seed=seed)
        self.sinks = [
            Sink(slots, stall=stall if row or slow is None else slow, seed=f"{seed} {row}")
            for row, slots in enumerate(part.slots)
        ]
        self.expected = [
            [slot for tile in tiles for slot in tile.rows[row]] for row in range(config.rows)
        ]

        def again() -> None:
            source.words += words
            for sink in self.sinks:
                sink.words.clear()

        self.bad = None if bad is None else self.bases[bad[0]] + bad[1]
        self.bench = MemoryBench(
            config, part, image.bytes, manner, [source, *self.sinks],
            wires=[(part.job, job_bits(config, order=order, dense=int(dense)))], seed=seed,
            stop_at=stop_at, again=again,
            bad=frozenset() if self.bad is None else frozenset([self.bad]),
        )  # fmt: skip
        self.errors: list[str] = []
        self.where: tuple[int, int] | None = None
        self._goes_wrong = wrong
        self.bench.run(self._done, settles=wrong or bad is not None)
        if not wrong and bad is None:
            self.check([len(slots) for slots in self.expected])

    def _tile(self, number: int, base: int) -> int:
        tile = self.tiles[number]
        sizes = {f"size_{mode}": size for mode, size in enumerate(tile.shape) if mode}
        fields: dict[str, int] = {"slices": tile.shape[0], "number": number, "tensor": base}
        if isinstance(tile, DenseTile):
            fields["pitch"] = tile.pitch
            fields["elements"] = len(tile.rows[0]) and self._elements(tile)
        else:
            fields["entries"] = len(tile.entries)
        return tile_bits(self.config, **fields, **sizes)

    @staticmethod
    def _elements(tile: DenseTile) -> int:
        found = 1
        for size in tile.shape[1:]:
            found *= size
        return found

    def _done(self, sim: Any) -> bool:
        part = self.part
        self.errors = [name for name in _ERRORS if sim.get(getattr(part, f"{name}_error"))]
        if self.errors:
            assert self._goes_wrong
            self.where = sim.get(part.error_tile), sim.get(part.error_entry)
        return all(
            len(sink.words) >= len(slots)
            for sink, slots in zip(self.sinks, self.expected, strict=True)
        )

    def check(self, counts: Sequence[int]) -> None:
        """Each row has so many of its slots, and no others."""
        for row, (sink, slots, count) in enumerate(
            zip(self.sinks, self.expected, counts, strict=True)
        ):
            got = [self._slot(word) for word in sink.words]
            assert got == slots[:count], row

    def _slot(self, word: int) -> Slot:
        """Of a word what counts."""
        slot = slot_layout(self.config).from_bits(word)
        kind = SlotKind(slot.kind)
        modes = {SlotKind.END: 0, SlotKind.HEADER: 1}.get(kind, len(self.tiles[0].shape) - 1)
        index = tuple(slot.index[n] for n in range(modes))
        return kind, slot.value if kind == SlotKind.VALUE else 0, index


def _shape(config: TensaurusConfig, rng: random.Random) -> tuple[int, ...]:
    order = rng.randint(2, config.order)
    widest = min(config.spm_scalars, 1 << config.index_bits - 1)
    slices = rng.choice([1, config.rows, 3 * config.rows + 1])
    return slices, *(rng.choice([1, 2, 7, widest]) for _ in range(order - 1))


def sparse_tiles(name: str, seed: int, count: int = 4) -> list[SparseTile]:
    """Random streams of as many modes each, for a configuration by its name."""
    config, rng = CONFIGS[name], random.Random(f"sparse {name} {seed}")
    order = len(_shape(config, rng))
    tiles: list[SparseTile] = []
    while len(tiles) < count:
        shape = _shape(config, rng)
        if len(shape) == order:
            share = rng.choice([0.0, 0.3, 1.0])
            tiles.append(SparseTile(config, shape, rng, share, rng.choice([1, 4, 20])))
    return tiles


def dense_tiles(name: str, seed: int, count: int = 3) -> list[DenseTile]:
    """The same of dense tensors."""
    config, rng = CONFIGS[name], random.Random(f"dense {name} {seed}")
    order = rng.randint(2, config.order)
    found = []
    for _ in range(count):
        slices = rng.choice([1, config.rows, 2 * config.rows + 1])
        sizes = [rng.choice([1, 2, 3, 5]) for _ in range(order - 1)]
        sizes[rng.randrange(order - 1)] *= rng.choice([1, 4, 8])
        found.append(DenseTile(config, (slices, *sizes), rng))
    return found
