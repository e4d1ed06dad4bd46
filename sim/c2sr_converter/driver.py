"""Conversions on the converter: a matrix into its memory, a job, the result back.

The same program runs on the RTL in a simulator and on anything else that is a
``ConverterDevice``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...hw.spec.c2sr_converter import POINTER_BYTES, C2srConverterConfig
from ...hw.spec.host.words import not_one_of
from ...hw.spec.jobs.c2sr_converter import COUNTERS, MODES, job_spec, limits
from ..device.driver import JobDriver, check_type
from ..device.protocol import AcceleratorDevice
from ..sparse.c2sr import C2sr, CsrPatterns, from_patterns
from ..sparse.csr_image import csr_image, from_csr_image
from ..sparse.image import entries_bytes, from_image, image, pairs_bytes
from ..sparse.memory_blocks import write_blocks

__all__ = ["ConverterDevice", "ConverterDriver", "golden"]

ConverterDevice = AcceleratorDevice[C2srConverterConfig]
"""A converter with its memory."""


class ConverterDriver(JobDriver[C2srConverterConfig]):
    """Converts sparse matrices between CSR and C2SR on a converter.

    Parameters
    ----------
    device: the converter and its memory
    first_address: lowest address that the driver may use

    Members
    -------
    counts: counters of the last job; empty before the first one

    Raises
    ------
    ValueError: the device's register ID is not that of a converter
    """

    counts: dict[str, int]

    def __init__(self, device: ConverterDevice, first_address: int = 0) -> None:
        config = device.config
        super().__init__(
            device,
            job_spec(config),
            first_address,
            alignment=config.layout.stripe_bytes,
            addr_bits=config.addr_bits,
        )
        self.counts = {}

    def convert(self, direction: str, matrix: C2sr) -> C2sr:
        """Converts a matrix and returns it as the device has written it, in C2SR or in CSR.

        Parameters
        ----------
        direction: "csr_to_c2sr" or "c2sr_to_csr"; the driver writes the matrix to memory in the
            first format
        matrix: the matrix, a ``C2sr`` in both directions

        Raises
        ------
        TypeError: the matrix is no ``C2sr``
        ValueError: a direction or a layout that the device does not have; a memory that is too
            small
        JobError: the device reports an error
        """
        layout = self.config.layout
        if direction not in MODES:
            raise ValueError(not_one_of("`direction`", MODES, direction))
        check_type("matrix", matrix, C2sr, "a matrix in C2SR, as `formats.to_c2sr` gives it")
        if matrix.layout != layout:
            raise ValueError(f"`matrix` must be in layout {layout}, not {matrix.layout}")
        if not matrix.shape[0]:
            self.counts = dict.fromkeys(COUNTERS, 0)
            nothing = np.zeros(0, np.int64), np.zeros(0, np.uint64)
            return from_patterns(CsrPatterns(np.zeros(1, np.int64), *nothing), matrix.shape, layout)
        to_csr = direction == "c2sr_to_csr"
        # Without the gaps that it may have, it is what a conversion to C2SR leaves.
        packed = from_patterns(matrix.patterns(), matrix.shape, layout)
        room = max(1, matrix.nnz if to_csr else packed.channel_entries)
        if room > limits(self.config)["CAPACITY"]:
            most = limits(self.config)["CAPACITY"]
            raise ValueError(f"a conversion must be of at most {most} entries, not {room}")
        base = self._place(matrix, packed)
        c2sr = {"pairs_base": base["c2sr_pairs"], "entries_base": base["c2sr_entries"]}
        csr = {"pointers_base": base["csr_pointers"], "entries_base": base["csr_entries"]}
        source = image(matrix, **c2sr) if to_csr else csr_image(matrix, **csr)
        write_blocks(self._device.write_memory, source)
        job = {"mode": MODES[direction], "rows": matrix.shape[0], "capacity": room, **base}
        status = self._registers.submit({name.upper(): value for name, value in job.items()})
        self.counts = status.counts
        status.check()
        read = self._device.read_memory
        if to_csr:
            return from_csr_image(read, layout, matrix.shape, **csr, room=room)
        return from_image(read, layout, matrix.shape, **c2sr, channel_entries=room)

    def _place(self, matrix: C2sr, packed: C2sr) -> dict[str, int]:
        """Allocates memory for each array: the C2SR forms with gaps and packed, and CSR."""
        layout, rows = self.config.layout, matrix.shape[0]
        channel_entries = max(matrix.channel_entries, packed.channel_entries)
        sizes = {
            "csr_pointers": POINTER_BYTES * (rows + 1),
            "csr_entries": layout.entry_bytes * matrix.nnz,
            "c2sr_pairs": pairs_bytes(layout, rows),
            "c2sr_entries": entries_bytes(layout, channel_entries),
        }
        return self._memory.fit(sizes, "both forms of the matrix")


def golden(
    config: C2srConverterConfig,
    operation: str,
    sizes: Mapping[str, int],
    operands: Mapping[str, Any],
) -> dict[str, Any]:
    """Golden model of a job: the matrix is unchanged; see :class:`tilewright.registry.Entry`."""
    return {"target": dict(operands["source"])}
