"""``tilewright.formats`` against NumPy, ml_dtypes and SciPy."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import tilewright
from scipy.sparse import csr_array, random_array
from tilewright import formats, units
from tilewright.hw.emit.unit import emit
from tilewright.hw.spec.host.words import UnknownName
from tilewright.registry import entries
from tilewright.verif.kit.commands import refused

pytestmark = pytest.mark.quick

_NUMPY: dict[str, Any] = {
    "fp8e4m3": ml_dtypes.float8_e4m3fn,
    "fp8e5m2": ml_dtypes.float8_e5m2,
    "fp16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "fp32": np.float32,
    "fp64": np.float64,
}


@pytest.mark.parametrize("name", formats.NUMBERS)
def test_words(name: str) -> None:
    rng = np.random.default_rng(1)
    numbers: Any = rng.standard_normal((5, 7)) * 3
    if name.startswith("int"):
        numbers = rng.integers(-100, 100, (5, 7))
        expected = numbers.astype(name).view(f"u{int(name[3:]) // 8}")
        assert formats.from_words(formats.to_words(numbers, name), name).dtype == np.dtype(name)
    elif name == "tf32":
        # The upper 19 bits of fp32, ties to even.
        bits = numbers.astype(np.float32).view(np.uint32).astype(np.int64)
        expected = (bits + 0xFFF + (bits >> 13 & 1)) >> 13 << 13
        numbers = numbers.astype(np.float32)
    elif name == "fp32c":
        numbers = (numbers + 1j * numbers[::-1]).astype(np.complex64)
        expected = numbers.view(np.uint64)
    else:
        rounded = numbers.astype(_NUMPY[name])
        expected = rounded.view(f"u{rounded.itemsize}")
        back = formats.from_words(formats.to_words(numbers, name), name)
        assert np.array_equal(back.astype(np.float64), rounded.astype(np.float64))
    words = formats.to_words(numbers, name)
    assert words.dtype == np.uint64
    assert np.array_equal(words, expected.astype(np.uint64))
    # Integers of any type are words, and those of a list.
    again = formats.from_words(words.astype(object), name)
    narrow = formats.from_words(words.tolist(), name)
    assert np.array_equal(narrow, again)
    assert np.array_equal(formats.to_words(narrow, name), words)


def test_one_number() -> None:
    for name in formats.NUMBERS:
        word = formats.to_words(2, name)
        assert (word.shape, formats.from_words(word, name)) == ((), 2)
        assert formats.from_words([], name).shape == (0,)


def test_integers_are_taken_modulo() -> None:
    for given in ([300, -1], [300.0, -1.0], [300 + 0j, -1], np.array([300, -1], object)):
        assert formats.to_words(given, "int8").tolist() == [44, 255]
    large: list[Any] = [(1 << 64) - 1, -(1 << 63), (1 << 80) + 5, 2.0**63]
    expected = [(1 << 64) - 1, 1 << 63, 5, 1 << 63]
    assert formats.to_words(large, "int64").tolist() == expected


@pytest.mark.parametrize(
    ("numbers", "name", "message"),
    [
        ([1, 2.5, 3.5], "int8", "numbers of int8 must be whole, not 2.5"),
        (np.float16(np.nan), "int32", "numbers of int32 must be whole, not nan"),
        ([np.inf, 1.0], "int64", "numbers of int64 must be whole, not inf"),
        ([2j], "int16", "numbers of int16 must be real, not 2j"),
        ([[1, 1 + 2j]], "fp16", "numbers of fp16 must be real, not (1+2j)"),
    ],
)
def test_numbers_that_a_format_cannot_take(numbers: Any, name: str, message: str) -> None:
    with refused(ValueError, message):
        formats.to_words(numbers, name)


@pytest.mark.parametrize(
    ("words", "name", "kind", "message"),
    [
        ([1, -1], "fp16", ValueError, "words must be of 16 bits, not -1"),
        ([1 << 16], "bf16", ValueError, "words must be of 16 bits, not 65536"),
        (np.array([3, 256]), "int8", ValueError, "words must be of 8 bits, not 256"),
        ([1, 1 << 64], "fp64", ValueError, "words must be of 64 bits, not 18446744073709551616"),
        (np.array([-2]), "fp32c", ValueError, "words must be of 64 bits, not -2"),
        ([1, 1.0], "fp32", TypeError, "words must be integers, not 1.0"),
        (np.array([0.5]), "fp32", TypeError, "words must be integers, not 0.5"),
        (["1"], "fp32", TypeError, "words must be integers, not '1'"),
    ],
)
def test_what_is_no_word(words: Any, name: str, kind: type[Exception], message: str) -> None:
    with refused(kind, message):
        formats.from_words(words, name)


def test_c2sr() -> None:
    layout = units["c2sr_converter"].config(channels=3).layout
    matrix = random_array((20, 30), density=0.2, rng=np.random.default_rng(2), dtype=np.float32)
    stored = formats.to_c2sr(matrix, layout)
    assert isinstance(stored, formats.C2sr)
    assert (formats.from_c2sr(stored) != matrix.tocsr()).nnz == 0
    with refused(TypeError, "`matrix` must be a sparse matrix of SciPy, not list"):
        formats.to_c2sr([[1]], layout)


def test_ciss() -> None:
    """Converts a tensor by each mode, and a SciPy matrix, to CISS and back."""
    config = units["tensaurus"].config(rows=2)
    places = np.array([[0, 0, 1], [0, 1, 0], [2, 1, 1]])
    values = np.array([1.0, 2.0, 3.0])
    tensor = formats.Tensor(shape=(3, 2, 2), indices=places, values=values)
    for mode in range(3):
        stream = formats.to_ciss(tensor, config.layout(3), mode)
        assert isinstance(stream, formats.Ciss)
        again = formats.from_ciss(stream)
        found = dict(zip(map(tuple, again.indices.tolist()), again.values.tolist(), strict=True))
        assert found == dict(zip(map(tuple, places.tolist()), values.tolist(), strict=True))
    matrix = csr_array(np.array([[0, 1.5], [2, 0]]))
    again = formats.from_ciss(formats.to_ciss(matrix, config.layout(2)))
    assert (again.indices.tolist(), again.values.tolist()) == ([[0, 1], [1, 0]], [1.5, 2.0])


def test_arguments_of_other_types() -> None:
    matrix = csr_array(np.eye(2))
    entries: Any = [[0, 0]]
    numbers: Any = [1.0]
    calls: dict[str, Any] = {
        "`layout` must be a C2srLayout, not NoneType": lambda: formats.to_c2sr(matrix, None),  # type: ignore[arg-type]
        "`layout` must be a CissLayout, not int": lambda: formats.to_ciss(matrix, 2),  # type: ignore[arg-type]
        "`tensor` must be a Tensor or a sparse matrix of SciPy, not list": lambda: formats.to_ciss(
            entries, units["tensaurus"].config(rows=2).layout(2)
        ),
        "`matrix` must be a C2sr, not csr_array": lambda: formats.from_c2sr(matrix),
        "`stream` must be a Ciss, not csr_array": lambda: formats.from_ciss(matrix),
        "`indices` must be an array of NumPy, not list": lambda: formats.Tensor(
            shape=(1, 1), indices=entries, values=np.ones(1)
        ),
        "`values` must be an array of NumPy, not list": lambda: formats.Tensor(
            shape=(1, 1), indices=np.array(entries), values=numbers
        ),
    }
    for message, call in calls.items():
        with refused(TypeError, message):
            call()


def test_refusals() -> None:
    known = ", ".join(formats.NUMBERS)
    for function in (formats.to_words, formats.from_words):
        with refused(ValueError, f"`format` must be one of {known}, not 'fp24'"):
            function([1], "fp24")


# ``tilewright.units`` and ``tilewright.generate``.


def test_units_are_those_that_are_registered() -> None:
    assert list(tilewright.units) == list(entries())
    assert len(tilewright.units) == len(entries())
    for name, info in tilewright.units.items():
        unit = entries()[name].unit
        assert (info.name, info.summary, info.config) == (name, unit.summary, unit.config)
        assert info.pages
        assert bool(info.backends) == (unit.jobs is not None)
    assert "m3xu" in tilewright.units
    assert "nothing" not in tilewright.units
    assert tilewright.units.get("nothing") is None
    with refused(UnknownName, "unknown unit 'matrptor'; did you mean 'matraptor'?"):
        tilewright.units["matrptor"]
    assert issubclass(UnknownName, KeyError)
    assert issubclass(UnknownName, ValueError)


def test_registers() -> None:
    info = tilewright.units["matraptor"]
    registers = info.registers(outer_product=True)
    assert registers["MODE"].offset == 0x10C
    assert next(iter(registers)).name == "ID"
    config = info.config(outer_product=True)
    assert info.registers(config).describe() == registers.describe()
    with refused(UnknownName, "unknown register 'MODE'; `tilewright show UNIT` lists them all"):
        info.registers()["MODE"]
    with refused(ValueError, "m3xu takes no jobs"):
        tilewright.units["m3xu"].registers()


def test_what_is_generated(tmp_path: Path) -> None:
    """Parameters, a configuration, and a configuration with changes generate the same bytes."""
    kind = tilewright.units["m3xu"].config
    config = kind(rows=2, cols=2, depth=4)
    expected = emit("m3xu", config)
    one = tilewright.generate("m3xu", rows=2, cols=2, depth=4)
    others = [
        tilewright.generate("m3xu", config),
        tilewright.generate("m3xu", kind(rows=2), cols=2, depth="4"),
    ]
    for found in (one, *others):
        assert (found.unit, found.config) == ("m3xu", config)
        assert (found.verilog, found.sidecar) == (expected.verilog, expected.sidecar)
    assert one.write(tmp_path / "unit.v") == tmp_path / "unit.json"
    assert (tmp_path / "unit.v").read_text() == one.verilog
    assert json.loads((tmp_path / "unit.json").read_text()) == one.sidecar
    assert sorted(os.listdir(tmp_path)) == ["unit.json", "unit.v"]
    assert one.write("/dev/null") is None


def test_units_refusals(tmp_path: Path) -> None:
    with refused(UnknownName, "unknown unit 'm4xu'; did you mean 'm3xu'?"):
        tilewright.generate("m4xu")
    with refused(ValueError, "`rows` must be an integer in 1..64, not 0"):
        tilewright.generate("m3xu", rows=0)
    with refused(TypeError, "`rows` must be an integer in 1..64, not 2.5"):
        tilewright.generate("m3xu", rows=2.5)
    with refused(ValueError, "unknown parameter 'row'; did you mean 'rows'?"):
        tilewright.generate("m3xu", row=4)
    config = tilewright.units["simd2"].config()
    with refused(TypeError, f"`config` must be a M3xuConfig, not {config!r}"):
        tilewright.generate("m3xu", config)
    made = tilewright.generate("simd2", tile=2)
    with refused(ValueError, "the Verilog's name must not end in .json, not 'x.json'"):
        made.write("x.json")
    with pytest.raises(OSError, match="No such file or directory"):
        made.write(tmp_path / "none" / "unit.v")


def test_no_text_takes_the_place_of_another(tmp_path: Path) -> None:
    """Refuses two outputs in one file, whatever its second name is, and writes nothing."""
    made = tilewright.generate("simd2", tile=2)
    verilog = tmp_path / "unit.v"
    (tmp_path / "link.f").symlink_to(verilog)
    for others in (
        {"header": verilog},
        {"header": tmp_path / "unit.json"},
        {"header": tmp_path / "x", "filelist": tmp_path / "x"},
        {"filelist": tmp_path / "link.f"},
        {"filelist": tmp_path / ".." / tmp_path.name / "unit.v"},
    ):
        with pytest.raises(ValueError, match=r"^each text must have its own file, not two '"):
            made.write(verilog, **others)
        assert os.listdir(tmp_path) == ["link.f"]
    with pytest.raises(ValueError, match=r"not two '/dev/null'$"):
        made.write("/dev/null", header="/dev/null")
