"""The table of what each directive of a mapping brings: cycles, bytes and area without it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ...errors import UserError
from ...synth.tables import Row, Table

__all__ = ["LEFT_OUT", "SIZE", "t2s_ablation", "without"]

SIZE = 128
"""Rows and columns of the matrices."""

LEFT_OUT: dict[str, tuple[tuple[str, str], ...]] = {
    "all there": (),
    "vectorise": (
        ("jj, iii, jjj, kkk).vectorise(kkk)", "jj, iii, jjj)"),
        ("C.order(i, j, k, kk, ii,", "C.order(i, j, k, kk, kkk, ii,"),
    ),
    "forward(feed_a)": (("C.forward(feed_a, jj=1).", "C."),),
    "forward(feed_b)": ((".forward(feed_b, ii=1)", ""),),
    "feed_a.buffer": (
        ("load_a.remove(jjj, jj), ", ""),
        ("feed_a.buffer(k, double=True), ", ""),
    ),
    "feed_b.buffer": (
        (", load_b.remove(iii, ii)", ""),
        (", feed_b.buffer(k, double=True)", ""),
    ),
    "double": ((", double=True", ""),),
    "feed_a.scatter": (("feed_a.unroll(ii).scatter(ii=1)\n", ""),),
    "feed_b.scatter": (("feed_b.unroll(jj).scatter(jj=1)\n", ""),),
    "drain_overlap": ((".vectorise(kkk)", ".vectorise(kkk).drain_overlap(False)"),),
    "drain.gather": (("drain.unroll(ii, jj).gather(ii=-1)", "drain.unroll(ii, jj)"),),
    "collect.gather": (("collect.unroll(jj).gather(jj=-1, vector=True)", "collect.unroll(jj)"),),
    "vector": ((", vector=True", ""),),
}
"""Replacements in the file, by the directive that is left out."""

_LATENCY = 20
"""Latency of the memory, in cycles."""


def without(text: str, directive: str) -> str:
    """A mapping without a directive; without ``vectorise`` the loop is one of those that are
    summed over, outside of the block."""
    for old, new in LEFT_OUT[directive]:
        assert old in text, (directive, old)
        text = text.replace(old, new)
    return text


def t2s_ablation(target: str, progress: Callable[[str], None] = lambda said: None) -> Table:
    """Cycles, bytes that are read and area of a matrix product's mapping, and of the same without
    each directive in turn: the Verilog, on a product of matrices of int8 that is checked.

    Raises UserError for targets that are placed and routed.
    """
    from ...hw.spec.t2s.config import T2S, T2sConfig
    from ...hw.t2s import designs
    from ...synth.flow import synthesize

    if target in ("ecp5", "ice40"):
        raise UserError(
            f"t2s-ablation is mapped to cells: --target cmos or liberty, not {target!r}"
        )
    whole = (Path(designs.__file__).parent / "steps" / "step7_gathered.py").read_text()
    rows: list[Row] = []
    first: tuple[float, ...] = ()
    with TemporaryDirectory() as folder:
        for number, directive in enumerate(LEFT_OUT):
            progress(directive)
            file = Path(folder) / f"without_{number}.py"
            file.write_text(without(whole, directive))
            config = T2sConfig(design=str(file), format="int8", largest=0)
            counts = _counts(config)
            area = synthesize(T2S, config, target=target).to_json()["area"]
            ours = (counts.cycles, counts.bytes_read, area)
            first = first or ours
            ratios = tuple(mine / its for mine, its in zip(ours, first, strict=True))
            figures = [figure for pair in zip(ours, ratios, strict=True) for figure in pair]
            rows.append(Row(directive, (None,) * 6, figures, (0, 2) * 3))
    columns = ["cycles", "times", "bytes read", "times", "area", "times"]
    return Table("t2s-ablation", target, columns, rows)


def _counts(config: Any) -> Any:
    import numpy as np

    from ...apps.common.session import rtl_device
    from ...hw.spec.t2s.config import T2S
    from ...sim.t2s.driver import Driver

    rng = np.random.default_rng(1)
    a, b = (rng.integers(-128, 128, (SIZE, SIZE)) for _ in range(2))
    with rtl_device(T2S, config, 1 << 24) as device:
        driver = Driver(device)
        if not np.array_equal(driver.compute(A=a, B=b), a @ b):
            raise UserError("t2s-ablation: a product is not NumPy's")
    return driver.counts
