"""Checks that the compiler refuses wrong mappings with one line that names the place in the file,
the directive and the loop."""

from __future__ import annotations

from pathlib import Path

import pytest
from tilewright.hw.t2s.compiler.passes import compiled
from tilewright.hw.t2s.language import MappingError
from tilewright.hw.t2s.language.computation import load_mapping
from tilewright.verif.kit.commands import check_refused

START = """\
from tilewright.hw.t2s.language import compute, indices, sizes, tensor

i, j, k, ii, jj, kk, iii, jjj = indices("i j k ii jj kk iii jjj")
A, B = tensor("A", "fp32", i, k), tensor("B", "fp32", k, j)
C = compute("C", "fp32", i, j, sum_over=k)[A[i, k] * B[k, j]]
C.tile(i, (ii, 2), (iii, 2)).tile(j, (jj, 3), (jjj, 2)).tile(k, (kk, 4))
C.order(i, j, k, ii, jj, iii, jjj, kk)
"""
UNROLLED = START + "C.unroll(ii, jj)\n"
FED = UNROLLED + 'feed, load = C.producers(A, "feeder", "loader")\n'
DRAINED = UNROLLED + 'drain, unload = C.consumers("drainer", "unloader")\n'


DIRECTIVES = [
    (START, 'indices("a b a")', "indices: must be different names, not 'a' twice"),
    (START, 'indices("a b-c")', "indices: must be different names, not 'b-c'"),
    (START, "i * j", "index `i` must be multiplied by an integer, not 'j': indices are affine"),
    (START, "i * (j + k)",
     "index `i` must be multiplied by an integer, not 'j + k': indices are affine"),
    (START, "A[i // 2, k]", "index `i` must be in a sum of multiples, as 2 * i + r, without "
                            "division: indices are affine"),
    (START, "A[i, k % 4]", "index `k` must be in a sum of multiples, as 2 * i + r, without "
                           "division: indices are affine"),
    (START, "A[i, 0.5]",
     "an index must be a sum of indices and integers, not 0.5"),
    (START, "A[i]", "A must have 2 indices, not 1"),
    (START, 'tensor("T", "fp32")', "T: must have 1 to 5 dimensions, not 0"),
    (START, 'tensor("a b", "fp32", i)', "tensor: its name must be an identifier, not 'a b'"),
    (START, 'compute("D", "fp32", i, i)', "D: index `i` must stand once, not twice"),
    (START, 'compute("D", "fp32", i, sum_over=k)[A[i, j]]',
     "D: index must be one of i, k, not 'j'"),
    (START, 'compute("D", "fp32", i, j, sum_over=k)[A[i, k]]', "D: no tensor has index `j`"),
    (START, 'compute("D", "fp32", i, sum_over=k)[A[i, k] * A[k, i]]',
     "D: A must stand in it once, not twice"),
    (START, 'compute("D", "fp16", i, sum_over=k)[A[i, k]]',
     "D: format of A must be fp16, not fp32"),
    (START, 'compute("D", "fp32", i, sum_over=k)[3]',
     "D: must be a product of tensors' elements, not 3"),
    (START, 'compute("D", "fp32", i, semiring="mul")',
     "D: semiring must be one of mma, minplus, maxplus, minmul, maxmul, minmax, maxmin, orand, "
     "addnorm, not 'mul'"),
    (START, 'compute("D", "fp8e4m3", i, semiring="minplus")',
     "D: format of minplus must hold +inf, which fp8e4m3 does not"),
    (START, 'compute("D", "fp32", semiring="mma")',
     "D: must have an index; of a sum of all, one whose bound is 1"),
    # Loops
    (START, "C.tile(i, (kk, 2))", "C.tile: loop `i` is tiled already"),
    (START, "C.tile(ii, (kk, 2))", "C.tile: loop must be one of i, j, k, not 'ii'"),
    (START, "C.order(i, ii, j, jj, k)", "C.order: loop `iii` must be named, too"),
    (START, "C.order(i, j, k, ii, jj, iii, jjj, kk, kk)",
     "C.order: loop `kk` must be named once, not twice"),
    (START, "C.order(i, k, j, ii, jj, iii, jjj, kk)",
     "C.order: loop `j` must stand before `k`, which is summed over: as many sums as it has "
     "iterations would be kept"),
    (START, "C.unroll(kk)", "C.unroll: loop `kk` is summed over: vectorise it instead"),
    (START, "C.unroll(i)", "C.unroll: loop `i` has no constant trip count: tile it"),
    (START, "C.vectorise(ii)", "C.vectorise: loop must be the innermost, kk, not `ii`"),
    # Functions
    (START, 'C.producers(A, "loader", "feeder")',
     "C.producers: must be of feeder, loader, serializer, in this order, not loader, feeder"),
    (START, 'C.producers("Z", "loader")', "C.producers: tensor must be one of A, B, not 'Z'"),
    (FED, 'C.producers(A, "loader")', "C.producers: A has some already"),
    (START, "C.consumers()",
     "C.consumers: must be of drainer, collector, unloader, deserializer, in this order, not "
     "none"),
    (FED, "C.forward(load, jj=1)", "C.forward: A_loader is not next to C"),
    (FED, "C.forward(feed, kk=1)", "C.forward: loop `kk` is not unrolled"),
    (FED, "C.forward(feed, ii=1)", "C.forward: loop `ii` chooses the element of A"),
    (FED, "C.forward(feed, jj=2)", "C.forward: direction of `jj` must be 1 or -1, not 2"),
    (FED, "C.forward(feed)", "C.forward: must be given a loop, as `jj=1`"),
    (FED, "load.remove(ii)", "A_loader.remove: loop `ii` chooses the element of A"),
    (FED, "feed.buffer(ii).buffer(k)", "A_feeder.buffer: there is one at `ii`"),
    (FED, "feed.scatter(ii=1)", "A_feeder.scatter: loop `ii` is not unrolled"),
    (FED, "feed.gather(ii=1)", "A_feeder.gather: operands are scattered"),
    (FED, "feed.unroll(k)", "A_feeder.unroll: loop `k` has no constant trip count: tile it"),
    (FED, "feed.fifo(0)", "A_feeder.fifo: depth must be a constant, 1 or more, not 0"),
    (FED, "feed.fifo(ii)", "A_feeder.fifo: depth must be a constant, 1 or more, not 'ii'"),
    (FED, "feed.fifo(4).fifo(8)", "A_feeder.fifo: the depth is 4 already"),
    (START, "C.fifo(4).fifo(4)", "C.fifo: the depth is 4 already"),
    (START, 'C.producers(A, "loader", "serializer")[1].fifo(4)',
     "A_serializer.fifo: serializers run on the host"),
    (DRAINED, "drain.remove(ii)", "C_drainer.remove: results have no reuse loops"),
    (DRAINED, "drain.buffer(ii)", "C_drainer.buffer: drainers have none"),
    (DRAINED, "drain.scatter(ii=1)", "C_drainer.scatter: results are gathered"),
    (START, "C.factor(C)", "C.factor: tensor must be one of A, B, not 'C'"),
    (START, "C.factor(A).factor(A)", "C.factor: A is factored already"),
    # Sizes
    (START, "sizes(N=0)", "sizes: N must be an integer, 1 or more, not 0"),
]  # fmt: skip
"""Text before, the refused line, and the error."""

MAPPINGS = [
    (START, "C.factor(A)", "C.factor: no loop is vectorised"),
    (START, "C.vectorise(kk).factor(A)", "C.factor: loop `kk` chooses the element of A"),
    (START.replace("iii, jjj, kk)", "iii, kk, jjj)"), "C.vectorise(jjj).factor(A)",
     "C.factor: loop `jjj` is not summed over"),
    (START.replace("sum_over=k)", "sum_over=k, semiring='minmul')"), "C.vectorise(kk).factor(A)",
     "C.factor: semiring must be one of mma, minplus, maxplus, minmax, maxmin, orand, not minmul"),
    (FED, "load.remove(jjj); feed.buffer(k, max_bits=127)",
     "A_feeder.buffer: at loop `k` it has 1,536 bits, more than `max_bits`, 127"),
    (FED, "load.remove(jjj)", "A_loader.remove: A_feeder repeats loop `jjj` and has no buffer: "
                              "buffer it at an outer loop"),
    (FED, "feed.remove(jjj)", "A_feeder.remove: C repeats loop `jjj` and has no buffer outside "
                              "it: C must be isolated from it"),
    (FED, "load.remove(jj, jjj); feed.buffer(jj)",
     "A_feeder.buffer: loop `jj` must be outside `jj`, which A_loader does not have"),
    (FED, "feed.buffer(j)",
     "A_feeder.buffer: loop `k` inside `j` has no constant trip count"),
    (UNROLLED, 'C.producers(A, "feeder")[0].buffer(ii)',
     "A_feeder.buffer: nothing is sent to it"),
    (UNROLLED, 'C.producers(A, "feeder")[0].unroll(ii).scatter(ii=1)',
     "A_feeder.scatter: nothing is sent to it"),
    (FED, "feed.unroll(ii).scatter(ii=1); load.unroll(ii)",
     "A_feeder.scatter: loop `ii` is unrolled in A_loader, too"),
    (FED, "C.forward(feed, jj=1); feed.unroll(jj)",
     "C.forward: loop `jj` is unrolled in A_feeder, which is needed once along it"),
    (DRAINED, "unload.fifo(4)", "C_unloader.fifo: it writes to memory, into no queue"),
    (DRAINED, "drain.unroll(kk)", "C_drainer.unroll: it has no loop `kk`"),
    (DRAINED, "unload.unroll(ii).gather(ii=1)",
     "C_unloader.gather: it sends to nothing: consumers must be isolated from it"),
    (DRAINED, "drain.unroll(ii).gather(ii=1); unload.unroll(ii)",
     "C_drainer.gather: loop `ii` is unrolled in C_unloader, too"),
    (UNROLLED + 'drain, *_ = C.consumers("drainer", "collector", "unloader")\n',
     "drain.unroll(ii).gather(ii=1, vector=True)",
     "C_drainer.gather: vectors are for an unloader, not for C_collector"),
    (DRAINED.replace("jjj, kk)", "kk, jjj)").replace("(ii, jj)", "(ii, jj).vectorise(jjj)"),
     "drain.unroll(ii).gather(ii=1, vector=True)",
     "C_drainer.gather: sums are vectors already, of loop `jjj`"),
]  # fmt: skip
"""The same of mappings whose directives contradict each other, which the compiler finds."""


def said(text: str, folder: Path) -> str:
    file = folder / "mine.py"
    file.write_text(text)
    with pytest.raises(MappingError) as told:
        compiled(load_mapping(file))
    return str(told.value)


@pytest.mark.parametrize(("before", "line", "message"), DIRECTIVES)
def test_directives(before: str, line: str, message: str, tmp_path: Path) -> None:
    assert said(before + line, tmp_path) == f"mine.py:{before.count(chr(10)) + 1}: {message}"


def test_sums_that_are_too_many(tmp_path: Path) -> None:
    """The limit counts the sums of an element at 32 bits each. The error names the definition."""
    lines = START.partition("C.tile")[0].splitlines()
    tiled = "C.tile(i, (ii, 1024), (iii, {})).order(i, j, k, ii, iii)"
    text = "\n".join([*lines, tiled.format(512)])
    (tmp_path / "fits.py").write_text(text)
    compiled(load_mapping(tmp_path / "fits.py"))
    assert said("\n".join([*lines, tiled.format(1024)]), tmp_path) == (
        "mine.py:5: C: loops from `ii` inwards keep 33,554,432 bits of sums in an element, more "
        "than 16,777,216"
    )


@pytest.mark.parametrize(("before", "line", "message"), MAPPINGS)
def test_mappings(before: str, line: str, message: str, tmp_path: Path) -> None:
    assert said(before + line, tmp_path) == f"mine.py:{before.count(chr(10)) + 1}: {message}"


def named(result: str, first: str, second: str, row: str, column: str) -> str:
    """A mapping whose names are these: of its tensors, and of loops along which words pass."""
    return f"""\
from tilewright.hw.t2s.language import compute, indices, tensor

i, j, k, row, column = indices("i j k {row} {column}")
A, B = tensor("{first}", "fp32", i, k), tensor("{second}", "fp32", k, j)
C = compute("{result}", "fp32", i, j, sum_over=k)[A[i, k] * B[k, j]]
C.tile(i, (row, 2)).tile(j, (column, 2)).order(i, j, k, row, column).unroll(row, column)
feed_a, _, _ = C.producers(A, "feeder", "loader", "serializer")
feed_b, _, _ = C.producers(B, "feeder", "loader", "serializer")
C.forward(feed_a, {column}=1).forward(feed_b, {row}=1)
"""


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("C", "A", "A_b", "c", "b_c"), "two channels would be called A_b_c_forward"),
        (("A_loader", "A", "B", "ii", "jj"), "two functions would be called A_loader"),
        (("C", "A", "A_image", "ii", "jj"), "two tensors would be called A_image"),
    ],
)
def test_names(names: tuple[str, ...], message: str, tmp_path: Path) -> None:
    """The names that the compiler derives must be unique."""
    assert said(named(*names), tmp_path) == (
        f"mine.py:5: {names[0]}: {message}: give tensors and loops other names"
    )


def test_names_that_share_a_beginning(tmp_path: Path) -> None:
    """Such names do not collide."""
    (tmp_path / "mine.py").write_text(named("C", "A", "A_b", "b", "c"))
    assert compiled(load_mapping(tmp_path / "mine.py")).channel("A_c_forward")


@pytest.mark.parametrize("name", ["ii_t", "last_i"])
def test_names_of_loops(name: str, tmp_path: Path) -> None:
    """Turns are counted in a loop, and there is a last iteration."""
    lines = (
        "from tilewright.hw.t2s.language import compute, indices, tensor\n"
        f'i, k, ii, other = indices("i k ii {name}")\n'
        'A = tensor("A", "fp32", i, k)\n'
        'C = compute("C", "fp32", i, sum_over=k)[A[i, k]].tile(i, (ii, 2), (other, 2))\n'
    )
    assert said(lines, tmp_path) == (
        f"mine.py:4: C: two loops would be called {name}: give tensors and loops other names"
    )


@pytest.mark.parametrize(
    ("line", "function"),
    [
        ("C.unroll(jjj)", "C"),
        ('C.consumers("drainer", "unloader")[0].unroll(jjj)', "C_drainer"),
        ('C.producers(B, "feeder", "loader")[0].unroll(jjj)', "B_feeder"),
        # Not of its word: then there would be a copy an iteration of a loop that there is not.
        ('C.producers(A, "feeder", "loader")[0].unroll(jjj)', "A_feeder"),
    ],
)
def test_copies_for_lanes(line: str, function: str, tmp_path: Path) -> None:
    ordered = START.replace("jjj, kk)\n", "kk, jjj).vectorise(jjj)\n")
    assert said(ordered + line, tmp_path).endswith(f": {function}.unroll: loop `jjj` is vectorised")


IN_COMMANDS = [
    (START.partition("C.tile")[0], "C.tile(i, (ii, 2), (ii, 3))",
     "C.tile: there is a loop `ii` already"),
    (START, "C.unroll('q')", "C.unroll: loop must be one of i, j, k, ii, jj, iii, jjj, kk, not "
                             "'q'"),
    (START.partition("C.tile")[0], "C.tile(i, (ii, j))",
     "C.tile: factor of `ii` must be a constant, 1 or more, not 'j'"),
    (START, "C.unroll(kk)", "C.unroll: loop `kk` is summed over: vectorise it instead"),
    (FED, "load.remove(ii)", "A_loader.remove: loop `ii` chooses the element of A"),
    (FED, "load.remove(jj, jjj); feed.buffer(jjj)",
     "A_feeder.buffer: loop `jjj` must be outside `jj`, which A_loader does not have"),
    (FED, "load.remove(jjj); feed.buffer(k, max_bits=127)",
     "A_feeder.buffer: at loop `k` it has 1,536 bits, more than `max_bits`, 127"),
    (FED, "C.forward(feed, jjj=1)", "C.forward: loop `jjj` is not unrolled"),
    (FED, "C.forward(feed, jj=1); feed.unroll(jj).scatter(jj=1)",
     "A_feeder.scatter: the elements forward A along loop `jj`: it comes in once"),
    (UNROLLED, "C.consumers('drainer')[0].unroll(ii).gather(ii=1)",
     "C_drainer.gather: it sends to nothing: consumers must be isolated from it"),
    (START, "A[i * j, k]", "index `i` must be multiplied by an integer, not 'j': indices are "
                           "affine"),
    (START, "compute('D', 'fp32', i, j, sum_over=k)[A[k, i] * B[k, j]]",
     "D: dimension `i` of A must be walked by `i`, not by `k`: shapes contradict each other"),
    (START, "C.vectorise(iii)", "C.vectorise: loop must be the innermost, kk, not `iii`"),
    (START, "compute('D', 'fp8e4m3', i, semiring='minplus')",
     "D: format of minplus must hold +inf, which fp8e4m3 does not"),
]  # fmt: skip
"""Errors that every command prints in one line."""


@pytest.mark.parametrize(("before", "line", "message"), IN_COMMANDS)
def test_commands_say_it(
    before: str,
    line: str,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """The unit's commands complete a mapping first, which must not hide its error."""
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(before + line)
    told = f"mine.py:{before.count(chr(10)) + 1}: {message}"
    check_refused(["t2s", "show", "mine.py"], told, tmp_path, capfd)
    check_refused(["t2s", "check", "mine.py", "--bounds", "i=2,j=2,k=2"], told, tmp_path, capfd)
    if "C_drainer.gather" not in message:  # They add what takes words from it.
        unit = ["generate", "t2s", "--spec", "mine.py", "-o", "unit.v"]
        check_refused(unit, told, tmp_path, capfd)
