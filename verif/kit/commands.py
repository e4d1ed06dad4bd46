"""Runs commands inside a test."""

from __future__ import annotations

import gc
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import typer
from amaranth.hdl import Elaboratable
from numpy.typing import NDArray
from tilewright.apps import register
from tilewright.cli import main
from tilewright.errors import UserError


@contextmanager
def unused_components() -> Iterator[None]:
    """Inside, that a component is created and never elaborated is no mistake."""
    with patch.object(Elaboratable, "_MustUse__silence", True):
        yield
        gc.collect()


@contextmanager
def refused(kind: type[Exception], text: str) -> Iterator[None]:
    """Inside, an exception of this kind is raised with this text, and no other."""
    with pytest.raises(kind) as caught:
        yield
    assert (type(caught.value), str(caught.value)) == (kind, text)


def refusal(build: Callable[[], Any]) -> str:
    """The text of the ValueError that ``build`` raises; fails if it raises none."""
    text = ""
    with unused_components():
        try:
            build()
        except ValueError as error:
            text = str(error)
    if not text:
        pytest.fail("nothing was refused")
    return text


MALFORMED = {
    "mangled1.mtx": "line 1: 'mangled' in the header must be matrix",
    "mangled5.mtx": "line 1: a pattern must be general or symmetric, not hermitian",
    "mangled7.mtx": "line 2: GraphBLAS type 'gunk' must be one of bool, int8_t",
    "mangled9.mtx": "line 4: a symmetric matrix must be square, not 3 x 4",
    "mangled11.mtx": "line 5: column index 'zero' must be an integer in 1..4",
    "mangled13.mtx": "line 7: column index '9999' must be an integer in 1..4",
    "mangled15.mtx": "line 2: GraphBLAS type float complex contradicts the header's field real",
    "mangled_bool.mtx": "line 10: value 2 must be in 0..1, the range of the declared type bool",
    "mangled_format.mtx": "line 1: an array cannot be a pattern; it must be real, complex or",
    "mangled_int8.mtx": "line 8: value -129 must be in -128..127, the range of the declared type",
    "mangled_uint16.mtx": "line 9: value 65536 must be in 0..65535, the range of the declared type",
}
"""Start of the refusal, after the file's name, for each file in the folder ``malformed`` of the
test data."""


SMALL = ("--set", "rows=4", "--set", "cols=2", "--set", "depth=4", "--set", "pipeline=2")
"""A unit that builds in seconds."""
SMALLEST = ("--set", "rows=1", "--set", "cols=1", "--set", "modes=fp16", "--mode", "fp16")
"""A unit that is there in a second, where nothing is built of it, and its only mode."""


class Run:
    """Runs ``tilewright run`` commands in a separate directory and keeps their output."""

    def __init__(self, directory: Path, capture: pytest.CaptureFixture[str]) -> None:
        self.directory, self._capture = directory, capture
        self._app = typer.Typer()
        register(self._app)
        self.out = self.err = ""

    def __call__(self, *arguments: object) -> int:
        """Exit status; UserError is left to the caller."""
        status = self._app([str(a) for a in arguments], standalone_mode=False)
        self.out, self.err = self._capture.readouterr()
        return int(status or 0)

    def refused(self, *arguments: object) -> str:
        """The one line with which a command refuses its input."""
        with pytest.raises(UserError) as caught:
            self(*arguments)
        line = str(caught.value)
        assert line
        assert "\n" not in line
        return line

    def save(self, name: str, array: Any) -> Path:
        path = self.directory / name
        np.save(path, np.asarray(array))
        return path

    def report(self) -> dict[str, Any]:
        content: dict[str, Any] = json.loads((self.directory / "report.json").read_text())
        return content


def complaint(words: Sequence[str], capture: pytest.CaptureFixture[str]) -> str:
    """The one line that a wrong command line gets."""
    status = main(words)
    out, err = capture.readouterr()
    assert status == 2
    assert out == ""
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    return err.removeprefix("error: ").rstrip("\n")


def check_refused(
    words: Sequence[str], line: str, directory: Path, capture: pytest.CaptureFixture[str]
) -> None:
    """A command line ends with status 2 and this one line; it leaves no file in the directory."""
    before = sorted(directory.rglob("*"))
    assert complaint(words, capture) == line
    assert sorted(directory.rglob("*")) == before


def draw(seed: int, *shape: int, complex_values: bool = False) -> NDArray[Any]:
    generator = np.random.default_rng(seed)
    real = generator.standard_normal(shape)
    return real + 1j * generator.standard_normal(shape) if complex_values else real
