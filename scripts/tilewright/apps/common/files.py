"""Files that commands read and write: whether they may be, before anything is computed."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any

from ...errors import UserError
from ...hw.spec.host import inputs, outputs
from ...reports import STANDARD_OUTPUT

__all__ = ["ARRAYS", "ARRAY_NAMES", "MARKET", "PICTURES", "TENSOR_NAMES", "check_array_name",
           "check_installed", "check_output", "check_picture", "check_readable", "kind_of",
           "need", "read_content", "write_whole"]  # fmt: skip


def need(module: str, package: str) -> Any:
    """A module of the extra `apps`; UserError that names the extra if it is not installed."""
    try:
        return import_module(module)
    except ImportError:
        raise _missing(package) from None


def check_installed(module: str, package: str) -> None:
    """Raise UserError as `need` does, early: the package is looked for, and not imported."""
    if find_spec(module.partition(".")[0]) is None:
        raise _missing(package)


def _missing(package: str) -> UserError:
    return UserError(
        f"{package} is not installed; it comes with the extra `apps`: "
        f"pip install 'tilewright[apps]'"
    )


MARKET = (".mtx", ".mtx.gz")
"""Matrix Market."""
ARRAYS = (".npy", ".npz", *MARKET)
"""Suffixes of files of matrices and arrays, read and written."""
ARRAY_NAMES = ".npy, .npz, .mtx or .mtx.gz"
"""Suffixes of files of arrays, for a help text."""
TENSOR_NAMES = ".tns, .npy, .npz, .mtx or .mtx.gz"
"""Suffixes of files of tensors, for a help text."""
PICTURES = (".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff")
"""Suffixes of files of pictures."""


def kind_of(path: Path) -> str:
    """Returns the kind of a file: its suffix in small letters, two of them for .mtx.gz."""
    name = path.name.lower()
    return ".mtx.gz" if name.endswith(".mtx.gz") else path.suffix.lower()


def check_array_name(path: Path) -> None:
    """Raise UserError unless a file's name is that of an array to be read."""
    if (kind := kind_of(path)) not in ARRAYS:
        raise UserError(f"{path}: must be a {ARRAY_NAMES} file, not {kind!r}")


def check_readable(path: Path) -> None:
    """Raise UserError early for a file that cannot be read."""
    if path.exists() and not path.is_file() and not path.is_dir():
        return
    try:
        path.open("rb").close()
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None


def read_content(path: Path) -> bytes:
    """The bytes of a file; UserError if it cannot be read."""
    try:
        return inputs.read_bytes(path)
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None


def check_output(
    path: Path, suffixes: tuple[str, ...] = ARRAYS, *, beside: Path | None = None
) -> None:
    """Raise UserError unless ``path`` can be written and ends as its content demands (what is no
    regular file may have any name), and is not where another output goes, ``beside`` it."""
    if path == STANDARD_OUTPUT and suffixes == (".json",):
        return
    if kind_of(path) not in suffixes and not outputs.is_stream(path):
        allowed = " or ".join(filter(None, (", ".join(suffixes[:-1]), suffixes[-1])))
        raise UserError(f"{path}: must end in {allowed}, not {path.suffix!r}")
    if why := outputs.obstacle(path):
        raise UserError(f"{path}: cannot be written: {why}")
    if beside is not None and path.resolve() == beside.resolve() and not outputs.is_stream(path):
        raise UserError(f"{path}: must not be the file of two outputs")


def check_picture(path: Path) -> None:
    """Raise UserError unless a picture can be written there."""
    check_installed("matplotlib", "Matplotlib")
    check_output(path, (".png",))


def write_whole(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    """Write a file so that it appears whole or not at all, packed if its name ends in .mtx.gz;
    UserError if it cannot be written."""

    def pack(file: IO[bytes]) -> None:
        from .market_header import packed_file

        with packed_file(file) as inner:
            write(inner)

    try:
        outputs.write_whole(path, pack if kind_of(path) == ".mtx.gz" else write)
    except OSError as error:
        raise UserError(f"{path}: cannot be written: {error.strerror or error}") from None
