"""``tilewright tcu cost``: calls, rows and time of an algorithm, without running it."""

from __future__ import annotations

from inspect import signature
from typing import Annotated

import typer

from ....errors import UserError
from ....hw.spec.host.words import unknown
from ....hw.spec.unit import named_object
from ....numbers_given import whole
from ....reports import print_rows, write_json
from ...common.files import check_output
from ...common.options import PANEL, JsonOption, named_parameters
from ..algorithms import ALGORITHMS, Algorithm
from ..hardware.options import UnitSizeOption, side_given
from ..options import LatencyOption, WeakOption, preset_named, whole_if_so

__all__ = ["cost"]

_MOST = 10**9


def _an_algorithm() -> list[tuple[str, str]]:
    return [(name, row.problem) for name, row in ALGORITHMS.items()]


def cost(
    context: typer.Context,
    algorithm: Annotated[
        str,
        typer.Argument(
            metavar="ALGORITHM",
            help="Name of an algorithm; see `tilewright tcu list`.",
            autocompletion=_an_algorithm,
        ),
    ],
    n: Annotated[
        int,
        typer.Option(
            "--n", parser=whole("--n", 1, _MOST), metavar="N", help="First size of the problem."
        ),
    ],
    sizes: Annotated[
        list[str] | None,
        typer.Option("--size", metavar="NAME=VALUE", help="Another size; repeatable."),
    ] = None,
    m: UnitSizeOption = 256,
    latency: LatencyOption = 0,
    preset: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Unit of the paper, in place of --m and --l: tpu or volta.",
            rich_help_panel=PANEL,
        ),
    ] = None,
    weak: WeakOption = False,
    json_file: JsonOption = None,
) -> None:
    """Count the calls, rows and time of an algorithm on a tensor unit, without running it."""
    if algorithm not in ALGORITHMS:
        raise UserError(unknown("algorithm", algorithm, ALGORITHMS, "tilewright tcu list"))
    row = ALGORITHMS[algorithm]
    given = {row.sizes[0].name: n, **_sizes(algorithm, row, sizes or [])}
    if preset is not None:
        for option, name in (("--m", "m"), ("--l", "latency")):
            source = context.get_parameter_source(name)
            if source is not None and source.name != "DEFAULT":
                raise UserError(f"--preset must come without {option}, which it has")
        m, latency = preset_named(preset)
    side, waits = side_given(m), whole_if_so(latency)
    if json_file:
        check_output(json_file, (".json",))
    formula = named_object(row.formula)
    on_weak = {"weak": weak} if "weak" in signature(formula).parameters else {}
    if weak and not on_weak:
        raise UserError(f"{algorithm} does not run on a weak unit: leave --weak out")
    cost = formula(**given, s=side, **on_weak)
    time = cost.unit_time(side, waits)
    if json_file:
        figures = {
            "calls": cost.calls, "rows": cost.rows, "unit_time": time, "cpu_words": cost.cpu,
        }  # fmt: skip
        asked = {"sizes": given, "preset": preset, "m": m, "latency": waits, "weak": weak}
        write_json(json_file, {"algorithm": algorithm, **asked, **figures})
    lines = [(one.name, f"{given[one.name]:,}: {one.meaning}") for one in row.sizes]
    lines += [
        ("unit", f"{f'{preset}, ' if preset else ''}blocks of {side} x {side} (m = {m:,})"
                 f"{', weak' if weak else ''}, latency {waits:,}"),
        ("calls", f"{cost.calls:,}"),
        ("rows", f"{cost.rows:,}"),
        ("unit time", f"{time:,} words: {cost.rows * side:,} streamed, "
                      f"{cost.calls * waits:,} of latency"),
        ("CPU", f"{cost.cpu:,} words"),
    ]  # fmt: skip
    print_rows(f"{algorithm} (theorem {row.theorem}): {row.problem}", lines)


def _sizes(algorithm: str, row: Algorithm, given: list[str]) -> dict[str, int]:
    """The sizes besides the first. Raises UserError if one is missing, or is none."""
    texts = named_parameters(None, given)
    names = [one.name for one in row.sizes[1:]]
    for name in texts:
        if name not in names:
            known = f"one of {', '.join(names)}" if names else "left out"
            raise UserError(f"--size of {algorithm} must be {known}, not {name!r}")
    for one in row.sizes[1:]:
        if one.name not in texts:
            raise UserError(f"{algorithm} must be given --size {one.name}=..., {one.meaning}")
    return {name: whole(f"--size {name}", 1, _MOST)(text) for name, text in texts.items()}
