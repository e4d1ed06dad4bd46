"""The LiteX module of an accelerator: every port is connected, what LiteX cannot do is refused.

``verif/examples/test_soc.py`` runs modules in a SoC, where LiteX is installed."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tilewright.cli import main
from tilewright.hw.emit.integration.litex import class_name, litex
from tilewright.hw.emit.unit import describe
from tilewright.hw.spec.host.programs import run_program
from tilewright.registry import entries
from tilewright.verif.kit.commands import check_refused

ACCELERATORS = [name for name, entry in entries().items() if entry.unit.jobs is not None]


def sidecar_of(name: str, **changes: Any) -> dict[str, Any]:
    """The sidecar of a small configuration."""
    entry = entries()[name]
    return describe(name, entry.unit.config(**{**entry.small, "addr_bits": 32, **changes}))


def text_of(name: str) -> str:
    return litex(sidecar_of(name), ["../unit.sv"])


def instance(text: str) -> tuple[str, dict[str, str]]:
    """The module that is instantiated, and what is connected to each port, as text."""
    calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    (found,) = [call for call in calls if ast.unparse(call.func) == "Instance"]
    (module,) = (ast.literal_eval(argument) for argument in found.args)
    return module, {str(pin.arg): ast.unparse(pin.value) for pin in found.keywords}


def ports(sidecar: Mapping[str, Any]) -> dict[str, int]:
    """Width of each port by its direction's letter and its name."""
    found = {"i_clk": 1, "i_rst": 1, "o_irq": 1}
    for port in sidecar["axi"]:
        for signal in port["signals"]:
            found[f"{signal['direction'][0]}_{signal['name']}"] = signal["width"]
    return found


@pytest.mark.parametrize("name", ACCELERATORS)
def test_every_port_is_connected(name: str) -> None:
    """To the field of its own channel, each to another one."""
    sidecar = sidecar_of(name)
    module, pins = instance(litex(sidecar, ["unit.sv"]))
    assert module == name
    assert pins.keys() == ports(sidecar).keys()
    assert len(set(pins.values())) == len(pins)
    register_bits = sidecar["axi"][0]["addr_bits"]
    for pin, value in pins.items():
        if match := re.fullmatch(r"[io]_(?:m(\d+)_axi|s_axil)_(aw|ar|w|r|b)(\w+)", pin):
            number, channel, field = match.groups()
            interface = "self.registers" if number is None else f"m{number}"
            part = f"[:{register_bits}]" if number is None and field == "addr" else ""
            assert value == f"{interface}.{channel}.{field}{part}"


@pytest.mark.parametrize("name", ACCELERATORS)
def test_interfaces_are_as_wide_as_the_ports(name: str) -> None:
    sidecar = sidecar_of(name)
    text = litex(sidecar, ["unit.sv"])
    managers = [port for port in sidecar["axi"] if port["role"] == "manager"]
    made = re.findall(r"AXIInterface\(data_width=(\d+), address_width=(\d+), id_width=(\d+)", text)
    expected = [(str(port["data_bits"]), "32", str(port["id_bits"])) for port in managers]
    assert made == expected
    longest = max(port[way]["longest_beats"] for port in managers for way in ("reads", "writes")
                  if way in port)  # fmt: skip
    assert f"\n    LONGEST_BEATS = {longest}\n" in text
    assert f"\n    REGISTER_BYTES = {2 ** sidecar['axi'][0]['addr_bits']}\n" in text


def test_it_reads_as_our_own_code(tmp_path: Path) -> None:
    for name in ACCELERATORS:
        (tmp_path / f"{name}_litex.py").write_text(text_of(name))
    for words in (["check"], ["format", "--check", "--line-length", "100"]):
        done = run_program(["ruff", *words, "--isolated", str(tmp_path)])
        assert done.returncode == 0, done.stdout + done.stderr


def test_names() -> None:
    assert class_name("engine_m3xu") == "EngineM3xu"
    assert class_name("u0") == "U0"
    text = litex({**sidecar_of("matraptor"), "module": "my_product"}, ["a.sv", "../b.sv"])
    assert instance(text)[0] == "my_product"
    assert '\n__all__ = ["MyProduct"]\n\nFILES = ["a.sv", "../b.sv"]\n' in text
    assert 'name: str = "my_product"' in text


def test_addresses_of_64_bits() -> None:
    text = litex(sidecar_of("matraptor", addr_bits=64), ["unit.sv"])
    assert "\n    ADDRESS_BITS = 64\n" in text
    assert "AXILiteInterface(data_width=32, address_width=64)" in text


@pytest.mark.slow
def test_the_command_writes_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It names the SystemVerilog as its own folder sees it."""
    monkeypatch.chdir(tmp_path)
    for folder in ("rtl", "soc"):
        (tmp_path / folder).mkdir()
    small = {**entries()["c2sr_converter"].small, "addr_bits": 32}
    settings = [word for key, value in small.items() for word in ("--set", f"{key}={value}")]
    words = ["c2sr_converter", *settings, "-o", "rtl/unit.sv", "--litex", "soc/unit.py"]
    assert main(["generate", *words]) == 0
    assert (tmp_path / "soc/unit.py").read_text() == text_of("c2sr_converter").replace(
        '"../unit.sv"', '"../rtl/unit.sv"'
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["m3xu", "-o", "a.v", "--litex", "a.py"], "--litex: m3xu has no registers"),
        (["t2s", "-o", "a.v", "--litex", "a.txt"], "a.txt: must end in .py, not '.txt'"),
        (
            ["c2sr_converter", "--set", "addr_bits=40", "-o", "a.v", "--litex", "a.py"],
            "--litex: a bus of LiteX has addresses of 32 or 64 bits, not addr_bits=40; add --set "
            "addr_bits=32",
        ),
    ],
)
def test_refusals(
    words: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    check_refused(["generate", *words], message, tmp_path, capsys)
