"""The table ``toy-area``. A system's: ``synth/tables``."""

from __future__ import annotations

from tilewright.synth.tables import Row, Table
from tilewright.synth.tables.measure import Progress, cycle_time, measure, quiet
from tilewright.verif.catalogue.toy.spec import TOY_ADDER, ToyAdderConfig


def toy_area(target: str = "cmos", *, progress: Progress = quiet) -> Table:
    """Area and cycle time of the toy adder. There is no paper to compare with."""
    designs = {"64 bits": (TOY_ADDER, ToyAdderConfig())}
    reports = measure("toy-area", designs, target, progress)
    rows = [
        Row(label, [None, None], [report.area, cycle_time(report)])
        for label, report in reports.items()
    ]
    return Table("toy-area", target, ["area", "cycle in ns"], rows)
