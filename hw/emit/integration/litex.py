"""A LiteX module of an accelerator: registers on the SoC's bus, access to its memory, interrupt."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .texts import about, plain

__all__ = ["class_name", "litex"]

_BUS_ADDRESS_BITS = (32, 64)
"""Widths of an address on a bus of LiteX."""

_HEAD = """
from __future__ import annotations

import os
from typing import Any

from litex.gen import ClockSignal, Instance, LiteXModule, ResetSignal, Signal
from litex.soc.integration.soc import SoCRegion
from litex.soc.interconnect import axi
from litex.soc.interconnect.csr_eventmanager import EventManager, EventSourceLevel
"""

_ADD_TO = '''
    def add_to(self, soc: Any, name: str = "{module}", sdram: Any = None) -> None:
        """Adds the unit to a SoC: registers, interrupt, and access to memory.

        Parameters
        ----------
        soc: the LiteX SoC; it gets the unit as an attribute `name`
        name: of the region of the registers, of the interrupt and of its CSRs
        sdram: a LiteDRAM core, such as `soc.sdram`. Each manager gets a port of its crossbar.
            None: the managers are masters of `soc.dma_bus` if the processor has one, else of
            `soc.bus`
        """
        if soc.bus.address_width != self.ADDRESS_BITS:
            raise ValueError(
                f"{{name}}: generated with addr_bits={{self.ADDRESS_BITS}}, but the bus of the SoC "
                f"has addresses of {{soc.bus.address_width}} bits; generate it with "
                f"--set addr_bits={{soc.bus.address_width}}"
            )
        bus = getattr(soc, "dma_bus", soc.bus)
        words = self.LONGEST_BEATS * self.DATA_BITS // bus.data_width
        if sdram is None and words > 256:
            raise ValueError(
                f"{{name}}: bursts of {{self.LONGEST_BEATS}} beats of {{self.DATA_BITS}} bits are "
                f"{{words}} words of the bus, and an AXI burst has up to 256; generate the unit "
                "with shorter bursts, or pass a LiteDRAM core as `sdram`"
            )
        if sdram is not None and soc.constants.get("CONFIG_L2_SIZE"):
            raise ValueError(
                f"{{name}}: ports of LiteDRAM pass by the cache of the SoC's bus; build the SoC "
                "with l2_size=0, or leave out `sdram`"
            )
        soc.add_module(name=name, module=self)
        region = SoCRegion(
            origin=soc.mem_map.get(name), size=self.REGISTER_BYTES, mode="rw", cached=False
        )
        soc.bus.add_slave(name=name, slave=self.registers, region=region)
        for number, manager in enumerate(self.managers):
            if sdram is None:
                bus.add_master(name=f"{{name}}_m{{number}}", master=manager)
            else:
                self._add_port(f"port_{{number}}", manager, sdram, soc.bus.regions["main_ram"])
        if soc.irq.enabled:
            soc.irq.add(name, use_loc_if_exists=True)

    def _add_port(self, name: str, manager: Any, sdram: Any, memory: Any) -> None:
        from litedram.frontend.axi import LiteDRAMAXI2Native

        port = sdram.crossbar.get_port(data_width=self.DATA_BITS)
        bridge = LiteDRAMAXI2Native(axi=manager, port=port, base_address=memory.origin)
        self.add_module(name=name, module=bridge)
'''


def class_name(module: str) -> str:
    """The class of a module, ``EngineM3xu`` of ``engine_m3xu``."""
    name = "".join(part[:1].upper() + part[1:] for part in module.split("_"))
    return name if name.isidentifier() else f"Unit{name}"


def _field(port: Mapping[str, Any], signal: Mapping[str, Any]) -> str:
    """A signal of an AXI port as LiteX names it, ``aw.addr`` of ``m0_axi_awaddr``."""
    name = signal["name"].removeprefix(f"{port['prefix']}_")
    found = re.fullmatch("(aw|w|b|ar|r)([a-z]+)", name)
    if not found:
        raise ValueError(f"an AXI signal of LiteX must be of one of its channels, not {name!r}")
    return f"{found[1]}.{found[2]}"


def _pins(port: Mapping[str, Any], interface: str, width: int) -> Iterator[str]:
    """Arguments of the instance: each signal of a port.

    Parameters
    ----------
    interface: the LiteX interface
    width: bits of an address there
    """
    for signal in port["signals"]:
        field = _field(port, signal)
        narrow = field.endswith(".addr") and signal["width"] < width
        part = f"[:{signal['width']}]" if narrow else ""
        yield f"            {signal['direction'][0]}_{signal['name']}={interface}.{field}{part},"


def _managers(sidecar: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [port for port in sidecar["axi"] if port["role"] == "manager"]


def _one(name: str, values: Sequence[int]) -> int:
    if len(set(values)) != 1:
        raise ValueError(
            f"all managers must have the same {name}, not {', '.join(map(str, values))}"
        )
    return values[0]


def _check(sidecar: Mapping[str, Any]) -> None:
    bits = sidecar["config"]["addr_bits"]
    if bits not in _BUS_ADDRESS_BITS:
        raise ValueError(
            f"a bus of LiteX has addresses of 32 or 64 bits, not addr_bits={bits}; "
            "add --set addr_bits=32"
        )
    others = [port["name"] for port in sidecar["ports"] if port["name"] != "irq"]
    if sidecar["streams"] or others:
        raise ValueError(f"{sidecar['unit']} has ports beside AXI and irq")


def litex(sidecar: Mapping[str, Any], files: Sequence[str]) -> str:
    """A Python module with a class that a LiteX SoC instantiates, see ``examples/soc``.

    Parameters
    ----------
    files: the paths of the SystemVerilog, from the module's own folder on

    Raises
    ------
    ValueError for addresses of neither 32 nor 64 bits.
    """
    _check(sidecar)
    module, name = sidecar["module"], class_name(sidecar["module"])
    registers, *_ = (port for port in sidecar["axi"] if port["role"] == "subordinate")
    managers, address_bits = _managers(sidecar), sidecar["config"]["addr_bits"]
    data_bits = _one("data_bits", [port["data_bits"] for port in managers])
    bursts = [port[way] for port in managers for way in ("reads", "writes") if port.get(way)]
    longest = max(burst["longest_beats"] for burst in bursts)
    interfaces = [f"m{number}" for number in range(len(managers))]
    made = [
        f"        {interface} = axi.AXIInterface(data_width={data_bits}, "
        f"address_width={address_bits}, id_width={max(1, port['id_bits'])})"
        for port, interface in zip(managers, interfaces, strict=True)
    ]
    about_it, *rest = about(sidecar)
    lines = [
        f'"""{about_it}',
        "",
        *(line.rstrip() for line in rest),
        "",
        "In a LiteX SoC:",
        "",
        f"    from MODULE import {name}",
        "",
        f"    {module} = {name}(platform)",
        f"    {module}.add_to(self)",
        '"""',
        *_HEAD.splitlines(),
        "",
        f'__all__ = ["{name}"]',
        "",
        f"FILES = [{', '.join(map(json.dumps, files))}]",
        "",
        "",
        f"class {name}(LiteXModule):",
        f'    """{plain(sidecar.get("summary") or module)}',
        "",
        "    Parameters",
        "    ----------",
        "    platform: gets the SystemVerilog",
        "",
        "    Members",
        "    -------",
        "    registers: AXI-Lite interface of the registers",
        "    managers: AXI interfaces to memory",
        "    ev: the interrupt, high while a job has ended and is not acknowledged",
        '    """',
        "",
        f"    ADDRESS_BITS = {address_bits}",
        f"    DATA_BITS = {data_bits}",
        f"    LONGEST_BEATS = {longest}",
        f"    REGISTER_BYTES = {1 << registers['addr_bits']}",
        "",
        "    def __init__(self, platform: Any) -> None:",
        "        self.registers = axi.AXILiteInterface("
        f"data_width=32, address_width={address_bits})",
        *made,
        f"        self.managers = [{', '.join(interfaces)}]",
        "        self.ev = EventManager()",
        '        self.ev.ended = EventSourceLevel(description="A job has ended.")',
        "        self.ev.finalize()",
        "        irq = Signal()",
        "        self.comb += self.ev.ended.trigger.eq(irq)",
        "        here = os.path.dirname(os.path.abspath(__file__))",
        "        for file in FILES:",
        "            platform.add_source(os.path.join(here, file))",
        "        self.specials += Instance(",
        f'            "{module}",',
        f'            i_{sidecar["clock"]}=ClockSignal("sys"),',
        f'            i_{sidecar["reset"]["name"]}=ResetSignal("sys"),',
        *_pins(registers, "self.registers", address_bits),
        *(
            line
            for port, interface in zip(managers, interfaces, strict=True)
            for line in _pins(port, interface, address_bits)
        ),
        "            o_irq=irq,",
        "        )",
        *_ADD_TO.format(module=module).splitlines(),
    ]
    return "\n".join([*lines, ""])
