"""Short traces of AXI4 and AXI4-Lite: some break one rule in their last cycle, others none.

A cycle is the pins that are not 0, by the names that the checkers have; X marks one that is
unknown. Before each trace comes a reset and an idle cycle.
"""

from __future__ import annotations

from dataclasses import dataclass

Cycle = dict[str, int]
X = -1
"""Unknown."""

LIMITS = {
    "ADDR_BITS": "32", "DATA_BITS": "64", "ID_BITS": "2", "CACHE": "3",
    "READS": "6", "READS_PER_ID": "4", "READ_IDS": "4'b0111",
    "WRITES": "5", "WRITES_PER_ID": "3", "WRITE_IDS": "4'b0111",
}  # fmt: skip
"""The parameters of the checker of AXI4."""

SHORT = {"READ_LONGEST": "16", "WRITE_LONGEST": "16"}
"""Parameters of a second checker, for bursts of up to 16 beats; others allow up to 256."""


@dataclass(frozen=True)
class Trace:
    """Cycles of a bus, for a checker.

    Parameters
    ----------
    cycles: the pins of each
    rule: what the last one breaks, empty if nothing
    checker: "axi4", "axi4-lite", or "short", that with short bursts
    """

    cycles: tuple[Cycle, ...]
    rule: str = ""
    checker: str = "axi4"

    @property
    def unknown(self) -> bool:
        return any(X in cycle.values() for cycle in self.cycles)


def _address(letters: str, address: int, beats: int, id: int, ready: int) -> Cycle:
    pins = {"valid": 1, "ready": ready, "addr": address, "len": beats - 1, "id": id}
    pins |= {"size": 3, "burst": 1, "cache": 3}
    return {f"{letters}{name}": value for name, value in pins.items()}


def ar(address: int = 0, beats: int = 1, id: int = 0, ready: int = 1, **pins: int) -> Cycle:
    return _address("ar", address, beats, id, ready) | pins


def aw(address: int = 0, beats: int = 1, id: int = 0, ready: int = 1, **pins: int) -> Cycle:
    return _address("aw", address, beats, id, ready) | pins


def w(last: int = 1, ready: int = 1, data: int = 0, **pins: int) -> Cycle:
    return {"wvalid": 1, "wready": ready, "wlast": last, "wdata": data, "wstrb": 0xFF} | pins


def r(last: int = 1, id: int = 0, ready: int = 1, **pins: int) -> Cycle:
    return {"rvalid": 1, "rready": ready, "rlast": last, "rid": id} | pins


def b(id: int = 0, ready: int = 1, **pins: int) -> Cycle:
    return {"bvalid": 1, "bready": ready, "bid": id} | pins


IDLE: Cycle = {}
RESET: Cycle = {"rst": 1}


def _requests() -> dict[str, list[list[Cycle]]]:
    """Returns the traces that break the rules of AR and of AW; both channels have the same
    rules."""
    found: dict[str, list[list[Cycle]]] = {}
    for name, send, per_id, most, first, answer in (
        ("AR", ar, 4, 6, ar(), r()),
        ("AW", aw, 3, 5, aw() | w(), b()),
    ):
        a = name.lower()
        waits = send(8, 4, 1, ready=0)
        found |= {
            f"{name}_DROPPED": [[waits, IDLE], [waits, waits, {f"{a}ready": 1}]],
            f"{name}_CHANGED": [
                [waits, send(16, 4, 1)],
                [waits, waits, send(8, 3, 1)],
                [waits, send(8, 4, 2, ready=0)],
                [send(8, 4, 1), waits, send(1 << 31 | 8, 4, 1)],
            ],
            f"{name}_IN_RESET": [[RESET, RESET | send()], [RESET, send()]],
            f"{name}_UNKNOWN": [
                [{f"{a}valid": X}],
                *([send(**{f"{a}{pin}": X})] for pin in ("addr", "len", "size", "burst")),
                *([send(**{f"{a}{pin}": X})] for pin in ("lock", "cache", "prot", "qos")),
            ],
            f"{name}_BURST": [[send(**{f"{a}burst": kind})] for kind in (0, 2, 3)],
            f"{name}_SIZE": [[send(**{f"{a}size": size})] for size in (2, 4, 7)],
            f"{name}_ALIGNED": [[send(address)] for address in (4, 0x101, 0xFFFF_FFF9)],
            f"{name}_PAGE": [[send(0xFF8, 2)], [send(0x808, 256)], [send(0xFFFF_FF88, 16)]],
            f"{name}_ATTRIBUTES": [
                [send(**{f"{a}{pin}": value})]
                for pin, values in (("lock", [1]), ("cache", [0, 2, 15]), ("prot", [1, 2, 4]),
                                    ("qos", [1, 8]))
                for value in values
            ],
            f"{name}_ID": [[send(id=3)]],
            f"{name}_MOST": [
                [*(send(id=n % 3) for n in range(most)), send(id=1 if name == "AR" else 2)],
            ],
            f"{name}_MOST_PER_ID": [
                [*[send(id=1)] * per_id, send(id=1)],
                [send(id=2), *[send(id=1)] * per_id, send(id=1)],
                [
                    first,
                    *[send(id=1)] * per_id,
                    answer | send(id=1),
                ],
            ],
            f"{name}_READY_UNKNOWN": [[{f"{a}ready": X}]],
        }  # fmt: skip
    return found


_WAITING_W = [aw(beats=2) | w(0, ready=0, data=5)]
_WAITING_R = [ar(beats=2), ar(id=1, beats=2), r(0, ready=0, rdata=5)]
_WAITING_B = [aw() | w(), aw(id=1) | w(), b(ready=0)]
_TWO_READS = [ar(beats=2), ar(id=1)]

_AXI4: dict[str, list[list[Cycle]]] = _requests() | {
    "W_DROPPED": [[*_WAITING_W, IDLE], [*_WAITING_W, w(0, ready=0, data=5), {"wready": 1}]],
    "W_CHANGED": [
        [*_WAITING_W, w(0, data=4)],
        [*_WAITING_W, w(0, data=1 << 63 | 5)],
        [*_WAITING_W, w(0, data=5, wstrb=0x7F)],
    ],
    "W_IN_RESET": [[RESET, RESET | w()]],
    "W_UNKNOWN": [
        [aw(), {"wvalid": X}],
        [aw() | w(wdata=X)],
        [aw() | w(wstrb=X)],
        [aw() | w(wlast=X)],
    ],
    "W_LEADS": [
        [w(ready=0)],
        [w()],
        [aw(), w(), w(ready=0)],
        [aw(beats=2) | w(0), w(1), w(0, ready=0)],
        [aw(ready=0) | w(), aw(ready=0) | w(ready=0)],
        [aw(ready=0) | w(), aw() | w(ready=0)],
    ],
    "W_LAST_EARLY": [
        [aw(beats=2) | w(1)],
        [aw(beats=256), *[w(0)] * 254, w(1)],
        [aw(), aw(beats=2), w(1), w(1)],
        [aw(beats=3), w(0), w(1, ready=0)],
    ],
    "W_LAST_MISSING": [
        [aw() | w(0)],
        [aw(beats=256), *[w(0)] * 255, w(0)],
        [aw(beats=2), aw(), w(0), w(1), w(0)],
        [aw(beats=3), w(0), w(0), w(0, ready=0)],
    ],
    "W_READY_UNKNOWN": [[{"wready": X}]],
    "R_DROPPED": [[*_WAITING_R, IDLE], [*_WAITING_R, {"rready": 1}]],
    "R_CHANGED": [
        [*_WAITING_R, r(0, rdata=4)],
        [*_WAITING_R, r(0, rdata=5, rresp=2)],
        [*_WAITING_R, r(0, rdata=5, id=1)],
        [ar(), ar(id=1), r(ready=0), r(id=1)],
    ],
    "R_IN_RESET": [[RESET, RESET | r()]],
    "R_UNKNOWN": [
        [ar(), {"rvalid": X}],
        [ar(), r(rresp=X)],
    ],
    "R_UNREQUESTED": [
        [r()],
        [ar() | r()],
        [ar(ready=0), ar(ready=0) | r(ready=0)],
        [ar(), r(), r()],
        [ar(id=1), r(id=0)],
        [ar(id=0), ar(id=1), r(id=1), r(id=1, ready=0)],
        [*[ar()] * 4, *[r()] * 4, r()],
        [ar(), IDLE, RESET, IDLE, r()],
    ],
    "R_LAST_EARLY": [
        [ar(beats=2), r(1)],
        [ar(beats=256), *[r(0)] * 254, r(1)],
        [ar(), ar(beats=2), r(1), r(1)],
        [*_TWO_READS, r(id=1), r(1, id=0)],
        [*[ar(beats=2)] * 4, *[r(0), r(1)] * 3, r(1)],
    ],
    "R_LAST_MISSING": [
        [ar(), r(0)],
        [ar(beats=256), *[r(0)] * 255, r(0)],
        [*_TWO_READS, r(0, id=0), r(1, id=1), r(0, id=0, ready=0)],
        [ar(), ar(beats=2), r(0)],
        [ar(beats=2), r(0), r(1) | ar(), r(0)],
    ],
    "R_READY_UNKNOWN": [[{"rready": X}]],
    "B_DROPPED": [[*_WAITING_B, IDLE], [*_WAITING_B, {"bready": 1}]],
    "B_CHANGED": [[*_WAITING_B, b(id=1)], [*_WAITING_B, b(bresp=2)]],
    "B_IN_RESET": [[RESET, RESET | b()]],
    "B_UNKNOWN": [[aw() | w(), {"bvalid": X}], [aw() | w(), b(bresp=X)]],
    "B_UNREQUESTED": [
        [b()],
        [aw(), b()],
        [aw() | w() | b()],
        [aw(), w() | b()],
        [aw(beats=2) | w(0), b(ready=0)],
        [aw(ready=0) | w(), aw(ready=0) | b(ready=0)],
        [aw(ready=0) | w(), aw() | b()],
        [aw(id=1) | w(), b(id=0)],
        [aw() | w(), b(), b()],
        [aw(), aw(id=1), w(), b(id=1)],
        [*[aw()] * 3, *[w()] * 2, b(), b(), b()],
        [aw() | w(), IDLE, RESET, IDLE, b()],
    ],
    "B_READY_UNKNOWN": [[{"bready": X}]],
}

_SHORT: dict[str, list[list[Cycle]]] = {
    "AR_LONGEST": [[ar(beats=17)], [ar(beats=256)]],
    "AW_LONGEST": [[aw(beats=17)], [aw(beats=256)]],
}


def lite_address(letters: str, address: int = 0, ready: int = 1, **pins: int) -> Cycle:
    found = {"valid": 1, "ready": ready, "addr": address}
    return {f"{letters}{name}": value for name, value in found.items()} | pins


def lite_w(ready: int = 1, data: int = 0, **pins: int) -> Cycle:
    return {"wvalid": 1, "wready": ready, "wdata": data, "wstrb": 15} | pins


def lite_r(ready: int = 1, data: int = 0, **pins: int) -> Cycle:
    return {"rvalid": 1, "rready": ready, "rdata": data} | pins


def lite_b(ready: int = 1, **pins: int) -> Cycle:
    return {"bvalid": 1, "bready": ready} | pins


_LITE_AR, _LITE_AW = lite_address("ar"), lite_address("aw")


def _lite_requests() -> dict[str, list[list[Cycle]]]:
    found: dict[str, list[list[Cycle]]] = {}
    for name in ("AR", "AW"):
        a = name.lower()
        waits = lite_address(a, 4, ready=0)
        found |= {
            f"{name}_DROPPED": [[waits, IDLE], [waits, waits, {f"{a}ready": 1}]],
            f"{name}_CHANGED": [
                [waits, lite_address(a, 8)],
                [waits, lite_address(a, 4, **{f"{a}prot": 1})],
            ],
            f"{name}_IN_RESET": [[RESET, RESET | waits], [RESET, waits]],
            f"{name}_UNKNOWN": [
                [{f"{a}valid": X}],
                [lite_address(a, X)],
                [lite_address(a, **{f"{a}prot": X})],
            ],
            f"{name}_MOST": [[lite_address(a), lite_address(a)]],
            f"{name}_READY_UNKNOWN": [[{f"{a}ready": X}]],
        }
    return found


_LITE: dict[str, list[list[Cycle]]] = _lite_requests() | {
    "W_DROPPED": [[lite_w(ready=0), IDLE]],
    "W_CHANGED": [[lite_w(ready=0), lite_w(data=1)], [lite_w(ready=0), lite_w(wstrb=7)]],
    "W_IN_RESET": [[RESET, RESET | lite_w()]],
    "W_UNKNOWN": [[{"wvalid": X}], [lite_w(wdata=X)], [lite_w(wstrb=X)]],
    "W_MOST": [[lite_w(), lite_w()], [_LITE_AW | lite_w(), lite_w()]],
    "W_READY_UNKNOWN": [[{"wready": X}]],
    "R_DROPPED": [[_LITE_AR, lite_r(ready=0), IDLE]],
    "R_CHANGED": [
        [_LITE_AR, lite_r(ready=0), lite_r(data=1)],
        [_LITE_AR, lite_r(ready=0), lite_r(rresp=2)],
    ],
    "R_IN_RESET": [[RESET, RESET | lite_r()]],
    "R_UNKNOWN": [
        [_LITE_AR, {"rvalid": X}],
        [_LITE_AR, lite_r(rdata=X)],
        [_LITE_AR, lite_r(rresp=X)],
    ],
    "R_UNREQUESTED": [
        [lite_r()],
        [_LITE_AR | lite_r()],
        [lite_address("ar", ready=0), lite_address("ar", ready=0) | lite_r(ready=0)],
        [_LITE_AR, lite_r(), lite_r()],
        [_LITE_AW | lite_w(), lite_r()],
        [_LITE_AR, IDLE, RESET, IDLE, lite_r()],
    ],
    "R_EXCLUSIVE": [[_LITE_AR, lite_r(rresp=1)]],
    "R_READY_UNKNOWN": [[{"rready": X}]],
    "B_DROPPED": [[_LITE_AW | lite_w(), lite_b(ready=0), IDLE]],
    "B_CHANGED": [[_LITE_AW | lite_w(), lite_b(ready=0), lite_b(bresp=2)]],
    "B_IN_RESET": [[RESET, RESET | lite_b()]],
    "B_UNKNOWN": [
        [_LITE_AW | lite_w(), {"bvalid": X}],
        [_LITE_AW | lite_w(), lite_b(bresp=X)],
    ],
    "B_UNREQUESTED": [
        [lite_b()],
        [_LITE_AW, lite_b()],
        [lite_w(), lite_b()],
        [_LITE_AW | lite_w() | lite_b()],
        [_LITE_AW, lite_w() | lite_b()],
        [lite_w(), _LITE_AW | lite_b()],
        [_LITE_AW | lite_w(), lite_b(), lite_b()],
        [_LITE_AR, lite_b()],
    ],
    "B_EXCLUSIVE": [[_LITE_AW | lite_w(), lite_b(bresp=1)]],
    "B_READY_UNKNOWN": [[{"bready": X}]],
}

BROKEN = [
    Trace(tuple(cycles), rule, checker)
    for checker, table in (("axi4", _AXI4), ("short", _SHORT), ("axi4-lite", _LITE))
    for rule, traces in table.items()
    for cycles in traces
]
"""Each breaks its rule in its last cycle, and no other rule in any."""

_AXI4_LEGAL: dict[str, list[Cycle]] = {
    "w with aw": [aw() | w(), b()],
    "w before awready": [aw(ready=0) | w(), aw(ready=0), aw(), b()],
    "w before awready, two beats": [aw(beats=2, ready=0) | w(0), aw(beats=2, ready=0) | w(1),
                                    aw(beats=2), b()],
    "awready with the last beat": [aw(beats=2, ready=0) | w(0), aw(beats=2) | w(1), b()],
    "w long after aw": [aw(), *[IDLE] * 5, w(), b()],
    "w of the next burst with its aw": [aw(ready=0) | w(), aw(), aw(id=1, ready=0) | w(),
                                        aw(id=1) | b(), b(id=1)],
    "the next aw while w waits": [aw(beats=2) | w(0, ready=0), aw(id=1) | w(0), w(1), w(), b(1),
                                  b()],
    "writes back to back": [aw() | w(), *[aw() | w() | b()] * 20, b()],
    "longer writes back to back": [
        aw(beats=2) | w(0), w(1), *[aw(beats=2) | w(0) | b(), w(1)] * 8, b(),
    ],
    "b out of order": [*(aw(id=n) | w() for n in range(3)), b(2), b(0), b(1)],
    "b of one id": [*[aw()] * 3, w(), w() | b(), w() | b(), b()],
    "b waits": [aw() | w(), b(ready=0), aw(id=1) | w() | b(ready=0), b(), b(1)],
    "b in the cycle of the next of its id": [aw() | w(), aw() | b(), w(), b()],
    "a write of an id again and again": [*[aw(id=1) | w(), b(1)] * 9],
    "aw waits": [*[aw(id=1, ready=0)] * 9, aw(id=1), w(), b(1)],
    "b waits with an error": [aw(id=2) | w(), *[b(2, ready=0, bresp=3)] * 2, b(2, bresp=3)],
    "the most writes": [*(aw(id=n % 3) for n in range(5)), *[w()] * 5,
                        *(b(n % 3) for n in range(5))],
    "one more write with a response": [*(aw(id=n % 3) for n in range(5)), w(), b(0) | aw(id=2)],
    "one more write of its id with a response": [*[aw(id=1)] * 3, w(), b(1) | aw(id=1)],
    "256 beats": [aw(0x7F800, 256), *[w(0)] * 255, w(1), b()],
    "the last beat of a page": [aw(0xFF8) | w() | ar(0xFFFF_FFF8), b() | r()],
    "the last 16 beats of a page": [aw(0xF80, 16), *[w(0)] * 15, w(1), b()],
    "no strobes": [aw() | w(wstrb=0), b()],
    "errors": [aw() | w() | ar(), b(bresp=2) | r(rresp=3)],
    "exokay": [aw() | w() | ar(), b(bresp=1) | r(rresp=1)],
    "ready until valid": [
        {"arready": 1, "awready": 1, "wready": 1, "rready": 1, "bready": 1}, ar() | aw() | w(),
    ],
    "ready before valid, low with it": [
        {"arready": 1, "awready": 1, "wready": 1}, ar(ready=0) | aw(ready=0) | w(ready=0),
        ar() | aw() | w(),
    ],
    "ready low until valid": [
        ar(ready=0) | aw(ready=0) | w(ready=0), ar() | aw() | w(), r(ready=0) | b(ready=0),
        r() | b(),
    ],
    "what is not valid changes": [{"araddr": 5, "wdata": 7, "rid": 3}, {"awlen": 9, "bid": 3}],
    "what moved changes": [ar(8), ar(16), ar(24, id=1)],
    "r interleaved": [
        ar(beats=2), ar(beats=3, id=1), r(0), r(0, id=1), r(0, id=1), r(1), r(1, id=1),
    ],
    "r out of order": [ar(beats=2), ar(id=1), ar(id=2), r(id=2), r(id=1), r(0), r(1)],
    "r of one id": [ar(beats=2), ar(), ar(beats=3), r(0), r(1), r(1), r(0), r(0), r(1)],
    "reads back to back": [ar(), *[ar() | r()] * 20, r()],
    "r waits": [ar(beats=2), r(0, ready=0), ar(id=1) | r(0, ready=0), r(0), r(1), r(id=1)],
    "256 beats read": [ar(0x800, 256), *[r(0)] * 255, r(1)],
    "the most reads": [*(ar(id=n % 3) for n in range(6)), *(r(id=n % 3) for n in range(6))],
    "one more read with a response": [*(ar(id=n % 3) for n in range(6)), r(1, id=0) | ar(id=0)],
    "one more read of its id with a response": [*[ar(id=2)] * 4, r(1, id=2) | ar(id=2)],
    "an id again and again": [*[ar(id=2), r(1, id=2)] * 9],
    "a read in reset is forgotten": [ar(ready=0), RESET, IDLE, ar(8), r()],
    "valid when the reset begins": [ar(ready=0), RESET | ar(ready=0), RESET, IDLE],
    "a write in reset is forgotten": [aw(beats=2) | w(0), RESET, IDLE, aw() | w(), b()],
    "a complete write in reset is forgotten": [aw() | w(), RESET, IDLE, aw(), w(), b()],
    "data of a read are unknown": [ar(), r(rdata=X)],
    "what is not valid is unknown": [{"araddr": X, "awid": X, "wdata": X, "rlast": X, "bresp": X}],
}  # fmt: skip

_LITE_LEGAL: dict[str, list[Cycle]] = {
    "aw with w": [_LITE_AW | lite_w(), lite_b()],
    "aw before w": [_LITE_AW, lite_w(), lite_b()],
    "w before aw": [lite_w(), IDLE, _LITE_AW, lite_b()],
    "a read": [_LITE_AR, lite_r(data=7)],
    "both at a time": [_LITE_AR | _LITE_AW | lite_w(), lite_r() | lite_b()],
    "errors wait": [_LITE_AR | _LITE_AW | lite_w(),
                    *[lite_r(ready=0, data=9, rresp=2) | lite_b(ready=0, bresp=2)] * 2,
                    lite_r(data=9, rresp=2) | lite_b(bresp=2)],
    "responses wait": [_LITE_AR | _LITE_AW | lite_w(), lite_r(ready=0) | lite_b(ready=0),
                       lite_r() | lite_b()],
    "requests wait": [lite_address("ar", ready=0) | lite_w(ready=0), _LITE_AR | lite_w(),
                      lite_r() | _LITE_AW, lite_b()],
    "errors": [_LITE_AR | _LITE_AW | lite_w(), lite_r(rresp=2) | lite_b(bresp=3)],
    "back to back": [_LITE_AR, lite_r(), _LITE_AR, lite_r(), _LITE_AW | lite_w(), lite_b(),
                     _LITE_AW | lite_w(), lite_b()],
    "the next request with the response": [_LITE_AR, _LITE_AR | lite_r(), lite_r(),
                                           _LITE_AW | lite_w(), _LITE_AW | lite_w() | lite_b(),
                                           lite_b()],
    "ready without valid": [{"arready": 1, "awready": 1, "wready": 1}, IDLE],
    "what is not valid changes": [{"araddr": 4, "rdata": 3, "bresp": 1}, IDLE],
    "a request in reset is forgotten": [_LITE_AR | _LITE_AW | lite_w(), RESET, IDLE,
                                        _LITE_AR | _LITE_AW | lite_w(), lite_r() | lite_b()],
}  # fmt: skip

LEGAL = {
    f"{checker}: {name}": Trace(tuple(cycles), "", checker)
    for checker, table in (
        ("axi4", _AXI4_LEGAL),
        ("axi4-lite", _LITE_LEGAL),
        ("short", {"16 beats": [aw(beats=16) | ar(beats=16)]}),
    )
    for name, cycles in table.items()
}
"""The nearest traffic that breaks none."""
