"""What a graph application takes for sparse products in place of dense ones."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Annotated

import typer

from ...errors import UserError
from ..sparse.options import SparseOptions, lanes_option
from .options import SemiringOptions

__all__ = ["SparseExtra"]

_PANEL = "Unit, with --sparse"


@dataclass(frozen=True, kw_only=True)
class SparseExtra:
    """Whether to, and what the accelerator of sparse products has beside the matrix unit's."""

    sparse: Annotated[
        bool,
        typer.Option(
            "--sparse",
            help="By sparse products, on MatRaptor: --set and --config are about that, and "
            "--backend may be cycles.",
        ),
    ] = False
    lanes: Annotated[int | None, lanes_option(_PANEL)] = None

    def check_none(self) -> None:
        """Refuse options that only count with --sparse, without it."""
        for item in fields(self):
            if item.name != "sparse" and getattr(self, item.name) is not None:
                raise UserError(
                    f"--{item.name} is for sparse products only: it must come with --sparse, "
                    f"not alone, as {getattr(self, item.name)!r}"
                )

    def options(self, dense: SemiringOptions) -> SparseOptions:
        """The options of the accelerator, from these and those of the matrix unit."""
        if dense.unit != SemiringOptions.unit:
            raise UserError(f"unit must not be given with --sparse, not {dense.unit!r}")
        if dense.on != "unit":
            raise UserError(f"--on must not be given with --sparse, not {dense.on!r}")
        if dense.waves:
            raise UserError(f"{dense.waves}: waves are not written with --sparse")
        return SparseOptions(
            lanes=self.lanes,
            config_file=dense.config_file,
            settings=dense.settings,
            backend=dense.backend,
            memory=dense.memory,
            gigahertz=dense.gigahertz,
            json_file=dense.json_file,
        )
