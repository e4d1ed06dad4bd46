"""The store side: what rows give, added up tile by tile, written to memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tilewright.hw.spec.tensaurus import TensaurusConfig
from tilewright.hw.tensaurus.store.matrix_store import MatrixStore
from tilewright.sim.numbers.semirings import combine
from tilewright.sim.tensaurus.result.kernel import Kernel
from tilewright.sim.tensaurus.result.tile import empty_output
from tilewright.verif.channels.striped.written import written, written_channels
from tilewright.verif.kit.sampling import by_size, slow_but
from tilewright.verif.stream.agents import Source, Wire, run_agents
from tilewright.verif.tensaurus.model.cases import device, patterns
from tilewright.verif.tensaurus.store.rows import Given, Rows, job_word, tile_bits

pytestmark = pytest.mark.long

SMALL: dict[str, Any] = {"out_bytes": 1024, "spm_bytes": 256, "data_bits": 64}
DEVICES = {
    "units of three columns": device(**SMALL),
    "one value": device(**SMALL, rows=1, cols=1, vlen=1, channels=1),
    "int8": device(**SMALL, value="int8", cols=4, vlen=4, channels=4),
    "minplus": device(**SMALL, semiring="minplus", value="fp16", cols=2, vlen=5, channels=3),
    "fast adders": device(**SMALL, adder_stages=1, cols=2, rows=3),
}
EVERY = slow_but([], DEVICES, ["units of three columns", "int8"])


def drawn(rng: np.random.Generator, config: TensaurusConfig, kernel: Kernel) -> list[Given]:
    """Tiles of a few outputs, none in another's memory."""
    tiles: list[Given] = []
    units, end = kernel.units, 0
    value_bytes = config.sum_format.bits // 8
    most = (
        config.out_units * config.unit_values if kernel.name == "mv" else config.out_units // units
    )
    for _ in range(4):
        slices = int(rng.integers(1, min(most, 40) + 1))
        count = int(rng.integers(1, 4))
        for number in range(count):
            rows: list[list[tuple[int, int, list[int]]]] = [[] for _ in range(config.rows)]
            # One that is not the last may even have more slices than are written.
            there = min(most, slices + 2 * int(rng.integers(2))) if number < count - 1 else slices
            for slice_ in np.flatnonzero(rng.random(there) < 0.6).tolist():
                row = rows[int(rng.integers(config.rows))]
                for vector in range(units):
                    unit = patterns(rng, (config.unit_values,), config.sum_format).tolist()
                    row.append((slice_, vector, unit))
            tiles.append(Given(there, number == count - 1, end, rows))
        size = slices * kernel.slice_values(config) * value_bytes
        end += (-(-size // config.line_bytes) + int(rng.integers(2))) * config.line_bytes
    return tiles


def golden(config: TensaurusConfig, kernel: Kernel, tiles: list[Given]) -> dict[int, int]:
    """Memory's bytes, by address."""
    memory: dict[int, int] = {}
    output = empty_output(config, kernel, config.out_units * config.unit_values)
    for tile in tiles:
        for slice_, vector, unit in (given for row in tile.rows for given in row):
            width = output.shape[1] if kernel.name == "mv" else config.unit_values
            place = slice(vector * width, (vector + 1) * width)
            sums = np.array(unit[:width], np.uint64)
            before = output[slice_, place]
            output[slice_, place] = combine(config.operators, before, sums, config.sum_format)
        if tile.last:
            dtype = f"<u{config.sum_format.bits // 8}"
            content = output[: tile.slices].astype(dtype).tobytes()
            memory |= {tile.output + n: byte for n, byte in enumerate(content)}
            output = empty_output(config, kernel, len(output))
    return memory


def run(
    config: TensaurusConfig,
    kernel: Kernel,
    tiles: list[Given],
    *,
    stop_at: int | None = None,
    bad: int | None = None,
    seed: int = 0,
    stall: float = 0.0,
) -> tuple[dict[int, int], dict[str, Any]]:
    """Returns the memory that the tiles wrote, and a record of the run. With ``stop_at`` the run
    stops in that cycle, and the tiles follow again."""
    dut = MatrixStore(config)
    channels = written_channels(config.geometry, dut, seed=seed, stall=stall, bad=bad)
    words = tile_bits(config, tiles)
    source = Source(dut.tiles, words, seed=seed)
    rows = Rows(dut, config, tiles, stall=stall, seed=seed)
    seen: dict[str, Any] = {"sent": 0, "error": None, "finished": None, "rows": rows}
    job = job_word(config, kernel)

    def stop(cycle: int) -> int:
        stops = stop_at is not None and cycle in range(stop_at, stop_at + 3)
        rows.stopped = stops or seen["error"] is not None
        if stop_at is not None and cycle == stop_at:
            source.forget()
        if stop_at is not None and cycle == stop_at + 2:
            source.words.extend(words)
        return int(stops)

    def done(sim: Any, cycle: int) -> bool:
        seen["sent"] += sim.get(dut.sent)
        if sim.get(dut.error):
            seen["error"] = sim.get(dut.error_address)
            return True
        finished = source.done and sim.get(dut.finished)
        if finished:
            assert sim.get(dut.idle)
            assert not any(channel.owed for channel in channels)
            seen["finished"] = cycle
        return bool(finished)

    wires = [(dut.job, job)]
    run_agents(dut, [Wire(dut.stop, stop), source, rows, *channels], until=done, wires=wires)
    return written(channels), seen


def kernels_of(config: TensaurusConfig) -> list[Kernel]:
    """Slices of a value, of one unit and of several."""
    found = [Kernel(name="mv", order=2), Kernel(name="mm", order=2, vectors=config.olen)]
    if config.semiring == "mma":
        found.append(Kernel(name="ttmc", order=3, vectors=1, scalars=(3, 1)))
    return found


@pytest.mark.parametrize("name", EVERY)
def test_outputs_are_the_sums_of_their_tiles(name: str) -> None:
    config = DEVICES[name]
    for seed in range(by_size(1, 1, 6)):
        for kernel in kernels_of(config):
            rng = np.random.default_rng(seed)
            tiles = drawn(rng, config, kernel)
            stall = 0.3 * float(rng.integers(2))
            found, seen = run(config, kernel, tiles, seed=seed, stall=stall)
            expected = golden(config, kernel, tiles)
            assert found == expected, (seed, kernel)
            assert seen["sent"] == len(expected)


def test_a_vector_every_cycle() -> None:
    """This is the rate within one tile; the next tile opens some cycles later."""
    config = DEVICES["units of three columns"]
    kernel = Kernel(name="mm", order=2, vectors=2)
    slices = config.out_units // 2
    rows: list[list[tuple[int, int, list[int]]]] = [[] for _ in range(config.rows)]
    rng = np.random.default_rng(1)
    for number in range(2 * slices):
        unit = patterns(rng, (config.unit_values,), config.sum_format).tolist()
        rows[number % 2].append((number // 2, number % 2, unit))
    tile = Given(slices, True, 0, rows)
    _, seen = run(config, kernel, [tile])
    cycles = seen["rows"].cycles
    assert cycles == list(range(cycles[0], cycles[0] + 2 * slices))


def test_last_slices_without_values_take_no_time() -> None:
    """The walk over an output depends on its writes, not on the slices that have sums."""
    config = DEVICES["units of three columns"]
    kernel = Kernel(name="mm", order=2)
    slices, rng, took = config.out_units, np.random.default_rng(6), []
    for last in (1, slices - 1):
        tiles = []
        for number in range(2):
            rows: list[list[tuple[int, int, list[int]]]] = [[] for _ in range(config.rows)]
            for slice_ in (0, last):
                unit = patterns(rng, (config.unit_values,), config.sum_format).tolist()
                rows[0].append((slice_, 0, unit))
            tiles.append(Given(slices, True, number * 2 * config.out_bytes, rows))
        found, seen = run(config, kernel, tiles)
        assert found == golden(config, kernel, tiles)
        took.append(seen["finished"])
    assert took[0] == took[1]


@pytest.mark.slow
def test_a_stop_empties_the_buffer() -> None:
    """Whenever it comes, before anything is written: the tiles again give their output."""
    config = DEVICES["units of three columns"]
    kernel = Kernel(name="mm", order=2, vectors=2)
    tiles = drawn(np.random.default_rng(3), config, kernel)[:1]
    tiles[0].last = True
    given = sum(len(row) for row in tiles[0].rows)
    expected = golden(config, kernel, tiles)
    for at in (3, *range(config.out_units + 2, config.out_units + given, by_size(40, 20, 3))):
        found, _ = run(config, kernel, tiles, stop_at=at, seed=at)
        assert found == expected, at


def test_an_error_is_reported() -> None:
    config = DEVICES["units of three columns"]
    kernel = Kernel(name="mm", order=2, vectors=4)
    tiles = drawn(np.random.default_rng(5), config, kernel)
    _, seen = run(config, kernel, tiles, bad=tiles[0].output)
    assert seen["error"] == tiles[0].output
