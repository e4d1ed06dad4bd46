"""Tensors for the loader: their content in memory, and the entries that each row must receive."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from itertools import product

from tilewright.hw.spec.tensaurus import TensaurusConfig
from tilewright.hw.tensaurus.layouts import SlotKind

Slot = tuple[SlotKind, int, tuple[int, ...]]
"""Kind, value, indices; of a header the slice, of an end nothing."""

END: Slot = (SlotKind.END, 0, ())


@dataclass
class SparseTile:
    """A stream: slices dealt out to rows as CISS demands, each where fewest slots are.

    Parameters
    ----------
    shape: slices, then the sizes of the other modes
    share: of the slices that are not empty
    longest: values of a slice at most

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
    entries: list[list[int]] = field(default_factory=list)
    rows: list[list[Slot]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.layout = layout = self.config.layout(len(self.shape))
        slots: list[list[int]] = [[] for _ in range(self.config.rows)]
        self.rows = [[] for _ in slots]
        for slice_ in range(self.shape[0]):
            if self.rng.random() >= self.share:
                continue
            row = min(range(len(slots)), key=lambda n: (len(slots[n]), n))
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
