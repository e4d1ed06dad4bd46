"""An accelerator on a board, behind a serial line: the same device as RTL or a model.

``docs/bridge.md`` describes the frames.
"""

from __future__ import annotations

import errno
import os
import secrets
import zlib
from typing import Final, Generic, NamedTuple, Protocol, TypeVar

from ...hw.spec.bridge import (
    CHECK_BYTES,
    END,
    ESCAPE,
    ESCAPED_END,
    ESCAPED_ESCAPE,
    REPLY,
    VERSION,
    WORD_BYTES,
    Command,
    Identity,
    Status,
    digest_of,
)
from ...hw.spec.unit import Unit
from .model import bytes_of
from .protocol import Closing, RegisterError

__all__ = ["Line", "Reply", "WireDevice", "WireError", "decode", "encode", "open_line"]

Config = TypeVar("Config")

_TRIES = 10
_SECONDS = 0.25
"""Time without a byte after which a request is sent again; then twice as long, and so on."""
_MOST_SILENCES = 16
"""At most so many times as long."""
_OPENING_TRIES = 5
_MOST_NOISE = 1 << 14
"""Bytes without a frame after which a request is sent again."""


class WireError(RuntimeError):
    """The board does not answer, or not as it should; the message is one line with the cure."""


class Line(Protocol):
    """A serial line, as :class:`serial.Serial` is one."""

    @property
    def name(self) -> str:
        """The port's name, for messages."""

    def read(self, count: int = 1, /) -> bytes:
        """Returns at most so many bytes; fewer if no more come for a while."""

    def write(self, content: bytes, /) -> int | None:
        """Sends bytes."""

    def close(self) -> None:
        """Closes the line."""


def open_line(port: str, baud: int) -> Line:
    """Opens a serial port with eight data bits, no parity, one stop bit.

    Raises WireError if pyserial is missing, or the port cannot be opened.
    """
    try:
        import serial
    except ImportError:
        raise WireError(
            "the backend `board` needs pyserial: pip install 'tilewright[board]'"
        ) from None
    try:
        line: Line = serial.Serial(port, baud, timeout=_SECONDS)
    except (OSError, ValueError) as error:
        number = getattr(error, "errno", None)
        reason = os.strerror(number) if number else error
        cure = "give the board's port, such as /dev/ttyUSB0"
        if number == errno.EACCES:
            cure = "add yourself to the group that owns it, mostly dialout"
        raise WireError(f"{port} cannot be opened as a serial port: {reason}; {cure}") from None
    return line


def encode(content: bytes) -> bytes:
    """The frame of a content: with its check, escaped, between two ``END``."""
    checked = content + zlib.crc32(content).to_bytes(CHECK_BYTES, "little")
    escaped = checked.replace(bytes([ESCAPE]), bytes([ESCAPE, ESCAPED_ESCAPE]))
    return bytes([END]) + escaped.replace(bytes([END]), bytes([ESCAPE, ESCAPED_END])) + bytes([END])


def decode(between: bytes) -> bytes | None:
    """The content of a frame, given the bytes between two ``END``; None if it is damaged."""
    checked = between.replace(bytes([ESCAPE, ESCAPED_END]), bytes([END]))
    checked = checked.replace(bytes([ESCAPE, ESCAPED_ESCAPE]), bytes([ESCAPE]))
    content, check = checked[:-CHECK_BYTES], checked[-CHECK_BYTES:]
    fine = bool(content) and zlib.crc32(content).to_bytes(CHECK_BYTES, "little") == check
    return content if fine else None


class Reply(NamedTuple):
    """A frame of the board.

    Members
    -------
    command, sequence: of the request
    status: how it went
    irq: level of the interrupt
    data: what was read
    """

    command: int
    sequence: int
    status: int
    irq: bool
    data: bytes

    @classmethod
    def of(cls, content: bytes) -> Reply | None:
        """The reply in a frame; None if it is none."""
        if len(content) < 4 or not content[0] & REPLY:
            return None
        return cls(
            content[0] & ~REPLY, content[1], content[-2], bool(content[-1] & 1), content[2:-2]
        )


class WireDevice(Closing, Generic[Config]):
    """An accelerator on a board, for its driver. Use it in a ``with`` statement, or `close` it.

    Requests whose answer is lost or damaged are sent again; the board does none of them twice. All
    members raise :class:`WireError` if the board does not answer, or was reset.

    Parameters
    ----------
    unit, config: what the board was built for; the board is asked, and refused if it holds another
        unit or configuration
    line: see :class:`Line`; it is closed with the device
    tries: how often a request is sent at most
    sequence: number before that of the first request, 0..255; a random one without it, so that
        answers to another program's requests are not taken for ours

    Members
    -------
    repeated: requests that were sent again so far
    """

    def __init__(
        self,
        unit: Unit,
        config: Config,
        line: Line,
        *,
        tries: int = _TRIES,
        sequence: int | None = None,
    ) -> None:
        self.config: Final = config
        self._line, self._tries = line, tries
        self._received = b""
        self._irq = False
        self._sequence = secrets.randbelow(256) if sequence is None else sequence
        self.repeated = 0
        try:
            self._identity = self._identify(unit)
        except BaseException:
            line.close()
            raise

    def _identify(self, unit: Unit) -> Identity:
        found = Identity.from_bytes(self._ask(Command.OPEN))
        name = self._line.name
        if found.version != VERSION:
            raise WireError(
                f"the bridge at {name} speaks version {found.version} of the protocol, not "
                f"{VERSION}: build its bitstream again"
            )
        if found.digest != digest_of(unit.name, self.config.resolved()):  # type: ignore[attr-defined]
            raise WireError(
                f"the board at {name} holds another unit or configuration than this "
                f"{unit.name}: give its parameters by -c or --set, or program it anew"
            )
        return found

    # Frames

    def _frame(self) -> Reply | None:
        """The next frame; None if the line is silent, or brings bytes but no frame."""
        noise = 0
        while noise < _MOST_NOISE:
            between, end, rest = self._received.partition(bytes([END]))
            if not end:
                more = self._line.read(max(1, getattr(self._line, "in_waiting", 0)))
                if not more:
                    return None
                self._received += more
                noise += len(more)
                continue
            self._received = rest
            content = decode(between)
            reply = None if content is None else Reply.of(content)
            if reply is not None:
                self._irq = reply.irq
                return reply
        return None

    def _ask(
        self, command: Command, address: int = 0, count: int = 0, content: bytes = b""
    ) -> bytes:
        """Sends a request until it is answered; returns the data of the answer."""
        self._sequence = (self._sequence + 1) % 256
        head = bytes([command, self._sequence])
        sizes = address.to_bytes(4, "little") + count.to_bytes(2, "little")
        request = encode(head + sizes + content)
        # A board that is there answers at once to be opened, as it does nothing else.
        opens = command == Command.OPEN
        tries = min(self._tries, _OPENING_TRIES) if opens else self._tries
        try:
            for attempt in range(tries):
                self.repeated += attempt > 0
                self._line.write(request)
                silences = min(1 << attempt, _MOST_SILENCES)
                while silences:
                    reply = self._frame()
                    if reply is None:
                        silences -= 1
                    elif reply.command == command and reply.sequence == self._sequence:
                        return self._data(reply, command, address)
        except OSError as error:
            reason = error.strerror or error
            raise WireError(f"the line {self._line.name} is broken: {reason}") from None
        raise WireError(
            f"no answer from {self._line.name} to {tries} requests: check the cable, the "
            f"baud rate, and that the board is programmed"
        )

    def _data(self, reply: Reply, command: Command, address: int) -> bytes:
        if reply.status == Status.CLOSED:
            raise WireError(
                f"the board at {self._line.name} was reset, and what it held is lost: start again"
            )
        verb = {Command.READ_REGISTER: "read", Command.WRITE_REGISTER: "write"}.get(command)
        if verb and reply.status in (Status.REGISTER, Status.MALFORMED):
            raise RegisterError(f"no register for a {verb} at offset {address:#x}")
        if reply.status != Status.DONE:
            raise WireError(
                f"the board at {self._line.name} refuses {command.name} at {address:#x} with "
                f"status {reply.status}: is it of another version?"
            )
        return reply.data

    # The device

    @property
    def memory_bytes(self) -> int:
        """Size of the board's memory in bytes."""
        return self._identity.memory_bytes

    def read_register(self, offset: int) -> int:
        """Returns the word at a byte offset. Raises RegisterError for an offset without one."""
        self._check_offset(offset)
        return int.from_bytes(self._ask(Command.READ_REGISTER, offset, WORD_BYTES), "little")

    def write_register(self, offset: int, value: int) -> None:
        """Writes the word at a byte offset. Raises RegisterError as ``read_register``, ValueError
        for a value that does not fit."""
        self._check_offset(offset)
        if not 0 <= value < 1 << 32:
            raise ValueError(f"`value` must fit 32 bits, not {value:#x}")
        word = value.to_bytes(WORD_BYTES, "little")
        self._ask(Command.WRITE_REGISTER, offset, WORD_BYTES, word)

    def _check_offset(self, offset: int) -> None:
        if offset < 0 or offset % WORD_BYTES or offset >> 32:
            raise RegisterError(f"there is no register at offset {offset:#x}")

    def read_memory(self, address: int, count: int) -> bytes:
        """Returns bytes of the memory. Raises IndexError if some lie outside."""
        self._check_span(address, count)
        most = self._identity.most_data
        parts = [
            self._ask(Command.READ_MEMORY, address + first, min(most, count - first))
            for first in range(0, count, most)
        ]
        return b"".join(parts)

    def write_memory(self, address: int, content: bytes) -> None:
        """Writes bytes into the memory. Raises IndexError if some lie outside, TypeError for an
        array of wider items."""
        row = bytes_of(content).tobytes()
        self._check_span(address, len(row))
        most = self._identity.most_data
        for first in range(0, len(row), most):
            part = row[first : first + most]
            self._ask(Command.WRITE_MEMORY, address + first, len(part), part)

    def _check_span(self, address: int, count: int) -> None:
        if address < 0 or count < 0 or address + count > self.memory_bytes:
            raise IndexError(
                f"{count} bytes at {address:#x} lie outside of 0x0..{self.memory_bytes - 1:#x}"
            )

    def irq(self) -> bool:
        """Returns the level of the interrupt line."""
        self._ask(Command.STATE)
        return self._irq

    def wait(self) -> None:
        """Returns when the interrupt is high: as soon as the board says so, or when it is asked,
        which happens whenever the line is silent."""
        try:
            while not self.irq():
                if (reply := self._frame()) is not None and reply.irq:
                    return
        except OSError as error:
            reason = error.strerror or error
            raise WireError(f"the line {self._line.name} is broken: {reason}") from None

    def close(self) -> None:
        """Closes the line; the board goes on with what it does."""
        self._line.close()
