"""What a product takes on the tile engine, without values."""

from __future__ import annotations

from ..engine.timed import timed_products
from .report import finish
from .unit_choice import UnitChoice

__all__ = ["time_product"]


def time_product(
    app: str, title: str, choice: UnitChoice, shape: tuple[int, int, int], *, use_c: bool
) -> None:
    """Report what one product takes on a choice's engine. Raises as `timed_products`."""
    assert choice.engine
    tally = timed_products(choice.engine, choice.mode, shape, use_c=use_c)
    rows = [
        ("shape", " x ".join(f"{size:,}" for size in shape)),
        ("values", "not computed: time does not depend on them"),
    ]
    finish(app, title, rows, choice, tally, {}, {"shape": list(shape)})
