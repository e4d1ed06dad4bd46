"""Depths of queues in hardware: designs run with them for any trip counts, and stop with a word
less. Where no depth is known, a longer job needs more.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tilewright.hw.spec.t2s.config import T2sConfig
from tilewright.hw.spec.t2s.design import Design
from tilewright.hw.spec.t2s.timing import interval_of
from tilewright.hw.t2s.language import MappingError
from tilewright.hw.t2s.lowering import design as lowering
from tilewright.hw.t2s.lowering.design import with_depths
from tilewright.hw.t2s.lowering.periods import Unbounded, job, periods
from tilewright.hw.t2s.lowering.queues import Queues
from tilewright.hw.t2s.lowering.transfers import Unaligned, Work, through
from tilewright.hw.t2s.lowering.words_through import Stopped, run
from tilewright.verif.kit.sampling import by_size
from tilewright.verif.t2s.designs import DESIGNS
from tilewright.verif.t2s.random_mappings import KERNELS, random_mapping

from .counted_jobs import FEW, goes_on, longer, registers, rooms_of, words_of

DRAWN = by_size(3, 6, 60)
"""Random mappings of each kernel that are tried, those without hardware among them."""


_NONE = 1 << 40
"""Stands for a depth that does not exist: no number of words is enough."""


@pytest.mark.parametrize("largest", [2, 3])
@pytest.mark.parametrize("name", sorted(DESIGNS))
def test_designs_go_on(name: str, largest: int) -> None:
    design = T2sConfig(design=name, largest=largest).plan
    queues = Queues(design)
    for trips in (1, 3):
        one = job(design, queues, dict.fromkeys(registers(design), trips))
        run(one, queues, rooms_of(design, queues))


@pytest.mark.parametrize(
    ("name", "largest"),
    [("conv2d", 3), ("stencil3d", 3), ("ttv", 3), ("ttv", 0), ("fir", 0), ("gemv", 0)],
)
def test_one_word_less(name: str, largest: int) -> None:
    design = T2sConfig(design=name, largest=largest).plan
    queues = Queues(design)
    assert longer(design)
    for channel in longer(design):
        with pytest.raises(Stopped, match="waits") as caught:
            run(job(design, queues, {}), queues, rooms_of(design, queues, channel))
        assert channel in caught.value.full


def test_random_mappings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is proved, and holds in longer jobs; or longer jobs need longer queues."""
    found: list[Design] = []
    monkeypatch.setattr(lowering, "with_depths", lambda design, said: found.append(design))
    config = T2sConfig(design="gemm", largest=1, format="int8")
    found.clear()
    for kernel in KERNELS:
        for seed in range(DRAWN):
            rng = np.random.default_rng([seed, 5, *kernel.encode()])
            words = rng if seed % 2 else None
            try:
                lowering.lowered(random_mapping(kernel, rng, words), config)
            except (MappingError, ValueError):
                continue  # Not all that is drawn is legal, or has hardware.
    counts = {"proved": 0, "refused": 0}
    rng = np.random.default_rng(1)
    for one in found:
        counts[_proved_or_refused(one, rng)] += 1
    assert counts["proved"] >= 2 * DRAWN
    assert counts["refused"] >= DRAWN // 2


def _proved_or_refused(bare: Design, rng: np.random.Generator) -> str:
    queues = Queues(bare)
    every = registers(bare)
    try:
        design = with_depths(bare, {})
    except Unbounded:
        few, many = (_needed(bare, queues, dict.fromkeys(every, trips)) for trips in (2, 7))
        assert few < many or many == _NONE
        return "refused"
    except ValueError:
        assert _needed(bare, queues, dict.fromkeys(every, 2)) == _NONE
        return "refused"
    trips = {name: int(rng.integers(1, 4)) for name in every}
    one = job(design, queues, trips)
    run(one, queues, rooms_of(design, queues))
    if words_of(one) < FEW:
        assert goes_on(one, rooms_of(design, queues), rng)
    # If words remain from one period to the next, depths suffice but are not the least.
    if all(levels == tuple(queues.begins) for levels, _ in periods(design, queues)):
        for channel in longer(design):
            some = job(design, queues, dict.fromkeys(every, 2))
            shorter = rooms_of(design, queues, channel)
            assert words_of(some) >= FEW or not goes_on(some, shorter, rng)
            with pytest.raises(Stopped, match="waits"):
                run(some, queues, shorter)
    return "proved"


def _needed(design: Design, queues: Queues, trips: Mapping[str, int]) -> int:
    """Returns the words, up to a factor of two, that queues must hold in a job beyond their usual
    depth."""
    more: dict[str, int] = {}
    while True:
        try:
            run(job(design, queues, trips), queues, queues.rooms(more))
        except Stopped as stopped:
            if not stopped.full:
                return _NONE
            shortest = min(more.get(name, 0) for name in stopped.full)
            for name in stopped.full:
                if more.get(name, 0) == shortest:
                    more[name] = max(1, 2 * shortest)
        else:
            return sum(more.values())


def test_visits() -> None:
    """Queues in place of one, in turn; anew when all have been; to the end."""
    work = Work("f", 2, ((3, (), ()), (6, (7,), (0,))))
    found = through(work, 0, ((1, 1), (2, 2)))
    assert found == Work(
        "f", 2, ((3, (), ()), *(((1, (7,), (1,)), (2, (7,), (2,))) * 2)),
    )  # fmt: skip
    assert through(Work("f", 4, ((3, (0,), ()),)), 0, ((2, 1), (4, 2))) == Work(
        "f", 2, ((2, (1,), ()), (4, (2,), ()))
    )
    unlike = through(Work("f", 2, ((3, (0,), ()), (1, (), ()))), 0, ((2, 1), (4, 2)))
    assert (unlike.times, unlike.words(1), unlike.words(2)) == (1, -2, -4)
    with pytest.raises(Unaligned, match="f ends before it has visited all"):
        through(Work("f", 1, ((3, (0,), ()),)), 0, ((1, 1), (1, 2)))


SAID = """\
from tilewright.hw.t2s.language import compute, indices, tensor

i, k, ii, iii = indices("i k ii iii")
A, X = tensor("A", "fp32", i, k), tensor("X", "fp32", k)
Y = compute("Y", "fp32", i, sum_over=k)[A[i, k] * X[k]].accumulate(stall="allowed")
Y.tile(i, (iii, 2), (ii, 5)).order(i, k, iii, ii).unroll(iii)
feed_a, load_a = Y.producers(A, "feeder", "loader")
feed_x, load_x = Y.producers(X, "feeder", "loader")
Y.forward(feed_x, iii=-1)
"""
"""A feeder that walks an array of elements; the first element waits for the word that arrives
last."""


@pytest.mark.parametrize(
    ("order", "forward"), [("i, iii, ii, k", "-1"), ("i, iii, k, ii", "1"), ("i, iii, ii, k", "1")]
)
def test_no_depth_is_enough(tmp_path: Path, order: str, forward: str) -> None:
    """An element waits for words that come behind all products of another one's sums. The last two
    go on as long as a sum is of few products."""
    file = tmp_path / "mine.py"
    text = SAID.replace("i, k, iii, ii", order).replace("iii=-1", f"iii={forward}")
    file.write_text(text)
    message = r"mine\.py:5: Y would stop: \w+ would have to hold more words the further k goes"
    with pytest.raises(ValueError, match=f"^{message}$"):
        T2sConfig(design=str(file))


def test_depths_that_are_said(tmp_path: Path) -> None:
    """Given depths stay, and the compiler finds the others. It refuses a depth that is too
    short."""
    file = tmp_path / "mine.py"
    file.write_text(SAID + "feed_x.fifo(7)\nY.fifo(5)\n")
    design = T2sConfig(design=str(file)).plan
    found = {one.channel: one.depth for one in design.links}
    assert (found["X_feeder"], found["Y"]) == (7, 5)
    enough = found["A_feeder"]
    assert enough > 2
    file.write_text(SAID + f"feed_a.fifo({enough})\n")
    design = T2sConfig(design=str(file)).plan
    queues = Queues(design)
    run(job(design, queues, {"i": 2, "k": 2}), queues, rooms_of(design, queues))
    file.write_text(SAID + "feed_a.fifo(2)\n")
    with pytest.raises(ValueError, match="with a depth of 2") as caught:
        _ = T2sConfig(design=str(file)).plan
    assert str(caught.value) == "mine.py:10: A_feeder.fifo: with a depth of 2 the design stops"


SLOWLY = """\
from tilewright.hw.t2s.language import compute, indices, tensor

a, e, f, ee, eee = indices("a e f ee eee")
P, Q = tensor("P", "int32", a, e), tensor("Q", "int32", e, a, f)
Z = compute("Z", "int32", a, e, sum_over=f)[P[a, e] * Q[e, a, f]]
Z.tile(e, (ee, 3), (eee, 2)).order(ee, e, eee, a, f).unroll(eee, ee).accumulate(stall="allowed")
drain, unload = Z.consumers("drainer", "unloader")
drain.unroll(eee).gather(eee=-1, vector=True).fifo({depth})
"""


@pytest.mark.parametrize("depth", [1, 17, 1000])
def test_registers_hide_no_growth(depth: int, tmp_path: Path) -> None:
    """Drainers wait for elements in turn, which do not get words before: the first three iterations
    of `a` go into the registers of queues. Found at random (seed 2152)."""
    file = tmp_path / "mine.py"
    file.write_text(SLOWLY.format(depth=depth))
    with pytest.raises(ValueError, match=r"^mine\.py:5: Z would stop: .* the further a goes$"):
        T2sConfig(design=str(file))


ORDERS = """\
from tilewright.hw.t2s.language import compute, indices, tensor

i, j, k, jj = indices("i j k jj")
A, X = tensor("A", "fp32", i, j, k), tensor("X", "fp32", k)
Y = compute("Y", "fp32", i, j, sum_over=k)[A[i, j, k] * X[k]].accumulate(stall="allowed")
Y.tile(j, (jj, 2)).order(jj, i, j, k).unroll(jj)
feed_a, load_a = Y.producers(A, "feeder", "loader")
feed_x, load_x = Y.producers(X, "feeder", "loader")
collect, unload = Y.consumers("collector", "unloader")
collect.unroll(jj).gather(jj=1, level=j)
"""
"""Collectors have a turn each in every iteration of j; a feeder serves one element for all of j
before the next. Found at random (ttv, seed 40)."""


def test_different_orders(tmp_path: Path) -> None:
    """Each period would end, but the periods of all functions cannot follow one another."""
    file = tmp_path / "mine.py"
    file.write_text(ORDERS)
    message = r"mine\.py:5: no depths of queues are known with which Y ends: functions go through"
    with pytest.raises(ValueError, match=rf"^{message} jj, i, j, k in different orders$"):
        T2sConfig(design=str(file))
    file.write_text(ORDERS.replace("jj, i, j, k)", "i, j, jj, k)"))
    design = T2sConfig(design=str(file)).plan
    queues = Queues(design)
    for trips in ({"i": 1, "j": 9, "k": 2}, {"i": 9, "j": 1, "k": 1}, {"i": 3, "j": 9, "k": 9}):
        run(job(design, queues, trips), queues, rooms_of(design, queues))


# Elements that keep fewer sums than a sum takes cycles: refused, or allowed, and told.

MAPPING = """\
from tilewright.hw.t2s.language import compute, indices, tensor

i, j, k, ii, jj = indices("i j k ii jj")
A, B = tensor("A", "fp32", i, k), tensor("B", "fp32", k, j)
C = compute("C", "fp32", i, j, sum_over=k)[A[i, k] * B[k, j]]
C.tile(i, (ii, {ii})).tile(j, (jj, {jj})).order(i, j, k, ii, jj)
"""
ALLOWED = 'C.accumulate(stall="allowed")\n'


def config(folder: Path, sums: tuple[int, int], more: str = "", **settings: Any) -> T2sConfig:
    file = folder / "mine.py"
    file.write_text(MAPPING.format(ii=sums[0], jj=sums[1]) + more)
    return T2sConfig(design=str(file), **settings)


def refused(folder: Path, sums: tuple[int, int], more: str = "", **settings: Any) -> str:
    with pytest.raises(ValueError, match=re.escape("C.accumulate: an element keeps")) as told:
        config(folder, sums, more, **settings)
    return str(told.value)


def test_refused(tmp_path: Path) -> None:
    """The error names the definition, or the directive that refuses the stall."""
    assert refused(tmp_path, (1, 1)) == (
        "mine.py:5: C.accumulate: an element keeps 1 sum, and one takes 4 cycles: an operation "
        'every 5 cycles; to allow that, write C.accumulate(stall="allowed")'
    )
    said = 'C.accumulate(stall="refused")\n'
    assert refused(tmp_path, (2, 4), said, largest=2) == (
        "mine.py:7: C.accumulate: an element keeps 4 sums, and one takes 4 cycles: 4 operations "
        'every 5 cycles; to allow that, write C.accumulate(stall="allowed")'
    )


def test_allowed(tmp_path: Path) -> None:
    plan = config(tmp_path, (2, 2), ALLOWED).plan
    assert interval_of(plan.element) == (4, 5)
    told = (
        "An element of C begins 4 operations every 5 cycles: a sum takes 4 cycles, and it keeps 4."
    )
    assert config(tmp_path, (2, 2), ALLOWED).notes == (told,)
    assert interval_of(config(tmp_path, (5, 1)).plan.element) == (1, 1)


def test_cut_factors(tmp_path: Path) -> None:
    """Cut factors of a trial do not refuse a mapping that has enough sums without them."""
    assert interval_of(config(tmp_path, (8, 8), largest=2).plan.element) == (4, 5)
    assert refused(tmp_path, (2, 2), largest=0)


def test_stages(tmp_path: Path) -> None:
    """The mapping gives the stages and the cycles of a sum, unless the unit's settings do."""
    six = "C.clock_pipeline(6)\n"
    assert "one takes 6 cycles: 5 operations every 7" in refused(tmp_path, (5, 1), six)
    assert config(tmp_path, (7, 1), six).plan.element.arithmetic.pipeline == 6
    assert config(tmp_path, (7, 1), six).resolved()["pipeline"] == 6
    assert config(tmp_path, (5, 1), six, pipeline=4).plan.element.arithmetic.pipeline == 4
    assert config(tmp_path, (5, 1)).resolved()["pipeline"] == 4
    assert config(tmp_path, (4, 2)).resolved()["pipeline"] == 4
    assert config(tmp_path, (9, 1)).resolved()["pipeline"] == 8
    assert config(tmp_path, (9, 1), format="int8").resolved()["pipeline"] == 4
    assert config(tmp_path, (9, 1), "C.clock_pipeline(4)\n").resolved()["pipeline"] == 4
    assert "one takes 2 cycles: 2 operations every 3" in refused(tmp_path, (2, 1), pipeline=1)
