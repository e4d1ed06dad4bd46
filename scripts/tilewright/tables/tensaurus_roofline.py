"""The table of sparse products on Tensaurus under its roofline, by the cycle model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..clocks import measured
from ..errors import UserError

if TYPE_CHECKING:
    from .roofline.report import Roofline

__all__ = ["SCALE", "tensaurus_roofline"]

SCALE = 0.001
"""Scale of the papers' sizes unless another one is given: some minutes."""

_LARGE = 0.1
"""Scale from which a product takes minutes, and the runs that take as long again are left out."""


def tensaurus_roofline(
    target: str,
    progress: Callable[[str], None] = lambda said: None,
    *,
    files: Sequence[Path] = (),
    scale: float = SCALE,
    only: str = "",
    settings: Sequence[str] = (),
    host: bool = True,
) -> Roofline:
    """Runs every input of ``roofline.inputs`` on a configuration, with four modes where they are
    needed, at 1 GHz, with eight channels of HBM. Below a tenth of the papers' sizes inputs also run
    with a flat memory, and by SciPy.

    Parameters
    ----------
    target: "cmos", the default: nothing is synthesised
    progress: is told what comes next
    files: more tensors and matrices; one that is named as a generated tensor stands for it
    scale: values of the large tensors, as a part of the real ones', and columns of the layers'
        operands: 1 takes hours and 8 GB
    only: a group, or a part of the name of a product: "nell-2, mode 1, mttkrp"
    settings: parameters of the accelerator, NAME=VALUE
    host: whether SciPy computes small ones, for its time

    Raises
    ------
    UserError for another target, a wrong scale or parameter, files that cannot be read, or if
    nothing is chosen.
    """
    if target != "cmos":
        raise UserError(f"tensaurus-roofline is computed by a model: no --target, not {target!r}")
    if not 1e-6 <= scale <= 1:
        raise UserError(f"--scale must be in 1e-6..1, not {scale:g}")
    from ..apps.common.files import kind_of
    from ..apps.common.tensor_files import SUFFIXES
    from ..hw.spec.tensaurus import TENSAURUS
    from ..settings import read_config
    from .roofline.measure import GIGAHERTZ, GROUPS, Setting, may_have, measure, sources
    from .roofline.point import Point, roof_of
    from .roofline.report import Roofline, draw

    configured: Any = read_config(TENSAURUS, None, settings)
    for path in files:
        if kind_of(path) not in SUFFIXES or not path.is_file():
            raise UserError(f"{path}: must be a .tns, .mtx or .mtx.gz file")
    notes: list[str] = []
    chosen = [source for source in sources(scale, files, notes.append) if may_have(source, only)]
    small = scale < _LARGE
    setting = Setting(config=configured, flat=small, host=host and small)
    points: list[Point] = []
    for source in chosen:
        points.extend(measure(source, setting, progress, only=only))
    if not points:
        raise UserError(f"--only must be one of {', '.join(GROUPS)}, or in a name, not {only!r}")
    config, memory = setting.config, setting.memory
    what = (
        f"{config.rows} x {config.cols} elements of {config.vlen} {config.value}, {config.banks} "
        f"banks, {config.channels} channels of {memory.name}, {GIGAHERTZ:g} GHz, scale {scale:g}"
    )
    notes.append(
        f"{GIGAHERTZ:g} GHz is assumed: the rate of the paper's elements. "
        + measured("tensaurus", config.resolved())
    )
    roof = roof_of(config, memory, GIGAHERTZ)
    drawing = partial(draw, title=f"Tensaurus: {what}", roof=roof, points=points)
    return Roofline(points=points, config=config, what=what, notes=notes, drawing=drawing)
