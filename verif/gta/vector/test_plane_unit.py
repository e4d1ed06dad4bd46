"""The plane unit alone: octets of all functions and formats in any order, against golden models."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from tilewright.hw.emit.unit import emit_component
from tilewright.hw.gta.vector.plane_unit import PlaneUnit
from tilewright.hw.spec.formats import FORMATS
from tilewright.hw.spec.gta import FORMATS_OF_GTA, GtaConfig, element_bytes, is_float, result_bytes
from tilewright.hw.spec.jobs.gta_vector import OCTET, VECTOR_FUNCTIONS, functions_of
from tilewright.sim.gta.golden import moves
from tilewright.sim.gta.golden.vector import elementwise
from tilewright.sim.numbers.values import Patterns
from tilewright.sim.rtl.streams import NativeSimulation, pack, unpack
from tilewright.verif.kit.sampling import cases, slow_but, value_pairs

Bytes = npt.NDArray[np.uint8]


def planes_of(words: Patterns, count: int) -> Bytes:
    """Words (n, 8) as planes (n, count, 8), their lowest bytes first."""
    split = words.astype("<u8").view(np.uint8).reshape(len(words), OCTET, 8)
    return split[..., :count].swapaxes(1, 2)


def operands_of(format: str, count: int, seed: int) -> tuple[Patterns, Patterns, Patterns]:
    """Draws at least ``count`` octets (n, 8) of each of three operands: each special value with
    each, and others. Many values of the third are 0, and many have a single bit."""
    rng = np.random.default_rng(seed)
    a, b = value_pairs(FORMATS[format], OCTET * count, seed)
    used = len(a) // OCTET * OCTET
    order = rng.permutation(len(a))[:used]
    x, y = a[order], b[order]
    y = np.where(rng.random(used) < 0.1, x, y)
    bits = rng.integers(0, FORMATS[format].bits, used).astype(np.uint64)
    c = np.where(rng.random(used) < 0.3, np.uint64(1) << bits, rng.permutation(x))
    c = np.where(rng.random(used) < 0.4, np.uint64(0), c)
    return x.reshape(-1, OCTET), y.reshape(-1, OCTET), c.reshape(-1, OCTET)


_COMPARED = ("min", "max", "eq", "ne", "lt", "le")

BYTE_FUNCTIONS = (*_COMPARED, "select", "slide")
"""Functions that work by planes on all formats."""


class PlaneSteps(NamedTuple):
    """Steps of a function: n octets, s steps each.

    ``fields``: the plane unit's inputs (n, s) or (n, s, 8). ``wanted``: planes of results
    (n, s, 8), where there is one: ``told`` (n, s).
    """

    fields: dict[str, npt.NDArray[np.uint8]]
    wanted: Bytes
    told: npt.NDArray[np.bool_]


class _Given(NamedTuple):
    """Words (n, 8), and of each octet (n): places of a slide, whether c is added."""

    x: Patterns
    y: Patterns
    c: Patterns
    amount: npt.NDArray[np.int64]
    add_c: npt.NDArray[np.int64]


def plane_steps(function: str, format: str, count: int, seed: int) -> PlaneSteps:
    """Returns steps of at least ``count`` octets; unused inputs hold noise."""
    rng = np.random.default_rng(seed)
    size = element_bytes(format)
    x, y, c = operands_of(format, count, seed)
    n = len(x)
    given = _Given(x, y, c, rng.integers(0, OCTET, n), rng.integers(0, 2, n))
    passes, plane = 1, np.arange(size)
    counted: dict[str, tuple[slice, Bytes]]
    if function in _COMPARED:
        passes = 2
        # Relations do not need their operands again.
        when = slice(None) if function in ("min", "max") else slice(size)
        repeats = 2 if function in ("min", "max") else 1
        counted = {
            name: (when, np.tile(planes_of(word, size), (1, repeats, 1)))
            for name, word in (("x", x), ("y", y))
        }
        result = planes_of(elementwise(function, format, x, y), size)
    elif function == "select":
        passes = 2
        first, second = slice(size), slice(size, None)
        counted = {
            "c": (first, planes_of(c, size)),
            "x": (second, planes_of(x, size)),
            "y": (second, planes_of(y, size)),
        }
        result = planes_of(moves.select(format, c, x, y), size)
    else:
        planes, result = _single(rng, function, format, given)
        counted = {name: (slice(None), each) for name, each in planes.items()}
        plane = np.arange(planes["x"].shape[1])
        if function in ("srl", "sra"):
            plane += size - 1
    steps = passes * len(plane)
    fields = {name: rng.integers(0, 256, (n, steps, OCTET), np.uint8) for name in "xyc"}
    for name, (when, bytes_of) in counted.items():
        fields[name][:, when] = bytes_of
    of_step = {
        "plane": np.tile(plane, passes),
        "first": np.tile(plane == plane[0], passes),
        "last": np.tile(plane == plane[-1], passes),
        "second": np.arange(steps) >= steps / passes * (3 - passes),
        "valid": np.ones(steps),
        "function_number": np.full(steps, list(VECTOR_FUNCTIONS).index(function)),
        "format": np.full(steps, FORMATS_OF_GTA.index(format)),
    }
    fields |= {name: np.tile(each.astype(np.uint8), (n, 1)) for name, each in of_step.items()}
    for name, each in (("amount", given.amount), ("add_c", given.add_c)):
        fields[name] = np.repeat(each.astype(np.uint8)[:, np.newaxis], steps, axis=1)
    wanted = np.zeros((n, steps, OCTET), np.uint8)
    wanted[:, steps - result.shape[1] :] = result
    told = np.tile(np.arange(steps) >= steps - result.shape[1], (n, 1))
    return PlaneSteps(fields, wanted, told)


def _single(
    rng: np.random.Generator, function: str, format: str, given: _Given
) -> tuple[dict[str, Bytes], Bytes]:
    """Operands and results of functions that need one pass."""
    size = element_bytes(format)
    x, y, c = given.x, given.y, given.c
    if function in ("srl", "sra"):
        wanted = elementwise(function, format, x, y)
        return {"x": _products(function, format, x, y)[:, size - 1 :]}, planes_of(wanted, size)
    if function == "slide":
        places = given.amount[:, np.newaxis] + np.arange(OCTET)
        wanted = np.take_along_axis(np.concatenate([x, y], axis=1), places, axis=1)
        planes = {"x": planes_of(x, size), "y": planes_of(y, size)}
        return planes, planes_of(wanted, size)
    if function in ("add", "sub"):
        planes = {"x": planes_of(x, size), "y": planes_of(y, size)}
        return planes, planes_of(elementwise(function, format, x, y), size)
    if function == "fma":
        product = elementwise("mul", format, x, y)
        wanted = elementwise("fma", format, x, y, c)
        planes = {"x": planes_of(product, size), "c": planes_of(c, size)}
        return planes, planes_of(wanted, size)
    size = result_bytes(format) if function == "dot" else size
    words = rng.integers(0, 1 << 8 * size, (2, *x.shape), np.uint64, endpoint=False)
    planes = {"x": planes_of(words[0], size)}
    if function != "dot":
        return planes, planes["x"]
    planes["c"] = planes_of(words[1], size)
    start = np.where(given.add_c[:, np.newaxis] == 1, words[1], np.uint64(0))
    return planes, planes_of(words[0] + start, size)


def _products(function: str, format: str, x: Patterns, y: Patterns) -> Bytes:
    """Planes (n, 2 size, 8) of the products of x, with its sign or without, and of
    ``2 ** (w - 1 - amount)``: the upper half, and the bit below it, is x shifted to the right."""
    bits = FORMATS[format].bits
    split = []
    for a, b in zip(x.ravel().tolist(), y.ravel().tolist(), strict=True):
        signed = a - (a >> bits - 1 << bits) if function == "sra" else a
        product = signed << bits - 1 - b % bits
        split.append((product % (1 << 2 * bits)).to_bytes(bits // 4, "little"))
    planes = np.frombuffer(b"".join(split), np.uint8).reshape(len(x), OCTET, -1)
    return planes.swapaxes(1, 2)


_STEP = ("valid", "plane", "first", "second", "last")


class PlaneStream(wiring.Component):
    """A :class:`PlaneUnit` that gets all its inputs by a transfer. Nothing may stall it.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    i: the unit's inputs, those of its step among them
    o: a plane for each, latency 2
    """

    def __init__(self, config: GtaConfig) -> None:
        self._unit = PlaneUnit(config)
        members = self._unit.signature.members
        names = ("function_number", "format", "add_c", "amount", "x", "y", "c")
        fields = {name: members[name].shape for name in names}
        step = self._unit.step.shape()
        fields |= {name: step[name].shape for name in _STEP}
        super().__init__(
            {
                "i": In(stream.Signature(data.StructLayout(fields))),
                "o": Out(stream.Signature(data.StructLayout({"o": members["o"].shape}))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.unit = unit = self._unit
        given = self.i.payload
        for name in given.shape().members:
            port = unit.step[name] if name in _STEP else getattr(unit, name)
            if name == "x":
                m.d.sync += port.eq(given.x)
            else:
                m.d.comb += port.eq(given[name] & self.i.valid if name == "valid" else given[name])
        valid = Signal(2)
        m.d.sync += valid.eq(Cat(self.i.valid, valid[0]))
        m.d.comb += [
            self.i.ready.eq(1),
            self.o.valid.eq(valid[1]),
            self.o.payload.o.eq(unit.o),
        ]
        return m


pytestmark = pytest.mark.long

ALL = "int8 int16 int32 int64 bf16 fp16 fp32 fp64"
SETS = [ALL, "int8 int16 int32 int64", "bf16", "fp16", "fp32 fp64", "int64 fp16", "fp64"]


@cache
def unit(formats: str) -> NativeSimulation:
    names = tuple(formats.split())
    adders = 8 if any(is_float(name) for name in names) else 0
    config = GtaConfig(formats=names, float_adders=adders)
    return NativeSimulation(emit_component(PlaneStream(config), name="plane_unit"))


def run(formats: str, jobs: list[tuple[str, str]], count: int, seed: int) -> None:
    """Runs octets of each function and format in any order, with idle cycles that hold noise."""
    rng = np.random.default_rng(seed)
    found = [plane_steps(*job, count, seed + n) for n, job in enumerate(jobs)]
    octets = [(n, o) for n, steps in enumerate(found) for o in range(len(steps.told))]
    order = [octets[k] for k in rng.permutation(len(octets))]
    names = list(found[0].fields)
    fields = {name: np.concatenate([found[n].fields[name][o] for n, o in order]) for name in names}
    wanted = np.concatenate([found[n].wanted[o] for n, o in order])
    told = np.concatenate([found[n].told[o] for n, o in order])
    job_of = np.concatenate([np.full(len(found[n].told[o]), n) for n, o in order])
    idle = np.flatnonzero(rng.random(len(told)) < 0.1)
    ends = {"plane": 16, "first": 2, "last": 2, "second": 2, "valid": 1, "x": 256, "y": 256}
    for name, each in fields.items():
        between = each[idle]
        if name in ends:
            between = rng.integers(0, ends[name], between.shape, np.uint8)
        fields[name] = np.insert(each, idle, between, axis=0)
    wanted, told, job_of = (np.insert(each, idle, 0, axis=0) for each in (wanted, told, job_of))
    simulation = unit(formats)
    simulation.reset()
    result = simulation.run(pack(fields, simulation.stream("i")))
    got = unpack(result.payloads, simulation.stream("o"))["o"]
    wrong = np.flatnonzero((got != wanted).any(axis=1) & told)
    assert not len(wrong), (
        f"{jobs[job_of[wrong[0]]]}, seed {seed}, step {wrong[0]}: "
        f"{got[wrong[0]]}, not {wanted[wrong[0]]}; {len(wrong)} of {told.sum()} planes differ"
    )
    assert (result.output_cycles - result.input_cycles == 2).all()


def jobs_of(formats: str, *, floats: tuple[str, ...] = BYTE_FUNCTIONS) -> list[tuple[str, str]]:
    """Returns the functions and formats of the plane unit; other functions on floats have separate
    adders."""
    return [
        (function, name)
        for name in formats.split()
        for function in functions_of(name)
        if not is_float(name) or function in floats
    ]


@pytest.mark.parametrize("formats", slow_but(["int64 fp16"], SETS, [ALL, "int64 fp16", "bf16"]))
def test_all_functions(formats: str) -> None:
    """Special values with each other, alike and unlike numbers, masks of a single bit."""
    jobs = jobs_of(formats)
    assert {function for function, _ in jobs} >= set(BYTE_FUNCTIONS)
    run(formats, jobs, cases(4000), seed=1)
