"""The command ``run toy-add``. A system's: ``scripts/tilewright/apps``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from tilewright.apps.common.files import check_output
from tilewright.apps.common.matrix_files import read_array, write_array
from tilewright.hw.emit.unit import emit
from tilewright.sim.rtl.accelerator import NativeAccelerator
from tilewright.verif.catalogue.toy.driver import ToyAdderDriver, added
from tilewright.verif.catalogue.toy.spec import TOY_ADDER, ToyAdderConfig

__all__ = ["toy_add"]


def toy_add(
    array: Annotated[Path, typer.Argument(help="Integers, .npy.")],
    constant: Annotated[int, typer.Option(min=0, max=(1 << 32) - 1, help="What to add.")] = 1,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="The sums, .npy.")] = None,
) -> None:
    """Add a constant to the elements of an array, modulo 2 ** 32."""
    if output is not None:
        check_output(output)
    values = read_array(array).astype(np.uint32)
    config = ToyAdderConfig()
    with NativeAccelerator(emit(TOY_ADDER, config), config, memory_bytes=1 << 24) as device:
        driver = ToyAdderDriver(device)
        sums = driver.add(values, constant)
    mismatches = int(np.count_nonzero(sums != added(values, constant)))
    print(f"{len(sums)} sums in {driver.counts['cycles']} cycles, {mismatches} mismatches")
    if output is not None:
        write_array(output, sums)
    if mismatches:
        raise typer.Exit(1)
