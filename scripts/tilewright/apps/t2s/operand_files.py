"""Operands of an array from files: dense ones, and sparse ones, by their entries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...errors import UserError
from ...hw.spec.formats import Format
from ...hw.spec.t2s.design import Design
from ...sim.sparse.tensor import canonical
from ...sim.t2s.images import operand_names
from ...sim.t2s.sizes import walked_indices
from ...sim.t2s.sparse.entries import Entries
from ..common.files import kind_of
from ..common.limits import check_size, counted
from ..common.matrix_files import read_array
from ..common.rounding import round_to, warn_rounding
from ..common.tensor_files import read_tensor

__all__ = ["Operand", "read_operands"]

Numbers = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Operand:
    """A tensor of a file, rounded to the format of words.

    Parameters
    ----------
    shape: of it
    words: container words, or entries of such
    values: what they stand for: an array of the shape, or of each entry
    """

    shape: tuple[int, ...]
    words: NDArray[np.uint64] | Entries
    values: Numbers


def read_operands(
    design: Design, files: Sequence[Path], meant: str, *, zero_based: bool
) -> dict[str, Operand]:
    """Reads all operands by name; files are in the order of the definition.

    A mode of a .tns file is as large as dense operands say, if its indices are smaller. Says on
    stderr what rounding destroyed. Raises UserError for files that are no such tensors.

    Parameters
    ----------
    meant: the expression, for messages
    zero_based: indices of .tns files count from 0
    """
    names, found = operand_names(design.program), {}
    for name, file in zip(names, files, strict=True):
        fmt = design.word_format(name)
        sparse = name in design.program.sparse
        found[name] = _sparse(file, fmt, zero_based=zero_based) if sparse else _dense(file, fmt)
        order = len(design.program.tensor(name).dimensions)
        if (given := len(found[name].shape)) != order:
            wanted = counted(order, "dimension")
            raise UserError(f"{file}: must have {wanted} for {meant}, not {given}")
    open_ended = {name for name, file in zip(names, files, strict=True) if kind_of(file) == ".tns"}
    return _grown(design, found, open_ended)


def _dense(file: Path, fmt: Format) -> Operand:
    if kind_of(file) == ".tns":
        raise UserError(f"{file}: must be an array: the operand is dense in this design")
    given = read_array(file)
    check_size(file, *given.shape)
    rounded = round_to(given, fmt)
    warn_rounding(file, rounded, fmt)
    values = np.asarray(rounded.values, np.float64)
    return Operand(shape=given.shape, words=rounded.words, values=values)


def _sparse(file: Path, fmt: Format, *, zero_based: bool) -> Operand:
    """Entries of a file, zeros that it lists too; those of one place are added."""
    tensor = canonical(read_tensor(file, zero_based=zero_based))
    rounded = round_to(tensor.values, fmt)
    warn_rounding(file, rounded, fmt)
    entries = Entries(shape=tensor.shape, places=tensor.indices, words=rounded.words)
    return Operand(shape=tensor.shape, words=entries, values=np.asarray(rounded.values, np.float64))


def _grown(
    design: Design, operands: Mapping[str, Operand], open_ended: set[str]
) -> dict[str, Operand]:
    """Tensors of files that do not say their shapes, as large as others say."""
    most: dict[str, int] = {}
    for name, one in operands.items():
        indices = walked_indices(design.program.tensor(name).dimensions)
        for index, size in zip(indices, one.shape, strict=True):
            most[index] = max(size, most.get(index, 0))
    found = dict(operands)
    for name in open_ended:
        indices = walked_indices(design.program.tensor(name).dimensions)
        shape, entries = tuple(most[index] for index in indices), found[name].words
        assert isinstance(entries, Entries)
        found[name] = replace(found[name], shape=shape, words=replace(entries, shape=shape))
    return found
