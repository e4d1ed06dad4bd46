"""The serial line of a board: cycles of a byte, through the pins of its RTL."""

from __future__ import annotations

from collections.abc import Callable

from ..errors import UserError
from ..synth.tables import Row, Table

__all__ = ["board_rate"]

COLUMNS = ["cycles a byte: written", "read", "line alone", "KB/s at 1 Mbaud: written", "read"]
_DIGITS = (1, 1, 0, 1, 1)

_DIVISOR = 4
_MEMORY = 1 << 16
_FRAMES = (16, 256, 1024)
_BYTES = 4096


def board_rate(target: str, progress: Callable[[str], None] = lambda said: None) -> Table:
    """Measures the transfer of 4,096 bytes to the memory of a simulated board and back, in frames
    of some sizes.

    The board is the small ``engine_simd2``, with 4 clock cycles a bit. A cycle less or more between
    frames depends on the host, which here answers at once. KB/s are those at 1 Mbaud, which is a
    clock of 4 MHz.

    Parameters
    ----------
    target: "cmos", the default: nothing is synthesised
    progress: is told what comes next

    Raises
    ------
    UserError for another target.
    """
    if target != "cmos":
        raise UserError(f"board-rate is simulated: no --target, not {target!r}")
    from ..hw.board.board_top import BoardTop
    from ..hw.emit.unit import emit_component
    from ..registry import entries
    from ..sim.device.wire import WireDevice
    from ..sim.rtl.serial_board import SerialBoard

    entry = entries()["engine_simd2"]
    config = entry.small_config
    top = BoardTop(entry.unit, config, memory_bytes=_MEMORY, divisor=_DIVISOR)
    progress("building the board")
    board = SerialBoard(emit_component(top, name="board"), divisor=_DIVISOR)
    rows = []
    # Nothing is random: an escaped byte takes the time of two.
    content = bytes(n % 192 for n in range(_BYTES))
    with WireDevice(entry.unit, config, board, sequence=0) as device:
        for frame in _FRAMES:
            progress(f"frames of {frame} bytes")
            places = range(0, _BYTES, frame)
            begin = board.cycles
            for place in places:
                device.write_memory(place, content[place : place + frame])
            between = board.cycles
            found = b"".join(device.read_memory(place, frame) for place in places)
            end = board.cycles
            if found != content:
                raise AssertionError("the memory of the board has other bytes than were written")
            each = (between - begin) / _BYTES, (end - between) / _BYTES
            rates = [1000 * _DIVISOR / cycles for cycles in each]
            figures = [*each, 10.0 * _DIVISOR, *rates]
            rows.append(Row(f"frames of {frame:,} bytes", [None] * len(COLUMNS), figures, _DIGITS))
    return Table("board-rate, 4 cycles a bit", "rtl", COLUMNS, rows)
