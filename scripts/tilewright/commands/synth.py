"""``tilewright synth``: a unit's area and speed."""

from __future__ import annotations

from ..errors import user_errors
from ..report_table import console_of_reports
from ..reports import write_json
from .options import (
    ConfigOption,
    JsonOption,
    SetOption,
    TargetOption,
    UnitArgument,
    check_output,
)

__all__ = ["synth"]


def synth(
    unit: UnitArgument,
    config: ConfigOption = None,
    set_: SetOption = None,
    target: TargetOption = "cmos",
    json_file: JsonOption = None,
) -> None:
    """Measure a unit's area and speed."""
    from ..settings import choose_unit, read_config

    chosen = choose_unit(unit)
    values = read_config(chosen, config, set_ or ())
    if json_file is not None:
        check_output(json_file, ".json")
    from ..synth.base.errors import ToolError
    from ..synth.flow import synthesize

    with user_errors(ValueError, OSError, ToolError):
        report = synthesize(chosen, values, target)
    report.print(console_of_reports())
    if json_file is not None:
        write_json(json_file, report.to_json())
