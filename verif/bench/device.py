"""An accelerator's RTL in a cocotb simulator, as a device that any program can drive."""

from __future__ import annotations

import re
import tempfile
import threading
from collections.abc import Mapping
from multiprocessing.connection import Connection, Listener
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from tilewright.hw.emit.unit import Emitted
from tilewright.sim.rtl.accelerator import AxiRuleError
from tilewright.sim.rtl.build import BuildError
from tilewright.sim.rtl.waves import wave_format
from tilewright.verif.bench.axi_storage import any_modes
from tilewright.verif.bench.cocotb_build import CocotbBuild, keep_waves
from tilewright.verif.bench.simulated_device import SimulatedDevice

Config = TypeVar("Config")


class DeviceTimeout(RuntimeError):
    """Raised if the interrupt does not arrive."""


class AxiDevice(SimulatedDevice[Config]):
    """A simulation in a separate process; use it in a ``with`` statement.

    Time passes during register accesses, ``wait`` and ``run``, not in between.

    Parameters
    ----------
    emitted: the unit's Verilog and sidecar
    config: its configuration, for the driver
    outstanding: bursts that an ID may have under way
    may_wait: whether the unit may keep responses waiting
    memory_bytes: size of the memory, which begins at address 0; the bus fails behind it
    axi_ram: the memory is cocotbext-axi's; else our own, which can do more (see ``behave``)
    seed: of everything random
    stall: share of the cycles in which each channel of the memory pauses
    lite_stall: likewise on the register bus
    time_out: cycles that ``wait`` waits
    waves: file to keep the waves in, VCD or, by its suffix, FST; complete when the device is closed
    """

    def __init__(
        self,
        emitted: Emitted,
        config: Config,
        *,
        outstanding: int,
        may_wait: bool = False,
        memory_bytes: int = 1 << 20,
        axi_ram: bool = False,
        seed: int = 0,
        stall: float = 0.0,
        lite_stall: float = 0.0,
        time_out: int = 200_000,
        waves: Path | None = None,
    ) -> None:
        super().__init__(config, memory_bytes)
        self._module = emitted.sidecar["module"]
        self._build = CocotbBuild(emitted, waves=wave_format(waves))
        self._waves = waves
        self._time_out = time_out
        managers = [port for port in emitted.sidecar["axi"] if port["role"] == "manager"]
        self._settings = {
            "prefixes": [port["prefix"] for port in managers],
            "data_bits": managers[0]["data_bits"],
            "outstanding": outstanding,
            "may_wait": may_wait,
            "watched": _pins(emitted.verilog, self._module, "unit", ("i__valid", "i__ready")),
            "memory_bytes": memory_bytes,
            "axi_ram": axi_ram,
            "lite_stall": lite_stall,
            "seed": seed,
            **_behaviour(seed=seed, stall=stall),
        }
        self._connection: Connection | None = None
        self._broken: BuildError | AxiRuleError | None = None

    def __enter__(self) -> Self:
        self._scratch = tempfile.TemporaryDirectory(prefix="tilewright-")
        directory = Path(self._scratch.name)
        address = str(directory / "socket")
        with Listener(address, "AF_UNIX") as listener:
            listener._listener._socket.settimeout(1)  # type: ignore[attr-defined]
            self._thread = threading.Thread(target=self._simulate, args=(directory, address))
            self._thread.start()
            self._connection = self._accepted(listener)
        self._connection.send(self._settings)
        return self

    def _accepted(self, listener: Listener) -> Connection:
        """The simulation's connection, however long it takes to begin; BuildError if it ends
        before."""
        while True:
            try:
                return listener.accept()
            except TimeoutError:
                if not self._thread.is_alive():
                    raise self._failed("did not begin") from None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._connection is not None
        self._connection.close()
        self._thread.join()
        try:
            if kind is None and self._broken:
                raise self._broken
            if kind is None and self._waves is not None:
                keep_waves(Path(self._scratch.name), self._waves)
        finally:
            self._scratch.cleanup()

    def _simulate(self, directory: Path, address: str) -> None:
        try:
            self._build.launch(
                "tilewright.verif.bench.device_server",
                directory,
                environment={"TILEWRIGHT_SOCKET": address},
                waves=wave_format(self._waves),
            )
        except (BuildError, AxiRuleError) as error:
            self._broken = error

    def _failed(self, what: str) -> BuildError:
        return self._build.said(Path(self._scratch.name), what)

    def _ask(self, name: str, *arguments: Any) -> Any:
        assert self._connection is not None
        try:
            self._connection.send((name, arguments))
            error, answer = self._connection.recv()
        except (EOFError, OSError) as gone:
            self._thread.join()
            raise self._failed("ended early") from gone
        if error is not None:
            raise ValueError(error)
        return answer

    def _read(self, offset: int) -> tuple[int, int]:
        response, value = self._ask("read", offset)
        return int(response), int(value)

    def _write(self, offset: int, value: int) -> int:
        return int(self._ask("write", offset, value))

    def read_memory(self, address: int, count: int) -> bytes:
        """Bytes of the memory."""
        found: bytes = self._ask("dump", address, count)
        return found

    def write_memory(self, address: int, content: bytes) -> None:
        """Put bytes into the memory."""
        self._ask("load", address, content)

    def wait(self) -> None:
        """Waits for the interrupt. Raises DeviceTimeout if it does not arrive."""
        came, _ = self._ask("wait", self._time_out)
        if not came:
            raise DeviceTimeout(f"no interrupt after {self._time_out} cycles")

    def irq(self) -> bool:
        """The interrupt line."""
        return bool(self._ask("irq"))

    def run(self, cycles: int) -> None:
        """Let time pass."""
        self._ask("run", cycles)

    def behave(
        self,
        *,
        seed: int = 0,
        latency: tuple[int, int] = (1, 1),
        stall: float = 0.0,
        mixed: bool = False,
        bad_reads: Mapping[int, int] | None = None,
        bad_writes: Mapping[int, int] | None = None,
        modes: bool = False,
    ) -> None:
        """Sets how the memory responds from now on; see ``axi_memory.Behaviour``.

        ``bad_reads``, ``bad_writes``: responses by the address of a beat, of a burst. With
        ``modes`` the seed also draws which READY waits for which VALID, see ``axi_modes``.
        """
        settings = _behaviour(
            seed=seed,
            latency=latency,
            stall=stall,
            mixed=mixed,
            bad_beats={"read": dict(bad_reads or {}), "write": dict(bad_writes or {})},
            **(any_modes(seed) if modes else {}),
        )
        self._ask("behave", settings)

    @property
    def under_way(self) -> int:
        """Bursts of all managers that wait for their last response."""
        return int(self._ask("under_way"))

    @property
    def moved(self) -> list[tuple[int, int]]:
        """Bytes read and written over each manager so far."""
        found: list[tuple[int, int]] = self._ask("moved")
        return found

    @property
    def faults(self) -> list[str]:
        """Rules of AXI that the unit broke, one line each."""
        found: list[str] = self._ask("faults")
        return found


def _pins(verilog: str, top: str, instance: str, pins: tuple[str, ...]) -> list[str]:
    """Returns the top's signals at the pins of an instance; none if it has no such instance."""
    module = verilog.partition(f"module {top} (")[2].partition("\nendmodule")[0]
    found = re.search(rf" {instance} \((.*?)\);\n", module, re.S)
    if found is None:
        return []
    connected = dict(re.findall(r"\.(\w+)(?:\((\w+)\))?(?=,|$)", found[1]))
    return [connected[pin] or pin for pin in pins]


def _behaviour(**settings: Any) -> dict[str, Any]:
    default = {"latency": (1, 1), "stall": 0.0, "mixed": False}
    return default | {"bad_beats": {"read": {}, "write": {}}} | settings
