"""``tilewright run gemm --unit gta``."""

from __future__ import annotations

from pathlib import Path

from ....errors import UserError
from ....hw.spec.gta import GTA
from ...common.files import check_output
from ...common.first_lines import check_first_lines
from ...common.units.gta import FlowOptions
from ...common.units.matrix_unit import EngineOptions
from ..choice import check_sums, choose_gta

__all__ = ["gemm_on_gta"]

_MODE = "fp32"


def gemm_on_gta(
    a: Path,
    b: Path,
    c: Path | None,
    mode: str | None,
    output: Path | None,
    options: EngineOptions,
    flow: FlowOptions,
) -> None:
    """A B + C in any of the accelerator's formats. Raises UserError for what it does not have."""
    if options.on != "unit":
        raise UserError(f"--on must be unit with {GTA.name}, not {options.on!r}")
    for name in ("waves", "memory", "gigahertz"):
        given = getattr(options, name)
        if given is not None:
            raise UserError(f"--{name} is not for {GTA.name}; it was given as {str(given)!r}")
    choice = choose_gta(options, mode or _MODE, how=flow)
    sums = flow.sums or "wrap"
    check_sums(sums, choice.format)
    if output and sums == "long":
        check_output(output, (".npy", ".npz"))
    elif output:
        check_output(output)
    for file in (a, b, c):
        if file:
            check_first_lines(file)
    from ..gemm import multiply_files

    multiply_files(choice, a, b, c, sums, output)
