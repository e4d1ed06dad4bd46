"""The table of mapped products of sparse tensors beside Tensaurus, which was written by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

from ...errors import UserError
from ...synth.tables import Row, Table
from .sparse_sides import Kernel, Sides, drawn, skewed

if TYPE_CHECKING:
    from ...sim.sparse.tensor import Tensor


_MEMORY: dict[str, Any] = {"data_bits": 128, "outstanding": 8}
_MAPPED: dict[str, Any] = {"largest": 0, "format": "fp32", "managers": 1, "pipeline": 6, **_MEMORY}
_TENSAURUS: dict[str, Any] = {"rows": 4, "channels": 1, "index_bits": 16, **_MEMORY}
_ALONE: dict[str, Any] = {
    **_TENSAURUS, "order": 2, "cols": 1, "vlen": 1, "spm_bytes": 2048, "out_bytes": 1024,
}  # fmt: skip
_VECTORS: dict[str, Any] = {
    **_TENSAURUS, "order": 3, "cols": 2, "vlen": 4, "spm_bytes": 8192, "out_bytes": 32768,
}  # fmt: skip

KERNELS = {
    "spmv": Kernel(
        kernel="mv", shape=(256, 256), columns=1, tensaurus=_ALONE,
        mapped={"design": "sparse/spmv_ciss", **_MAPPED},
    ),
    "spmm": Kernel(
        kernel="mm", shape=(256, 256), columns=64, tensaurus=_VECTORS,
        mapped={"design": "sparse/spmm", **_MAPPED},
    ),
    "spmm, half sums": Kernel(
        kernel="mm", shape=(256, 256), columns=64,
        tensaurus={**_VECTORS, "out_bytes": 16384},
        mapped={"design": "sparse/spmm", **_MAPPED},
    ),
    "spmttkrp": Kernel(
        kernel="mttkrp", shape=(64, 64, 64), columns=64, tensaurus=_VECTORS,
        mapped={"design": "sparse/spmttkrp", **_MAPPED},
    ),
    "spmttkrp of 4 lanes": Kernel(
        kernel="mttkrp", shape=(64, 64, 64), columns=64, tensaurus=_VECTORS,
        mapped={"design": "sparse/spmttkrp", "sizes": "JJJ=4,JJ=8", **_MAPPED},
    ),
}  # fmt: skip
"""Columns are those of dense operands."""

DENSITIES = (0.01, 0.05, 0.2)

_SKEWED = 0.05
"""Density of matrices with rows of very different lengths."""


class Case(NamedTuple):
    """A product: of the kernel of this name, of a tensor, which is dealt to elements or not."""

    name: str
    said: str
    make: Callable[[tuple[int, ...]], Tensor]
    dealt: bool = True

    @property
    def label(self) -> str:
        return f"cycles, {self.name}, {self.said}"


def cases_of(kernels: Mapping[str, Kernel]) -> list[Case]:
    found = []
    for name, kernel in kernels.items():
        for density in DENSITIES:
            found.append(Case(name, f"{density:.0%}", _drawn_of(density)))
        if len(kernel.shape) == 2:
            found.append(Case(name, f"{_SKEWED:.0%} skewed", _skewed))
        if kernel.columns == 1:
            found.append(Case(name, f"{_SKEWED:.0%} skewed, csr", _skewed, dealt=False))
    return found


def _drawn_of(density: float) -> Callable[[tuple[int, ...]], Tensor]:
    return lambda shape: drawn(shape, density)


def _skewed(shape: tuple[int, ...]) -> Tensor:
    return skewed(shape, _SKEWED)


AREAS = ("spmm", "spmttkrp", "spmttkrp of 4 lanes")
"""Kernels of which areas are measured."""

_COLUMNS = [
    "t2s", "tensaurus", "ratio", "busy, %, t2s", "busy, %, tensaurus", "KiB read, t2s",
    "KiB read, tensaurus",
]  # fmt: skip


def t2s_sparse(
    target: str,
    progress: Callable[[str], None] = lambda said: None,
    *,
    only: str = "",
    kernels: Mapping[str, Kernel] = KERNELS,
) -> Table:
    """Cycles of both on the Verilog, and one over the other; multiplications over what multipliers
    could do in that time; bytes read; then area, memory and period.

    Words are fp32, memory is one channel of 128 bits that answers after 20 cycles; multipliers and
    adders of both are in six stages. Both have four elements, or rows, of eight lanes; of spmv of
    one. A lane has a multiplier: but that of a mapped spmttkrp has two, since it multiplies each
    entry with words of both matrices, where Tensaurus multiplies sums over a fiber once. So there
    is also one of four lanes, with as many multipliers.

    Buffers of spmm hold as much: sums of 256 rows of 32 columns, 32 KiB (``out_bytes``), and 16 KiB
    of the dense operand (``spm_bytes`` in both columns), each twice; but of the mapped array's each
    element has a quarter, with the same words in it. Tensaurus has a scratchpad of scalars besides,
    and the same sizes for spmttkrp, of which the mapped array has 8 KiB of sums and 32 KiB of
    operands. Of spmv it is 1 KiB of sums and 2 KiB of the vector. "Half sums": a Tensaurus with
    16 KiB of sums, which cuts tiles otherwise and takes fewer cycles of some matrices.

    Random matrices and tensors have entries at all places alike; in a skewed one the n-th longest
    row has an n-th of the longest one's. "csr": rows lie on elements as they come, and are not
    dealt to them. Results are held against SciPy's and NumPy's, which they equal.

    Parameters
    ----------
    target: of the areas: "cmos" or liberty:FILE
    progress: is told what comes next
    only: part of the label of a row
    kernels: see ``KERNELS``

    Raises
    ------
    UserError for a target that is placed and routed, labels that there are not, if the Verilog
    cannot be built, or if a result is wrong.
    """
    if target in ("ecp5", "ice40"):
        raise UserError(
            f"t2s-sparse is mapped to cells: --target cmos or liberty:FILE, not {target}"
        )
    cases = {case.label: case for case in cases_of(kernels)}
    if not any(only in label for label in (*cases, *_area_labels(kernels))):
        raise UserError(f"--only must be part of one of {', '.join(cases)}, not {only!r}")
    chosen = [case for label, case in cases.items() if only in label]
    rows = _cycles(kernels, chosen, progress)
    areas = _Areas(target, progress)
    for name in AREAS:
        if name in kernels and any(only in label for label in _area_labels((name,))):
            rows += [row for row in areas.rows(name, kernels[name]) if only in row.label]
    return Table("t2s-sparse", target, _COLUMNS, rows)


def _cycles(
    kernels: Mapping[str, Kernel], cases: list[Case], progress: Callable[[str], None]
) -> list[Row]:
    """A row of each case."""
    rows = []
    with TemporaryDirectory() as folder, Sides(progress) as sides:
        for case in cases:
            kernel = kernels[case.name]
            tensor = case.make(kernel.shape)
            mapped = kernel.mapped if case.dealt else _not_dealt(kernel.mapped, Path(folder))
            progress(case.label)
            ours = sides.mapped(kernel, mapped, tensor)
            theirs = sides.tensaurus(kernel, tensor)
            figures = (
                ours.cycles, theirs.cycles, ours.cycles / theirs.cycles, 100 * ours.busy,
                100 * theirs.busy, ours.bytes_read / 1024, theirs.bytes_read / 1024,
            )  # fmt: skip
            rows.append(Row(case.label, (None,) * 7, figures, (0, 0, 2, 1, 1, 1, 1)))
    return rows


def _not_dealt(parameters: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Writes a file of the same mapping with rows in their order; returns its parameters."""
    from ...hw.t2s import designs

    name = parameters["design"]
    text = (Path(designs.__file__).parent / f"{name}.py").read_text()
    assert text.count('"ciss"') == 1, name
    file = folder / f"{Path(name).name}.py"
    file.write_text(text.replace('"ciss"', '"csr"'))
    return {**parameters, "design": str(file)}


_MEASURED = ("area", "memory bits", "period, FO4")


def _area_labels(names: Iterable[str]) -> list[str]:
    return [f"{what}, {name}" for name in names if name in AREAS for what in _MEASURED]


class _Areas:
    """Areas, each configuration's measured once."""

    def __init__(self, target: str, progress: Callable[[str], None]) -> None:
        self._target, self._progress = target, progress
        self._known: dict[Any, tuple[float, ...]] = {}

    def rows(self, name: str, kernel: Kernel) -> list[Row]:
        """Returns the rows of a kernel: area, memory and period of both, and their ratios."""
        from ...hw.spec.t2s.config import T2S
        from ...hw.spec.tensaurus import TENSAURUS

        ours = self._measured(T2S, kernel.mapped, name)
        theirs = self._measured(TENSAURUS, kernel.tensaurus, name)
        found = zip(_area_labels((name,)), (0, 0, 1), ours, theirs, strict=True)
        return [
            Row(
                label,
                (None,) * 7,
                (one, other, one / other, None, None, None, None),
                (digits, digits, 2, 0, 0, 0, 0),
            )
            for label, digits, one, other in found
        ]

    def _measured(self, unit: Any, parameters: dict[str, Any], name: str) -> tuple[float, ...]:
        from ...synth.flow import synthesize

        config = unit.config(**parameters)
        if config not in self._known:
            self._progress(f"area of {unit.name}, {name}")
            report = synthesize(unit, config, target=self._target).to_json()
            self._known[config] = (report["area"], report["memory_bits"], report["path"]["fo4"])
        return self._known[config]
