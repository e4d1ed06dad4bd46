"""Jobs whose sidecar has a list of commands: vectors through the lanes, by what it says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from tilewright.verif.catalogue.described.operations import random_words
from tilewright.verif.catalogue.described.programs import ProgramJob

_OCTET = 8


class Commands:
    """A list of commands.

    Parameters
    ----------
    listed: ``commands`` of an operation
    """

    def __init__(self, listed: Mapping[str, Any]) -> None:
        self._listed = listed
        self._kinds = {one["name"]: one for one in listed["kinds"]}
        self.counts = dict.fromkeys(self._kinds, 0)
        self.content = b""

    def named(self, table: str, name: str) -> Mapping[str, Any]:
        """An entry of a table of the list."""
        found: Mapping[str, Any] = next(x for x in self._listed[table] if x["name"] == name)
        return found

    def add(self, kind: str, **values: int | str) -> int:
        """Append a command, a value by its number or its name; returns how many of its kind there
        are."""
        fields = self._kinds[kind]["fields"]
        word = self._kinds[kind]["value"] << fields["kind"]["low"]
        for name, value in values.items():
            field = fields[name]
            if isinstance(value, str):
                value = (
                    field["values"][value]
                    if "values" in field
                    else self.named(field["of"], value)["value"]
                )
            assert 0 <= value < 1 << field["bits"], name
            word |= value << field["low"]
        self.content += word.to_bytes(self._listed["bytes"], "little")
        self.counts[kind] += 1
        return self.counts[kind]


def command_job(
    rng: np.random.Generator, sidecar: Mapping[str, Any], memory_bytes: int, most: int
) -> ProgramJob:
    """A function of vectors, octet by octet, in all banks of all lanes, of a format and of operands
    that are drawn; results go to memory."""
    (operation,) = sidecar["operations"]
    listed = operation["commands"]
    memory = rng.integers(0, 256, memory_bytes, np.uint8)
    job = ProgramJob(memory, dict.fromkeys(sidecar["jobs"]["registers"], 0))
    fmt = listed["formats"][int(rng.integers(len(listed["formats"])))]
    described = sidecar["formats"][fmt["format"]]
    kind = "floats" if described["kind"] == "float" else "integers"
    functions = [one for one in listed["functions"] if kind in one]
    function = functions[int(rng.integers(len(functions)))]
    chained = function["name"] in ("dot", "sum")
    size = described["container_bits"] // 8
    wide = max(fmt["result_bytes"][0], size) if function["name"] == "dot" else size
    memories = {one["name"]: one for one in listed["memories"]}
    word_bytes = memories["left"]["word_bytes"]
    # A bank holds the operands of so many octets, and an even number of words of results.
    room = memories["left"]["words"] * word_bytes // (_OCTET * size)
    octets = min(room, int(rng.integers(1, 3)) * max(1, 2 * word_bytes // (_OCTET * wide)))
    chain = int(rng.integers(1, room // octets + 1)) if chained else 1
    lanes = max(
        1 + int(one["field"].partition("_")[2])
        for one in operation["parameters"]
        if one["field"].startswith("lane_")
    )
    banks = memories["left"]["banks"] * lanes
    commands = Commands(listed)
    plain = next(
        one["value"]
        for one in listed["deals"]
        if one["banks"] == 1 and one["element_bytes"] == word_bytes
    )
    rows = {"deal": plain, "rows": banks, "first": 0, "step": 1, "lanes": lanes, "word": 0}
    loads, vectors = 0, {}
    for name in function[kind]:
        count = octets * (1 if name == "result" else chain)
        length = count * _OCTET * size
        base, stride, vectors[name] = _planes(rng, sidecar, job, listed, fmt, banks, count)
        words = -(-length // word_bytes)
        assert words <= memories[name]["words"]
        loads = commands.add(
            "load", memory=name, row_bytes=length, base=base, stride=stride, words=words, **rows
        )
    executes = commands.add(
        "execute", loads=loads, operation="simd", format=fmt["name"], group=0,
        function=function["name"], time=octets, chain=chain,
        amount=int(rng.integers(_OCTET)) if function["name"] == "slide" else 0,
    )  # fmt: skip
    length = octets * _OCTET * wide
    align = listed["row_align"]
    stride = -(-length // align) * align
    first = job.put("LIST", align, bytes(banks * stride))
    memory[first[0] : sum(first)] = rng.integers(0, 256, first[1], np.uint8)
    job.results.append(first)
    commands.add(
        "store", executes=executes, row_bytes=length, base=first[0], stride=stride,
        words=-(-length // word_bytes), **rows,
    )  # fmt: skip
    job.given = {
        "function": function["name"],
        "format": fmt["name"],
        "operands": [vectors[name] for name in function[kind]],
        "rows": (first[0], stride, banks, octets, size),
    }
    job.put(listed["base"], listed["align"], commands.content)
    job.registers[listed["count"]] = sum(commands.counts.values())
    return job


def _planes(
    rng: np.random.Generator,
    sidecar: Mapping[str, Any],
    job: ProgramJob,
    listed: Mapping[str, Any],
    fmt: Mapping[str, Any],
    banks: int,
    octets: int,
) -> tuple[int, int, npt.NDArray[np.uint64]]:
    """Octets of random elements for each bank, by planes of bytes: address and stride of rows, and
    the elements."""
    size = sidecar["formats"][fmt["format"]]["container_bits"] // 8
    count = banks * octets * _OCTET
    words = random_words(rng, sidecar["formats"], fmt["format"], count)
    content = words.astype("<u8").view(np.uint8).reshape(banks, octets, _OCTET, 8)[..., :size]
    rows = content.swapaxes(2, 3).reshape(banks, -1)
    align = listed["row_align"]
    stride = -(-rows.shape[1] // align) * align
    padded = np.pad(rows, [(0, 0), (0, stride - rows.shape[1])])
    first, _ = job.put(listed["base"], align, padded.tobytes())
    return first, stride, words.reshape(banks, octets, _OCTET)
