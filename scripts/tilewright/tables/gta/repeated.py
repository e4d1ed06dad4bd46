"""Repeats vector operations on chip, to measure the lanes without memory."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...hw.spec.gta import BANKS, FORMATS_OF_GTA, GtaConfig, element_bytes
from ...hw.spec.jobs.gta import beat_bytes
from ...hw.spec.jobs.gta_commands import MEMORIES, OPERATIONS
from ...hw.spec.jobs.gta_vector import OCTET, VECTOR_FUNCTIONS, operand_memories
from ...sim.gta.command_driver import CommandDriver
from ...sim.gta.tiles.program import CommandList
from ...sim.gta.tiles.segment_sums import StreamImage
from ...sim.gta.vector.functions import octet_results
from ...sim.gta.vector.octets import from_planes, to_planes
from ...sim.numbers.values import Patterns

__all__ = ["RepeatedDriver"]


class _Repeated:
    """Octets into all banks of all lanes, a function of them so many times, results out."""

    def __init__(
        self, config: GtaConfig, function: str, format: str, octets: int, times: int
    ) -> None:
        self._config, self._function, self._format = config, function, format
        self._octets, self._times = octets, times
        planes = octets * element_bytes(format)
        image = StreamImage(
            streams=BANKS * config.lanes,
            count=planes,
            piece=planes,
            element=OCTET,
            beat=beat_bytes(config),
        )
        memories = operand_memories(function, format)
        self.images = dict.fromkeys([*memories, "d"], image)

    def commands(self, bases: Mapping[str, int], into: CommandList) -> None:
        """Loads, then all EXECUTEs one behind the other, then a STORE."""
        loads = 0
        for name in operand_memories(self._function, self._format):
            fields = {**self._rows(bases[name]), "memory": MEMORIES.index(name)}
            loads = into.add("load", fields)
        done = 0
        for _ in range(self._times):
            fields = {
                "operation": OPERATIONS.index("simd"),
                "format": FORMATS_OF_GTA.index(self._format),
                "function": tuple(VECTOR_FUNCTIONS).index(self._function),
                "time": self._octets,
                "chain": 1,
            }
            done = into.add("execute", fields, behind={"load": loads})
        into.add("store", self._rows(bases["d"]), behind={"execute": done})

    def _rows(self, base: int) -> dict[str, int]:
        image = self.images["d"]
        return {
            "rows": image.streams,
            "row_bytes": image.count * OCTET,
            "base": base,
            "stride": image.stride,
            "step": int(self._config.lanes > 1),
            "lanes": self._config.lanes,
        }


class RepeatedDriver(CommandDriver):
    """Runs such jobs on a device, and looks at every result."""

    def cycles(self, function: str, format: str, octets: int, times: int) -> dict[str, int]:
        """The counters of a job of ``times`` EXECUTEs of so many octets in each bank.

        Operands that lie where results do are those of the next EXECUTE. Raises RuntimeError if a
        result is not the golden model's.
        """
        size, rng = element_bytes(format), np.random.default_rng(FORMATS_OF_GTA.index(format))
        made = _Repeated(self.config, function, format, octets, times)
        shape = (BANKS * self.config.lanes, octets, OCTET)
        memories = operand_memories(function, format)
        operands: dict[str, Patterns] = {
            name: rng.integers(0, (1 << 8 * size) - 1, shape, dtype=np.uint64, endpoint=True)
            for name in memories
        }
        contents = {name: to_planes(words, size).view("<u8") for name, words in operands.items()}
        planes = self._run_commands(made, contents)
        found = from_planes(np.ascontiguousarray(planes, np.dtype("<u8")).view(np.uint8), size)
        flat = {name: words.reshape(-1, OCTET) for name, words in operands.items()}
        expected = np.zeros((0, OCTET), np.uint64)
        for _ in range(times if "result" in memories else 1):
            expected = octet_results(function, format, [flat[name] for name in memories])
            flat["result"] = expected
        if not np.array_equal(found.reshape(-1, OCTET), expected):
            raise RuntimeError(f"{function} of {format} differs from the golden model")
        return self.counts
