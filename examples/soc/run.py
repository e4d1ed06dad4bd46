"""Build the SoC and its firmware, and run them in Verilator.

    python examples/soc/run.py [--memory sram|sdram|ports] [--build FOLDER] [--cycles N]
    python examples/soc/run.py --board --build FOLDER

Prints what the SoC sends over its serial port. Exit status 0 if its last line is `all as it must
be`. With `--board` it writes the same for a ULX3S, ready for yosys and nextpnr.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tilewright.toolchain import install_verilator

HERE = Path(__file__).resolve().parent
COMPILER = "riscv64-unknown-elf-gcc"
FIRMWARE = HERE / "firmware"
SPGEMM = HERE.parent / "bare_metal" / "spgemm.c"
WARNINGS = ("-std=gnu11", "-Wall", "-Wextra", "-Werror")
FLAGS = ("-Os", "-ffreestanding", "-nostdlib", "-ffunction-sections", "-Wl,--gc-sections")
PACKAGES = (
    "litex", "litedram", "pythondata_cpu_vexriscv", "pythondata_software_picolibc",
    "pythondata_software_compiler_rt",
)  # fmt: skip
PASSED = "all as it must be"


def missing(*packages: str) -> str:
    """The first thing that is not installed and needed, and how to get it; empty if nothing is.

    Parameters
    ----------
    packages: more than the simulation needs
    """
    if not shutil.which(COMPILER):
        return f"{COMPILER} is not installed: apt install gcc-riscv64-unknown-elf"
    for package in (*PACKAGES, *packages):
        if find_spec(package) is None:
            return f"{package} is not installed: pip install tilewright[soc]"
    return ""


def compile_firmware(soc: Any, folder: Path, firmware: Path = FIRMWARE) -> list[int]:
    """Compiles the firmware for a SoC whose headers are in `folder`.

    Parameters
    ----------
    firmware: the directory of the sources

    Returns
    -------
    The words of its image.
    """
    from litex.soc import software
    from litex.soc.cores.cpu.vexriscv import core
    from litex.soc.integration.common import get_mem_data

    processor = Path(core.__file__).parent
    places = [folder / "include", Path(software.__path__[0]) / "include", processor]
    sources = [processor / "crt0.S", *sorted(firmware.glob("*.c")), SPGEMM]
    command = [
        COMPILER, *soc.cpu.gcc_flags.split(), *FLAGS, *WARNINGS, '-DPLATFORM="jobs.h"',
        *("-I", str(folder), "-I", str(firmware), "-I", str(SPGEMM.parent)),
        *(word for place in places for word in ("-isystem", str(place))),
        "-L", str(folder / "include"), "-T", str(firmware / "link.ld"),
        "-o", "firmware.elf", *map(str, sources),
    ]  # fmt: skip
    subprocess.run(command, cwd=folder, check=True)
    copy = [COMPILER.replace("gcc", "objcopy"), "-O", "binary", "firmware.elf", "firmware.bin"]
    subprocess.run(copy, cwd=folder, check=True)
    words: list[int] = get_mem_data(
        str(folder / "firmware.bin"), data_width=32, endianness="little"
    )
    return words


def verilate(folder: Path, files: Sequence[Path]) -> Path:
    """Compiles the SoC's Verilog to a program."""
    command = [
        *(str(install_verilator()), "--cc", "--exe", "--build", "-O3", "--top-module", "soc"),
        *("--x-assign", "fast", "--x-initial", "fast", "--no-timing", "-Wno-fatal", "-Wno-lint"),
        *("--output-split", "0", "-CFLAGS", "-w -DVL_USER_FINISH"),
        *("-MAKEFLAGS", "OPT_FAST=-Og OPT_SLOW=-O0 OPT_GLOBAL=-O0"),
        *("--Mdir", "verilated", "-o", "simulation", str(HERE / "simulate.cpp")), *map(str, files),
    ]  # fmt: skip
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return folder / "verilated" / "simulation"


def build(folder: Path, memory: str) -> Any:
    """Builds SoC, firmware and simulation in a folder; returns the SoC."""
    import soc as design

    made = design.SimulatedSoC(folder, memory)
    design.write_headers(made, folder)
    made.init_rom("rom", compile_firmware(made, folder), auto_size=False)
    verilate(folder, design.write_verilog(made, folder))
    return made


def write_board(folder: Path) -> Path:
    """Writes the SoC for a ULX3S with the firmware in its ROM; returns the script that makes the
    bitstream with yosys, nextpnr-ecp5 and ecppack."""
    import soc as design

    made = design.ulx3s(folder)
    builder = design.write_headers(made, folder)
    made.init_rom("rom", compile_firmware(made, folder), auto_size=False)
    builder.build(build_name="ulx3s", run=False)
    return folder / "gateware" / "build_ulx3s.sh"


def replace_firmware(soc: Any, folder: Path, firmware: Path) -> None:
    """Compiles other firmware; the simulation in the folder reads it when it starts."""
    words = compile_firmware(soc, folder, firmware)
    (folder / "soc_rom.init").write_text("".join(f"{word:08x}\n" for word in words))


def simulate(folder: Path, cycles: int) -> subprocess.CompletedProcess[str]:
    """Runs the simulation in a folder; its output is what the SoC sends."""
    command = [str(folder / "verilated" / "simulation"), str(cycles)]
    return subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Run the SoC in Verilator.")
    parser.add_argument("--memory", choices=("sram", "sdram", "ports"), default="sram")
    parser.add_argument("--build", type=Path, help="folder for what is built, which is kept")
    parser.add_argument("--cycles", type=int, default=10_000_000, help="the most to simulate")
    parser.add_argument("--board", action="store_true", help="write the files for a ULX3S")
    chosen = parser.parse_args(arguments)
    if chosen.board and not chosen.build:
        parser.error("--board needs --build FOLDER")
    if lack := missing(*(("litex_boards",) if chosen.board else ())):
        print(lack, file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as scratch:
        folder = (chosen.build or Path(scratch)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        if chosen.board:
            print(write_board(folder))
            return 0
        build(folder, chosen.memory)
        done = simulate(folder, chosen.cycles)
    print(done.stdout, end="")
    return int(done.returncode != 0 or done.stdout.splitlines()[-1] != PASSED)


if __name__ == "__main__":
    raise SystemExit(main())
