"""NumPy's .npz archives that hold one array, or one sparse matrix as SciPy writes it."""

from __future__ import annotations

import io
import tokenize
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import UserError
from .limits import LARGEST

__all__ = ["read_arrays", "read_npz", "write_npz"]

_MEMBER = LARGEST * 16 + (1 << 16)
"""Bytes of the largest member: the most elements, complex128, and a header."""
_FORMATS = ("csr", "csc", "coo", "bsr", "dia")
_SHOWN = 6


def read_npz(path: Path, content: bytes, check_shape: Callable[..., None]) -> Any:
    """Reads the bytes of an archive: a NumPy array, or a SciPy COO matrix.

    ``check_shape`` is given the path and the shape of a sparse matrix before its entries are read.
    Raises UserError if the archive is damaged, or holds no array, several, or one that is too
    large.
    """
    with _opened(path, content) as archive:
        names = _names(path, archive)
        if {"format", "shape", "data"} <= names.keys():
            return _sparse(path, archive, names, check_shape)
        if len(names) != 1:
            raise UserError(f"{path}: must hold one array, not {_listed([*names])}")
        (member,) = names.values()
        return _array(archive, member)


def read_arrays(path: Path, content: bytes) -> dict[str, NDArray[Any]]:
    """Reads all arrays from the bytes of an archive, by their names. Raises UserError if the
    archive is damaged, or holds what is not an array, or arrays that are too large."""
    with _opened(path, content) as archive:
        names = _names(path, archive)
        if sum(member.file_size for member in names.values()) > _MEMBER:
            raise UserError(f"{path}: its arrays have more than {_MEMBER} bytes together")
        return {name: _array(archive, member) for name, member in names.items()}


@contextmanager
def _opened(path: Path, content: bytes) -> Iterator[zipfile.ZipFile]:
    """The archive; whatever is found to be wrong with it is a UserError."""
    try:
        with (
            warnings.catch_warnings(action="ignore"),  # of old Python's files
            zipfile.ZipFile(io.BytesIO(content)) as archive,
        ):
            yield archive
    except zipfile.BadZipFile as error:
        raise UserError(f"{path}: not a whole .npz file: {_first(error)}") from None
    except (SyntaxError, tokenize.TokenError, RecursionError, TypeError):
        raise UserError(f"{path}: damaged .npz file: a header cannot be understood") from None
    except (ValueError, EOFError, OSError, MemoryError, ArithmeticError, NotImplementedError,
            RuntimeError, IndexError, zlib.error) as error:  # fmt: skip
        raise UserError(f"{path}: damaged or unsupported .npz file: {_first(error)}") from None


def write_npz(file: Any, array: NDArray[Any]) -> None:
    """Write an archive of one array, packed."""
    np.savez_compressed(file, array)


def _names(path: Path, archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    """The members by the names of their arrays; UserError if one is too large, or no array."""
    found = {}
    for member in archive.infolist():
        if not member.filename.endswith(".npy"):
            raise UserError(f"{path}: must hold .npy arrays, not {member.filename[:60]!r}")
        if member.file_size > _MEMBER:
            raise UserError(
                f"{path}: {member.filename}: {member.file_size} bytes are too many; at most "
                f"{_MEMBER} are allowed"
            )
        found[member.filename.removesuffix(".npy")] = member
    return found


def _array(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> NDArray[Any]:
    with archive.open(member) as file:
        content = file.read()  # at most what the directory says
    if not content.startswith(b"\x93NUMPY"):
        raise ValueError(f"{member.filename} is not an array (its first bytes are not \\x93NUMPY)")
    return np.asarray(np.load(io.BytesIO(content), allow_pickle=False))


def _sparse(
    path: Path,
    archive: zipfile.ZipFile,
    names: dict[str, zipfile.ZipInfo],
    check_shape: Callable[..., None],
) -> Any:
    form, shape = (_array(archive, names[name]) for name in ("format", "shape"))
    word = form.item() if form.ndim == 0 else form
    word = word.decode("ascii") if isinstance(word, bytes) else word
    if word not in _FORMATS:
        known = ", ".join(_FORMATS)
        raise UserError(f"{path}: format must be one of {known}, not {str(word)[:60]!r}")
    if shape.dtype.kind not in "iu" or shape.shape != (2,) or int(shape.min()) < 0:
        raise UserError(f"{path}: shape must be the rows and the columns, not {str(shape)[:60]}")
    check_shape(path, *shape.tolist())
    # Behind the checks, which refuse a file before SciPy is there.
    from scipy import sparse

    arrays = {name: _array(archive, member) for name, member in names.items()}
    data, sizes = arrays["data"], tuple(shape.tolist())
    make = getattr(sparse, f"{word}_array")
    if word == "coo":
        found = make((data, (_part(arrays, "row"), _part(arrays, "col"))), shape=sizes)
    elif word == "dia":
        found = make((data, _part(arrays, "offsets")), shape=sizes)
    else:
        found = make((data, _part(arrays, "indices"), _part(arrays, "indptr")), shape=sizes)
        found.check_format(full_check=True)
    return sparse.coo_matrix(found)


def _part(arrays: dict[str, NDArray[Any]], name: str) -> NDArray[Any]:
    if name not in arrays:
        raise ValueError(f"there is no {name}")
    return arrays[name]


def _listed(names: list[str]) -> str:
    if not names:
        return "none"
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"{len(names)}: {', '.join(name[:40] for name in names[:_SHOWN])}{more}"


def _first(error: BaseException) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]
