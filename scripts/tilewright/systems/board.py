"""Boards: an accelerator with memory and a bridge to a host, on an FPGA."""

from ..registry import System, Work

SYSTEM = System(
    name="board",
    entries=(),
    tables={
        "board-rate": Work(
            "tilewright.tables.board:board_rate",
            "Bytes over the serial line of a board: cycles and rates by the size of a frame.",
        )
    },
    groups={
        "board": {
            "list": Work(
                "tilewright.apps.board.bitstreams:list_boards",
                "List boards: device, sizes, connection to a host.",
            ),
            "build": Work(
                "tilewright.apps.board.bitstreams:build",
                "Build a bitstream for a board by open tools.",
            ),
            "generate": Work(
                "tilewright.apps.board.commands:generate",
                "Write an accelerator with memory and a host bridge as SystemVerilog.",
            ),
            "simulate": Work(
                "tilewright.apps.board.commands:simulate",
                "Simulate a board behind a pseudo-terminal, for `--backend board` elsewhere.",
            ),
        }
    },
    paper="Boards",
    pages=("bridge.md",),
)
