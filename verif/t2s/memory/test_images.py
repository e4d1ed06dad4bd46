"""Images beside those that the interpreter's serializers write, and deserializers read."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tilewright.hw.spec.t2s.config import T2sConfig
from tilewright.hw.spec.t2s.design import Design
from tilewright.hw.spec.t2s.loops import Affine
from tilewright.hw.spec.t2s.parts import MemoryPart
from tilewright.hw.spec.t2s.program import Program
from tilewright.sim.t2s.images import laid_out, operand_names, part_of, placement, taken_out
from tilewright.sim.t2s.interpreter import interpret
from tilewright.sim.t2s.sizes import bounds_of_shapes, shape_of, trip_count
from tilewright.verif.kit.commands import refused

from ..designs import IN_HARDWARE, bounds_of

INFINITY = 0x7F80_0000


def alone(program: Program, tensor: str, role: str, result: str) -> Program:
    """The part of a program that runs on the host for a tensor, its image an array of its own."""
    image = f"{tensor}_image"
    extents = [1 if one.extent is None else one.extent for one in program.tensor(image).image]
    assert extents
    return replace(
        program,
        functions=(program.function(f"{tensor}_{role}"),),
        result=result,
        tensors=tuple(one for one in program.tensors if one.name in (tensor, image)),
    )


def with_shape(program: Program, image: str, shape: tuple[int, ...]) -> Program:
    """The program with an image that is a tensor of this shape."""
    dimensions = tuple(Affine((), size - 1) for size in shape)
    return replace(
        program,
        tensors=tuple(
            replace(one, dimensions=dimensions, image=()) if one.name == image else one
            for one in program.tensors
        ),
    )


def image_shape(program: Program, tensor: str, bounds: Mapping[str, int]) -> tuple[int, ...]:
    loops = program.tensor(f"{tensor}_image").image
    return tuple(trip_count(one, bounds) for one in loops)


def words_at(
    design: Design, part: MemoryPart, bounds: Mapping[str, int], beat_bytes: int
) -> Iterator[tuple[tuple[int, ...], int]]:
    """Each place of an image, with the byte at which its word begins."""
    loops = design.program.tensor(f"{part.tensor}_image").image
    strides = placement(design, part.tensor, bounds, beat_bytes).strides
    run = [one.name for one in part.run]
    lanes = [one for one in loops if one.name not in run and one.name not in part.strides]
    size = part.word_bits // 8 // math.prod(one.extent or 1 for one in lanes)
    for place in itertools.product(*(range(trip_count(one, bounds)) for one in loops)):
        at = {one.name: n for one, n in zip(loops, place, strict=True)}
        within = 0
        for one in part.run:
            within = within * (one.extent or 1) + at[one.name]
        for one in lanes:
            within = within * (one.extent or 1) + at[one.name]
        yield place, within * size + sum(strides[name] * at[name] for name in part.strides)


def random_words(shape: tuple[int, ...], seed: int) -> npt.NDArray[np.uint64]:
    return np.random.default_rng(seed).integers(1, 1 << 31, shape, dtype=np.uint64)


@pytest.mark.parametrize("data_bits", [64, 256])
@pytest.mark.parametrize("name", IN_HARDWARE)
def test_operands(name: str, data_bits: int) -> None:
    config = T2sConfig(design=name, largest=3, data_bits=data_bits, format="fp32")
    design, bounds, beat = config.plan, bounds_of(IN_HARDWARE[name]), config.beat_bytes
    for tensor in operand_names(design.program):
        declared = design.program.tensor(tensor)
        words = random_words(shape_of(declared.dimensions, bounds), seed=1)
        shape = image_shape(design.program, tensor, bounds)
        host = alone(design.program, tensor, "serializer", f"{tensor}_image")
        host = with_shape(host, f"{tensor}_image", shape)
        image = interpret(host, bounds, {tensor: words.astype(object)})
        part = part_of(design, tensor)
        expected = bytearray(placement(design, tensor, bounds, beat).size)
        for place, at in words_at(design, part, bounds, beat):
            word = INFINITY if image[place] == math.inf else int(image[place])
            expected[at : at + 4] = word.to_bytes(4, "little")
        assert laid_out(design, tensor, bounds, words, beat) == expected, tensor


@pytest.mark.parametrize("data_bits", [64, 256])
@pytest.mark.parametrize("name", IN_HARDWARE)
def test_result(name: str, data_bits: int) -> None:
    config = T2sConfig(design=name, largest=3, data_bits=data_bits, format="fp32")
    design, bounds, beat = config.plan, bounds_of(IN_HARDWARE[name]), config.beat_bytes
    result = design.program.result
    shape = image_shape(design.program, result, bounds)
    image = random_words(shape, seed=2)
    size = placement(design, result, bounds, beat).size
    content = bytearray(random.Random("between").randbytes(size))
    for place, at in words_at(design, design.unloader, bounds, beat):
        content[at : at + 4] = int(image[place]).to_bytes(4, "little")
    host = alone(design.program, result, "deserializer", result)
    host = with_shape(host, f"{result}_image", shape)
    wanted = interpret(host, bounds, {f"{result}_image": image.astype(object)})
    assert np.array_equal(taken_out(design, bounds, bytes(content), beat), wanted)


NARROW = """
from tilewright.hw.t2s.language import compute, indices, tensor

i, j, k, jj, kkk = indices("i j k jj kkk")
A, B = tensor("A", "{format}", i, k), tensor("B", "{format}", k, j)
C = compute("C", "{format}", i, j, sum_over=k, semiring="{semiring}")[A[i, k] * B[k, j]]
C.accumulate(stall="allowed")
C.tile(j, (jj, 3)).tile(k, (kkk, 5))
C.order(i, j, k, jj, kkk).vectorise(kkk)
"""


@pytest.mark.parametrize(
    ("format", "semiring", "dtype", "pad"),
    [
        ("fp16", "mma", "<u2", 0),
        ("int8", "minplus", "i1", 127),
        ("bf16", "maxplus", "<u2", 0xFF80),
        ("fp64", "minplus", "<u8", 0x7FF0_0000_0000_0000),
    ],
)
def test_formats(format: str, semiring: str, dtype: str, pad: int, tmp_path: Path) -> None:
    """The cases are words of other widths, and their padding."""
    file = tmp_path / "narrow.py"
    file.write_text(NARROW.format(format=format, semiring=semiring))
    design = T2sConfig(design=str(file), largest=0).plan
    bounds = {"i": 2, "j": 4, "k": 7}
    part = part_of(design, "A")
    words = random_words((2, 7), seed=3) & np.uint64(0x7F)
    content = laid_out(design, "A", bounds, words, 16)
    beats = part.run_beats(16) * 16
    found: npt.NDArray[Any] = np.frombuffer(content, np.uint8).reshape(4, beats)
    rows = np.ascontiguousarray(found[:, : part.run_bytes]).view(dtype).reshape(2, 10)
    assert np.array_equal(rows[:, :7], words)
    assert np.all(rows[:, 7:] == pad)


def test_another_shape() -> None:
    design = T2sConfig(design="gemm", largest=2).plan
    with refused(ValueError, "A must be of shape (3, 4), not (4, 3)"):
        laid_out(design, "A", {"i": 3, "j": 2, "k": 4}, random_words((4, 3), seed=4), 16)
    with pytest.raises(KeyError):
        part_of(design, "D")


# Bounds of indices from the shapes of tensors, and contradictions among them.


def program_of(name: str) -> Program:
    return T2sConfig(design=name, largest=2).plan.program


@pytest.mark.parametrize("name", IN_HARDWARE)
def test_shapes_tell_all_bounds(name: str) -> None:
    program, bounds = program_of(name), bounds_of(IN_HARDWARE[name])
    shapes = {
        one: shape_of(program.tensor(one).dimensions, bounds) for one in operand_names(program)
    }
    assert bounds_of_shapes(program, shapes) == bounds
    assert bounds_of_shapes(program, dict(reversed(shapes.items())), bounds) == bounds


@pytest.mark.parametrize(
    ("name", "shapes", "given", "text"),
    [
        (
            "gemm",
            {"A": (3, 4), "B": (5, 6)},
            {},
            "B must have 4 places for k, its dimension 0, not 5: k = 4 in A",
        ),
        (
            "gemm",
            {"A": (3, 4), "B": (4, 6)},
            {"j": 7},
            "B must have 7 places for j, its dimension 1, not 6: j = 7 in `bounds`",
        ),
        ("gemm", {"A": (3,), "B": (4, 6)}, {}, "A must have 2 dimensions, not be of shape (3,)"),
        (
            "fir",
            {"X": (3,), "H": (4,)},
            {},
            "X must not have 3 places for n + t, its dimension 0: t = 4",
        ),
        (
            "fir",
            {"X": (9,), "H": (4,)},
            {"n": 7},
            "X must have 10 places for n + t, its dimension 0, not 9: n = 7, t = 4 in `bounds` "
            "and H",
        ),
        ("gemm", {"A": (0, 4), "B": (4, 6)}, {}, "bound of i must be 1 or more, not 0"),
        (
            "gemm",
            {"A": (3, 4), "B": (4, 6)},
            {"l": 7},
            "bounds must be of i, j, k, not of 'l'",
        ),
        (
            "gemm",
            {"A": (3, 4), "B": (4, 6)},
            {"j": -1},
            "bound of j must be 1 or more, not -1",
        ),
        ("gemm", {"A": (3, 4)}, {}, "shapes do not tell the bound of j; give `bounds`"),
    ],
)
def test_refused(
    name: str, shapes: dict[str, tuple[int, ...]], given: dict[str, int], text: str
) -> None:
    program = program_of(name)
    with refused(ValueError, text):
        bounds_of_shapes(program, shapes, given)


def test_a_bound_that_is_no_integer_is_refused() -> None:
    with refused(TypeError, "bound of j must be an integer, not '6'"):
        bounds_of_shapes(program_of("gemm"), {"A": (3, 4), "B": (4, 6)}, {"j": "6"})  # type: ignore[dict-item]
