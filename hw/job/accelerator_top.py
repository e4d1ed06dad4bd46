"""Base class of the tops of all accelerators: registers, managers, an interrupt."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from ..axi.ports import LitePort, ManagerPort
from ..axi.registers import AxiLiteRegisters
from ..spec.registers.job_spec import JobSpec
from ..spec.sidecar.traffic import Traffic
from .states import connect_control

__all__ = ["AcceleratorTop"]


class AcceleratorTop(wiring.Component):
    """Base of the components that take jobs from registers and work on memory.

    Parameters
    ----------
    spec: its jobs
    managers: number of AXI4 managers
    addr_bits, data_bits, id_bits: their widths

    Members
    -------
    s_axil_*: AXI4-Lite subordinate, the registers
    m0_axi_*, ...: AXI4 managers
    irq: high while done or error is set and the interrupt is enabled
    """

    def __init__(
        self, spec: JobSpec, managers: int, *, addr_bits: int, data_bits: int, id_bits: int
    ) -> None:
        self._spec = spec
        self.register_map = registers = spec.registers
        self._lite = LitePort(prefix="s_axil", addr_bits=registers.address_bits)
        self._managers = [
            ManagerPort(
                prefix=f"m{n}_axi", addr_bits=addr_bits, data_bits=data_bits, id_bits=id_bits
            )
            for n in range(managers)
        ]
        ports: list[LitePort | ManagerPort] = [self._lite, *self._managers]
        traffic = spec.traffic or (Traffic(),) * managers
        self.axi_ports = [self._lite.describe()]
        for manager, said in zip(self._managers, traffic, strict=True):
            self.axi_ports.append(manager.describe() | vars(said))
        members = {name: member for port in ports for name, member in port.members().items()}
        super().__init__({**members, "irq": Out(1)})

    def connect_manager(
        self, m: Module, number: int, *, read: Any = None, write: Any = None
    ) -> None:
        """Connects a manager to the reader and the writer that use it, see ``ManagerPort``."""
        self._managers[number].connect(m, self, read=read, write=write)

    def connect_registers(self, m: Module, control: Any, counters: Any) -> None:
        """Connects the registers with the accelerator's control, counters and interrupt.

        Parameters
        ----------
        control: with the members that ``control_members`` says
        counters: with an output for each counter, of its name
        """
        m.submodules.registers = registers = AxiLiteRegisters(
            self.register_map, self.register_map.address_bits
        )
        self._lite.connect(m, self, registers)
        m.d.comb += [
            getattr(control, name).eq(getattr(registers, name)) for name in self._spec.members
        ]
        m.d.comb += [
            getattr(registers, name).eq(getattr(counters, name)) for name in self._spec.counters
        ]
        connect_control(m, registers, control, self.irq)
