"""A mapping, its sizes and bounds, as the command line gives them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ...errors import UserError, user_errors
from ...numbers_given import whole
from ..common.options import named_parameters

if TYPE_CHECKING:
    from ...hw.t2s.language import Computation

__all__ = ["BoundsOption", "MappingOptions", "bounds_given", "mapping_given"]

_MOST = 10**6

BoundsOption = Annotated[
    list[str] | None,
    typer.Option("--bounds", metavar="INDEX=N", help="Bounds of the indices: i=64,j=64,..."),
]


@dataclass(frozen=True, kw_only=True)
class MappingOptions:
    """Sizes in place of those of the file."""

    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A size that the file names; repeatable."),
    ] = None
    largest: Annotated[
        int | None,
        typer.Option(
            parser=whole("--largest", 1, _MOST),
            metavar="N",
            help="Limit every tile factor to N, so that small bounds fill the array.",
        ),
    ] = None


def mapping_given(file: Path, options: MappingOptions) -> Computation:
    """The computation of a file. Raises UserError for what cannot be loaded or followed."""
    from ...hw.t2s.language.computation import load_mapping

    texts = named_parameters(None, options.settings or ())
    sizes = {name: whole(f"--set {name}", 1, _MOST)(text) for name, text in texts.items()}
    with user_errors(OSError, ValueError):
        return load_mapping(file, sizes, options.largest)


def bounds_given(given: Sequence[str], indices: tuple[str, ...]) -> dict[str, int]:
    """Parses the bound of each index. Raises UserError if one is missing, unknown or no number."""
    texts = named_parameters(None, [one for words in given for one in words.split(",")])
    for name in texts:
        if name not in indices:
            raise UserError(f"--bounds must be of {', '.join(indices)}, not of {name!r}")
    for name in indices:
        if name not in texts:
            raise UserError(f"--bounds must be given {name}=...; there are {', '.join(indices)}")
    return {name: whole(f"--bounds {name}", 1, _MOST)(text) for name, text in texts.items()}
