"""The model of the device: errors of streams, tiles and memory, in its registers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tilewright.hw.spec.jobs.tensaurus import job_spec
from tilewright.hw.spec.jobs.tensaurus_operations import TILE_BYTES, tile_words
from tilewright.sim.device.driver import JobRegisters, JobStatus
from tilewright.sim.sparse.ciss import Ciss, from_tensor
from tilewright.sim.tensaurus.model import Fault, TensaurusModel, read_stream
from tilewright.sim.tensaurus.result.entries import Entries
from tilewright.verif.ciss.cases import random_case
from tilewright.verif.kit.sampling import by_size
from tilewright.verif.tensaurus.model.cases import device, of_stream, random_product

pytestmark = pytest.mark.quick

CONFIG = device(marker="zero", rows=2)
LAYOUT = CONFIG.layout(3)
NO_OP = LAYOUT.no_op


def stream() -> Ciss:
    """Slices 0 to 3 of a few values in two rows."""
    product = random_product(np.random.default_rng(4), "mttkrp", (4, 5, 6), (3, 3), count=14)
    return from_tensor(product.tensor, LAYOUT)


def test_right_streams_are_read_as_ciss_reads_them() -> None:
    read = 0
    for seed in range(by_size(40, 150, 1000)):
        case = random_case(seed)
        ciss = from_tensor(case.tensor, case.layout, case.mode)
        shape = ciss.stream_shape
        found = read_stream(ciss.slots, case.layout, shape[0], shape[1:])
        assert isinstance(found, Entries)
        for mine, wanted in zip(found, of_stream(ciss), strict=True):
            assert (mine == wanted).all()
        read += len(found.values)
    assert read > 0


def slot(value: int, *indices: int) -> tuple[int, tuple[int, ...]]:
    return value, indices


@pytest.mark.parametrize(
    ("entry", "row", "content", "fault"),
    [
        (0, 1, slot(5, 1, 1), ("stream", 0)),
        (2, 0, slot(5, 5, 1), ("index", 2)),
        (2, 0, slot(5, 1, 6), ("index", 2)),
        (2, 1, slot(0, 4, 0), ("slice", 2)),
        (2, 1, slot(0, 0, 0), ("slice", 2)),
        (2, 0, slot(0, (1 << 32) - 1, 0), ("stream", 3)),
        (-1, 0, slot(0, 3, 0), ("stream", -1)),
        (-1, 1, slot(7, 1, 1), ("stream", -1)),
    ],
)
def test_faults_of_streams(entry: int, row: int, content: Any, fault: tuple[str, int]) -> None:
    """One slot changed; the entry that is named is the first that is wrong then."""
    ciss = stream()
    slots = ciss.slots.copy()
    slots[entry, row] = content
    found = read_stream(slots, LAYOUT, 4, (5, 6))
    last = len(slots) - 1
    assert found == Fault(fault[0], fault[1] if fault[1] >= 0 else last)


def test_of_two_faults_the_first_entrys_counts_and_there_the_lowest_rows() -> None:
    slots = stream().slots.copy()
    slots[2, 1] = slot(5, 9, 9)
    slots[3, 0] = slot(5, 9, 9)
    assert read_stream(slots, LAYOUT, 4, (5, 6)) == Fault("index", 2)
    slots[2, 0] = slot(0, 0, 0)
    assert read_stream(slots, LAYOUT, 4, (5, 6)) == Fault("slice", 2)


class Device:
    """A model with one tile, or a few that are alike."""

    def __init__(self, tiles: int = 1, **changes: int) -> None:
        ciss = stream()
        self.device = TensaurusModel(CONFIG, 1 << 14)
        line = CONFIG.line_bytes
        fields = {
            "load": 3, "last": 1, "slices": 4, "entries": ciss.entries, "tensor": 16 * line,
            "output": 32 * line, "size_1": 5, "size_2": 6, "operand_1": 48 * line,
            "operand_2": 64 * line,
        }  # fmt: skip
        self.device.write_memory(16 * line, ciss.slots.tobytes())
        first = tile_words(fields)
        self.device.write_memory(0, first * (tiles - 1) + tile_words(fields | changes))
        self.registers = JobRegisters(self.device, job_spec(CONFIG))
        self.tiles = tiles

    def run(self, **changes: int) -> JobStatus:
        job = {
            "KERNEL": 0, "ORDER": 3, "DENSE": 0, "VECTORS": 1, "SCALARS_1": 1, "SCALARS_2": 1,
            "REGION_1": 0, "REGION_2": 8, "REGION_3": 0, "TILES": self.tiles, "LIST": 0,
        }  # fmt: skip
        return self.registers.submit(job | changes)


def test_a_right_tile_runs() -> None:
    status = Device().run()
    assert status.error == "none"
    ciss = stream()
    fibers = len({tuple(place[:2]) for place in zip(*of_stream(ciss)[:1], *of_stream(ciss).indices,
                                                    strict=True)})  # fmt: skip
    values = len(of_stream(ciss).values)
    assert status.counts["products"] == values + fibers
    assert status.counts["operations"] == 2 * (values + fibers) * CONFIG.unit_values
    assert status.counts["drains"] == 4
    assert status.counts["bytes_written"] == 4 * CONFIG.result_unit_bytes


@pytest.mark.parametrize(
    "changes",
    [
        {"tensor": 1}, {"output": 8}, {"operand_1": 4}, {"slices": 0}, {"slices": 171},
        {"entries": 0}, {"size_1": 0}, {"size_2": 0}, {"size_2": 505}, {"last": 0},
    ],
)  # fmt: skip
def test_tiles_that_are_wrong(changes: dict[str, int]) -> None:
    """The last of three; it is named."""
    status = Device(tiles=3, **changes).run()
    assert (status.error, status.detail) == ("tile", 2)


def test_operands_that_are_not_loaded_may_be_anywhere() -> None:
    assert Device(tiles=2, load=2, operand_1=4).run().error == "none"


def test_a_wrong_slot_is_named_with_its_tile() -> None:
    status = Device(tiles=2, size_1=3).run()
    assert status.error == "index"
    assert status.detail >> 32 == 1
    rows = of_stream(stream()).indices[0]
    assert (rows >= 3).any()


@pytest.mark.parametrize(
    ("changes", "error"),
    [({"tensor": 1 << 20}, "bus_read"), ({"output": 1 << 20}, "bus_write"),
     ({"operand_2": 1 << 20}, "bus_read")],
)  # fmt: skip
def test_memory_that_is_not_there(changes: dict[str, int], error: str) -> None:
    assert Device(**changes).run().error == error


def test_the_list_may_be_outside() -> None:
    line = CONFIG.line_bytes
    assert Device().run(LIST=line * (1 << 20)).error == "bus_read"


def test_scalars_must_begin_at_a_vector() -> None:
    """Kernel mv, whose operand is in the scratchpad of scalars."""
    status = Device().run(KERNEL=3, ORDER=2, REGION_1=1)
    assert (status.error, status.detail) == ("tile", 0)


@pytest.mark.parametrize(
    ("changes", "tile"), [({"load": 2}, 0), ({"load": 0}, 0), ({"load": 1, "size_2": 7}, 2)]
)
def test_operands_must_have_been_loaded(changes: dict[str, int], tile: int) -> None:
    """A single tile must load its own operands; a later tile uses no more rows than were loaded."""
    status = Device(tiles=tile + 1, **changes).run()
    assert (status.error, status.detail) == ("tile", tile)


def test_what_is_wrong_stays_unwritten() -> None:
    """Memory does not change at an output whose tile fails."""
    made = Device(size_1=1)
    line = CONFIG.line_bytes
    made.device.memory[32 * line : 33 * line] = 0xA5
    assert made.run().error == "index"
    assert (made.device.memory[32 * line : 33 * line] == 0xA5).all()
    assert TILE_BYTES == 128
