"""``examples/soc``: firmware on a RISC-V in Verilator drives both accelerators; the serial output.

The tests are skipped where LiteX or the cross compiler is not installed."""

from __future__ import annotations

import importlib
import re
import shutil
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import tilewright
from tilewright.verif.examples.readme import EXAMPLES, load_script

HERE = EXAMPLES / "soc"
run = load_script("soc/run.py")
CYCLES = 2_000_000

pytestmark = pytest.mark.filterwarnings("ignore")  # those of LiteX


def needs_litex(*packages: str) -> None:
    """Skips a test if something is missing that the example needs, or one of the packages."""
    if lack := run.missing(*packages):
        pytest.skip(lack)


@contextmanager
def importable(folder: Path) -> Iterator[None]:
    """Python finds modules in a directory; warnings of LiteX are ignored."""
    sys.path.insert(0, str(folder))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        sys.path.remove(str(folder))


@dataclass(frozen=True)
class Built:
    """A SoC and the folder of its simulation."""

    soc: Any
    folder: Path

    def prints(self) -> list[str]:
        """Runs the firmware to its end; the lines that the SoC sends."""
        done = run.simulate(self.folder, CYCLES)
        assert done.returncode == 0, done.stdout
        return list(done.stdout.splitlines())

    def change(self, file: str, old: str, new: str, firmware: Path) -> None:
        """Replaces the firmware by one whose source differs.

        Parameters
        ----------
        firmware: a directory that does not exist, for the sources
        """
        shutil.copytree(run.FIRMWARE, firmware)
        text = (firmware / file).read_text()
        assert text.count(old) == 1
        (firmware / file).write_text(text.replace(old, new))
        run.replace_firmware(self.soc, self.folder, firmware)


def build(folder: Path, memory: str) -> Built:
    needs_litex()
    with importable(HERE):
        return Built(run.build(folder, memory), folder)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    return build(tmp_path_factory.mktemp("soc"), "sram")


@pytest.fixture
def unchanged(built: Built) -> Iterator[Built]:
    """The SoC; its firmware may be replaced."""
    image = (built.folder / "soc_rom.init").read_text()
    yield built
    (built.folder / "soc_rom.init").write_text(image)


def shown() -> list[str]:
    """The output on the page."""
    found = re.search(
        r"^(    engine fp32 1 x .*\n(?:    .*\n)+)", (HERE / "README.md").read_text(), re.M
    )
    assert found
    return [line[4:] for line in found[1].splitlines()]


def split(lines: list[str]) -> tuple[list[str], list[int]]:
    """Text and cycles apart."""
    cycles = [int(found[1]) for line in lines if (found := re.search(r", (\d+) cycles$", line))]
    return [re.sub(r", \d+ cycles$", "", line) for line in lines], cycles


@pytest.mark.slow
def test_it_prints_what_its_page_shows(built: Built) -> None:
    """Cycles are about those of the page: another compiler fetches at other times."""
    text, cycles = split(built.prints())
    expected_text, expected_cycles = split(shown())
    assert text == expected_text
    assert text[-1] == run.PASSED
    assert cycles == pytest.approx(expected_cycles, rel=0.1, abs=30)


@pytest.mark.slow
def test_without_the_flush_results_are_wrong(unchanged: Built, tmp_path: Path) -> None:
    """Of each job: the processor reads the words that its data cache kept. Only the lines of one
    result are no longer there: that of the engine beside MatRaptor."""
    unchanged.change("jobs.c", "    flush_cpu_dcache();\n", "", tmp_path / "firmware")
    lines = unchanged.prints()
    assert lines[-1] == "wrong"
    wrong = [int(found[1]) for line in lines if (found := re.search(r" (\d+) wrong", line))]
    assert len(wrong) == sum(" wrong, " in line for line in shown())
    assert all(wrong[:-1])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "old", "new", "last"),
    [
        # No job ends without its interrupt: STATUS is not polled.
        ("jobs.c", "engine_m3xu_ev_enable_write(1)", "engine_m3xu_ev_enable_write(0)", "not ended"),
        ("dense.c", "sum += left", "sum -= left", "wrong"),
        ("sparse.c", "sum[b.column[m]] +=", "sum[b.column[m]] -=", "wrong"),
    ],
    ids=["interrupt", "dense", "sparse"],
)
def test_what_is_wrong_is_found(
    unchanged: Built, file: str, old: str, new: str, last: str, tmp_path: Path
) -> None:
    unchanged.change(file, old, new, tmp_path / "firmware")
    cycles = 100_000 if last == "not ended" else CYCLES
    done = run.simulate(unchanged.folder, cycles)
    assert done.stdout.splitlines()[-1] == last
    assert done.returncode == (last == "not ended")


@pytest.mark.slow
def test_files_of_a_board(tmp_path: Path) -> None:
    """Pins of the chip of memory, both accelerators, and the firmware in the ROM."""
    needs_litex("litex_boards")
    with importable(HERE):
        script = run.write_board(tmp_path)
    assert "nextpnr-ecp5 --json ulx3s.json --lpf ulx3s.lpf" in script.read_text()
    pins = (script.parent / "ulx3s.lpf").read_text()
    assert 'LOCATE COMP "clk25" SITE "G2";' in pins
    assert pins.count('LOCATE COMP "sdram_dq[') == 16
    verilog = (script.parent / "ulx3s.v").read_text()
    for unit in ("engine_m3xu", "matraptor", "VexRiscv"):
        assert re.search(rf"^{unit} {unit}\w* ?\(", verilog, re.M), unit
    words = (script.parent / "ulx3s_rom.init").read_text().split()
    image = (tmp_path / "firmware.bin").read_bytes()
    assert [int(word, 16) for word in words] == [
        int.from_bytes(image[at : at + 4], "little") for at in range(0, len(image), 4)
    ]


@pytest.mark.long
@pytest.mark.parametrize("memory", ["sdram", "ports"])
def test_other_memories(memory: str, tmp_path: Path) -> None:
    """The same results; only the cycles differ."""
    assert split(build(tmp_path, memory).prints())[0] == split(shown())[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "bus", "constants", "sdram", "message"),
    [
        (
            {"addr_bits": 64}, (32, 32), {}, None,
            "unit: generated with addr_bits=64, but the bus of the SoC has addresses of 32 bits; "
            "generate it with --set addr_bits=32",
        ),
        (
            {"data_bits": 512, "interleave": 2048}, (32, 32), {}, None,
            "unit: bursts of 32 beats of 512 bits are 512 words of the bus, and an AXI burst has "
            "up to 256; generate the unit with shorter bursts, or pass a LiteDRAM core as `sdram`",
        ),
        (
            {}, (32, 32), {"CONFIG_L2_SIZE": 8192}, object(),
            "unit: ports of LiteDRAM pass by the cache of the SoC's bus; build the SoC with "
            "l2_size=0, or leave out `sdram`",
        ),
    ],
    ids=["addresses", "bursts", "cache"],
)  # fmt: skip
def test_socs_that_do_not_fit(
    changes: dict[str, Any],
    bus: tuple[int, int],
    constants: dict[str, int],
    sdram: Any,
    message: str,
    tmp_path: Path,
) -> None:
    needs_litex()
    parameters = {"lanes": 1, "channels": 1, "queue_depth": 4, "addr_bits": 32, **changes}
    unit = tilewright.generate("matraptor", **parameters)
    unit.write(tmp_path / "unit.sv", litex=tmp_path / "unit_litex.py")
    with importable(tmp_path):
        unit_litex = importlib.import_module("unit_litex")
    del sys.modules["unit_litex"]
    address_width, data_width = bus
    soc = SimpleNamespace(
        bus=SimpleNamespace(address_width=address_width, data_width=data_width), constants=constants
    )
    made = unit_litex.Matraptor(SimpleNamespace(add_source=lambda file: None))
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        made.add_to(soc, name="unit", sdram=sdram)
