"""The table of what MatRaptor and the converter reach in simulation, on the RTL."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from ..errors import UserError, user_errors
from ..synth.tables import Row, Table, Tables

__all__ = ["matraptor_rates", "needs_simulation"]

_ELEMENT = {
    "1 row of B, 1 entry": (1,),
    "2 rows, 3 and 2 entries": (3, 2),
    "9 rows of 12 entries": (12,) * 9,
    "40 rows of 6 entries, 31 of them merged": (6,) * 40,
}
_PORT = (1, 2, 8, 64, 500)
_LENGTHS = (1, 2, 8, 64, 1000)
_CONVERTER_LATENCIES = (1, 50, 200)
_CONFIGS = ("1x1", "2x2", "4x2", "2x6", "3x3")
_APART = ("cycles", "busy_cycles", "stalls", "conflicts")
Progress = Callable[[str], None]


@contextmanager
def needs_simulation(name: str, target: str) -> Iterator[None]:
    """Guards a table that is measured on the RTL, under Verilator.

    Raises UserError for a target, or if there is no Verilator, or no compiler, or it fails.
    """
    if target != "cmos":
        raise UserError(f"{name} is measured in simulation: no --target, not {target!r}")
    from ..sim.rtl import toolchain

    with user_errors(toolchain.ToolMissing):
        toolchain.require_tools()
    try:
        from ..sim.rtl.build import BuildError
    except ModuleNotFoundError as error:
        raise UserError(
            f"{name} needs the package {error.name!r}: pip install 'tilewright[simulate]'"
        ) from None
    with user_errors(BuildError, about=name):
        yield


def _row(label: str, ours: Sequence[float], digits: int | Sequence[int] = 2) -> Row:
    return Row(label, [None] * len(ours), ours, digits)


def _element(progress: Progress) -> Table:
    from .element_rate import element_rate, element_unit

    progress("building a processing element")
    unit = element_unit()
    rows = [_row(label, element_rate(unit, lengths)) for label, lengths in _ELEMENT.items()]
    return Table("processing element, cycles a row of C", "RTL", ["needed", "taken"], rows)


def _port(progress: Progress) -> Table:
    from .cycle_deviation import config_of, device_of
    from .lane_rate import port_rate

    progress("building a lane with a channel of 64 bits")
    with device_of(config_of("1x1")) as rtl:
        rows = [
            _row(f"entries in a row of B: {length}", port_rate(rtl, length), 3) for length in _PORT
        ]
    return Table("lane with a channel of 64 bits, a cycle", "RTL", ["products", "beats read"], rows)


def _converter(progress: Progress) -> Table:
    from ..hw.spec.c2sr_converter import C2srConverterConfig
    from .converter_rate import converter_of, converter_rate

    progress("building the converter")
    rows = []
    with converter_of(C2srConverterConfig()) as rtl:
        for name, direction in (("CSR to C2SR", "csr_to_c2sr"), ("C2SR to CSR", "c2sr_to_csr")):
            for latency in _CONVERTER_LATENCIES:
                progress(f"{name}, latency {latency}")
                rates = [converter_rate(rtl, direction, length, latency) for length in _LENGTHS]
                rows.append(_row(f"{name}, latency {latency}", rates))
    columns = [f"{length} a row" for length in _LENGTHS]
    return Table("converter, entries a cycle, by entries in a row", "RTL", columns, rows)


def _model(progress: Progress, configs: Sequence[str]) -> Table:
    from .cycle_deviation import config_of, deviation, device_of

    rows = []
    for name in configs:
        progress(f"building lanes x channels {name}")
        with device_of(config_of(name)) as rtl:
            found = deviation(rtl)
        others = max(share for counter, share in found.worst.items() if counter not in _APART)
        shares = [*(found.worst[counter] for counter in _APART), others]
        figures = [found.jobs, *(100 * share for share in shares)]
        rows.append(_row(f"lanes x channels {name}", figures, [0] + [2] * len(shares)))
    columns = ["jobs", *_APART, "any other counter"]
    return Table("cycle model against RTL, largest deviation in percent", "RTL", columns, rows)


def matraptor_rates(
    target: str,
    progress: Progress = lambda said: None,
    *,
    configs: Sequence[str] = _CONFIGS,
) -> Tables:
    """Measures throughput per cycle on the RTL, under Verilator, and the cycle model's deviation.

    Parameters
    ----------
    target: "cmos", the default: nothing is synthesised
    progress: is told what comes next
    configs: on which the model is held against the RTL, of ``CONFIGS`` of ``cycle_deviation``

    Raises UserError for another target, or if there is no Verilator, or no compiler.
    """
    with needs_simulation("matraptor-rates", target):
        parts = [_element(progress), _port(progress), _converter(progress)]
        parts.append(_model(progress, configs))
    return Tables("matraptor-rates", parts)
