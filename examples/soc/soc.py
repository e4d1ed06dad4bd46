"""A LiteX SoC: VexRiscv, memory, a serial port, and two accelerators."""

from __future__ import annotations

import contextlib
import importlib.util
from pathlib import Path
from typing import Any

import tilewright
from litex.build.generic_platform import Pins, Subsignal
from litex.build.io import CRG
from litex.build.sim import SimPlatform
from litex.build.sim.platform import SimFinish
from litex.soc.integration.builder import Builder
from litex.soc.integration.soc_core import SoCCore

__all__ = [
    "CLOCK",
    "MEMORIES",
    "UNITS",
    "SimulatedSoC",
    "add_units",
    "write_headers",
    "write_verilog",
]

UNITS: dict[str, dict[str, Any]] = {
    "engine_m3xu": {
        "rows": 2,
        "cols": 2,
        "depth": 2,
        "modes": ["fp16", "fp32"],
        "block_rows": 2,
        "block_cols": 2,
        "block_depth": 2,
        "outstanding": 2,
        "addr_bits": 32,
    },
    "matraptor": {
        "lanes": 2,
        "channels": 2,
        "value": "int32",
        "queues": 3,
        "queue_depth": 16,
        "outstanding": 4,
        "addr_bits": 32,
    },
}
"""Parameters of the accelerators; addresses have 32 bits, as on LiteX' bus."""

CLOCK = 100_000_000
MEMORIES = ("sram", "sdram", "ports")

_IO = [
    ("sys_clk", 0, Pins(1)),
    (
        "serial",
        0,
        Subsignal("source_valid", Pins(1)),
        Subsignal("source_ready", Pins(1)),
        Subsignal("source_data", Pins(8)),
        Subsignal("sink_valid", Pins(1)),
        Subsignal("sink_ready", Pins(1)),
        Subsignal("sink_data", Pins(8)),
    ),
]


def _load(path: Path) -> Any:
    """The Python module in a file."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def add_units(soc: Any, platform: Any, folder: Path, **options: Any) -> None:
    """Generates the accelerators in a folder, with their headers, and adds them to a SoC.

    Parameters
    ----------
    options: arguments of `add_to`
    """
    for name, parameters in UNITS.items():
        unit = tilewright.generate(name, **parameters)
        wrapper = folder / f"{name}_litex.py"
        unit.write(folder / f"{name}.sv", header=folder / f"{name}.h", litex=wrapper)
        (made,) = _load(wrapper).__all__
        getattr(_load(wrapper), made)(platform).add_to(soc, name=name, **options)


class SimulatedSoC(SoCCore):
    """The SoC for a simulator, which exchanges bytes with its serial port.

    Parameters
    ----------
    folder: where the accelerators are generated
    memory: `sram`: block RAM; `sdram`: LiteDRAM and a model of a chip behind LiteX' L2 cache, the
        accelerators are masters of the bus as with `sram`; `ports`: LiteDRAM without L2 cache, and
        each AXI manager has a port of it
    """

    def __init__(self, folder: Path, memory: str = "sram") -> None:
        platform = SimPlatform("SIM", list(_IO))
        self.crg = CRG(platform.request("sys_clk"))
        super().__init__(
            platform,
            clk_freq=CLOCK,
            cpu_type="vexriscv",
            cpu_variant="standard",
            uart_name="sim",
            integrated_rom_size=0x8000,
            integrated_sram_size=0x4000,
            integrated_main_ram_size=0x8000 if memory == "sram" else 0,
        )
        self.sim_finish = SimFinish()
        if memory == "sram":
            add_units(self, platform, folder)
        else:
            self._add_sdram(l2_cache_size=0 if memory == "ports" else 8192)
            add_units(self, platform, folder, sdram=self.sdram if memory == "ports" else None)

    def _add_sdram(self, l2_cache_size: int) -> None:
        """The 32 MB of a ULX3S."""
        from litedram.modules import MT48LC16M16
        from litedram.phy.model import SDRAMPHYModel

        module = MT48LC16M16(CLOCK, "1:1")
        self.sdrphy = SDRAMPHYModel(module=module, data_width=16, clk_freq=CLOCK)
        self.add_sdram("sdram", phy=self.sdrphy, module=module, l2_cache_size=l2_cache_size)


def ulx3s(folder: Path, device: str = "LFE5U-85F") -> Any:
    """The SoC for the board ULX3S, with its SDRAM and its USB serial port.

    Parameters
    ----------
    folder: where the accelerators are generated
    device: the FPGA
    """
    from litex_boards.targets.radiona_ulx3s import BaseSoC

    made = BaseSoC(
        device=device,
        sys_clk_freq=CLOCK / 4,
        with_led_chaser=False,
        integrated_rom_size=0x8000,
        integrated_sram_size=0x4000,
    )
    add_units(made, made.platform, folder)
    return made


def write_headers(soc: Any, folder: Path) -> Builder:
    """Writes LiteX' headers and linker regions of a SoC, in `include`; nothing can be added to the
    SoC from then on. Returns LiteX' builder for it."""
    builder = Builder(
        soc,
        output_dir=str(folder),
        include_dir=str(folder / "include"),
        compile_software=False,
    )
    soc.finalize()
    builder._generate_includes()
    return builder


def write_verilog(soc: Any, folder: Path) -> list[Path]:
    """Writes a SoC's Verilog, `soc.v`, and contents of its memories; returns all Verilog files."""
    with contextlib.chdir(folder):  # the memories' contents are written to the current directory
        soc.platform.get_verilog(soc, name="soc").write("soc.v")
    return [folder / "soc.v", *(Path(source[0]) for source in soc.platform.sources)]
