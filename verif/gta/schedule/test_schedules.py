"""The space of schedules, what each takes in all, and the choice."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tilewright.hw.spec.gta import GtaConfig, limbs, result_bytes
from tilewright.sim.gta.array_cycles import array_cycles
from tilewright.sim.gta.array_job import ArrayJob, Schedule, layouts
from tilewright.sim.gta.driver import GtaDriver
from tilewright.sim.gta.model import GtaModel
from tilewright.sim.gta.regions import rectangles, stacked
from tilewright.sim.gta.schedule.cost import Accesses, Cost, Moved, PGemm
from tilewright.sim.gta.schedule.evaluate import COVERAGES, Evaluated, coverage, cut, evaluate
from tilewright.sim.gta.schedule.explain import COLUMNS, choose, explain, ranked, schedules, space
from tilewright.sim.gta.schedule.segmented_cost import DoesNotFit, sums_cost
from tilewright.sim.gta.tiles.program import LaneJob
from tilewright.sim.gta.tiles.segment_sums import StreamImage, segment_sums
from tilewright.sim.gta.tiles.segmented_product import SegmentSumCommands
from tilewright.sim.gta.timed import TimedGta
from tilewright.verif.gta.lists import Executes, busy_cycles
from tilewright.verif.kit.sampling import by_size, cases

CONFIG = GtaConfig()


@pytest.mark.parametrize(
    ("down", "across", "found"),
    [
        (1, 1, "uncover 1"),
        (16, 15, "uncover 1"),
        (15, 16, "uncover 1"),
        (16, 16, "cover 1"),
        (40, 17, "cover 1"),
        (17, 15, "uncover 2"),
        (64, 4, "cover 2"),
        (63, 4, "uncover 2"),
        (4, 63, "uncover 3"),
        (4, 64, "cover 3"),
        (15, 17, "uncover 3"),
        (1, 1000, "cover 3"),
    ],
)
def test_coverage(down: int, across: int, found: str) -> None:
    assert coverage(down, across, 16, 16) == found
    assert found in COVERAGES


def test_the_space() -> None:
    """Counts the schedules of 16 x 12 x 20 int8 on four lanes. Each of three dataflows has three
    layouts, two with halves of K and one with quarters, both ways. Vectors have three layouts and
    one along D. Filled schedules come on top."""
    problem = PGemm(m=16, n=12, k=20, format="int8")
    found = list(schedules(CONFIG, problem))
    assert len(set(found)) == len(found)
    plain = [one for one in found if not one.filled]
    assert len(plain) == 3 * (3 + 2 + 1) * 2 + (3 + 1) * 2
    assert all(one.rows * one.cols * one.segments == 4 for one in plain)
    filled = {one.words.removesuffix(", filled") for one in found if one.filled}
    assert filled == {one.words for one in plain if cut(problem, one)}
    assert {"ws 2x2, vertical", "os 4x1, lateral"} <= filled
    assert layouts(4) == [(1, 4), (2, 2), (4, 1)]
    floats = {one.dataflow for one in schedules(CONFIG, replace(problem, format="fp32"))}
    assert floats == {"os", "simd"}
    short = [one.segments for one in schedules(CONFIG, replace(problem, k=1))]
    assert set(short) == {1}


def test_stationary_inputs_are_stationary_weights_turned() -> None:
    problem = PGemm(m=50, n=90, k=33, format="int16")
    turned = replace(problem, m=90, n=50)
    inputs = evaluate(CONFIG, problem, Schedule(dataflow="is", rows=2, cols=2))
    weights = evaluate(CONFIG, turned, Schedule(dataflow="ws", rows=2, cols=2, lateral=False))
    assert inputs.cost.cycles == weights.cost.cycles
    assert inputs.cost.moved == replace(
        weights.cost.moved, a=weights.cost.moved.b, b=weights.cost.moved.a
    )
    assert inputs.cost.accesses.a == weights.cost.accesses.b
    assert inputs.utilisation == weights.utilisation <= 1


def test_what_is_left_over() -> None:
    """Computes the rows of D after the full folds in the schedule that suits them: vectors, in two
    parts."""
    problem = PGemm(m=40, n=16, k=64, format="int8")
    one = Schedule(dataflow="os", rows=2, cols=2, lateral=False, filled=True)
    full, rest = cut(problem, one) or (problem, problem)
    assert (full.m, rest.m) == (32, 8)
    found = evaluate(CONFIG, problem, one).cost
    job = ArrayJob(m=32, n=16, k=64, format="int8", dataflow="os", rows=2, cols=2)
    others = [
        evaluate(CONFIG, rest, other).cost.cycles
        for other in schedules(CONFIG, rest)
        if other.segments == 1 and not other.filled
    ]
    assert found.cycles == array_cycles(CONFIG, job) + min(others)
    assert found.commands == 3
    # If K is split, the rest is added to the sums.
    kept, later = cut(problem, replace(one, dataflow="ws", rows=1, cols=4)) or (problem, problem)
    assert (kept, later) == (problem, problem)
    kept, later = cut(replace(problem, k=70), replace(one, dataflow="is")) or (problem, problem)
    assert (kept.k, later.k, kept.accumulate, later.accumulate) == (64, 6, False, True)
    assert cut(problem, Schedule(dataflow="simd", rows=1, cols=4)) is None
    with pytest.raises(
        ValueError,
        match=r"^nothing is left over to fill the array with in os 1x4, vertical, filled$",
    ):
        evaluate(CONFIG, problem, replace(one, rows=1, cols=4))


def test_segments_of_floats() -> None:
    """Segments of floats follow each other; each starts from the sums of the previous one."""
    problem = PGemm(m=16, n=16, k=9, format="fp32")
    schedule = Schedule(dataflow="os", rows=2, cols=2, segments=2)
    found = evaluate(CONFIG, problem, schedule).cost
    job = ArrayJob(m=16, n=16, k=9, format="fp32", dataflow="os", rows=2, cols=2, segments=2)
    assert found.cycles == array_cycles(CONFIG, job)
    assert found.commands == 2
    assert found.accesses.sums_read == 16 * 16
    assert found.moved.sums_read == 0


def made_up(cycles: int, accesses: int, moved: int, port: int = 0) -> Evaluated:
    cost = Cost(
        cycles=cycles, port_cycles=port, accesses=Accesses(a=accesses), moved=Moved(a=moved)
    )
    schedule = Schedule(dataflow="ws", rows=1, cols=moved)
    return Evaluated(schedule=schedule, coverage="cover 1", cost=cost, utilisation=0.5)


def test_the_choice() -> None:
    """The least sum of squares, of outcomes over the least of each; then the fewest bytes."""
    found = [made_up(100, 40, 1), made_up(300, 10, 2), made_up(150, 15, 4), made_up(150, 15, 3)]
    first, *_, last = ranked(found)
    assert first.evaluated is found[3]
    assert (first.cycles, first.accesses, first.score) == (1.5, 1.5, 4.5)
    assert last.evaluated is found[0]
    assert last.score == 17
    lines = explain(ranked(found))
    assert lines[0].label == "ws 1x3, lateral: cover 1"
    assert list(lines[0].figures) == [0.15, 50, 0.015, 0, 0, 0, 0.003, 1.5, 1.5, 4.5]
    assert len(COLUMNS) == len(lines[0].figures)
    slow = made_up(100, 20, 1, port=400)
    assert ranked([slow, made_up(200, 19, 2)])[0].evaluated is slow
    assert ranked([slow, made_up(200, 19, 2)], port=True)[0].evaluated is not slow


@pytest.mark.parametrize("name", ["int8", "int64", "bf16", "fp64"])
def test_the_chosen_one_is_of_the_space(name: str) -> None:
    problem = PGemm(m=70, n=30, k=20, format=name)
    chosen, found = choose(CONFIG, problem), space(CONFIG, problem)
    assert chosen in found
    least = min(one.cost.cycles for one in found), min(one.cost.accesses.total for one in found)

    def score(one: Evaluated) -> float:
        cycles, accesses = one.cost.cycles / least[0], one.cost.accesses.total / least[1]
        return cycles**2 + accesses**2

    assert score(chosen) == min(map(score, found))
    assert all(0 < one.utilisation <= 1 for one in found)
    assert all(one.cost.commands >= 1 for one in found)


@pytest.mark.slow
def test_integers_keep_the_array_busy() -> None:
    """The fastest schedule uses at least 95 % of the array if the product covers every layout both
    ways and streams 16 times as long as its longer side; prints the least share."""
    least = 1.0
    for seed in range(by_size(2, 3, 60)):
        rng = np.random.default_rng(seed)
        name = str(rng.choice(["int8", "int16", "int32", "int64"]))
        size = limbs(name)
        m = int(rng.integers(16 * 32 // size, 1500))
        n = int(rng.integers(32 // size, 200))
        k = int(rng.integers(32, 200))
        found = space(CONFIG, PGemm(m=m, n=n, k=k, format=name))
        best = max(one.utilisation for one in found)
        assert best >= 0.95, f"{name} {m} x {n} x {k}, seed {seed}"
        least = min(least, best)
    print(f"least utilisation of the fastest schedules: {100 * least:.1f} %")


def test_floats_are_rounded_up_to_lanes() -> None:
    """52 x 52 sums take the place of 56 x 56."""
    found = space(CONFIG, PGemm(m=52, n=52, k=130, format="fp32"))
    assert max(one.utilisation for one in found) == pytest.approx(0.81, abs=0.005)


def test_only_what_fits_is_in_the_space() -> None:
    config = GtaConfig(vector_bytes=2048, lanes=64, formats=("int8",))
    problem = PGemm(m=100, n=100, k=1000, format="int8")
    words = {one.schedule.words for one in space(config, problem)}
    assert "ws 64x1, lateral" not in words
    assert "ws 2x32, lateral" in words


@pytest.mark.parametrize(
    ("schedule", "format_", "said"),
    [
        ({"rows": 4, "cols": 4}, "int8", "lanes of a job must be at most 4, not 16"),
        ({"dataflow": "ws"}, "fp32", "`dataflow` must be os or simd with fp32, not 'ws'"),
        ({"segments": 16}, "fp32", "`segments` must be at most K, 8, not 16"),
    ],
)
def test_what_is_refused(schedule: dict[str, Any], format_: str, said: str) -> None:
    one = Schedule(**{"dataflow": "os", "rows": 1, "cols": 1, **schedule})
    with pytest.raises(ValueError, match=f"^{re.escape(said)}$"):
        evaluate(CONFIG, PGemm(m=8, n=8, k=8, format=format_), one)


def test_problems_that_are_none() -> None:
    with pytest.raises(ValueError, match=r"^`n` must be at least 1, not 0$"):
        PGemm(m=1, n=0, k=1, format="int8")
    with pytest.raises(TypeError, match=r"^`m` must be an integer, not 1\.5$"):
        PGemm(m=1.5, n=1, k=1, format="int8")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^`format` must be one of int8, .*, fp64, not 'int4'$"):
        PGemm(m=1, n=1, k=1, format="int4")


# Schedules with segments of integers: side by side, their sums added up as the hardware does.

CONFIG_SEGMENTED = GtaConfig(lanes=4, vector_bytes=8192)
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
    # Stored: 8 columns of 32 bytes of each segment. Loaded: 8 rows of 32 bytes of each region, 2 of
    # ones, and the time of the commands. Then the array.
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
    """The driver's jobs store all sums of every segment, and their total."""
    rng = np.random.default_rng(seed)
    name, segments = str(rng.choice(INTEGERS)), int(rng.choice([2, 4]))
    m, n, k = (int(rng.integers(1, most)) for most in (40, 40, 90))
    problem = PGemm(m=m, n=n, k=max(k, segments), format=name)
    flow, lanes = str(rng.choice(["ws", "is", "os"])), CONFIG_SEGMENTED.lanes // segments
    schedule = Schedule(dataflow=flow, rows=lanes, cols=1, segments=segments)
    driver = GtaDriver(GtaModel(CONFIG_SEGMENTED, 1 << 20))
    a, b = np.zeros((m, problem.k), np.uint64), np.zeros((problem.k, n), np.uint64)
    driver.pgemm(name, a, b, dataflow=flow, layout=(lanes, 1), segments=segments)
    assert driver.schedule == schedule
    written = evaluate(CONFIG_SEGMENTED, problem, schedule).cost.moved.sums_written
    assert driver.counts["bytes_written"] == written == m * n * (segments + 1) * result_bytes(name)


@pytest.mark.slow
def test_cycles_of_sums() -> None:
    """Checks the cycles of segment sums with operands on chip: those of the slowest region, by the
    model that equals the RTL, for any layout and pieces of any size."""
    rng, timed = np.random.default_rng(8), TimedGta(CONFIG_SEGMENTED, 1 << 20, values=False)
    shapes = [(1, 1, 4), (1, 1, 2), (1, 2, 2), (2, 1, 2)]
    checked = 0
    while checked < by_size(10, 20, 300):
        rows, cols, segments = shapes[rng.integers(len(shapes))]
        regions, width = stacked(rows, cols, segments), int(rng.choice([4, 8]))
        sums = segment_sums(CONFIG_SEGMENTED, segments, width, regions)
        assert sums is not None
        m, n = int(rng.integers(20, 200)), int(rng.integers(1, 30))
        piece = int(rng.integers(20, m + 1))
        results = StreamImage(streams=n, count=m, piece=piece, element=width, beat=16)
        if any(place.count * sums.element < 32 for place in sums.places(results)):
            # Shorter than the check of the next one.
            continue
        layout = cols.bit_length() - 1
        job = LaneJob(layout, rectangles(CONFIG_SEGMENTED, layout, regions))
        found = []
        for group in range(segments):
            listed = Executes(group)
            bases = dict.fromkeys(("sums", "ones", "d"), 0)
            made = SegmentSumCommands(sums, sums=results, results=results, narrow="none")
            for _ in made.steps(bases, listed):
                pass
            found.append(busy_cycles(timed, listed, job) if len(listed) else 0)
        cost = sums_cost(CONFIG_SEGMENTED, sums, (m, n), piece)
        assert max(found) == cost.cycles, (regions, width, m, n, piece)
        checked += 1


def test_what_adds_up_no_sums() -> None:
    """Refuses sums of segments without a format for them, or with too few masks."""
    problem, said = (
        PGemm(m=8, n=8, k=8, format="int8"),
        "^nothing adds up sums of 4 segments of int8",
    )
    schedule = Schedule(dataflow="os", rows=1, cols=1, segments=4)
    for config in (GtaConfig(formats=("int8",)), GtaConfig(mask_bits=1)):
        with pytest.raises(DoesNotFit, match=said):
            evaluate(config, problem, schedule)
