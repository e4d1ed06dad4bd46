"""Passes that take counters out of functions, each rule by itself, on nests written by hand: before
and after a pass the same words come out, in the same order.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from amaranth.back import rtlil
from tilewright.hw.spec.t2s.config import T2sConfig
from tilewright.hw.spec.t2s.loops import Affine, Loop, variable
from tilewright.hw.spec.t2s.parts import FeederPart, MoverPart
from tilewright.hw.spec.t2s.program import Channel, Function, Program, TensorDeclaration
from tilewright.hw.spec.t2s.program_text import program_text
from tilewright.hw.spec.t2s.statements import (
    Body,
    Equal,
    Ever,
    If,
    Load,
    Name,
    Phases,
    Receive,
    Send,
    Store,
)
from tilewright.hw.t2s.compiler.counting.flattening import counters, flatten
from tilewright.hw.t2s.compiler.counting.perfection import perfect
from tilewright.hw.t2s.compiler.passes import PASSES, compiled, infinitise
from tilewright.hw.t2s.compiler.rewriting import all_statements, nest
from tilewright.hw.t2s.copies import Feeder, Packer, mover
from tilewright.hw.t2s.language import Computation, MappingError
from tilewright.hw.t2s.language.computation import load_mapping
from tilewright.hw.t2s.lowering.design import lowered
from tilewright.sim.t2s.interpreter import interpret
from tilewright.verif.kit.sampling import by_size
from tilewright.verif.t2s.designs import DESIGNS, FOLDER
from tilewright.verif.t2s.random_mappings import KERNELS, random_mapping

GEMV = load_mapping(FOLDER / "gemv.py")
"""These passes look at no directive."""

WORDS = 96
N = Loop("n", "n", None, 1, False)
SENT = Send("out", (), Name("a"))
TAKEN = Receive("a", "words", ())


def loop(name: str, extent: int | None, trips: int = 2) -> Loop:
    """A loop of a constant trip count, or one whose register says ``trips``."""
    return Loop(name, "n", extent, WORDS // trips if extent is None else 1, False)


def through(body: Body) -> Program:
    """A function between one that brings all words in turn, and one that takes them."""
    words, place = (TensorDeclaration(name, (variable("n"),), "0") for name in "AY"), variable("n")
    functions = (
        Function("load", nest([N], (Send("words", (), Load("A", (place,))),))),
        Function("middle", body),
        Function("store", nest([N], (Receive("a", "out", ()), Store("Y", (place,), Name("a"))))),
    )
    return Program(
        name="Y",
        indices=("n",),
        semiring="mma",
        number_format="fp32",
        result="Y",
        tensors=tuple(words),
        functions=functions,
        channels=(Channel("words", "load", "middle"), Channel("out", "middle", "store")),
    )


def passed(body: Body, *passes: Callable[[Program, Computation], Program]) -> Function:
    """Applies passes to a function; after each the function must send what it sent before."""
    program = through(body)
    operands = {"A": np.arange(WORDS).astype(object)}
    wanted = interpret(program, {"n": WORDS}, operands)
    assert sorted(wanted.tolist()) == list(range(WORDS))
    for one in passes:
        program = one(program, GEMV)
        assert np.array_equal(interpret(program, {"n": WORDS}, operands), wanted)
    return program.function("middle")


def text(function: Function) -> list[str]:
    program = replace(through(()), functions=(function,))
    return [line.removeprefix("    ") for line in program_text(program).splitlines()[1:]]


@pytest.mark.parametrize("extents", list(itertools.product((1, 2, 3, 4, 6), repeat=3)))
def test_flattening(extents: tuple[int, int, int]) -> None:
    """Each word goes into a queue of its own, by all variables; they come out in their order."""
    own, (x, y, z) = 1 + WORDS // int(np.prod(extents)), extents
    around = [loop("outer", own), loop("x", x), loop("y", y), loop("z", z)]
    place = variable("outer").times(x * y * z) + variable("x").times(y * z)
    place = place + variable("y").times(z) + variable("z")
    program = through(nest(around, (TAKEN, Send("out", (place,), Name("a")))))
    taken = (Receive("a", "out", (variable("n"),)), Store("Y", (variable("n"),), Name("a")))
    program = program.with_function("store", lambda one: replace(one, body=nest([N], taken)))
    flat = flatten(program, GEMV)
    words = own * x * y * z
    found = interpret(flat, {"n": words}, {"A": np.arange(words).astype(object)})
    assert found.tolist() == list(range(words))
    bits = [(one - 1).bit_length() for one in (own, *extents) if one > 1]
    assert [one.bits for one in counters(flat.function("middle"))] == bits


def test_a_jump_is_in_the_text() -> None:
    """The thesis' Figure 3.11: 3 of 4, and no jump where all are powers of two."""
    inner = (TAKEN, If(Equal(variable("y"), variable("x")), (SENT,), (SENT,)))
    around = [loop("x", 8), loop("y", 3), loop("z", 4)]
    assert text(passed(nest(around, inner), flatten))[:1] == [
        "for x_y_z < 128, x = [4:7], y = [2:4]:"
    ]
    assert "    after x_y_z[2:4] == 2: x_y_z += 4" in text(passed(nest(around, inner), flatten))
    around = [loop("x", 8), loop("y", 4), loop("z", 3)]
    plain = text(passed(nest(around, (TAKEN, SENT)), flatten))
    assert plain == ["for x_y_z < 96:", "    a = receive words", "    send out, a"]


def test_registers_stay_loops() -> None:
    """A loop whose trip count is a register's has a counter of its own, between two others."""
    around = [loop("x", 6), loop("r", None), loop("y", 4), loop("z", 2)]
    body = nest(around, (TAKEN, If(Equal(variable("x"), variable("y")), (SENT,), (SENT,))))
    function = passed(body, flatten)
    assert counters(function) == (("x", 3), ("r", None), ("y", 2), ("z", 1))


def test_what_stands_beside_a_loop() -> None:
    """Statements beside a loop move into its first and its last iteration."""
    body = nest([loop("x", 8)], (TAKEN, SENT, *nest([loop("y", 10)], (TAKEN, SENT)), TAKEN, SENT))
    function = passed(body, perfect)
    assert text(function) == [
        "for x < 8:",
        "    for y < 10:",
        *("        " + line for line in (
            "if y == 0:", "    a = receive words", "    send out, a",
            "a = receive words", "send out, a",
            "if y == 9:", "    a = receive words", "    send out, a",
        )),
    ]  # fmt: skip


def test_loops_that_follow_each_other() -> None:
    """The loops merge into one whose trip count is the sum of theirs, also under a condition."""
    first, second = [loop("y", 3), loop("z", 2)], [loop("w", 5)]
    body = nest(
        [loop("x", 8)],
        (
            *nest(first, (TAKEN, SENT)),
            TAKEN,
            SENT,
            If(Equal(variable("x"), variable("x")), nest(second, (TAKEN, SENT))),
        ),
    )
    function = passed(body, perfect, flatten)
    (phases,) = [one for one in all_statements(function.body) if isinstance(one, Phases)]
    assert (phases.extent, [one.extent for one in phases.phases]) == (12, [6, 1, 5])
    assert "    if 7 <= y_z_w_t <= 11, w = (y_z_w_t - 7) / 1 % 5:" in [
        line.removeprefix("    ") for line in text(function)
    ]
    assert counters(function) == (("x", 3), ("y_z_w_t", 4))


def endless(body: Body) -> tuple[bool, list[str]]:
    """Returns whether the function runs forever, and its remaining loops."""
    function = passed(body, perfect, flatten, infinitise)
    return isinstance(function.body[0], Ever), [one.name for one in counters(function)]


def asks(name: str) -> Body:
    return (TAKEN, If(Equal(variable(name), Affine()), (SENT,), (SENT,)))


def test_nothing_is_counted() -> None:
    around = [loop("r", None), loop("x", 48)]
    assert endless(nest(around, (TAKEN, SENT))) == (True, [])


def test_a_variable_that_is_needed() -> None:
    """The first condition of the thesis; loops around go round for ever."""
    around = [loop("r", None), loop("x", 48)]
    assert endless(nest(around, asks("x"))) == (True, ["x"])


def test_loops_inside_one_that_is_counted() -> None:
    """The second condition."""
    around = [loop("r", None), loop("x", 48)]
    assert endless(nest(around, asks("r"))) == (False, ["r", "x"])


def test_functions_that_read_or_write_memory() -> None:
    """The third condition: the first on the device, and the last, do not need their variables to
    tell one word from another, and yet count them."""
    program = through(nest([N], (TAKEN, SENT)))
    stored = Store("Y", (Affine(),), Name("a"))
    same = replace(
        program,
        functions=(
            Function("load", nest([N], (Send("words", (), Load("A", (Affine(),))),))),
            program.function("middle"),
            Function("store", nest([N], (Receive("a", "out", ()), stored))),
        ),
    )  # fmt: skip
    found = infinitise(
        flatten(same, load_mapping(FOLDER / "gemv.py")), load_mapping(FOLDER / "gemv.py")
    )
    assert [counters(one) for one in found.functions] == [(("n", None),), (), (("n", None),)]


def test_loops_one_after_the_other() -> None:
    """The fourth condition: of two that cannot be merged, neither goes round for ever."""
    half = nest([loop("r", None, 48)], (TAKEN, SENT))
    other = nest([loop("s", None, 48)], (TAKEN, SENT))
    assert endless((*half, *other)) == (False, ["r", "s"])


def test_elements_count_nothing() -> None:
    """Feeders and drainers of the thesis' GEMM count what they need; elements and collectors count
    nothing."""
    program = compiled(load_mapping(FOLDER / "gemm.py"), next(reversed(PASSES)))
    device = [one for one in program.functions if not one.host]
    found = {one.name: [each.name for each in counters(one)] for one in device}
    assert found["C"] == found["C_collector"] == []
    assert found["A_feeder"] == ["ii_t", "iii", "k", "kk", "iii", "jjj"]
    assert found["B_feeder"] == ["kk", "jj_t", "jjj", "kk", "iii", "jjj"]
    assert found["C_drainer"] == ["ii_t", "iii_jjj"]


def test_sums_that_do_not_rotate(tmp_path: Path) -> None:
    """A sum is visited again before the others: it has an address, and the element counts."""
    file = tmp_path / "mine.py"
    text_of = (FOLDER / "steps" / "step2_tiled.py").read_text()
    file.write_text(text_of.replace("kk, ii, jj, iii, jjj, kkk", "ii, jj, iii, jjj, kk, kkk"))
    program = compiled(load_mapping(file), next(reversed(PASSES)))
    assert not program.function("C").buffers[0].rotating
    assert {one.name for one in counters(program.function("C"))} >= {"iii", "jjj"}


# Counters that the compiler's last pass leaves to functions are those that their hardware has.

TRIP_BITS = 11
LAST = next(reversed(PASSES))


def built(component: object) -> Counter[tuple[str, int]]:
    """Registers of a component's nests, by the loops' names and their width."""
    found: Counter[tuple[str, int]] = Counter()
    for module in re.split(r"^module ", rtlil.convert(component), flags=re.MULTILINE)[1:]:
        if re.match(r"\\\S*(nest|fill|read|around)\n", module):
            for bits, name in re.findall(r"wire (?:width (\d+) )?.*\\count_(\w+)\n", module):
                found[name, int(bits or 1)] += 1
    return found


def checked(computation: Computation) -> int:
    """Compares the counters of each function, except for those that visit queues in turn, with the
    hardware's. Returns the number of functions."""
    design = lowered(computation, T2sConfig(trip_bits=TRIP_BITS))
    program = compiled(computation, LAST)
    left = [one.name for one in counters(program.function(program.name))]
    if computation.overlap[0]:
        assert left == []
    else:
        # Hardware has one counter for both: of sums that are complete and have not left.
        assert left[: len(left) // 2] == left[len(left) // 2 :]
    names = {one.name for one in design.routes}
    links = [one for one in design.links if one.channel in names]
    routed = {end.function for one in links for end in (one.source, one.sink)}
    count = 0
    parts: list[FeederPart | MoverPart] = [*design.feeders, *design.movers]
    for part in parts:
        if part.name in routed:
            continue
        wanted = Counter(
            (name, TRIP_BITS if bits is None else bits)
            for name, bits in counters(program.function(part.name))
        )
        assert built(component(part)) == wanted, part.name
        count += 1
    return count


def component(part: FeederPart | MoverPart) -> object:
    if isinstance(part, MoverPart):
        # A part that packs vectors has no nest.
        return Packer(part, 1) if part.packs else mover(part, TRIP_BITS)
    return Feeder(part, TRIP_BITS)


@pytest.mark.parametrize("name", DESIGNS)
def test_designs(name: str) -> None:
    assert checked(load_mapping(FOLDER / f"{name}.py", largest=3)) >= 3


@pytest.mark.parametrize("kernel", sorted(KERNELS))
def test_random_mappings(kernel: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tilewright.hw.t2s.lowering.design.with_depths", lambda found, said: found)
    wanted, ran = by_size(2, 10, 100), 0
    for seed in range(100 * wanted):
        rng = np.random.default_rng([seed, *map(ord, kernel)])
        try:
            ran += checked(random_mapping(kernel, rng)) > 0
        except (MappingError, ValueError):
            continue
        if ran == wanted:
            break
    assert ran == wanted
