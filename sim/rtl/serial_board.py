"""A board's RTL under Verilator at native speed, behind its serial line.

:class:`SerialBoard` is a line of this process; :func:`serve` puts it behind a file, such as one
side of a pseudo-terminal, for programs that open a serial port.
"""

from __future__ import annotations

import ctypes
import os
import re
import select
import weakref
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from .build import build_library
from .glue import Harness, glue_head, harness_files, member
from .sdram_chip import MODEL, RULES, SdramError, SdramPart, chip_at_pins
from .streams import HasVerilog

__all__ = ["SERIAL", "Pins", "SerialBoard", "serve"]

_MOST = 4096
"""Bytes that a run may bring."""
_STRETCH = 2000
"""Cycles between looks at the file."""


def _glue(sidecar: Mapping[str, Any]) -> str:
    # The model of an SDRAM chip has an output of its own, see ``sdram_chip.py``.
    ports = {port["name"] for port in sidecar.get("ports", ())}
    rule = member("sdram_rule") if "sdram_rule" in ports else "0"
    return glue_head(sidecar) + (
        f"inline void set_rx(Model& m, bool v) {{ {member('rx')} = v; }}\n"
        f"inline bool tx(Model& m) {{ return {member('tx')}; }}\n"
        f"inline unsigned broken_rule(Model& m) {{ return {rule}; }}\n"
    )


SERIAL = Harness(*harness_files("serial.cpp"), _glue)
"""A program at a serial line with the pins `rx` and `tx`."""


_PINS: dict[str, Any] = {
    "module": "pins",
    "clock": "clk",
    "reset": {"name": "rst", "active": "high"},
}

_RULE: dict[str, Any] = {"name": "sdram_rule", "direction": "out", "width": 8}


class Pins(NamedTuple):
    """The top of a bitstream with its pins, to be simulated."""

    verilog: str
    sidecar: dict[str, Any]

    @classmethod
    def of(cls, top: str, board: str, part: SdramPart | None = None) -> Pins:
        """The pins of a board: its clock, its serial line, its LEDs, and those of its SDRAM, if
        there is one.

        The device's primitives, which stand between them and the accelerator, have the models of
        ``primitives.v``. There is no reset but that of power.

        Parameters
        ----------
        top: Verilog of the top, with pins as ``amaranth-boards`` names them
        board: Verilog of the accelerator with bridge and memory
        part: the chip of SDRAM
        """
        heading = re.search(r"^module top\((.*?)\);", top, re.MULTILINE)
        if heading is None:
            raise ValueError("there is no module `top`")
        # Such as clk25_0__io, uart_0__rx__io.
        names = {"rx": "rx_pin", "tx": "tx"}
        ports = []
        for pin in heading[1].split(", "):
            resource, *_ = parts = pin.split("__")
            name = parts[-2]
            end = "clk_pin" if name.startswith("clk") else names.get(name, "")
            if resource == "sdram_0":
                end = f"sdram_{name}"
            ports.append(f".{pin}({end})")
        rule = "" if part is None else f", output [{_RULE['width'] - 1}:0] {_RULE['name']}"
        pins = (
            f"module pins (input clk, input rst, input rx, output tx{rule});\n"
            "  wire clk_pin, rx_pin;\n"
            "  assign clk_pin = clk;\n"
            "  assign rx_pin = rx;\n"
            f"{'' if part is None else chip_at_pins(top, part)}"
            f"  top top ({', '.join(ports)});\n"
            "endmodule\n"
        )
        models = [Path(__file__).with_name("primitives.v").read_text(encoding="utf-8")]
        sidecar = _PINS
        if part is not None:
            models.append(MODEL)
            sidecar = {**_PINS, "ports": [_RULE]}
        return cls("\n".join([board, top, *models, pins]), sidecar)


class SerialBoard:
    """A board at a serial line of this process; time passes only in ``read``.

    It is reset when it is made. It has the members of :class:`tilewright.sim.device.wire.Line`.

    Parameters
    ----------
    emitted: the board's Verilog and sidecar
    divisor: cycles of a bit
    patience: cycles after which ``read`` returns without a byte
    spoil: what becomes of bytes on the line, for tests of noise: from bytes to bytes; called with
        what is sent and with what is received
    """

    def __init__(
        self,
        emitted: HasVerilog,
        *,
        divisor: int,
        patience: int = 20_000,
        spoil: Callable[[bytes], bytes] = bytes,
    ) -> None:
        self.divisor: Final = divisor
        self.name: Final = "a simulation"
        self._patience, self._spoil = patience, spoil
        library = ctypes.CDLL(str(build_library(emitted.verilog, emitted.sidecar, harness=SERIAL)))
        library.native_create.restype = ctypes.c_void_p
        library.native_run.restype = library.native_cycles.restype = ctypes.c_uint64
        self._library = library
        self._handle = ctypes.c_void_p(library.native_create(ctypes.c_uint(divisor)))
        self._finish = weakref.finalize(self, library.native_destroy, self._handle)
        self._unsent = b""
        self._unread = b""
        self.reset()

    def reset(self) -> None:
        """Resets the board; bytes on the line are lost."""
        self._unsent = self._unread = b""
        self._library.native_reset(self._open)

    @property
    def _open(self) -> ctypes.c_void_p:
        if not self._finish.alive:
            raise OSError("the line is closed")
        return self._handle

    @property
    def cycles(self) -> int:
        """Clock cycles so far."""
        return int(self._library.native_cycles(self._open))

    def run(self, cycles: int, content: bytes = b"", most: int = _MOST) -> bytes:
        """Sends bytes while so many cycles pass, or until ``most`` bytes have come; returns
        these.

        Raises SdramError if the model of the board's SDRAM has found a broken rule.
        """
        sent, found = self._spoil(content), (ctypes.c_uint8 * most)()
        count = self._library.native_run(
            self._open, ctypes.c_uint64(cycles), sent, ctypes.c_uint64(len(sent)), found,
            ctypes.c_uint64(most),
        )  # fmt: skip
        if rule := self._library.native_rule(self._open):
            raise SdramError(f"the model of the SDRAM has found: {RULES[rule].text}")
        return self._spoil(bytes(found[:count]))

    # A serial line

    def write(self, content: bytes) -> int:
        """Sends bytes, as soon as time passes."""
        self._unsent += content
        return len(content)

    def read(self, count: int = 1) -> bytes:
        """Returns at least one byte, at most ``count``; none if none comes for ``patience``
        cycles behind the last that is sent."""
        if not self._unread:
            content, self._unsent = self._unsent, b""
            cycles = self._patience + 10 * self.divisor * len(content)
            self._unread = self.run(cycles, content, 1)
        found, self._unread = self._unread[:count], self._unread[count:]
        return found

    def close(self) -> None:
        """Ends the simulation."""
        self._finish()


def serve(board: SerialBoard, file: int, stop: Callable[[], bool]) -> None:
    """Connects a board with a file that is open to read and to write, until ``stop()`` or until the
    other side is closed. The board's time passes without a pause, as fast as it is simulated."""
    os.set_blocking(file, False)
    back = b""
    while not stop():
        content = b""
        if select.select([file], [], [], 0)[0]:
            try:
                content = os.read(file, _MOST)
            except OSError:
                return  # the other side of the pseudo-terminal is closed
        back += board.run(_STRETCH, content)
        while back:
            try:
                back = back[os.write(file, back) :]
            except BlockingIOError:
                break
