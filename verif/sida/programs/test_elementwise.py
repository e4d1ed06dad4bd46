"""Instructions, reductions and passes: against arithmetic of others, element by element."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csc_array, random_array
from tilewright.hw.spec.elementwise.assembler import assemble
from tilewright.hw.spec.elementwise.instructions import INSTRUCTIONS
from tilewright.hw.spec.formats import FLOAT_FORMATS, FORMATS
from tilewright.hw.spec.semirings import SEMIRINGS
from tilewright.sim.numbers.values import decode, encode
from tilewright.sim.sida.result.elementwise import begin, run
from tilewright.sim.sida.result.passes import one_pass
from tilewright.sim.sida.result.products import Columns, Rules
from tilewright.verif.kit.sampling import cases
from tilewright.verif.oracles import softfloat

FLOATS = {"fp16": np.float16, "fp32": np.float32, "fp64": np.float64}


def _zeros(a: Any, b: Any) -> Any:
    return (a == 0) & (b == 0)


def _signs(a: Any, b: Any) -> Any:
    """Returns for two zeros whether the first is the lesser one."""
    return np.signbit(a) >= np.signbit(b)


EXPECTED: dict[str, Callable[..., Any]] = {
    "move": lambda a: a,
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "sqrt": np.sqrt,
    "min": lambda a, b: np.where(_zeros(a, b), np.where(_signs(a, b), a, b), np.minimum(a, b)),
    "max": lambda a, b: np.where(_zeros(a, b), np.where(_signs(a, b), b, a), np.maximum(a, b)),
    "abs": abs,
    "neg": lambda a: -a,
    "relu": lambda a: np.where(np.isnan(a), np.nan, np.where(a > 0, a, 0)),
    "equal": lambda a, b: a == b,
    "less": lambda a, b: a < b,
    "atmost": lambda a, b: a <= b,
    "and": lambda a, b: (a != 0) & (b != 0),
    "or": lambda a, b: (a != 0) | (b != 0),
    "not": lambda a: a == 0,
    "select": lambda a, b, c: np.where(a != 0, b, c),
}
"""Operations in NumPy, computed in the format itself."""


def numbers(rng: np.random.Generator, fmt: str, count: int) -> Any:
    """Draws values of all sizes, small integers and special values."""
    if fmt == "int32":
        return rng.choice(
            [-(2**31), -1, 0, 1, 2**31 - 1, *rng.integers(-(2**31), 2**31, 20)], count
        )
    own = FLOATS[fmt]
    word: Any = {2: np.uint16, 4: np.uint32, 8: np.uint64}[np.dtype(own).itemsize]
    every = rng.integers(0, np.iinfo(word).max, count, dtype=word, endpoint=True).view(own)
    special = np.array([0.0, -0.0, 1, -1, np.inf, -np.inf, np.nan], own)
    some = np.where(rng.random(count) < 0.3, rng.choice(special, count), every)
    return np.where(rng.random(count) < 0.3, rng.integers(-4, 5, count).astype(own), some)


def one_instruction(fmt: str, name: str, *values: Any) -> Any:
    """Returns the result of one instruction, from a program that loads its operands."""
    names = [f"v{n}" for n in range(len(values))]
    text = "\n".join(
        [f"vector {v}" for v in names]
        + ["e1:"]
        + [f" load r{n + 1}, {v}" for n, v in enumerate(names)]
        + [f" {name} r9, {', '.join(f'r{n + 1}' for n in range(len(values)))}", " out r9"]
    )
    program, rules = assemble(text), Rules(fmt=FORMATS[fmt])
    with np.errstate(invalid="ignore"):  # of signalling NaNs
        patterns = {n: encode(value, rules.fmt)[:, None] for n, value in enumerate(values)}
    y = np.zeros_like(patterns[0])
    return run(rules, program, "e1", y, begin(program, rules.fmt, {}), patterns).result[:, 0]


@pytest.mark.parametrize("fmt", [*FLOATS, "int32"])
@pytest.mark.parametrize("name", EXPECTED)
def test_instructions(fmt: str, name: str) -> None:
    operation = INSTRUCTIONS[name]
    if operation.floats and fmt == "int32":
        return
    rng = np.random.default_rng(1)
    count = max(200, cases(2000))
    values = [numbers(rng, fmt, count) for _ in operation.operands[1:]]
    with np.errstate(all="ignore"):
        expected = EXPECTED[name](*values)
    found = one_instruction(fmt, name, *values)
    if fmt == "int32":
        assert (found == encode(np.asarray(expected, np.int64), FORMATS[fmt])).all()
        return
    with np.errstate(invalid="ignore"):
        wanted = encode(np.asarray(expected, FLOATS[fmt]), FORMATS[fmt])
    assert (found == wanted).all()


@pytest.mark.parametrize("fmt", FLOATS)
def test_fma_is_rounded_once(fmt: str) -> None:
    rng = np.random.default_rng(2)
    values = [numbers(rng, fmt, max(200, cases(2000))) for _ in range(3)]
    with np.errstate(invalid="ignore"):
        a, b, c = (encode(value, FORMATS[fmt]) for value in values)
    found = one_instruction(fmt, "fma", *values)
    assert (found == softfloat.multiply_add(a, b, c, FLOAT_FORMATS[fmt])).all()


@pytest.mark.parametrize("kind", ["sum", "min", "max", "or"])
def test_reductions(kind: str) -> None:
    program = assemble(f"reduce all {kind}\ne1:\n reduce all, y\n out y")
    rng = np.random.default_rng(3)
    rules = Rules(fmt=FORMATS["fp32"], leaves=4)
    for size in (0, 1, 5, 100):
        values = rng.normal(size=(size, 2)).astype(np.float32)
        y = encode(values, rules.fmt)
        found = run(rules, program, "e1", y, begin(program, rules.fmt, {}), {}).reductions[0]
        number = float(decode(np.array([found]), rules.fmt)[0])
        if kind == "sum":
            assert number == pytest.approx(float(values.sum(dtype=np.float64)), abs=1e-5)
        else:
            nothing = {"min": np.inf, "max": -np.inf, "or": 0.0}[kind]
            every = [nothing, *values.ravel().tolist()]
            wanted: dict[str, Callable[..., float]] = {"min": min, "max": max, "or": any}
            assert number == wanted[kind](every)


def test_sums_go_through_the_tree() -> None:
    """The terms are 2^24 and ones. A single one is rounded away, so the result shows whether two
    ones are added first."""
    program = assemble("reduce all sum\ne1:\n reduce all, y\n out y")
    y = encode(np.array([2.0**24, 0, 1, 1]), FORMATS["fp32"])[:, None]
    for leaves, partials, more in ((4, 1, 2), (2, 1, 2), (1, 1, 0), (1, 2, 0), (1, 4, 2)):
        rules = Rules(fmt=FORMATS["fp32"], leaves=leaves, partials=partials)
        found = run(rules, program, "e1", y, begin(program, rules.fmt, {}), {}).reductions[0]
        assert decode(np.array([found]), rules.fmt)[0] == 2.0**24 + more


def test_features() -> None:
    program = assemble("matrix m\ne1:\n dot r1, y, m\n relu r1, r1\n out r1")
    rng = np.random.default_rng(4)
    rules = Rules(fmt=FORMATS["fp64"])
    y, m = rng.normal(size=(9, 3)), rng.normal(size=(3, 3))
    matrices = {0: encode(m, rules.fmt)}
    found = run(rules, program, "e1", encode(y, rules.fmt), [], {}, matrices).result
    np.testing.assert_allclose(decode(found, rules.fmt), np.maximum(y @ m, 0), rtol=1e-13)


def test_without_a_result_it_is_the_first_register() -> None:
    """A part without a result leaves its first register; the assembler makes no such program."""
    program = assemble("e1:\n add r0, y, 1\n out y")
    rules = Rules(fmt=FORMATS["fp64"])
    y = encode(np.arange(4.0), rules.fmt)[:, None]
    found = run(
        rules, replace(program, e1=program.e1[:1]), "e1", y, begin(program, rules.fmt, {}), {}
    )
    assert decode(found.result[:, 0], rules.fmt).tolist() == [1, 2, 3, 4]


def test_stores_are_loaded_again() -> None:
    program = assemble(
        "vector v\ne1:\n add r1, y, 1\n store v, r1\n load r2, v\n out r2\n"
        "e2:\n load r1, v\n mul r1, r1, y\n out r1"
    )
    rules = Rules(fmt=FORMATS["fp64"])
    y = encode(np.arange(4.0), rules.fmt)[:, None]
    scalars = begin(program, rules.fmt, {})
    first = run(rules, program, "e1", y, scalars, {0: y})
    assert (first.result == encode(np.arange(4.0) + 1, rules.fmt)[:, None]).all()
    second = run(rules, program, "e2", y, scalars, first.vectors)
    assert decode(second.result[:, 0], rules.fmt).tolist() == [0, 2, 6, 12]


def test_a_pass() -> None:
    """A pass has two products and the operations between them, compared with SciPy; reductions of
    E1 reach E2."""
    text = (
        "scalar half = 0.5\nreduce total sum\nreduce late max\n"
        "e1:\n mul r1, y, half\n reduce total, r1\n out r1\n"
        "e2:\n add r1, y, total\n reduce late, r1\n out r1"
    )
    program = assemble(text)
    rng = np.random.default_rng(5)
    whole = csc_array(random_array((50, 50), density=0.2, rng=rng))
    whole.sort_indices()
    rules = Rules(fmt=FORMATS["fp64"], subtensor=4)
    matrix = Columns(
        pointers=whole.indptr.astype(np.int64),
        rows=whole.indices.astype(np.int64),
        values=encode(whole.data, rules.fmt),
    )
    x = rng.normal(size=50)
    mma = SEMIRINGS["mma"]
    scalars = begin(program, rules.fmt, {})
    passed = one_pass(
        rules, matrix, encode(x, rules.fmt)[:, None], program, (mma, mma), scalars, {}
    )
    z = x @ whole / 2
    expected = z @ whole + z.sum()
    np.testing.assert_allclose(decode(passed.z[:, 0], rules.fmt), z, rtol=1e-12)
    np.testing.assert_allclose(decode(passed.x[:, 0], rules.fmt), expected, rtol=1e-12)
    late = decode(np.array(passed.scalars, np.uint64), rules.fmt)[2]
    assert late == pytest.approx(expected.max(), rel=1e-12)
    alone = one_pass(
        rules, matrix, encode(x, rules.fmt)[:, None], program, (mma, None), scalars, {}
    )
    assert (alone.x == passed.z).all()


def test_scalars_that_are_missing() -> None:
    program = assemble("scalar a\nscalar b = 2\ne1:\n fma r1, y, a, b\n out r1")
    fmt = FORMATS["fp32"]
    assert begin(program, fmt, {"a": 1}) == encode(np.array([1.0, 2.0]), fmt).tolist()
    with pytest.raises(ValueError, match=r"^`given` must have a$"):
        begin(program, fmt, {})
    with pytest.raises(ValueError, match=r"^`given` must be of a, not b$"):
        begin(program, fmt, {"a": 1, "b": 2})
