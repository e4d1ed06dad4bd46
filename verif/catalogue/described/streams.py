"""Operations through the streams of a unit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from tilewright.sim.rtl.streams import NativeSimulation, Pauses
from tilewright.verif.catalogue.described.operations import Matrices, operands_of

Bits = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]


def sizes_of(operation: Mapping[str, Any]) -> dict[str, int]:
    """Returns the sizes of an operation, all of which are constants."""
    return {size["name"]: size["value"] for size in operation["sizes"]}


def _bits_of(words: Any, width: int) -> Bits:
    """A last axis of bits, lowest first."""
    shifts = np.arange(width, dtype=np.uint64)
    bits = np.asarray(words, np.uint64)[..., np.newaxis] >> shifts & np.uint64(1)
    return bits.astype(np.uint8)


def _word_of(bits: Bits) -> npt.NDArray[np.uint64]:
    shifts = np.arange(bits.shape[-1], dtype=np.uint64)
    return np.bitwise_or.reduce(bits.astype(np.uint64) << shifts, axis=-1)


class StreamDriver:
    """Drives one unit; the bits of payloads that nobody says anything about are random.

    Parameters
    ----------
    sidecar: of the unit
    simulation: of its Verilog
    rng: of the bits that do not matter
    """

    def __init__(
        self, sidecar: Mapping[str, Any], simulation: NativeSimulation, rng: np.random.Generator
    ) -> None:
        self._sidecar, self._simulation, self._rng = sidecar, simulation, rng
        self._streams = {stream["name"]: stream for stream in sidecar["streams"]}
        self._sent: dict[str, list[Bits]] = {
            name: [] for name, x in self._streams.items() if x["direction"] == "in"
        }
        self._expected: list[tuple[Mapping[str, Any] | None, int]] = []

    def submit(self, operation: Mapping[str, Any], operands: Matrices) -> None:
        """Queues one operation of the sidecar's after the previous ones."""
        payloads = {
            name: self._noise(name, count) for name, count in self._counts(operation, "in").items()
        }
        for setting in operation["select"]:
            place = self._bits(setting["stream"], setting["field"])
            payloads[setting["stream"]][:, place] = _bits_of(setting["value"], len(place))
        for operand in operands_of(operation, "in"):
            self._insert(payloads[operand["placement"]["stream"]], operand, operands, operation)
        for name, bits in payloads.items():
            self._sent[name].append(bits)
        outputs = self._counts(operation, "out")
        self._expected.append((operation, next(iter(outputs.values()))))

    def submit_illegal(self, opcode: int) -> None:
        """Queues an illegal opcode."""
        setting = self._sidecar["operations"][0]["select"][0]
        illegal = self._sidecar["illegal_opcode"]
        for name in illegal["takes"]:
            bits = self._noise(name, illegal["transfers"])
            if name == setting["stream"]:
                place = self._bits(name, setting["field"])
                bits[:, place] = _bits_of(opcode, len(place))
            self._sent[name].append(bits)
        self._expected.append((None, illegal["transfers"]))

    def run(self, pauses: Pauses) -> list[Matrices]:
        """Returns the results of the operations in order; illegal operations have none.

        Raises AssertionError if a flag is wrong, or a bit set that is neither flag nor element.
        """
        payloads = {}
        for name, parts in self._sent.items():
            bits = np.concatenate([self._noise(name, 0), *parts])
            whole = np.pad(bits, ((0, 0), (0, -bits.shape[1] % 32)))
            packed = np.packbits(whole, axis=1, bitorder="little")
            payloads[name] = np.ascontiguousarray(packed).view(np.uint32)
        (output,) = (x for x in self._streams.values() if x["direction"] == "out")
        count = sum(transfers for _, transfers in self._expected)
        found, _ = self._simulation.run_streams(payloads, {output["name"]: count}, pauses=pauses)
        rows = np.unpackbits(found[output["name"]].view(np.uint8), axis=1, bitorder="little")
        results, first = [], 0
        for operation, transfers in self._expected:
            part = rows[first : first + transfers]
            first += transfers
            self._check_flags(operation, output["name"], part)
            if operation is not None:
                results.append(self._results(operation, part))
            assert not part.any(), "a bit of a result is set that belongs to nothing"
        self._sent = {name: [] for name in self._sent}
        self._expected = []
        return results

    def _noise(self, stream: str, count: int) -> Bits:
        return self._rng.integers(0, 2, (count, self._streams[stream]["width"]), np.uint8)

    def _counts(self, operation: Mapping[str, Any], direction: str) -> dict[str, int]:
        """Transfers that an operation takes of each stream."""
        counts = {x["stream"]: 1 for x in operation["select"]} if direction == "in" else {}
        for operand in operands_of(operation, direction):
            transfers, _ = self._places(operand, operation)
            stream = operand["placement"]["stream"]
            counts[stream] = max(counts.get(stream, 0), int(transfers.max()) + 1)
        return counts

    def _field(self, stream: str, name: str) -> dict[str, Any]:
        fields: list[dict[str, Any]] = self._streams[stream]["fields"]
        return next(x for x in fields if x["name"] == name)

    def _bits(self, stream: str, name: str) -> Ints:
        """The bits of a field without a shape."""
        field = self._field(stream, name)
        return field["offset"] + np.arange(field["width"])

    def _places(
        self, operand: Mapping[str, Any], operation: Mapping[str, Any]
    ) -> tuple[Ints, Ints]:
        """Returns the transfer of each stored element and the position of each of its bits."""
        place, sizes = operand["placement"], sizes_of(operation)
        columns, structure = sizes[operand["columns"]], place.get("structure")
        if structure:
            columns = columns * structure["kept"] // structure["group"]
        row, column = np.indices((sizes[operand["rows"]], columns))
        tile, steps, bits = place["tile"], place["transfers"], place["bits"]
        transfer = row // tile["rows"] * steps["row"] + column // tile["columns"] * steps["column"]
        first = (
            self._field(place["stream"], place["field"])["offset"]
            + row % tile["rows"] * bits["row"]
            + column % tile["columns"] * bits["column"]
        )
        assert (
            bits["words"] * bits["word_bits"]
            == self._sidecar["formats"][operand["format"]]["container_bits"]
        )
        word, bit = np.divmod(np.arange(bits["words"] * bits["word_bits"]), bits["word_bits"])
        return transfer, first[..., np.newaxis] + word * bits["word"] + bit

    def _insert(
        self,
        payload: Bits,
        operand: Mapping[str, Any],
        operands: Matrices,
        operation: Mapping[str, Any],
    ) -> None:
        place, matrix = operand["placement"], operands[operand["name"]]
        transfer, bits = self._places(operand, operation)
        if structure := place.get("structure"):
            order = sorted(matrix)
            stood = np.array([column % structure["group"] for _, column in order])
            matrix = np.array([matrix[at] for at in order], np.uint64).reshape(transfer.shape)
            field = self._field(place["stream"], structure["field"])
            row, column = np.indices(transfer.shape)
            start = field["offset"] + row * structure["row"] + column * structure["column"]
            where = start[..., np.newaxis] + np.arange(structure["bits"])
            stored = _bits_of(stood.reshape(transfer.shape), structure["bits"])
            payload[transfer[..., np.newaxis], where] = stored
        payload[transfer[..., np.newaxis], bits] = _bits_of(matrix, bits.shape[-1])

    def _check_flags(self, operation: Mapping[str, Any] | None, stream: str, part: Bits) -> None:
        """Checks the flags and clears them."""
        for flag in self._sidecar["result_flags"]:
            assert flag["stream"] == stream
            place = self._bits(stream, flag["field"])
            expected = [flag["before_last"]] * (len(part) - 1) + [flag["last"]]
            if operation is None:
                expected = [flag["illegal"]] * len(part)
            assert _word_of(part[:, place]).tolist() == expected, flag["field"]
            part[:, place] = 0

    def _results(self, operation: Mapping[str, Any], part: Bits) -> Matrices:
        """Elements; their bits are cleared afterwards."""
        found: Matrices = {}
        for operand in operands_of(operation, "out"):
            transfer, bits = self._places(operand, operation)
            where = transfer[..., np.newaxis], bits
            found[operand["name"]] = _word_of(part[where])
            part[where] = 0
        return found


def illegal_opcodes(sidecar: Mapping[str, Any]) -> Iterable[int]:
    """The values of the opcode's field that select nothing."""
    setting = sidecar["operations"][0]["select"][0]
    stream = next(x for x in sidecar["streams"] if x["name"] == setting["stream"])
    field = next(x for x in stream["fields"] if x["name"] == setting["field"])
    legal = {x["select"][0]["value"] for x in sidecar["operations"]}
    return [code for code in range(1 << field["width"]) if code not in legal]
