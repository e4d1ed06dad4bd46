"""Computes ``run toy-add``. A system's file is ``scripts/tilewright/apps/SUBJECT``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import typer
from numpy.typing import NDArray
from tilewright.apps.common.matrix_files import write_array
from tilewright.hw.emit.unit import emit
from tilewright.sim.rtl.accelerator import NativeAccelerator
from tilewright.verif.catalogue.toy.driver import ToyAdderDriver, added
from tilewright.verif.catalogue.toy.spec import TOY_ADDER, ToyAdderConfig


def add_to(array: NDArray[Any], constant: int, output: Path | None) -> None:
    """Add a constant on the RTL, write the sums if that is asked for, and report."""
    values = array.astype(np.uint32)
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
