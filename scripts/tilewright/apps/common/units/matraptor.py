"""MatRaptor, the accelerator of sparse products, as the command line has it, checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import typer

from ....errors import UserError
from ....hw.spec.host.words import not_one_of
from ....hw.spec.jobs.matraptor import FORMAT_CODES
from ....hw.spec.matraptor import MATRAPTOR, MODES, MatRaptorConfig
from ....hw.spec.unit import Unit
from ....numbers_given import whole
from ....settings import read_config
from ..memory import check_memory
from ..options import (
    PANEL,
    Choice,
    DeviceOptions,
    check_report_and_tools,
    named_parameters,
    named_semiring,
)
from ..sizing import cure

__all__ = ["LINE_BYTES", "LanesOption", "SparseChoice", "choose_sparse_unit", "lanes_option"]

LINE_BYTES = 150
"""Bytes that a product takes, at its peak, for each row and each column of an operand, an empty one
too."""


def lanes_option(panel: str = PANEL) -> Any:
    """The option ``--lanes``, in a panel of the help."""
    return typer.Option(
        parser=whole("--lanes"), metavar="N", rich_help_panel=panel,
        help="Number of lanes, and of memory channels unless `channels` is set.",
    )  # fmt: skip


LanesOption = Annotated[int | None, lanes_option()]


@dataclass(frozen=True, kw_only=True)
class SparseChoice(Choice[MatRaptorConfig]):
    """The accelerator, checked. ``mode``: by rows or by outer products; ``layout``: of A and B in
    memory."""

    unit: Unit = MATRAPTOR
    mode: str = "rows"
    layout: str = "c2sr"

    def check_shape(self, what: object, rows: int, cols: int) -> None:
        """Raise UserError if an operand has no row or column, more than indices can tell apart, or
        so many that there is no memory for them."""
        index_bits = self.config.layout.index_bits
        for name, count in (("row", rows), ("column", cols)):
            if not 0 < count <= 1 << index_bits:
                wider = cure(self.config, "index_bits", (count - 1).bit_length()) if count else ""
                raise UserError(
                    f"{what}: must have between 1 and {1 << index_bits} {name}s with `index_bits` "
                    f"{index_bits}, not {count}{wider}"
                )
        check_memory(f"{what}: a product of {rows} x {cols}", LINE_BYTES * (rows + cols))


def choose_sparse_unit(
    options: DeviceOptions,
    semiring: str | None = None,
    *,
    lanes: int | None = None,
    app: str = "",
    value: str | None = None,
    mode: str = "rows",
    layout: str = "c2sr",
) -> SparseChoice:
    """Check what the command line says; UserError if it cannot be run.

    ``semiring``, ``lanes``, ``mode``, ``layout``: what the application or the user asks for;
    ``app``: the application's name, if it takes no other semiring; ``value``: a format that it
    takes unless the user sets one.
    """
    if mode not in MODES:
        raise UserError(not_one_of("mode", MODES, mode))
    if layout not in FORMAT_CODES:
        raise UserError(not_one_of("layout", FORMAT_CODES, layout))
    if layout != "c2sr" and mode != "rows":
        raise UserError(f"--layout {layout} needs --mode rows, not {mode}")
    semiring = named_semiring(semiring)
    device = options.checked()
    given = list(options.settings or ())
    names = named_parameters(options.config_file, given)
    chosen = {"lanes": lanes, "semiring": semiring}
    for name, wanted in chosen.items():
        fixed = name == "semiring" and app != ""
        if wanted is None or (fixed and name in names):
            continue
        if name in names:
            raise UserError(f"--{name} and a setting of `{name}` exclude each other")
        given.append(f"{name}={wanted}")
    if lanes is not None and "channels" not in names:
        given.append(f"channels={lanes}")
    if value is not None and "value" not in names:
        given.append(f"value={value}")
    if mode == "outer" and "outer_product" not in names:
        given.append("outer_product=true")
    if layout != "c2sr" and "csr" not in names:
        given.append("csr=true")
    config: Any = read_config(MATRAPTOR, options.config_file, given)
    if app and config.semiring != semiring:
        raise UserError(f"`semiring` must be {semiring} for {app}, not {config.semiring!r}")
    if mode == "outer" and not config.outer_product:
        raise UserError("`outer_product` must be true for mode outer, not false")
    if layout != "c2sr" and not config.csr:
        raise UserError(f"`csr` must be true for layout {layout}, not false")
    check_report_and_tools(options.json_file, options.backend, options.wire)
    return SparseChoice(config=config, mode=mode, layout=layout, **device)
