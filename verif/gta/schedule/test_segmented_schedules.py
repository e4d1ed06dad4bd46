"""Schedules with segments of integers: side by side, their sums added up as the hardware does."""

from __future__ import annotations

import numpy as np
import pytest
from tilewright.hw.spec.gta import GtaConfig, result_bytes
from tilewright.sim.gta.array_cycles import array_cycles
from tilewright.sim.gta.array_job import ArrayJob
from tilewright.sim.gta.array_schedule import Schedule
from tilewright.sim.gta.driver import GtaDriver
from tilewright.sim.gta.model import GtaModel
from tilewright.sim.gta.regions import rectangles, stacked
from tilewright.sim.gta.schedule.blocks import DoesNotFit
from tilewright.sim.gta.schedule.cost import Accesses, Moved
from tilewright.sim.gta.schedule.evaluate import evaluate
from tilewright.sim.gta.schedule.pgemm import PGemm
from tilewright.sim.gta.schedule.sums_cost import sums_cost
from tilewright.sim.gta.tiles.images import StreamImage
from tilewright.sim.gta.tiles.program import LaneJob
from tilewright.sim.gta.tiles.segment_sum_commands import SegmentSumCommands
from tilewright.sim.gta.tiles.segment_sums import segment_sums
from tilewright.sim.gta.timed import TimedGta
from tilewright.verif.gta.schedule.executes import Executes, busy_cycles
from tilewright.verif.kit.sampling import by_size, cases

CONFIG = GtaConfig(lanes=4, vector_bytes=8192)
INTEGERS = ("int8", "int16", "int32", "int64")


def test_by_hand() -> None:
    """Four segments of 26, 26, 25 and 25 products, the first from C. Their sums are int32: of two
    columns the array of a region adds up four each, 8 rows of it; ones come to each region."""
    config = GtaConfig()
    problem = PGemm(m=8, n=8, k=102, format="int8", accumulate=True)
    found = evaluate(config, problem, Schedule(dataflow="os", rows=1, cols=1, segments=4)).cost
    part = PGemm(m=8, n=8, k=26, format="int8")
    longest = evaluate(config, part, Schedule(dataflow="os", rows=1, cols=1)).cost
    added = ArrayJob(m=8, n=2, k=8, format="int32")
    # Of 8 columns of 32 bytes of each segment; 8 rows of 32 bytes of each region, 2 of ones, and
    # what its commands take; then the array.
    stored, loaded = 4 * 8 * 2, 4 * (8 * 2 + 2 * 2 + 12)
    behind = (28 * stored + 18 * loaded + 25 * array_cycles(config, added)) // 32
    assert found.cycles == longest.cycles + 57 + 22 + behind
    assert found.commands == 4 + 4
    sums, ones = 64 * 4, 2 * 8 * 4
    assert found.moved == Moved(
        a=8 * 102, b=8 * 102, sums_read=5 * sums + 4 * ones, sums_written=5 * sums
    )
    assert found.accesses == Accesses(
        a=8 * 102, b=8 * 102, sums_read=5 * 64 + 4 * 16, sums_written=5 * 64
    )


@pytest.mark.parametrize("seed", range(cases(12)))
def test_sums_that_are_moved(seed: int) -> None:
    """All of every segment go to memory in the driver's jobs, and what they come to."""
    rng = np.random.default_rng(seed)
    name, segments = str(rng.choice(INTEGERS)), int(rng.choice([2, 4]))
    m, n, k = (int(rng.integers(1, most)) for most in (40, 40, 90))
    problem = PGemm(m=m, n=n, k=max(k, segments), format=name)
    flow, lanes = str(rng.choice(["ws", "is", "os"])), CONFIG.lanes // segments
    schedule = Schedule(dataflow=flow, rows=lanes, cols=1, segments=segments)
    driver = GtaDriver(GtaModel(CONFIG, 1 << 20))
    a, b = np.zeros((m, problem.k), np.uint64), np.zeros((problem.k, n), np.uint64)
    driver.pgemm(name, a, b, dataflow=flow, layout=(lanes, 1), segments=segments)
    assert driver.schedule == schedule
    written = evaluate(CONFIG, problem, schedule).cost.moved.sums_written
    assert driver.counts["bytes_written"] == written == m * n * (segments + 1) * result_bytes(name)


@pytest.mark.slow
def test_cycles_of_sums() -> None:
    """Of the region that takes longest, operands on chip, by the model that equals the RTL, on any
    layout, and in pieces of any size."""
    rng, timed = np.random.default_rng(8), TimedGta(CONFIG, 1 << 20, values=False)
    shapes = [(1, 1, 4), (1, 1, 2), (1, 2, 2), (2, 1, 2)]
    checked = 0
    while checked < by_size(10, 20, 300):
        rows, cols, segments = shapes[rng.integers(len(shapes))]
        regions, width = stacked(rows, cols, segments), int(rng.choice([4, 8]))
        sums = segment_sums(CONFIG, segments, width, regions)
        assert sums is not None
        m, n = int(rng.integers(20, 200)), int(rng.integers(1, 30))
        piece = int(rng.integers(20, m + 1))
        results = StreamImage(streams=n, count=m, piece=piece, element=width, beat=16)
        if any(place.count * sums.element < 32 for place in sums.places(results)):
            # Shorter than the check of the next one.
            continue
        layout = cols.bit_length() - 1
        job = LaneJob(layout, rectangles(CONFIG, layout, regions))
        found = []
        for group in range(segments):
            listed = Executes(group)
            bases = dict.fromkeys(("sums", "ones", "d"), 0)
            made = SegmentSumCommands(sums, sums=results, results=results, narrow="none")
            for _ in made.steps(bases, listed):
                pass
            found.append(busy_cycles(timed, listed, job) if len(listed) else 0)
        cost = sums_cost(CONFIG, sums, (m, n), piece)
        assert max(found) == cost.cycles, (regions, width, m, n, piece)
        checked += 1


def test_what_adds_up_no_sums() -> None:
    """No format for them, or too few masks."""
    problem, said = (
        PGemm(m=8, n=8, k=8, format="int8"),
        "^nothing adds up sums of 4 segments of int8",
    )
    schedule = Schedule(dataflow="os", rows=1, cols=1, segments=4)
    for config in (GtaConfig(formats=("int8",)), GtaConfig(mask_bits=1)):
        with pytest.raises(DoesNotFit, match=said):
            evaluate(config, problem, schedule)
