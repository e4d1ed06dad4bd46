"""The vector loader: every row of every request, whatever the memory does."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest
from tilewright.hw.sida.elementwise.layouts import block_rows, request_layout, row_layout
from tilewright.hw.sida.vectors.vector_loader import VectorLoader, whole_layout
from tilewright.hw.sida.vectors.window_layouts import fetch_layout
from tilewright.hw.sida.vectors.window_loader import WindowLoader
from tilewright.hw.spec.elementwise.instructions import VECTORS
from tilewright.hw.spec.sida import SidaConfig
from tilewright.verif.channels.striped.memory_bench import (
    MANNERS,
    PERFECT,
    Image,
    Manner,
    MemoryBench,
)
from tilewright.verif.kit.sampling import by_size, slow_but
from tilewright.verif.sida.vectors.configs import CONFIGS, WINDOWED
from tilewright.verif.stream.agents import Sink, Source

pytestmark = pytest.mark.long

Request = tuple[int, int, int]
"""Vector, first row, rows."""


class Run:
    """Rows of vectors, or whole vectors of other sizes.

    Parameters
    ----------
    size: elements of the vectors
    requests: rows of them
    sizes: if not empty, vectors that are read in whole, one behind the other, instead
    bad: which line of the first vector has a bad beat
    """

    def __init__(
        self,
        config: SidaConfig,
        manner: Manner,
        size: int,
        *,
        requests: Sequence[Request] = (),
        sizes: Sequence[int] = (),
        gap: float = 0.0,
        stall: float = 0.0,
        seed: Any = 0,
        stop_at: int | None = None,
        bad: int | None = None,
    ) -> None:
        self.config, self._bytes = config, config.format.bits // 8
        rng = random.Random(f"vectors {seed}")
        image = Image(config, seed)
        lengths = sizes or [size] * VECTORS
        contents = [rng.randbytes(length * self._bytes) for length in lengths]
        bases = [image.place(content) for content in contents]
        self.part = part = VectorLoader(config)
        wires: list[tuple[Any, int]] = [(part.columns, size)]
        if sizes:
            layout, port, out = whole_layout(config), part.whole, part.rows
            pairs = zip(bases, sizes, strict=True)
            words = [layout.const({"address": a, "columns": n}).as_bits() for a, n in pairs]
            self.expected = [
                (base, part) for content in contents for base, part in self._rows(content)
            ]
        else:
            layout, port, out = request_layout(config), part.requests, part.loaded
            wires += [(part.bases[n], bases[n]) for n in range(VECTORS)]
            words = [
                layout.const({"vector": v, "base": first * config.pes, "rows": rows}).as_bits()
                for v, first, rows in requests
            ]
            by_vector = [self._rows(content) for content in contents]
            self.expected = [
                row for v, first, rows in requests for row in by_vector[v][first : first + rows]
            ]
        self.source = Source(port, words, gap=gap, seed=seed)
        self.sink = Sink(out, stall=stall, seed=seed)

        def again() -> None:
            self.sink.words.clear()
            self.sink.cycles.clear()
            self.source.words += words

        spoilt = frozenset() if bad is None else frozenset([bases[0] + bad * config.line_bytes])
        self.bench = MemoryBench(
            config, part, image.bytes, manner, [self.source, self.sink], wires=wires, seed=seed,
            stop_at=stop_at, again=again, bad=spoilt, patience=80,
        )  # fmt: skip
        self.bench.run(self._done, settles=bad is not None)
        self.found = [self._read(word, bool(sizes)) for word in self.sink.words]

    def _done(self, sim: Any) -> bool:
        return len(self.sink.words) >= len(self.expected)

    def _rows(self, content: bytes) -> list[tuple[int, bytes]]:
        """Returns the first element of each row, and the bytes of the row."""
        width = self.config.pes * self._bytes
        return [
            (at // self._bytes, content[at : at + width]) for at in range(0, len(content), width)
        ]

    def _read(self, word: int, whole: bool) -> tuple[int | None, int | None, bytes]:
        """A row: its base and its mask, if they are given, and all its bytes."""
        pes, bits = self.config.pes, self.config.format.bits
        if not whole:
            return None, None, word.to_bytes(pes * bits // 8, "little")
        row = row_layout(self.config).from_bits(word)
        values = row["values"].as_bits().to_bytes(pes * bits // 8, "little")
        return row.base, row.mask, values

    def check(self) -> None:
        """Checks that the rows found are the first ones expected."""
        assert len(self.found) <= len(self.expected)
        pairs = zip(self.found, self.expected, strict=False)
        for (found_base, mask, found), (base, wanted) in pairs:
            assert found[: len(wanted)] == wanted
            if mask is not None:
                assert (found_base, mask) == (base, (1 << len(wanted) // self._bytes) - 1)

    def complete(self) -> None:
        self.check()
        assert len(self.found) == len(self.expected)


def drawn(config: SidaConfig, seed: Any) -> dict[str, Any]:
    """Sizes, and requests as the element-wise core has them, or sizes of whole vectors."""
    rng = random.Random(f"drawn {seed}")
    size = rng.choice([1, config.pes, rng.randint(1, 40), rng.randint(1, config.vector_words)])
    if rng.random() < 0.3:
        return {"size": 1, "sizes": [size, 32, rng.randint(1, 100)]}
    rows = -(-size // config.pes)
    most = block_rows(config)
    vectors = rng.sample(range(VECTORS), 3)
    requests = [
        (vector, first, min(most, rows - first))
        for first in range(0, rows, most)
        for vector in vectors[: rng.randint(1, 3)]
    ]
    return {"size": size, "requests": requests[:30]}


QUICK = [name for name, config in CONFIGS.items() if config.outstanding >= 16]
"""Configurations with enough requests in flight for a memory's latency."""

every_config = pytest.mark.parametrize(
    "name",
    slow_but(
        ["four rows a line"], CONFIGS, ["16 rows a line", "two lines a row", "eight lines a row"]
    ),
)


@every_config
def test_every_row(name: str) -> None:
    for seed in range(by_size(2, 2, 30)):
        manner = MANNERS["rough" if seed % 2 else "even"]
        what = drawn(CONFIGS[name], f"{name} {seed}")
        share = 0.3 * (seed % 3)
        Run(CONFIGS[name], manner, gap=share, stall=share, seed=seed, **what).complete()


@every_config
def test_any_rows_of_any_vector(name: str) -> None:
    """Requests that no core has: in no order, beginning with any row."""
    config = CONFIGS[name]
    for seed in range(by_size(1, 1, 10)):
        rng = random.Random(f"any {name} {seed}")
        size = rng.randint(1, config.vector_words)
        rows = -(-size // config.pes)
        requests = []
        for _ in range(15):
            first = rng.randrange(rows)
            count = rng.randint(1, min(block_rows(config), rows - first))
            requests.append((rng.randrange(VECTORS), first, count))
        Run(config, MANNERS["rough"], size, requests=requests, stall=0.2, seed=seed).complete()


@pytest.mark.parametrize("name", slow_but(["four rows a line"], CONFIGS, ["two lines a row"]))
def test_stop_in_the_middle_of_anything(name: str) -> None:
    for seed in range(by_size(1, 3, 20)):
        what = drawn(CONFIGS[name], f"stop {name} {seed}")
        stop_at = random.Random(seed).randint(1, 120)
        run = Run(CONFIGS[name], MANNERS["rough"], gap=0.2, stall=0.2, seed=seed, stop_at=stop_at,
                  **what)  # fmt: skip
        run.complete()


@pytest.mark.parametrize("name", slow_but(["four rows a line"], CONFIGS, ["two lines a row"]))
def test_an_error_of_the_bus(name: str) -> None:
    """The loader sends only what it read before the error."""
    config = CONFIGS[name]
    row_bytes = config.pes * config.format.bits // 8
    for seed in range(by_size(1, 2, 10)):
        rows = min(40, config.vector_words // config.pes)
        bad = random.Random(seed).randrange(1, rows * row_bytes // config.line_bytes)
        run = Run(config, MANNERS["rough"], 1, sizes=[rows * config.pes], seed=seed, bad=bad)
        run.check()
        assert run.bench.error is not None
        assert len(run.found) <= bad * config.line_bytes // row_bytes


def rate(run: Run) -> float:
    """Rows a cycle, from the first one on."""
    cycles = run.sink.cycles
    return (len(cycles) - 1) / (cycles[-1] - cycles[0])


@pytest.mark.parametrize("name", slow_but([], QUICK, ["four rows a line", "default"]))
def test_a_row_a_cycle(name: str) -> None:
    """Or as many as the channels' ports deliver, if they are fewer: those of a line only, if it is
    read for several requests."""
    config = CONFIGS[name]
    rows = min(64, config.vector_words // config.pes)
    what: dict[str, Any] = {"sizes": [rows * config.pes] * 2}
    most = block_rows(config)
    requests = [(v, first, most) for first in range(0, rows, most) for v in (3, 9)]
    geometry = config.geometry
    row_bytes = config.pes * config.format.bits // 8
    lines = max(config.line_bytes, most * row_bytes) / (most * row_bytes)
    port_rows = geometry.beat_bytes / row_bytes
    for given in (what, {"requests": requests}):
        run = Run(config, PERFECT, rows * config.pes, **given)
        run.complete()
        again = "requests" in given and lines > 1
        ports = config.line_blocks if again else geometry.channels
        assert rate(run) >= 0.9 * min(1, ports * port_rows / (lines if again else 1))


# Tests of the loader of missing rows: every row of every request arrives, whatever the memory does.


class RunWindowLoader:
    """Blocks of x and z, and rows of w, requested at random.

    Members
    -------
    expected: by side, the bytes of each row that mean something
    found: by side, rows
    """

    def __init__(self, config: SidaConfig, seed: Any, *, stop_at: int | None = None,
                 bad: bool = False) -> None:  # fmt: skip
        rng = random.Random(f"windows {seed}")
        width, row_bytes = config.format.bits // 8, config.pes * config.format.bits // 8
        size = rng.choice([1, config.pes + 1, config.rows_limit - 3, rng.randint(1, 200)])
        rows = -(-size // config.pes)
        image = Image(config, seed)
        x, z = [rng.randbytes(size * width) for _ in range(2)]
        w = [rng.randbytes(row_bytes) for _ in range(rows)]
        bases = {"x_base": image.place(x), "z_base": image.place(z)}
        # A row is the last one of its piece.
        spare = config.piece_bytes - row_bytes
        bases["w_base"] = image.place(b"".join(rng.randbytes(spare) + row for row in w))
        self.part = part = WindowLoader(config)
        self.expected: dict[str, list[bytes]] = {"operand_rows": [], "sum_rows": []}
        words: dict[str, list[int]] = {"operands": [], "sums": []}
        for _ in range(rng.randrange(30) + 1):
            words["operands"].append(self._block(rng, config, size, (x, z)))
        for _ in range(rng.randrange(60) + 1):
            row = rng.randrange(rows)
            words["sums"].append(row)
            self.expected["sum_rows"].append(w[row])
        gap = rng.choice([0, 0.5])
        self.sources = [Source(getattr(part, name), given, gap=gap, seed=f"{name} {seed}")
                        for name, given in words.items()]  # fmt: skip
        stall = rng.choice([0, 0.5])
        self.sinks = {name: Sink(getattr(part, name), stall=stall, seed=f"{name} {seed}")
                      for name in self.expected}  # fmt: skip

        def again() -> None:
            for sink in self.sinks.values():
                sink.words.clear()
                sink.cycles.clear()
            for source, given in zip(self.sources, words.values(), strict=True):
                source.words += given

        spoilt = frozenset([bases["w_base"] + words["sums"][0] * config.piece_bytes + spare
                            if bad else -1])  # fmt: skip
        manner = rng.choice([PERFECT, *MANNERS.values()])
        wires = [(part.columns, size)] + [(getattr(part, name), at) for name, at in bases.items()]
        bench = MemoryBench(
            config, part, image.bytes, manner, [*self.sources, *self.sinks.values()], wires=wires,
            seed=seed, stop_at=stop_at, again=again, bad=spoilt, patience=80,
        )  # fmt: skip
        bench.run(self._done, settles=bad)
        self.error = bench.error
        beat = config.geometry.beat_bytes
        self.bad = next(iter(spoilt)) // beat * beat
        self.found = {
            name: [word.to_bytes(row_bytes, "little") for word in sink.words]
            for name, sink in self.sinks.items()
        }

    def _block(self, rng: random.Random, config: SidaConfig, size: int,
               vectors: tuple[bytes, bytes]) -> int:  # fmt: skip
        width, pes = config.format.bits // 8, config.pes
        base = rng.randrange(-(-size // config.window_elements)) * config.window_elements
        end = min(base + config.window_elements, size)
        is_z = rng.randrange(2)
        vector = vectors[is_z]
        for first in range(base, end, pes):
            row = vector[first * width : min(first + pes, size) * width]
            self.expected["operand_rows"].append(row)
        request = {"z": is_z, "base": base, "rows": -(-(end - base) // pes)}
        return int(fetch_layout(config).const(request).as_bits())

    def _done(self, sim: Any) -> bool:
        return all(len(self.sinks[name].words) >= len(rows) for name, rows in self.expected.items())

    def check(self) -> None:
        """Checks that the rows found are the first ones expected."""
        for name, rows in self.expected.items():
            found = self.found[name]
            assert len(found) <= len(rows)
            for one, wanted in zip(found, rows, strict=False):
                assert one[: len(wanted)] == wanted


@pytest.mark.parametrize("name", slow_but(["four rows a line"], WINDOWED, ["two lines a row"]))
def test_every_row_of_every_request(name: str) -> None:
    for seed in range(by_size(3, 4, 40)):
        run = RunWindowLoader(WINDOWED[name], f"{name} {seed}")
        run.check()
        assert {name: len(rows) for name, rows in run.found.items()} == {
            name: len(rows) for name, rows in run.expected.items()
        }


@pytest.mark.parametrize("name", slow_but(["four rows a line"], WINDOWED, []))
def test_window_loader_stop_in_the_middle_of_anything(name: str) -> None:
    for seed in range(by_size(2, 3, 30)):
        stop_at = random.Random(seed).randint(1, 90)
        run = RunWindowLoader(WINDOWED[name], f"stop {name} {seed}", stop_at=stop_at)
        run.check()
        assert all(run.found.values())


@pytest.mark.parametrize("name", slow_but(["four rows a line"], WINDOWED, []))
def test_an_error_names_the_beat(name: str) -> None:
    for seed in range(by_size(1, 2, 20)):
        run = RunWindowLoader(WINDOWED[name], f"bad {name} {seed}", bad=True)
        run.check()
        assert run.error == run.bad
        assert len(run.found["sum_rows"]) < len(run.expected["sum_rows"])
