"""``tilewright generate`` with what integrators ask for."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import tilewright
from systemrdl.node import RegNode
from tilewright.cli import main
from tilewright.hw.emit.integration.c.header import header
from tilewright.hw.emit.integration.ip_xact_component import ip_xact
from tilewright.hw.emit.integration.outputs import OUTPUTS, integration_text
from tilewright.hw.emit.integration.rdl import rdl
from tilewright.hw.emit.unit import describe
from tilewright.registry import entries
from tilewright.verif.catalogue.sidecars import as_read, emitted
from tilewright.verif.emit.integration.readers import compile_text, compiled_rdl, standard_faults
from tilewright.verif.kit.commands import check_refused
from tilewright.verif.kit.options import OPTIONS, small

SETTINGS = ("channels=2", "value=fp16", "index_bits=16", "outstanding=2")
SMALL = ["c2sr_converter", *(word for setting in SETTINGS for word in ("--set", setting))]
FILES = {
    "package": "a_pkg.sv",
    "template": "a.svh",
    "header": "a.h",
    "rdl": "a.rdl",
    "ipxact": "a.xml",
    "core": "a.core",
    "filelist": "a.f",
}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow
def test_all_at_once(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each file holds the text of the sidecar, with the SystemVerilog as its folder sees it."""
    for folder in ("rtl", "sw"):
        (here / folder).mkdir()
    files = FILES | {"header": "sw/a.h", "ipxact": "sw/a.xml", "filelist": "sw/a.f"}
    options = [word for name, file in files.items() for word in (f"--{name}", file)]
    assert main(["generate", *SMALL, "-o", "rtl/unit.v", *options]) == 0
    made = emitted("c2sr_converter")
    assert (here / "rtl/unit.v").read_text() == made.verilog
    for name, file in files.items():
        path = here / file
        read = [here / "a_pkg.sv", here / "rtl/unit.v"]
        expected = integration_text(name, made.sidecar, path, read)
        assert path.read_text() == expected
    assert "<ipxact:name>../rtl/unit.v</ipxact:name>" in (here / "sw/a.xml").read_text()
    assert (here / "sw/a.f").read_text().endswith("\n../a_pkg.sv\n../rtl/unit.v\n")
    assert '- "a_pkg.sv"\n      - "rtl/unit.v"\n' in (here / "a.core").read_text()
    said = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in said] == ["rtl/unit.v", *files.values()]
    assert OUTPUTS.keys() == files.keys() | {"litex"}  # which has tests of its own


@pytest.mark.slow
def test_from_python(here: Path) -> None:
    """The same texts; nothing is written if one cannot be made."""
    unit = tilewright.generate("m3xu_baseline", rows=1, cols=1)
    with pytest.raises(ValueError, match="m3xu_baseline has no registers"):
        unit.write("unit.sv", header="unit.h", rdl="unit.rdl")
    with pytest.raises(
        TypeError, match=r"`write` takes package, template, header, rdl, .*, not 'vhdl'"
    ):
        unit.write("unit.sv", vhdl="unit.vhd")
    assert list(here.iterdir()) == []
    unit.write("unit.sv", header="unit.h", filelist="unit.f")
    for name, path in (("header", Path("unit.h")), ("filelist", Path("unit.f"))):
        expected = integration_text(name, unit.sidecar, path, [Path("unit.sv")])
        assert path.read_text() == expected


@pytest.mark.slow
def test_into_standard_output(here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A header alone, nothing else printed."""
    words = ["generate", "m3xu_baseline", "--set", "rows=1", "-o", "unit.sv"]
    assert main([*words, "--header", "/dev/stdout"]) == 0
    assert re.fullmatch(r"/\* m3xu_baseline, .*#endif /\* \w+ \*/\n", capfd.readouterr().out, re.S)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["m3xu", "-o", "a.v", "--rdl", "a.rdl"], "--rdl: m3xu has no registers"),
        (["m3xu", "-o", "a.v", "--header", "a.c"], "a.c: must end in .h, not '.c'"),
        (["m3xu", "-o", "a.v", "--filelist", "a"], "a: must end in .f, not ''"),
        (["m3xu", "-o", "a.sv", "--package", "a_pkg.v"], "a_pkg.v: must end in .sv, not '.v'"),
        (["m3xu", "-o", "a.sv", "--template", "a.sv"], "a.sv: must end in .svh, not '.sv'"),
        (["m3xu", "-o", "a.txt"], "a.txt: must end in .sv or .v, not '.txt'"),
        (["m3xu", "-o", "unit"], "unit: must end in .sv or .v, not ''"),
        (["m3xu", "-o", "-"], "-: of --json alone; standard output is the file /dev/stdout"),
        (
            ["m3xu", "-o", "a.v", "--header", "-"],
            "-: of --json alone; standard output is the file /dev/stdout",
        ),
        (
            ["m3xu", "-o", "a.sv", "--package", "./a.sv"],
            "--package: a.sv must be another file than that of -o",
        ),
        (
            ["m3xu", "-o", "a.v", "--header", "link.h", "--core", "a.core"],
            "--header: link.h must be another file than that of the sidecar",
        ),
        (
            ["m3xu", "-o", "a.v", "--ipxact", "none/a.xml"],
            "none/a.xml: cannot be written: none is not a directory",
        ),
        (
            ["m3xu", "-o", "/dev/null", "--core", "a.core"],
            "--core names the SystemVerilog's file: -o must be one, not /dev/null",
        ),
        (
            ["m3xu_baseline", "--set", "rows=1", "-o", "a.v", "--core", "below/a.core"],
            "--core: a core's files must be in its folder or below, not at '../a.v'",
        ),
        (
            ["m3xu_baseline", "--set", "rows=1", "-o", "a b.v", "--filelist", "a.f"],
            "--filelist: a list of files names one by letters, digits and dots below its own "
            "folder, or above it, not 'a b.v'",
        ),
    ],
)
def test_refusals(
    words: list[str], message: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line, and nothing is written, not even what could have been."""
    (here / "below").mkdir()
    (here / "link.h").symlink_to("a.json")
    check_refused(["generate", *words], message, here, capsys)


# Every text of every configuration: defaults, and each option of each unit.


def check(sidecar: dict[str, Any], folder: Path) -> None:
    """The programs that are not ours take each text."""
    done = compile_text(folder, {"unit.h": header(sidecar)}, "int main(void) { return 0; }\n",
                        "-fsyntax-only")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert standard_faults(ip_xact(sidecar, ["unit.sv"])) == ""
    if sidecar.get("registers"):
        found = list(compiled_rdl(rdl(sidecar), folder).registers())
        assert all(isinstance(node, RegNode) for node in found)
        assert [x.absolute_address for x in found] == [x["offset"] for x in sidecar["registers"]]


@pytest.mark.slow
@pytest.mark.parametrize("name", entries())
def test_defaults(name: str, tmp_path: Path) -> None:
    unit = entries()[name].unit
    check(as_read(describe(unit, unit.config())), tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("label", OPTIONS)
def test_every_option(label: str, tmp_path: Path) -> None:
    name, changes = OPTIONS[label]
    check(as_read(describe(name, small(entries()[name], changes))), tmp_path)
