"""``tilewright.units`` and ``tilewright.generate``."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import tilewright
from tilewright.hw.emit.unit import emit
from tilewright.hw.spec.host.words import UnknownName
from tilewright.registry import entries
from tilewright.verif.kit.refusal import refused

pytestmark = pytest.mark.quick


def test_units_are_those_that_are_registered() -> None:
    assert list(tilewright.units) == list(entries())
    assert len(tilewright.units) == len(entries())
    for name, info in tilewright.units.items():
        unit = entries()[name].unit
        assert (info.name, info.summary, info.config) == (name, unit.summary, unit.config)
        assert info.pages
        assert bool(info.backends) == (unit.jobs is not None)
    assert "m3xu" in tilewright.units
    assert "nothing" not in tilewright.units
    assert tilewright.units.get("nothing") is None
    with refused(UnknownName, "unknown unit 'matrptor'; did you mean 'matraptor'?"):
        tilewright.units["matrptor"]
    assert issubclass(UnknownName, KeyError)
    assert issubclass(UnknownName, ValueError)


def test_registers() -> None:
    info = tilewright.units["matraptor"]
    registers = info.registers(outer_product=True)
    assert registers["MODE"].offset == 0x10C
    assert next(iter(registers)).name == "ID"
    config = info.config(outer_product=True)
    assert info.registers(config).describe() == registers.describe()
    with refused(UnknownName, "unknown register 'MODE'; `tilewright show UNIT` lists them all"):
        info.registers()["MODE"]
    with refused(ValueError, "m3xu takes no jobs"):
        tilewright.units["m3xu"].registers()


def test_what_is_generated(tmp_path: Path) -> None:
    """Parameters, a configuration, and a configuration with changes generate the same bytes."""
    kind = tilewright.units["m3xu"].config
    config = kind(rows=2, cols=2, depth=4)
    expected = emit("m3xu", config)
    one = tilewright.generate("m3xu", rows=2, cols=2, depth=4)
    others = [
        tilewright.generate("m3xu", config),
        tilewright.generate("m3xu", kind(rows=2), cols=2, depth="4"),
    ]
    for found in (one, *others):
        assert (found.unit, found.config) == ("m3xu", config)
        assert (found.verilog, found.sidecar) == (expected.verilog, expected.sidecar)
    assert one.write(tmp_path / "unit.v") == tmp_path / "unit.json"
    assert (tmp_path / "unit.v").read_text() == one.verilog
    assert json.loads((tmp_path / "unit.json").read_text()) == one.sidecar
    assert sorted(os.listdir(tmp_path)) == ["unit.json", "unit.v"]
    assert one.write("/dev/null") is None


def test_refusals(tmp_path: Path) -> None:
    with refused(UnknownName, "unknown unit 'm4xu'; did you mean 'm3xu'?"):
        tilewright.generate("m4xu")
    with refused(ValueError, "`rows` must be an integer in 1..64, not 0"):
        tilewright.generate("m3xu", rows=0)
    with refused(TypeError, "`rows` must be an integer in 1..64, not 2.5"):
        tilewright.generate("m3xu", rows=2.5)
    with refused(ValueError, "unknown parameter 'row'; did you mean 'rows'?"):
        tilewright.generate("m3xu", row=4)
    config = tilewright.units["simd2"].config()
    with refused(TypeError, f"`config` must be a M3xuConfig, not {config!r}"):
        tilewright.generate("m3xu", config)
    made = tilewright.generate("simd2", tile=2)
    with refused(ValueError, "the Verilog's name must not end in .json, not 'x.json'"):
        made.write("x.json")
    with pytest.raises(OSError, match="No such file or directory"):
        made.write(tmp_path / "none" / "unit.v")


def test_no_text_takes_the_place_of_another(tmp_path: Path) -> None:
    """Refuses two outputs in one file, whatever its second name is, and writes nothing."""
    made = tilewright.generate("simd2", tile=2)
    verilog = tmp_path / "unit.v"
    (tmp_path / "link.f").symlink_to(verilog)
    for others in (
        {"header": verilog},
        {"header": tmp_path / "unit.json"},
        {"header": tmp_path / "x", "filelist": tmp_path / "x"},
        {"filelist": tmp_path / "link.f"},
        {"filelist": tmp_path / ".." / tmp_path.name / "unit.v"},
    ):
        with pytest.raises(ValueError, match=r"^each text must have a file of its own, not two '"):
            made.write(verilog, **others)
        assert os.listdir(tmp_path) == ["link.f"]
    with pytest.raises(ValueError, match=r"not two '/dev/null'$"):
        made.write("/dev/null", header="/dev/null")
