"""Checks the parts that the compiler makes of designs, and the queues between their ports."""

import re
from collections import Counter
from math import prod
from pathlib import Path
from typing import Any

import pytest
from tilewright.hw.spec.t2s.config import T2sConfig
from tilewright.hw.spec.t2s.parts import MemoryPart, OperandPart
from tilewright.hw.t2s.lowering.design import DESIGNS

from ..designs import IN_HARDWARE, SPARSE


def test_all_designs_are_lowered() -> None:
    assert set(DESIGNS) == set(IN_HARDWARE) | set(SPARSE)


@pytest.mark.parametrize("name", sorted(IN_HARDWARE))
def test_each_port_has_one_queue(name: str) -> None:
    plan = T2sConfig(design=name, largest=3).plan
    found = plan.links
    for ends in ([one.source for one in found], [one.sink for one in found]):
        assert [one for one, count in Counter(ends).items() if count > 1] == []
    program = plan.program
    elements = [one for one in plan.copies if one.function == program.name]
    # Every element receives each operand, and sends its sums.
    for operand in plan.element.operands:
        places = {one.sink.place for one in found if one.sink.port == f"i_{operand.name}"}
        assert places == {one.place for one in elements}
    sends = [one for one in found if one.source.function == program.name]
    assert sum(one.source.port == "o" for one in sends) == len(elements)


@pytest.mark.parametrize("name", sorted(IN_HARDWARE))
def test_words_of_images(name: str) -> None:
    plan = T2sConfig(design=name, largest=3).plan
    for part in (*plan.loaders, plan.unloader):
        image = plan.program.tensor(f"{part.tensor}_image").image
        fmt = plan.word_format(part.tensor)
        lanes = prod(one.extent or 1 for one in image if one.name not in _walked(part))
        assert part.word_bits == lanes * fmt.container_bits
        constant = prod(one.extent or 1 for one in image)
        steps = prod(one.count.extent or 1 for one in part.steps if one.moves)
        assert part.run_words * steps * lanes == constant


def test_gemm() -> None:
    plan = T2sConfig(design="gemm", largest=2).plan
    assert plan.indices == ("i", "j", "k")
    assert plan.element.sums == 4
    assert plan.element.inner == ("A", "B")
    assert [one.name for one in plan.feeders] == ["A_feeder", "B_feeder"]
    assert plan.feeders[0].flags == ("k", "kk")
    assert plan.loaders[0].strides == ("i", "k")
    assert plan.loaders[1].strides == ("j", "k")
    assert plan.unloader.strides == ("i", "j")
    ahead = {one.name: one.ahead for one in plan.copies if one.function == "A_feeder"}
    assert ahead == {"A_feeder_0": 1, "A_feeder_1": 0}


def test_factored() -> None:
    element = T2sConfig(design="mttkrp", largest=2).plan.element
    assert (element.inner, element.outer) == (("A", "C"), ("B",))
    assert [one.lanes for one in element.operands] == [2, 1, 2]


def test_started() -> None:
    """The initial values of sums are the last operand, with one word per sum in the sums'
    format."""
    plan = T2sConfig(design="cgra/mttkrp", largest=2, format="int8").plan
    *multiplied, start = plan.element.operands
    assert start == OperandPart("T", 1, starts=True)
    assert not any(one.starts for one in multiplied)
    assert (plan.element.inner, plan.element.outer) == (("A", "C"), ("B",))
    loader = next(one for one in plan.loaders if one.tensor == "T")
    assert (loader.word_bits, loader.strides) == (32, ("i", "j"))


PLAIN = """
from tilewright.hw.t2s.language import compute, indices, tensor

i, j, k, ii, jj, iii = indices("i j k ii jj iii")
A, B = tensor("A", "fp32", i, k), tensor("B", "fp32", k, j)
C = compute("C", "fp32", i, j, sum_over=k)[A[i, k] * B[k, j]].accumulate(stall="allowed")
"""


def test_three_lines(tmp_path: Path) -> None:
    plan = T2sConfig(design=_file(tmp_path, PLAIN)).plan
    assert plan.element.sums == 1
    assert [one.name for one in plan.movers] == ["A_feeder", "B_feeder"]
    assert len(plan.links) == 5


def test_sums_of_vectors(tmp_path: Path) -> None:
    """Each lane has its own sum. An operand that does not depend on the loop is sent once for all
    lanes."""
    lanes = "C.tile(j, (jj, 4)).order(i, j, k, jj).vectorise(jj)"
    plan = T2sConfig(design=_file(tmp_path, PLAIN + lanes), format="int8").plan
    assert (plan.element.vector, plan.element.lanes, plan.element.sums) == (4, 4, 1)
    assert [one.lanes for one in plan.element.operands] == [1, 4]
    assert plan.element.arithmetic.lanes == 1
    assert [one.word_bits for one in (*plan.loaders, plan.unloader)] == [8, 32, 128]
    lanes = "C.tile(j, (jj, 4)).tile(i, (ii, 2)).order(i, j, k, ii, jj).unroll(ii).vectorise(jj)"
    plan = T2sConfig(design=_file(tmp_path, PLAIN + lanes), format="int8").plan
    assert [one.word_bits for one in plan.routes if one.joins] == [128]


def test_arrays_of_queues_are_walked(tmp_path: Path) -> None:
    mapped = PLAIN + "C.tile(i, (ii, 2), (iii, 4)).tile(j, (jj, 3)).unroll(ii, jj)"
    ordered = mapped + ".order(i, j, k, ii, jj, iii)"
    plan = T2sConfig(design=_file(tmp_path, ordered)).plan
    assert [one.name for one in plan.routes] == ["B_feeder_spread", "A_feeder_spread", "C_join"]
    assert plan.routes[0].extents == (2, 3)
    assert len(plan.links) == 2 + 3 * 6 + 3


def test_vectors_of_an_array_of_queues(tmp_path: Path) -> None:
    """An unloader that visits rows of collectors takes vectors of each."""
    plan = T2sConfig(
        design=_file(
            tmp_path,
            PLAIN + "C.tile(i, (ii, 2)).tile(j, (jj, 3)).order(i, j, k, ii, jj).unroll(ii, jj)\n"
            'collect, unload = C.consumers("collector", "unloader")\n'
            "collect.unroll(ii, jj).gather(jj=1, vector=True)",
        )
    ).plan
    (join,) = (one for one in plan.routes if one.joins)
    assert join.word_bits == plan.unloader.word_bits == 3 * 32


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (
            "C.tile(k, (kk, 2)).tile(i, (iii, 4)).order(i, j, k, iii, kk)",
            "mine.py:6: C has no hardware yet: loop `kk`, which is summed over, stands inside "
            "`iii`, whose sums are kept",
        ),
        (
            'a, load = C.producers(A, "feeder", "loader")\nC.tile(i, (ii, 4))\n'
            "C.order(i, j, k, ii)\nload.unroll(ii)",
            "mine.py:10: A_loader has no hardware yet: loop `ii` is unrolled in it",
        ),
        (
            'a, load = C.producers(A, "feeder", "loader")\n'
            "C.tile(k, (kk, 4))\n"
            "C.order(i, j, k, kk)\n"
            "a.unroll(kk)",
            "mine.py:10: A_feeder has no hardware yet: loop `kk`, which is summed over, is "
            "unrolled in it",
        ),
    ],
)
def test_no_hardware_yet(tmp_path: Path, lines: str, message: str) -> None:
    text = PLAIN.replace("iii = indices", "iii, kk = indices").replace("jj iii", "jj iii kk")
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        _ = T2sConfig(design=_file(tmp_path, text + lines)).plan
    assert str(caught.value) == message


def test_too_many_copies_in_a_row(tmp_path: Path) -> None:
    text = PLAIN + (
        "C.tile(i, (ii, 257)).order(i, j, k, ii).unroll(ii)\n"
        'feed, load = C.producers(A, "feeder", "loader")\n'
        "feed.unroll(ii).scatter(ii=-1)"
    )
    message = (
        "mine.py:9: A_feeder has no hardware yet: words pass through 257 copies of it in a row, at "
        "most 256 are counted"
    )
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        _ = T2sConfig(design=_file(tmp_path, text), largest=0).plan
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"design": "nothing"},
            "unknown design 'nothing'; `tilewright table t2s-designs` lists them all",
        ),
        (
            {"design": "none.py"},
            "`design` must be a file that can be read, not 'none.py': No such file or directory",
        ),
        ({"sizes": "XX=3"}, "the file has no size 'XX'"),
        (
            {"design": "apsp", "format": "fp8e4m3"},
            "`format` must hold +inf for minplus, not 'fp8e4m3'",
        ),
        (
            {"design": "mttkrp", "format": "int32", "accumulator": "int64"},
            "`accumulator` must be a format of words for D, which multiplies products once more, "
            "not 'int64'",
        ),
    ],
)
def test_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        _ = T2sConfig(**settings).plan
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"sizes": "II"}, "`sizes` must be sizes as II=2,JJ=2, not 'II'"),
        ({"sizes": "II=2,II=3"}, "`sizes` must be sizes as II=2,JJ=2, not 'II=2,II=3'"),
        (
            {"design": "a b"},
            "`design` must be the name of a design, or a file that ends in .py, not 'a b'",
        ),
    ],
)
def test_texts(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        T2sConfig(**settings)
    assert str(caught.value) == message


def _walked(part: MemoryPart) -> list[str]:
    return [*(one.count.name for one in part.steps), *(one.name for one in part.run)]


def _file(folder: Path, text: str) -> str:
    file = folder / "mine.py"
    file.write_text(text)
    return str(file)
