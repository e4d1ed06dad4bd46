"""Where bits may be unknown: behind the reset no output depends on what was there before."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from tilewright.hw.emit.unit import emit
from tilewright.registry import entries
from tilewright.verif.kit.four_states import bench_of
from tilewright.verif.kit.units import EVERY_UNIT

pytestmark = pytest.mark.skipif(
    shutil.which("iverilog") is None, reason="Icarus Verilog is not installed"
)

CYCLES = 600


def said(verilog: str, directory: Path) -> str:
    """What Icarus prints of a unit with its bench."""
    (directory / "bench.v").write_text(verilog)
    for command in ("iverilog -g2012 -s bench -o bench.vvp bench.v", "vvp -n bench.vvp"):
        done = subprocess.run(
            command.split(), cwd=directory, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr[-800:]
    return done.stdout


@pytest.mark.parametrize("name", EVERY_UNIT)
def test_nothing_is_unknown_behind_the_reset(name: str, tmp_path: Path) -> None:
    entry = entries()[name]
    made = emit(entry.unit, entry.small_config)
    found = said(made.verilog + bench_of(made.verilog, made.sidecar, CYCLES), tmp_path)
    transfers = re.fullmatch(r"transfers: (\d+)\n", found)
    assert transfers, found
    assert int(transfers[1]) > CYCLES // 4


def test_what_is_unknown_is_found(tmp_path: Path) -> None:
    entry = entries()["simd2"]
    made = emit(entry.unit, entry.small_config)
    broken = made.verilog.replace("if (rst)", "if (1'h0)")
    found = said(broken + bench_of(broken, made.sidecar, CYCLES), tmp_path)
    assert "unknown: o__valid" in found
    assert "unknown: i__ready" in found
