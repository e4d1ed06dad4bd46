"""The interpreter on programs written by hand."""

from __future__ import annotations

import re

import numpy as np
import pytest
from tilewright.hw.spec.t2s.loops import Affine, Loop, variable
from tilewright.hw.spec.t2s.program import Channel, Function, Program, TensorDeclaration
from tilewright.hw.spec.t2s.statements import (
    Apply,
    Body,
    Equal,
    Fold,
    For,
    If,
    Load,
    Name,
    Neutral,
    Receive,
    Send,
    Store,
)
from tilewright.hw.t2s.compiler.passes import compiled
from tilewright.hw.t2s.language import compute, indices, tensor
from tilewright.sim.t2s.interpreter import Deadlock, interpret

pytestmark = pytest.mark.quick

OUTER = Loop("i", "i", None, 2, False)
INNER = Loop("ii", "i", 2, 1, False)
PLACE = Affine((("i", 2), ("ii", 1)))
A = np.array([3, 1, 4, 1, 5], dtype=object)


def nested(*body: Send | Receive | Store | If) -> Body:
    return (For(OUTER, (For(INNER, body),)),)


def program(functions: list[Function], channels: list[Channel], semiring: str = "mma") -> Program:
    tensors = (
        TensorDeclaration("A", (variable("i"),), "0"),
        TensorDeclaration("Y", (variable("i"),), "0"),
    )
    return Program(
        name="Y",
        indices=("i",),
        semiring=semiring,
        number_format="fp32",
        result="Y",
        tensors=tensors,
        functions=tuple(functions),
        channels=tuple(channels),
    )


def loader(times: int = 1, at: tuple[Affine, ...] = ()) -> Function:
    return Function("load", nested(*[Send("a", at, Load("A", (PLACE,)))] * times))


def unloader(at: tuple[Affine, ...] = ()) -> Function:
    return Function("store", nested(Receive("a", "a", at), Store("Y", (PLACE,), Name("a"))))


def test_a_channel() -> None:
    """Five words by loops of two: the sixth is padding, and is not stored."""
    found = interpret(
        program([unloader(), loader()], [Channel("a", "load", "store")]), {"i": 5}, {"A": A}
    )
    assert found.tolist() == [3, 1, 4, 1, 5]


def test_instances_have_queues_of_their_own() -> None:
    own = (variable("ii"),)
    square = Apply("times", (Name("a"), Name("a")))
    body = nested(Receive("a", "a", own), Store("Y", (PLACE,), square))
    copies = Function("square", body, instances=(INNER,))
    channel = Channel("a", "load", "square", (INNER,))
    found = interpret(program([loader(1, own), copies], [channel]), {"i": 5}, {"A": A})
    assert found.tolist() == [9, 1, 16, 1, 25]


@pytest.mark.parametrize(("semiring", "sums"), [("mma", [4, 5, 5]), ("maxplus", [3, 4, 5])])
def test_lanes(semiring: str, sums: list[int]) -> None:
    """A vector of two words a load, folded to the first place of each pair."""
    vector = Load("A", (PLACE,), lanes=INNER)
    body: Body = (For(OUTER, (Store("Y", (Affine((("i", 2),)),), Fold(Neutral(), vector)),)),)
    found = interpret(program([Function("Y", body)], [], semiring), {"i": 5}, {"A": A})
    assert found[::2].tolist() == sums
    assert list(found[1::2]) == [None, None]


def test_a_counting_loop_and_conditions() -> None:
    """Each copy goes from its own place to the last, and stores when it is its turn."""
    turn = Loop("t", "i", 2, 1, False)
    store = Store("Y", (PLACE,), Load("A", (PLACE,)))
    mine = If(Equal(variable("t"), variable("ii")), (store,))
    loop = For(turn, (mine,), variable("ii"), Affine((), 1))
    copies = Function("Y", (For(OUTER, (For(INNER, (loop,)),)),), instances=(INNER,))
    assert interpret(program([copies], []), {"i": 5}, {"A": A}).tolist() == A.tolist()


def test_words_that_nobody_takes() -> None:
    both = program([loader(2), unloader()], [Channel("a", "load", "store")])
    with pytest.raises(Deadlock, match=r"^channel a is left with 6 values$"):
        interpret(both, {"i": 5}, {"A": A})
    with pytest.raises(Deadlock, match=r"^load waits for a, full$") as told:
        interpret(both, {"i": 5}, {"A": A}, {"a": 3})
    assert told.value.full == {"a"}


def test_words_that_do_not_come() -> None:
    one = program([unloader()], [Channel("a", "load", "store")])
    with pytest.raises(Deadlock, match=r"^store waits for a, empty$"):
        interpret(one, {"i": 5}, {"A": A})


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        ({}, "bounds must have i; i is missing"),
        ({"i": 0}, "bound of i must be 1 or more, not 0"),
        ({"i": 5, "z": 2}, "bounds must be of i, not of 'z'"),
        ({"i": 6}, "A must be of shape (6,), not (5,)"),
    ],
)
def test_bounds_that_do_not_fit(bounds: dict[str, int], message: str) -> None:
    whole = program([unloader(), loader()], [Channel("a", "load", "store")])
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        interpret(whole, bounds, {"A": A})


def test_a_tensor_that_is_called_like_the_result() -> None:
    """The serializer of the tensor is not the deserializer of the result."""
    i, k = indices("i k")
    operand = tensor("C_x", "int8", i, k)
    done = compute("C", "int8", i, sum_over=k)[operand[i, k]]
    done.producers(operand, "loader", "serializer")
    numbers = np.arange(6, dtype=object).reshape(2, 3)
    found = interpret(compiled(done), {"i": 2, "k": 3}, {"C_x": numbers})
    assert found.tolist() == [3, 12]
