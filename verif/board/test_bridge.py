"""The bridge of a board, through its pins, by the host's side and by frames made here."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
import pytest
from amaranth.sim import Simulator, SimulatorContext
from tilewright.hw.board.board_top import Lights
from tilewright.hw.board.uart import UartReceiver, UartTransmitter
from tilewright.hw.spec.bridge import MOST_DATA, Command, Identity, Status, digest_of
from tilewright.hw.spec.unit import named_object
from tilewright.registry import entries
from tilewright.sim.device.driver import JobRegisters
from tilewright.sim.device.protocol import RegisterError
from tilewright.sim.device.wire import Reply, WireDevice, WireError, decode, encode
from tilewright.sim.rtl.serial_board import SerialBoard
from tilewright.verif.board.boards import DIVISOR, MEMORY, TOY, Noise, emitted, toy_board
from tilewright.verif.catalogue.toy.exercise import exercise
from tilewright.verif.catalogue.toy.spec import TOY_ADDER, ToyAdderConfig, job_spec
from tilewright.verif.kit.commands import refusal
from tilewright.verif.kit.sampling import by_size, rng_of, slow_but


@pytest.fixture
def board() -> SerialBoard:
    return toy_board()


def opened(board: SerialBoard, tries: int = 8) -> WireDevice[ToyAdderConfig]:
    return WireDevice(TOY_ADDER, TOY, board, tries=tries)


def frame(
    command: int, sequence: int, address: int = 0, count: int = 0, data: bytes = b""
) -> bytes:
    """A request in a frame, made without the host's code."""
    head = bytes([command, sequence, *address.to_bytes(4, "little"), *count.to_bytes(2, "little")])
    content = head + data + zlib.crc32(head + data).to_bytes(4, "little")
    coded = b"".join({0xC0: b"\xdb\xdc", 0xDB: b"\xdb\xdd"}.get(b, bytes([b])) for b in content)
    return b"\xc0" + coded + b"\xc0"


def replies(board: SerialBoard, *requests: bytes) -> list[Reply]:
    """The frames that come back."""
    back = b"".join(board.run(20_000 + 10 * DIVISOR * len(one), one) for one in requests)
    found = [Reply.of(content) for part in back.split(b"\xc0") if (content := decode(part))]
    return [one for one in found if one is not None]


# Frames


@pytest.mark.parametrize("content", [b"a", b"\xc0\xdb\xdc\xdd", bytes(range(256)), b"\xdb" * 9])
def test_frames(content: bytes) -> None:
    coded = encode(content)
    assert coded[0] == coded[-1] == 0xC0
    assert 0xC0 not in coded[1:-1]
    assert decode(coded[1:-1]) == content
    for place in range(1, len(coded) - 1):
        damaged = bytearray(coded[1:-1])
        damaged[place - 1] ^= 4
        assert decode(bytes(damaged)) is None


def test_the_identity() -> None:
    identity = Identity(1, MOST_DATA, MEMORY, digest_of("toy_adder", TOY.resolved()))
    assert Identity.from_bytes(identity.to_bytes()) == identity
    with pytest.raises(ValueError, match="an identity must have 20 bytes, not 3"):
        Identity.from_bytes(b"abc")


def test_a_digest_is_of_unit_and_configuration() -> None:
    values = TOY.resolved()
    other = values | {"outstanding": 4}
    digests = {digest_of("a", values), digest_of("b", values), digest_of("a", other)}
    assert len(digests) == 3
    assert all(len(one) == 8 for one in digests)


# The bridge


def test_memory_and_registers(board: SerialBoard) -> None:
    device, rng = opened(board), rng_of(1)
    assert device.memory_bytes == MEMORY
    expected = bytearray(MEMORY)
    device.write_memory(0, bytes(MEMORY // 16))
    for _ in range(by_size(6, 12, 100)):
        count = int(rng.integers(1, 2 * MOST_DATA))
        address = int(rng.integers(0, MEMORY // 16 - count))
        content = rng.bytes(count)
        device.write_memory(address, content)
        expected[address : address + count] = content
        start, length = sorted(rng.integers(0, MEMORY // 16, 2).tolist())
        assert device.read_memory(start, length - start) == bytes(expected[start:length])
    device.write_memory(MEMORY - 3, b"end")
    assert device.read_memory(MEMORY - 4, 4)[1:] == b"end"
    assert device.read_memory(7, 0) == b""
    assert exercise(device, rng) == 3
    assert device.repeated == 0


def test_what_does_not_exist(board: SerialBoard) -> None:
    device = opened(board)
    for offset in (0x3, -4, 0xFFC, 0x10000):
        with pytest.raises(RegisterError, match="no register"):
            device.read_register(offset)
        with pytest.raises(RegisterError, match="no register"):
            device.write_register(offset, 0)
    with pytest.raises(ValueError, match="`value` must fit 32 bits, not 0x100000000"):
        device.write_register(0, 1 << 32)
    for address, count in ((MEMORY, 1), (-1, 1), (MEMORY - 1, 2)):
        with pytest.raises(IndexError, match=r"lie outside of 0x0\.\.0xffff"):
            device.read_memory(address, count)
    with pytest.raises(IndexError, match="1 bytes at 0x10000 lie outside"):
        device.write_memory(MEMORY, b"x")


def test_a_repeated_write_has_no_effect(board: SerialBoard) -> None:
    """Whoever writes in between is not overwritten."""
    write = frame(Command.WRITE_MEMORY, 8, 100, 2, b"ab")
    found = replies(board, frame(Command.OPEN, 7), write, frame(Command.READ_MEMORY, 9, 100, 2))
    assert found[-1].data == b"ab"
    found = replies(
        board,
        frame(Command.WRITE_MEMORY, 10, 100, 2, b"cd"),
        frame(Command.WRITE_MEMORY, 10, 100, 2, b"xy"),
        frame(Command.READ_MEMORY, 11, 100, 2),
    )
    assert [one.status for one in found] == [Status.DONE] * 3
    assert found[-1].data == b"cd"


def test_a_repetition_has_the_same_status(board: SerialBoard) -> None:
    wrong = frame(Command.WRITE_REGISTER, 4, 0xFC, 4, bytes(4))
    found = replies(board, frame(Command.OPEN, 3), wrong, wrong)
    assert found[1].status != Status.DONE
    assert found[1] == found[2]


def test_nothing_is_done_before_it_is_opened(board: SerialBoard) -> None:
    write = frame(Command.WRITE_MEMORY, 1, 0, 1, b"!")
    read = frame(Command.READ_MEMORY, 3, 0, 1)
    found = replies(board, write, frame(Command.OPEN, 2), read)
    assert [one.status for one in found] == [Status.CLOSED, Status.DONE, Status.DONE]
    assert found[2].data != b"!"


@pytest.mark.parametrize(
    "request_",
    [
        frame(Command.READ_MEMORY, 2, 0, 0),
        frame(Command.READ_MEMORY, 2, 0, MOST_DATA + 1),
        frame(Command.READ_MEMORY, 2, 0, 4, b"data"),
        frame(Command.WRITE_MEMORY, 2, 0, 3, b"data"),
        frame(Command.WRITE_MEMORY, 2, 0, 0),
        frame(Command.READ_REGISTER, 2, 0, 3),
        frame(Command.WRITE_REGISTER, 2, 0, 2, b"ab"),
        frame(Command.STATE, 2, data=b"x"),
        frame(99, 2),
        frame(0, 2),
    ],
)
def test_malformed_requests(board: SerialBoard, request_: bytes) -> None:
    found = replies(board, frame(Command.OPEN, 1), request_, frame(Command.STATE, 3))
    assert [one.status for one in found] == [Status.DONE, Status.MALFORMED, Status.DONE]


def test_memory_outside_is_an_error_of_the_bus(board: SerialBoard) -> None:
    outside, across = (
        frame(Command.READ_MEMORY, 2, MEMORY, 2),
        frame(Command.WRITE_MEMORY, 3, MEMORY - 1, 2, b"ab"),
    )
    found = replies(board, frame(Command.OPEN, 1), outside, across)
    assert [one.status for one in found[1:]] == [Status.MEMORY, Status.MEMORY]


def test_what_is_no_frame_is_not_answered(board: SerialBoard) -> None:
    fine = frame(Command.OPEN, 1)
    too_long = frame(Command.WRITE_MEMORY, 1, 0, MOST_DATA, bytes(MOST_DATA + 9))
    for noise in (b"\xc0", b"\xc0\xc0\xc0", fine[:-3] + b"\xc0", b"noise\xc0", too_long):
        assert replies(board, noise) == []
    # Behind noise the first frame counts.
    assert len(replies(board, b"noise" + fine)) == 1


def test_the_interrupt_is_told(board: SerialBoard) -> None:
    """In a frame that nobody has asked for, once, and in the state."""
    device = opened(board)
    registers = JobRegisters(device, job_spec(TOY))
    assert not device.irq()
    registers.write_all({"SOURCE": 0, "TARGET": 4096, "BEATS": 16, "CONSTANT": 1})
    registers.write("CTRL", registers.register("CTRL").put(start=1, irq_enable=1))
    told = [Reply.of(content) for part in board.run(20_000).split(b"\xc0")
            if (content := decode(part))]  # fmt: skip
    assert [(one.command, one.irq) for one in told if one] == [(Command.EVENT, True)]
    assert device.irq()
    registers.write("STATUS", registers.register("STATUS").put(done=1, error=1))
    assert not device.irq()


# Faults


@pytest.mark.parametrize("seed", slow_but([1], range(8), range(3)))
def test_noise_on_the_line(seed: int) -> None:
    board = toy_board(patience=3000, spoil=Noise(seed))
    device, rng = opened(board, 40), rng_of(seed)
    assert exercise(device, rng) == 3
    content = rng.bytes(3000)
    device.write_memory(11, content)
    assert device.read_memory(11, 3000) == content
    assert device.repeated > 0


def test_a_reset_in_the_middle(board: SerialBoard) -> None:
    device = opened(board)
    device.write_memory(0, b"lost")
    board.reset()
    with pytest.raises(WireError) as told:
        device.read_memory(0, 4)
    assert str(told.value) == (
        "the board at a simulation was reset, and what it held is lost: start again"
    )
    assert exercise(opened(board), rng_of(3)) == 3


def test_another_configuration(board: SerialBoard) -> None:
    with pytest.raises(WireError, match="holds another unit or configuration than this toy_adder"):
        WireDevice(TOY_ADDER, type(TOY)(outstanding=4), board)


def test_no_board() -> None:
    board = toy_board(spoil=lambda content: b"")
    with pytest.raises(WireError, match="no answer from a simulation to 2 requests: check the"):
        opened(board, 2)


def test_a_wrong_baud_rate() -> None:
    """What comes are bytes, but no frames."""
    board = toy_board(spoil=lambda content: bytes(value & 0x55 for value in content))
    with pytest.raises(WireError, match="no answer from a simulation"):
        opened(board, 2)


def test_a_line_that_breaks(board: SerialBoard) -> None:
    device = opened(board)
    board.close()
    for use in (device.irq, device.wait, lambda: device.read_memory(0, 1)):
        with pytest.raises(WireError, match="the line a simulation is broken: the line is closed"):
            use()


@pytest.mark.parametrize("theirs", [49, 51])
def test_clocks_that_differ_by_two_percent(theirs: int) -> None:
    board = SerialBoard(emitted(TOY_ADDER, TOY, 50), divisor=theirs, patience=60_000)
    device = opened(board, 1)
    device.write_memory(0, bytes(range(100)))
    assert device.read_memory(0, 100) == bytes(range(100))


@pytest.mark.parametrize("part", [UartReceiver, UartTransmitter])
def test_a_divisor_is_large_enough(part: Any) -> None:
    assert refusal(lambda: part(3)) == "`divisor` must be at least 4, not 3"


# Accelerators


@pytest.mark.parametrize(
    "name",
    slow_but([], [name for name, one in entries().items() if one.unit.jobs], ["engine_simd2"]),
)
def test_jobs_of_every_accelerator(name: str) -> None:
    """Its exercise, through the pins: the drivers are those that run on RTL and on models."""
    entry = entries()[name]
    config = entry.small_config
    board = SerialBoard(emitted(entry.unit, config), divisor=DIVISOR)
    with WireDevice(entry.unit, config, board) as device:
        assert named_object(entry.exercise)(device, np.random.default_rng(1)) > 0


# Lights


def test_lights() -> None:
    """Busy from a start to its interrupt, also where that of the job before is still high."""
    spec = job_spec(TOY)
    control, status = spec.registers["CTRL"], spec.registers["STATUS"]
    dut = Lights(control, status)
    start, reset = control.put(start=1), control.put(soft_reset=1)
    bad, good = status.put(error=1), status.put(done=1)

    async def bench(ctx: SimulatorContext) -> None:
        async def cycle(busy: int, error: int, **inputs: int) -> None:
            for name in ("writes", "reads"):
                ctx.set(getattr(dut, name), 0)
            for name, value in inputs.items():
                ctx.set(getattr(dut, name), value)
            await ctx.tick()
            assert (ctx.get(dut.busy), ctx.get(dut.error)) == (busy, error), inputs

        written = {"writes": 1, "write_address": control.offset}
        read = {"reads": 1, "read_address": status.offset}
        await cycle(0, 0, writes=1, write_address=control.offset + 4, written=start)
        await cycle(1, 0, **written, written=start)
        await cycle(1, 0)
        await cycle(0, 0, irq=1)
        await cycle(0, 1, **read, found=bad)
        await cycle(0, 1, reads=1, read_address=status.offset + 4, found=good)
        await cycle(1, 0, **written, written=start)
        await cycle(1, 0)
        await cycle(1, 0, irq=0)
        await cycle(0, 0, irq=1)
        await cycle(1, 0, **written, written=start)
        await cycle(0, 0, **written, written=start | reset)
        await cycle(0, 0, **read, found=good)

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
