"""What every application does around its products: simulate, show progress."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import UserError
from ...hw.spec.host.activity import activity
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
    with activity(f"building {choice.unit}"):
        product = _product(choice)
    with activity(f"operations of {choice.unit}", total=operations) as shown:

        def multiply(a: Words, b: Words, c: Words | None = None) -> Words:
            return product.multiply(a, b, c, progress=shown.step)

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
