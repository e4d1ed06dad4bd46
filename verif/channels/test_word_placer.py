"""Checks where the placer puts words of arrays in channels against their byte addresses."""

from __future__ import annotations

import random

import pytest
from tilewright.hw.channels.word_placer import WordPlacer
from tilewright.verif.channels.geometries import EVERY, GEOMETRIES
from tilewright.verif.channels.placed_words import base_of, draw_words, placed, word_sizes
from tilewright.verif.channels.streams import StreamRun
from tilewright.verif.kit.sampling import by_size

LATENCY = 2
STEPS = by_size((1, 3), (1, 3, 16), (1, 2, 3, 4, 8, 16))


@pytest.mark.parametrize(("gap", "stall"), [(0.0, 0.0), (0.3, 0.4)])
@pytest.mark.parametrize("name", EVERY)
def test_places(name: str, gap: float, stall: float) -> None:
    """Places words in order, one per cycle without stalls."""
    geometry, rng = GEOMETRIES[name], random.Random(f"places {name} {gap}")
    for word_bytes in word_sizes(geometry):
        for step in STEPS:
            part = WordPlacer(geometry, word_bytes=word_bytes, step=step)
            base = base_of(rng, geometry)
            words = [
                word for _ in range(3) for word in draw_words(rng, geometry, word_bytes, step, 20)
            ]
            run = StreamRun(
                part,
                {"i": words},
                ["o"],
                wires={"base": base},
                cycles=260,
                gap=gap,
                stall=stall,
                watched=["empty"],
                seed=step,
            )
            how = {"word_bytes": word_bytes, "step": step}
            assert run.payloads("o") == [placed(geometry, base, word, **how) for word in words]
            assert run.ports == {"empty": 1}
            if not gap:
                assert [cycle for cycle, _ in run.found["o"]] == list(range(LATENCY, LATENCY + 60))


@pytest.mark.parametrize("slots", [2, 3, 8])
def test_slots_go_along(slots: int) -> None:
    geometry, rng = GEOMETRIES["eight channels"], random.Random(slots)
    words = [{**word, "slot": rng.randrange(slots)} for word in draw_words(rng, geometry, 8, 1, 40)]
    part = WordPlacer(geometry, word_bytes=8, step=1, slots=slots)
    run = StreamRun(part, {"i": words}, ["o"], cycles=200, gap=0.2, stall=0.2)
    assert [found["slot"] for found in run.payloads("o")] == [word["slot"] for word in words]


@pytest.mark.parametrize("clear_at", range(6))
def test_clear_forgets_all(clear_at: int) -> None:
    geometry, rng = GEOMETRIES["three channels"], random.Random(7)
    words = draw_words(rng, geometry, 8, 1, 20)
    part = WordPlacer(geometry, word_bytes=8, step=1)
    run = StreamRun(
        part, {"i": words}, ["o"], cycles=20, stall=0.3, clear_at=clear_at, watched=["empty"]
    )
    assert all(cycle < clear_at for cycle, _ in run.found["o"])
    assert run.ports == {"empty": 1}
