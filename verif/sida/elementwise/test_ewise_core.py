"""The element-wise core in RTL simulation against the model, bit for bit."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from tilewright.hw.spec.elementwise.assembler import assemble
from tilewright.hw.spec.elementwise.instructions import INSTRUCTIONS, Instruction
from tilewright.hw.spec.elementwise.program import Program, words_of
from tilewright.hw.spec.formats import FloatFormat
from tilewright.hw.spec.sida import SidaConfig
from tilewright.sim.numbers.values import Patterns, encode
from tilewright.sim.rtl.streams import Pauses
from tilewright.sim.sida.result.elementwise import begin, run
from tilewright.sim.sida.result.products import Rules
from tilewright.verif.kit.sampling import by_size, slow_but
from tilewright.verif.sida.elementwise.core_bench import (
    Fields,
    Found,
    Part,
    begin_again,
    loads,
    run_part,
)
from tilewright.verif.sida.elementwise.random_programs import random_program, random_values

PAGERANK = """
scalar alpha
scalar share
scalar teleport
vector dangling
reduce lost_1 sum
reduce lost_2 sum
e1:
    fma r1, lost_2, share, teleport
    fma r1, y, alpha, r1
    load r2, dangling
    mul r2, r1, r2
    reduce lost_1, r2
    out r1
"""


def small(**others: object) -> SidaConfig:
    given: dict[str, object] = {
        "pes": 4,
        "subtensor": 32,
        "vector_words": 512,
        "value": "fp16",
        "program_words": 64,
    }
    return SidaConfig(**(given | others))  # type: ignore[arg-type]


def random_parts(config: SidaConfig, count: int, seed: int) -> list[Part]:
    """Draws programs of all lengths on vectors of all sizes; one in six is cleared in the
    middle."""
    rng = np.random.default_rng(seed)
    found = []
    for number in range(count):
        size = int(rng.integers(1, [4, 20, 120][number % 3]))
        length = int(rng.integers(1, 25))
        program = random_program(1000 * seed + number, config.format, length)
        found.append(
            Part(
                program=program,
                name=("e1", "e2")[number % 2],
                y=random_values(rng, config.format, size),
                scalars=random_values(rng, config.format, len(program.scalars)).tolist(),
                vectors={n: random_values(rng, config.format, size) for n in range(3)},
                clear=int(rng.integers(0, 200)) if number % 6 == 4 else None,
            )
        )
    return found


def check(config: SidaConfig, part: Part, found: Found) -> None:
    """Results, stored vectors and scalars are those of the model."""
    rules = Rules(
        fmt=config.format,
        leaves=config.pes,
        partials=config.partials,
        subtensor=config.subtensor,
    )
    column: Mapping[int, Patterns] = {n: values[:, None] for n, values in part.vectors.items()}
    wanted = run(rules, part.program, part.name, part.y[:, None], part.scalars, column)
    assert found.error is None
    assert whole(config, part, found.rows) == wanted.result[:, 0].tolist()
    asked = zip(*(found.requests[n].tolist() for n in ("vector", "base", "rows")), strict=True)
    expected = [(v, row * config.pes, rows) for v, row, rows in loads(config, part)]
    assert list(asked) == expected
    operations = part.program.part(part.name)
    stores = [one.of("v")[0] for one in operations if one.operation.name == "store"]
    assert sorted(set(stores)) == sorted(wanted.vectors)
    order = np.argsort(found.stored["base"], kind="stable")
    for vector, values in wanted.vectors.items():
        # The last store of each row counts.
        last = len(stores) - 1 - stores[::-1].index(vector)
        mine = order[last :: len(stores)]
        assert (found.stored["vector"][mine] == vector).all()
        rows = {name: found.stored[name][mine] for name in found.rows}
        assert whole(config, part, rows) == values[:, 0].tolist()
    scalars = [wanted.reductions.get(n, pattern) for n, pattern in enumerate(part.scalars)]
    assert found.scalars[: len(scalars)] == scalars


def whole(config: SidaConfig, part: Part, rows: Fields) -> list[int]:
    """Returns the vector that the rows form; each row must be present once, in order."""
    size = len(part.y)
    assert rows["base"].tolist() == list(range(0, size, config.pes))
    masks = [(1 << min(config.pes, size - base)) - 1 for base in range(0, size, config.pes)]
    assert rows["mask"].tolist() == masks
    found: list[int] = rows["values"].reshape(-1)[:size].tolist()
    return found


CONFIGS = {
    "small": small(),
    "a row a step": small(subtensor=4, adder_stages=1, multiplier_stages=1),
    "four rows": small(subtensor=16, adder_stages=2, multiplier_stages=2),
    "integers": small(value="int32", subtensor=64),
    "fp32, 16 lanes": small(pes=16, subtensor=64, value="fp32"),
    "fp64": small(value="fp64"),
}


@pytest.mark.parametrize("name", slow_but(["small"], CONFIGS, []))
def test_random_programs(name: str) -> None:
    """Every instruction, under stalls, with clears in the middle."""
    config = CONFIGS[name]
    count = by_size(60, 120, 1500)
    parts = random_parts(config, count, seed=3 + list(CONFIGS).index(name))
    for number, part in enumerate(parts):
        found = run_part(config, part, Pauses(seed=number, gap=0.3, stall=0.3))
        if part.clear is None:
            check(config, part, found)


def test_rates() -> None:
    """Without stalls an instruction and the rows of y take one cycle per row; a block takes one
    more."""
    config = CONFIGS["small"]
    program = assemble(PAGERANK)
    rng = np.random.default_rng(9)
    size = 32 * config.pes
    scalars = begin(program, config.format, {"alpha": 0.85, "share": 1e-3, "teleport": 0.15})
    part = Part(
        program=program,
        name="e1",
        y=encode(rng.random(size), config.format),
        scalars=scalars,
        vectors={0: encode(rng.integers(0, 2, size).astype(float), config.format)},
    )
    found = run_part(config, part)
    check(config, part, found)
    assert found.executed == 32 * 7
    assert found.cycles <= found.executed + 32 // 8 + 60


def test_a_quotient_of_scalars_is_computed_once() -> None:
    """A quotient of a register is computed for each row. Two quotients of scalars in turn are
    computed for each block."""
    config = CONFIGS["small"]
    rows = 32
    y = encode(np.arange(1.0, rows * config.pes + 1), config.format)
    cycles = []
    for body in ("mul r1, y, a", "div r1, a, b", "div r1, y, b", "div r1, a, b\n div r2, b, a"):
        program = assemble(f"scalar a = 3\nscalar b = 7\ne1:\n {body}\n out r1")
        scalars = begin(program, config.format, {})
        part = Part(program=program, name="e1", y=y, scalars=scalars, vectors={})
        found = run_part(config, part)
        check(config, part, found)
        cycles.append(found.cycles)
    plain, once, each, in_turn = cycles
    assert isinstance(config.format, FloatFormat)
    iteration = config.format.significand_bits
    assert iteration <= once - plain <= iteration + 8
    assert each - plain >= rows * iteration
    blocks = rows // (config.subtensor // config.pes)
    assert in_turn - plain <= 2 * blocks * (iteration + 16)


def test_words_that_are_no_instructions() -> None:
    """The place of the first one that is reached; then the core runs again."""
    config = small()
    y = encode(np.arange(10.0), config.format)
    dot = Instruction(operation=INSTRUCTIONS["dot"], operands=(1, 0, 0))
    wrong = Program(matrices=("m",), e1=(*assemble("e1:\n out y").e1, dot))
    right = assemble("reduce all max\ne1:\n add r1, y, y\n reduce all, r1\n out r1")
    scalars = begin(right, config.format, {})
    parts = [
        Part(program=program, name="e1", y=y, scalars=scalars, vectors={}, wrong=program is wrong)
        for program in (wrong, right)
    ]
    assert run_part(config, parts[0]).error == 1
    check(config, parts[1], run_part(config, parts[1]))


def faults() -> dict[str, tuple[str, list[int], int, int]]:
    """Wrong programs: the part, the words, the place of the first that is none, requests before."""
    load, other = "\n load r1, v", "\n load r2, w"
    begin = "vector v\nvector w\ne1:"
    move, out = "\n move r1, y", "\n out y"
    words = {
        "loads behind a word": words_of(assemble(begin + load + other + out).e1),
        "loads behind a late word": words_of(assemble(begin + load + out + other).e1),
        "two results": words_of(assemble(begin + load + out + other).e1),
        "no end": words_of(assemble(begin + move + load + out).e1)[:-1],
        "nothing but moves": [*words_of(assemble(begin + move * 62 + out).e1)[:-1], 1],
        "begins behind the end": words_of(assemble("e1:\n out y").e1),
    }
    words["loads behind a word"].insert(1, 63)
    words["loads behind a late word"].insert(2, 63)
    words["two results"].insert(2, words["two results"][1])
    places = {
        "loads behind a word": ("e1", 1, 1),
        "loads behind a late word": ("e1", 2, 1),
        "two results": ("e1", 2, 1),
        "no end": ("e1", 3, 1),
        "nothing but moves": ("e1", 64, 0),
        "begins behind the end": ("e2", 3, 0),
    }
    return {n: (part, words[n], place, asked) for n, (part, place, asked) in places.items()}


@pytest.mark.parametrize("name", faults())
def test_wrong_programs(name: str) -> None:
    """Instructions after the wrong one neither run nor load, whatever an earlier program has
    left."""
    config = small()
    which, words, place, asked = faults()[name]
    y = encode(np.arange(40.0), config.format)
    long = assemble("vector v\nvector w\ne1:" + "\n load r2, v\n load r3, w" * 20 + "\n out r2")
    scalars = begin(long, config.format, {})
    vectors = {0: y, 1: y}
    before = Part(program=long, name="e1", y=y, scalars=scalars, vectors=vectors)
    check(config, before, run_part(config, before))
    given = assemble("vector v\ne1:\n load r2, v\n out r2")
    wrong = Part(program=given, name=which, y=y, scalars=scalars, vectors=vectors, wrong=True,
                 words=words)  # fmt: skip
    found = run_part(config, wrong)
    assert (found.error, found.asked) == (place, asked)
    check(config, before, run_part(config, before))


def test_a_root_that_was_given_up() -> None:
    """The next part does not use the root, however soon it starts."""
    config = small()
    program = assemble("e1:\n sqrt r1, y\n out r1")
    y = encode(np.arange(1.0, 7.0), config.format)
    part = Part(program=program, name="e1", y=y[:3], scalars=[], vectors={})
    for cycle in range(5, 30):
        rows = begin_again(config, part, y[3:], cycle)
        assert (
            rows["values"][0, :3].tolist()
            == encode(np.sqrt([4.0, 5.0, 6.0]), config.format).tolist()
        )


def test_an_empty_part_passes_its_rows_on() -> None:
    config = small()
    y = encode(np.arange(23.0), config.format)
    part = Part(program=Program(), name="e2", y=y, scalars=[], vectors={})
    found = run_part(config, part)
    check(config, part, found)
