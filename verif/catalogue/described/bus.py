"""Checks the transfers on the managers' ports, cycle by cycle, against the sidecar."""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

_VARIABLE = re.compile(r"\s*\$var \w+ +\d+ (\S+) (\w+)(?: \[\d+:\d+\])? \$end")
_OTHERS = {"lock": 0, "prot": 0, "qos": 0}


def _edges(waves: Path, clock: str, prefixes: tuple[str, ...]) -> Iterator[dict[str, int]]:
    """The values of the ports with a prefix just before each rising edge of the clock."""
    names: dict[str, set[str]] = {}
    values: dict[str, int] = {}
    before: dict[str, int] = {}
    with waves.open() as file:
        for line in file:
            if found := _VARIABLE.match(line):
                code, name = found.groups()
                if name == clock or name.startswith(prefixes):
                    names.setdefault(code, set()).add(name)
            elif line.startswith("#"):
                before = dict(values)
            elif line[0] in "01b":
                bits, code = line[1:].split() if line[0] == "b" else (line[0], line[1:].strip())
                for name in names.get(code, ()):
                    values[name] = int(bits, 2)
                    if name == clock and bits == "1" and before:
                        yield before


class _Side:
    """One direction of a manager."""

    def __init__(self, port: Mapping[str, Any], said: Mapping[str, Any], letter: str) -> None:
        self._port, self._said, self._letter = port, said, letter
        self.under_way: Counter[int] = Counter()
        self.bursts = 0

    def request(self, now: Mapping[str, int]) -> int:
        """AR or AW is taken; returns the beats."""
        at = {
            name: now[f"{self._port['prefix']}_a{self._letter}{name}"]
            for name in ("id", "addr", "len", "size", "burst", "cache", *_OTHERS)
        }
        port, said, beats = self._port, self._said, at["len"] + 1
        size = port["beat_bytes"]
        assert beats <= said["longest_beats"]
        assert (at["burst"], 1 << at["size"], at["cache"]) == (1, size, port["cache"])
        assert {name: at[name] for name in _OTHERS} == _OTHERS
        assert at["addr"] % size == 0
        last = at["addr"] + beats * size - 1
        assert at["addr"] // port["boundary_bytes"] == last // port["boundary_bytes"]
        if blocks := port.get("blocks"):
            for end in (at["addr"], last):
                assert end // blocks["bytes"] % blocks["count"] == blocks["number"]
        rest = at["id"]
        for part in said["id_parts"]:
            mask = ((1 << part["bits"]) - 1) << part["low"]
            assert (at["id"] & mask) >> part["low"] < part["count"], (part["name"], at["id"])
            rest &= ~mask
        assert rest == 0
        self.under_way[at["id"]] += 1
        assert self.under_way[at["id"]] <= said["outstanding_per_id"]
        assert self.under_way.total() <= said["outstanding"]
        self.bursts += 1
        return beats

    def response(self, identity: int) -> None:
        """The last one of a burst."""
        self.under_way[identity] -= 1


def check_bus(sidecar: Mapping[str, Any], waves: Path) -> dict[str, tuple[int, int]]:
    """Raises AssertionError if a burst differs from the sidecar in kind, alignment, length, ID or
    number in flight, or if data lead the AWVALID of their burst.

    Returns
    -------
    by prefix the bursts read and written
    """
    managers = [port for port in sidecar["axi"] if port["role"] == "manager"]
    nothing = {"longest_beats": 0, "outstanding": 0, "outstanding_per_id": 0, "id_parts": []}
    sides = {
        port["prefix"]: (
            _Side(port, port.get("reads", nothing), "r"),
            _Side(port, port.get("writes", nothing), "w"),
        )
        for port in managers
    }
    unsent: dict[str, deque[int]] = {prefix: deque() for prefix in sides}
    offered = dict.fromkeys(sides, False)
    for now in _edges(waves, sidecar["clock"], tuple(f"{prefix}_" for prefix in sides)):
        for prefix, (reads, writes) in sides.items():

            def taken(channel: str, prefix: str = prefix, now: Mapping[str, int] = now) -> bool:
                names = (f"{prefix}_{channel}valid", f"{prefix}_{channel}ready")
                return all(now.get(name, 0) for name in names)

            if taken("r") and now[f"{prefix}_rlast"]:
                reads.response(now[f"{prefix}_rid"])
            if taken("b"):
                writes.response(now[f"{prefix}_bid"])
            if now.get(f"{prefix}_awvalid", 0):
                if not offered[prefix]:
                    unsent[prefix].append(now[f"{prefix}_awlen"] + 1)
                offered[prefix] = not taken("aw")
            if taken("w"):
                assert unsent[prefix], "data lead the AWVALID of their burst"
                unsent[prefix][0] -= 1
                assert now[f"{prefix}_wlast"] == (unsent[prefix][0] == 0)
                if not unsent[prefix][0]:
                    unsent[prefix].popleft()
            if taken("ar"):
                reads.request(now)
            if taken("aw"):
                writes.request(now)
    return {prefix: (reads.bursts, writes.bursts) for prefix, (reads, writes) in sides.items()}
