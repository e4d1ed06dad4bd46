"""What every application does around its products: simulate, show progress."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from ...errors import UserError
from ...sim.rtl.build import BuildError
from ...sim.rtl.toolchain import ToolMissing
from ..common.tally import Tally
from .tiled_product import TiledProduct
from .unit_choice import UnitChoice

__all__ = [
    "Multiply",
    "product_unit",
]

Words = NDArray[np.uint64]
Multiply = Callable[..., Words]
LONGEST_WAVES = 2_000
"""Operations of the longest run that may be traced: a wave file grows by tens of kB for each."""


@contextmanager
def product_unit(choice: UnitChoice, operations: int) -> Iterator[tuple[Multiply, Tally]]:
    """A function that multiplies on the chosen unit, and the tally it keeps.

    Takes at most as many operations as are announced; shows their progress on a terminal.
    """
    if choice.waves and operations > LONGEST_WAVES:
        raise UserError(
            f"{choice.waves}: waves are for runs of at most {LONGEST_WAVES} operations, "
            f"not {operations}"
        )
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(
        *columns, TimeRemainingColumn(), console=console, transient=True,
        disable=not console.is_terminal,
    ) as bar:  # fmt: skip
        task = bar.add_task(f"building {choice.unit}", total=None)
        product = _product(choice)
        bar.update(task, description="operations", total=operations)

        def multiply(a: Words, b: Words, c: Words | None = None) -> Words:
            return product.multiply(a, b, c, progress=lambda done: bar.advance(task, done))

        try:
            yield multiply, product.tally
        finally:
            product.close()


def _product(choice: UnitChoice) -> Any:
    """What multiplies: the matrix unit, or the engine around it."""
    if choice.engine:
        from ..engine.products import EngineProduct

        return EngineProduct(choice.engine, choice.mode, backend=choice.backend)
    try:
        return TiledProduct(
            choice.chosen, choice.config, choice.mode, backend=choice.backend, waves=choice.waves
        )
    except ToolMissing as error:
        raise UserError(str(error)) from None
    except BuildError as error:
        said = " ".join(line.strip() for line in str(error).splitlines()[:3])
        raise UserError(f"{choice.unit} could not be built for simulation: {said}") from None
    except ValueError as error:
        raise UserError(f"{choice.unit}: {error}") from None
