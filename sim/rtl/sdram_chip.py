"""An SDRAM chip beside a design in simulation: a model that checks the time of each command.

The model is ``sdram_chip.sv``. Its times are those of data sheets, by part; nothing of the
controller's is known to it but the period and the phase of the clock.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from .streams import HasVerilog

__all__ = [
    "MODEL",
    "PARTS",
    "RULES",
    "TIMES",
    "Rule",
    "SdramError",
    "SdramPart",
    "WithChip",
    "chip_at_pins",
    "with_chip",
]

MODEL = Path(__file__).with_suffix(".sv").read_text()
"""Verilog of the model."""


class Rule(NamedTuple):
    """A rule of the model: its name, and what breaks it."""

    name: str
    text: str


RULES: dict[int, Rule] = {
    int(number): Rule(name, text)
    for name, number, text in re.findall(r"localparam bit \[7:0\] (\w+) = (\d+); // (.*)", MODEL)
}
"""Rules of the model by the numbers that it reports."""
_STRUCT = MODEL[MODEL.index("struct packed {") + 15 : MODEL.index("} sdram_times_t;")]
TIMES: list[str] = re.findall(r"(\w+)(?=[,;])", re.sub(r"//.*", "", _STRUCT))
"""Names of the times that the model is given."""


class SdramError(RuntimeError):
    """A rule of an SDRAM chip was broken."""


@dataclass(frozen=True)
class SdramPart:
    """A part's data sheet.

    Parameters
    ----------
    times: in nanoseconds, by the model's names
    counts: cycles that the data sheet gives besides a time, and numbers of refreshes
    """

    times: Mapping[str, float]
    counts: Mapping[str, int]

    def at(self, mhz: float, phase: float) -> dict[str, int]:
        """All values of the model, in picoseconds and cycles, for a clock and the degrees by which
        that of the chip lags."""
        period = 1e6 / mhz
        found = {name: round(1000 * value) for name, value in {**_COMMON, **self.times}.items()}
        clock = {"period": round(period), "phase": round(period * phase / 360)}
        return {**found, **clock, "refreshes": 8192, **self.counts}


_COMMON = {
    "delay_least": 1,
    "delay_most": 4,
    "skew": 1,
    "t_ras_most": 100_000,
    "t_window": 64e6,
    "t_is": 1.5,
}
"""Times that are the same for all parts, and those of a board."""

PARTS: dict[str, SdramPart] = {
    "MT48LC16M16A2-75": SdramPart(
        {
            "t_rcd": 20,
            "t_rp": 20,
            "t_rc": 66,
            "t_ras": 44,
            "t_rfc": 66,
            "t_rrd": 15,
            "t_wr": 15,
            "t_mrd": 0,
            "t_power_up": 100_000,
            "t_ck2": 10,
            "t_ck3": 7.5,
            "t_ac2": 6,
            "t_ac3": 5.4,
            "t_oh": 2.7,
            "t_hz": 6,
            "t_ih": 0.8,
        },
        {"c_rrd": 1, "c_wr": 1, "c_mrd": 2, "first_refreshes": 2},
    ),
    "AS4C16M16SA-7": SdramPart(
        {
            "t_rcd": 21,
            "t_rp": 21,
            "t_rc": 63,
            "t_ras": 42,
            "t_rfc": 63,
            "t_rrd": 14,
            "t_wr": 14,
            "t_mrd": 14,
            "t_power_up": 200_000,
            "t_ck2": 10,
            "t_ck3": 7,
            "t_ac2": 6,
            "t_ac3": 5.4,
            "t_oh": 2.5,
            "t_hz": 5.4,
            "t_ih": 0.8,
        },
        {"c_rrd": 1, "c_wr": 1, "c_mrd": 1, "first_refreshes": 2},
    ),
    "W9825G6JH-75": SdramPart(
        {
            "t_rcd": 20,
            "t_rp": 20,
            "t_rc": 65,
            "t_ras": 45,
            "t_rfc": 65,
            "t_rrd": 0,
            "t_wr": 0,
            "t_mrd": 0,
            "t_power_up": 200_000,
            "t_ck2": 10,
            "t_ck3": 7.5,
            "t_ac2": 6,
            "t_ac3": 5.4,
            "t_oh": 3,
            "t_hz": 6,
            "t_ih": 1,
        },
        {"c_rrd": 2, "c_wr": 2, "c_mrd": 2, "first_refreshes": 8},
    ),
}
"""Parts of 32 MiB that boards have, with the times of data sheets, but for MT48LC16M16A2-75, for
which none was at hand; each with 4 banks, 8,192 rows and 512 columns of 16 bits."""


@dataclass(frozen=True)
class WithChip:
    """A design with its chip: Verilog and sidecar, as the emitter's."""

    verilog: str
    sidecar: dict[str, Any]


_PINS = ("cke", "cs_n", "ras_n", "cas_n", "we_n", "ba", "a", "dqm", "dq_o", "dq_oe", "dq_i")
_REPORT = {"rule": 8, "broken": 32, "refreshes": 32, "words": 32}
"""The model's outputs, a report for each request."""
_REQUEST = {"index": 8, "value": 48}
"""What the model is asked: index 0 for a report alone, ``n`` to set the time ``TIMES[n - 1]``
besides, before a reset."""


def with_chip(
    emitted: HasVerilog, part: SdramPart, *, mhz: float, phase: int, pins: str = "sdram",
    pin_registers: bool = False,
) -> WithChip:  # fmt: skip
    """Puts the model at the pins of a design, in a top of its own.

    Its name is the design's and ``_with_sdram``. The pins' ports go. There is an output
    ``sdram_rule``, the first rule that was broken since the reset (:data:`RULES`, 0 for none). If
    the design has streams, two more ask the model and answer: ``sdram_ask``, ``sdram_report``.

    Parameters
    ----------
    emitted: the design
    part: the chip
    mhz: clock of both
    phase: degrees by which the chip's clock lags
    pins: name of the design's pins, without the underscores behind it
    pin_registers: whether there is a register at each pin, both ways
    """
    sidecar = emitted.sidecar
    top = f"{sidecar['module']}_with_sdram"
    taken = {f"{pins}__{name}": name for name in _PINS}
    widths = {taken[one["name"]]: one["width"] for one in sidecar["ports"] if one["name"] in taken}
    ports = [one for one in sidecar["ports"] if one["name"] not in taken]
    streams = list(sidecar["streams"])
    inner = [*_ports(ports, streams), ("input", 1, sidecar["clock"])]
    inner.append(("input", 1, sidecar["reset"]["name"]))
    asks = bool(streams)
    own = [_stream("sdram_ask", "in", _REQUEST), _stream("sdram_report", "out", _REPORT)] * asks
    rule = {"name": "sdram_rule", "direction": "out", "width": _REPORT["rule"]}
    outer = [*inner, *_ports([rule], own)]
    lines = [
        f"module {top} (",
        ",\n".join(
            f"  {direction} logic [{width - 1}:0] {name}" for direction, width, name in outer
        ),
        ");",
        *(f"  logic [{bits - 1}:0] {name};" for name, bits in _REPORT.items()),
        *_wires(widths, sidecar["clock"], pin_registers),
        *_times(part.at(mhz, phase), sidecar["clock"], asks),
        f"  {sidecar['module']} design_ (",
        ",\n".join(
            [f"    .{name}({name})" for _, _, name in inner]
            + [f"    .{port}(pin_{name})" for port, name in taken.items()]
        ),
        "  );",
        f"  sdram_chip chip (.clk({sidecar['clock']}), .power_up({sidecar['reset']['name']}),",
        "    .times(times), " + ", ".join(f".{name}({name})" for name in _REPORT) + ",",
        "    " + ", ".join(f".{name}(chip_{name})" for name in _PINS) + ", .dq_drives());",
        "  assign sdram_rule = rule;",
        "endmodule\n",
    ]
    described = {
        **sidecar, "module": top, "streams": [*streams, *own], "ports": [*ports, rule],
    }  # fmt: skip
    return WithChip("\n".join([emitted.verilog, MODEL, *lines]), described)


_PADS = {
    "clk": "clk", "clk_en": "cke", "cs": "cs_n", "ras": "ras_n", "cas": "cas_n", "we": "we_n",
    "ba": "ba", "a": "a", "dqm": "dqm", "dq": "dq_o",
}  # fmt: skip
"""Pins of the model by their names in ``amaranth-boards``."""
_WIDTHS = {"ba": 2, "a": 13, "dqm": 2, "dq": 16}


def chip_at_pins(top: str, part: SdramPart) -> str:
    """The model at the pins of the top of a bitstream for an ECP5: what stands beside the instance
    ``top`` in a module with the ports ``rst`` and ``sdram_rule``. The wires to the pins are
    ``sdram_clk``, ``sdram_dq`` and so on.

    The frequency and the phase of the chip's clock are those that the PLL is set to. The model
    drives the data pins while it returns a word. It learns from the buffers at these pins whether
    the design drives them.

    Parameters
    ----------
    top: the top's Verilog
    part: the chip
    """
    wires = {name: _WIDTHS.get(name, 1) for name in _PADS}
    comma = ",\n      "
    drives = comma.join(rf"!top.sdram_dq_pin.\buf .buf{bit}.T" for bit in range(_WIDTHS["dq"]))
    lines = [
        *(f"  wire [{width - 1}:0] sdram_{name};" for name, width in wires.items()),
        "  logic [15:0] sdram_word;",
        "  logic sdram_returns;",
        "  assign sdram_dq = sdram_returns ? sdram_word : 'z;",
        *_times(part.at(*_pll_clock(top)), "sdram_clk", asks=False),
        "  sdram_chip chip (.power_up(rst), .times(times), .rule(sdram_rule),",
        "    .broken(), .refreshes(), .words(),",
        "      " + comma.join(f".{pin}(sdram_{name})" for name, pin in _PADS.items()) + ",",
        "    .dq_i(sdram_word), .dq_drives(sdram_returns),",
        f"    .dq_oe(|{{\n      {drives}}}));\n",
    ]
    return "\n".join(lines)


def _pll_clock(top: str) -> tuple[float, float]:
    """MHz of the clock that an EHXPLLL makes, and degrees by which its second output lags."""
    found = re.search(r'FREQUENCY_PIN_CLKI = "([\d.]+)"', top)
    values = {name: int(text) for name, text in re.findall(r"\.(CLK\w+)\(32'd(\d+)\)", top)}
    if found is None or "CLKOS_DIV" not in values:
        raise ValueError("there is no PLL with a clock for an SDRAM")
    eighths = 8 * (values["CLKOS_CPHASE"] - values["CLKOP_CPHASE"]) + values["CLKOS_FPHASE"]
    lag = eighths % (8 * values["CLKOS_DIV"]) / (8 * values["CLKOS_DIV"])
    return float(found[1]) * values["CLKFB_DIV"] / values["CLKI_DIV"], 360 * lag


def _ports(ports: list[Any], streams: list[Any]) -> list[tuple[str, int, str]]:
    """Direction, width and name of plain ports and of streams' ports."""
    found = [(f"{one['direction']}put", one["width"], one["name"]) for one in ports]
    for one in streams:
        ahead, back = ("input", "output") if one["direction"] == "in" else ("output", "input")
        found += [(ahead, 1, one["valid"]), (ahead, one["width"], one["payload"])]
        found.append((back, 1, one["ready"]))
    return found


def _wires(widths: Mapping[str, int], clock: str, registered: bool) -> list[str]:
    """From the pins of the design to those of the chip, and back."""
    lines = []
    for name, bits in widths.items():
        source, target = ("chip", "pin") if name == "dq_i" else ("pin", "chip")
        lines.append(f"  logic [{bits - 1}:0] pin_{name}, chip_{name};")
        if registered:
            lines.append(f"  always_ff @(posedge {clock}) {target}_{name} <= {source}_{name};")
        else:
            lines.append(f"  assign {target}_{name} = {source}_{name};")
    return lines


def _times(values: Mapping[str, int], clock: str, asks: bool) -> list[str]:
    """The model's times, which requests may set, and the reports."""
    value = {name: f"64'd{values[name]}" for name in TIMES}
    lines = ["  sdram_times_t times = '{"]
    lines += [",\n".join(f"    {name}: {text}" for name, text in value.items()), "  };"]
    if not asks:
        return lines
    lines += [f"  always_ff @(posedge {clock})", "    if (sdram_ask__valid)"]
    lines.append("      case (sdram_ask__payload[7:0])")
    for number, name in enumerate(TIMES, 1):
        lines.append(f"        8'd{number}: times.{name} <= 64'(sdram_ask__payload[55:8]);")
    return [
        *lines, "        default: ;", "      endcase",
        "  assign sdram_ask__ready = sdram_report__ready;",
        "  assign sdram_report__valid = sdram_ask__valid;",
        f"  assign sdram_report__payload = {{{', '.join(reversed(_REPORT))}}};",
    ]  # fmt: skip


def _stream(name: str, direction: str, fields: Mapping[str, int]) -> dict[str, Any]:
    """A stream's entry in the sidecar."""
    entries: list[dict[str, Any]] = []
    offset = 0
    for field, width in fields.items():
        entries.append({"name": field, "offset": offset, "width": width})
        offset += width
    parts = {part: f"{name}__{part}" for part in ("valid", "ready", "payload")}
    return {"name": name, "direction": direction, **parts, "width": offset, "fields": entries}
