"""Compile the C program for this computer, and run it on a simulated accelerator.

    python examples/bare_metal/on_host.py [--backend rtl|cycles|model] [--build FOLDER]

Registers are reached by two functions that C calls back; memory is the same for both. Exit status
0 if every product was right.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import tilewright

HERE = Path(__file__).resolve().parent
SOURCES = tuple(HERE / name for name in ("spgemm.c", "demo.c", "host.c"))
FLAGS = ("-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-pedantic")
PARAMETERS: dict[str, Any] = {
    "lanes": 2,
    "channels": 2,
    "value": "int32",
    "queues": 3,
    "queue_depth": 64,
}
MEMORY_BYTES = 1 << 17

READ = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_uint32)
WRITE = ctypes.CFUNCTYPE(None, ctypes.c_uint32, ctypes.c_uint32)


def build(folder: Path, sources: Sequence[Path] = SOURCES) -> ctypes.CDLL:
    """The C program as a library, with the header in a folder."""
    library = folder / "demo.so"
    options = ["-DON_HOST", "-I", str(folder), "-I", str(HERE), "-shared", "-fPIC"]
    command = [os.environ.get("CC", "gcc"), *FLAGS, *options, "-o", str(library)]
    subprocess.run([*command, *map(str, sources)], check=True)
    return ctypes.CDLL(str(library))


def run(library: ctypes.CDLL, device: tilewright.OpenDevice[Any]) -> int:
    """Runs the C program on a device and returns the number of errors that it found."""
    failures: list[Exception] = []

    def guarded(access: Callable[..., int | None]) -> Callable[..., int | None]:
        def call(*words: int) -> int | None:
            if not failures:  # else nothing is reached any more: all ends with an error
                try:
                    return access(*words)
                except Exception as error:
                    failures.append(error)
            return 0xFFFFFFFF if access == device.read_register else None

        return call

    read = READ(guarded(device.read_register))
    write = WRITE(guarded(device.write_register))
    library.host_connect(read, write)
    memory = ctypes.c_void_p(device.memory.ctypes.data)
    base, size = ctypes.c_uint64(0), ctypes.c_uint64(device.memory_bytes)
    wrong = int(library.demo(None, memory, base, size))
    if failures:
        raise failures[0]
    return wrong


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Run the C program on a simulated accelerator.")
    parser.add_argument("--backend", choices=("rtl", "cycles", "model"), default="rtl")
    parser.add_argument("--build", type=Path, help="folder for what is built, which is kept")
    chosen = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as scratch:
        folder = chosen.build or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        unit = tilewright.generate("matraptor", **PARAMETERS)
        unit.write(folder / "matraptor.sv", header=folder / "matraptor.h")
        library = build(folder)
        with tilewright.device(
            "matraptor", backend=chosen.backend, memory_bytes=MEMORY_BYTES, **PARAMETERS
        ) as device:
            wrong = run(library, device)
    print("all as it must be" if not wrong else f"{wrong} wrong")
    return int(wrong != 0)


if __name__ == "__main__":
    raise SystemExit(main())
