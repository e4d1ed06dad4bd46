"""Products through the driver, held against the golden model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from tilewright.hw.spec.formats import FLOAT_FORMATS, FORMATS
from tilewright.hw.spec.gta import GtaConfig, is_float, result_bytes
from tilewright.sim.gta.driver import GtaDevice, GtaDriver
from tilewright.sim.gta.golden.pgemm import RESULTS, pgemm
from tilewright.sim.gta.tiles.choice import DATAFLOWS, choose, regions_of
from tilewright.verif.oracles import stimuli

Words = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class ProductCase:
    """A call of the driver.

    Parameters
    ----------
    format, a, b, c: operands
    settings: everything else, see ``GtaDriver.pgemm``
    """

    format: str
    a: Words
    b: Words
    c: Words | None
    settings: dict[str, Any]

    def expected(self) -> Words:
        """The golden model's result."""
        result = self.settings.get("result", "wrap")
        return pgemm(self.format, self.a, self.b, self.c, result=result)

    def __str__(self) -> str:
        m, k = self.a.shape
        c = "" if self.c is None else " + C"
        return f"{self.format} {m}x{self.b.shape[1]}x{k}{c} {self.settings}"


def words(rng: np.random.Generator, format: str, shape: tuple[int, ...]) -> Words:
    """Patterns: floats of a kind, some of them special; integers of any size, ends of the range
    among them."""
    if is_float(format):
        fmt = FLOAT_FORMATS[format]
        kind = str(rng.choice(stimuli.VALUE_KINDS))
        special = rng.choice(stimuli.special_values(fmt), shape)
        return np.where(rng.random(shape) < 0.03, special, stimuli.values(rng, kind, shape, fmt))
    bits = FORMATS[format].bits
    mask = np.uint64((1 << bits) - 1)
    drawn = rng.integers(0, 1 << 32, (2, *shape), dtype=np.uint64)
    whole = drawn[0] << np.uint64(32) | drawn[1]
    small = rng.integers(-3, 4, shape).astype(np.uint64)
    lowest = np.full(shape, 1 << (bits - 1), np.uint64)
    part = rng.random(shape)
    odd = float(rng.choice([0, 0.1, 0.9]))
    found: Words = np.where(part < odd / 2, lowest - (small & np.uint64(1)), whole)
    return np.where(part > 1 - odd / 2, small, found) & mask


def _saturable(a: Words) -> Words:
    """Numbers of int64 whose sums fit 128 bits."""
    found: Words = (a.view(np.int64) >> np.int64(12)).view(np.uint64)
    return found


def random_case(
    rng: np.random.Generator,
    config: GtaConfig,
    *,
    most: int = 40,
    deepest: int | None = None,
    **fixed: Any,
) -> ProductCase:
    """Operands of any size up to ``most``, K up to ``deepest`` if that is given; ``fixed``:
    settings, or ``format``."""
    format = fixed.pop("format", None) or str(rng.choice([*config.integers, *config.floats]))
    floats = is_float(format)
    results = RESULTS if result_bytes(format) == 8 else RESULTS[:2]
    drawn: dict[str, Any] = {
        "result": "wrap" if floats else str(rng.choice(results)),
        "dataflow": str(rng.choice(("auto", "os") if floats else DATAFLOWS)),
        "layout": None,
        "segments": int(rng.choice([1, 1, 2, 3, 4])),
        "lateral": bool(rng.integers(2)),
        "overlap": bool(rng.integers(2)),
    }
    settings = drawn | fixed
    ends = most, most, deepest or most
    m, n, k = (int(rng.integers(1, int(rng.choice([3, end // 2, end])) + 2)) for end in ends)
    simd = settings["dataflow"] == "simd"
    if simd:
        settings["result"] = "wrap"
    if "layout" not in fixed and rng.integers(2):
        count = 1
        if not simd:
            count = regions_of(config, format, settings["result"], settings["segments"], k)
        lanes = config.lanes // count
        layouts = [(lanes >> number, 1 << number) for number in range(lanes.bit_length())]
        settings["layout"] = layouts[int(rng.integers(len(layouts)))]
    if simd and rng.integers(2):
        settings |= {"layout": None, "along": True}
    if not simd and choose(config, format, (m, n, k), **settings) is None:
        # Results that no bank holds, or sums that no element does.
        settings |= {"layout": None, "dataflow": "auto", "result": "wrap"}
    a, b = words(rng, format, (m, k)), words(rng, format, (k, n))
    result = settings["result"]
    if format == "int64" and result == "saturate":
        a = _saturable(a)
    c = None
    if rng.integers(2):
        whole = ("fp64" if format == "fp64" else "fp32") if floats else _INTEGERS[format]
        c = words(rng, whole, (m, n, 2) if result == "long" else (m, n))
    return ProductCase(format, a, b, c, settings)


_INTEGERS = {"int8": "int32", "int16": "int32", "int32": "int64", "int64": "int64"}


def check_product(device: GtaDevice, case: ProductCase) -> dict[str, int]:
    """Run a case on a device, bit for bit; returns the counters."""
    driver = GtaDriver(device)
    found = driver.pgemm(case.format, case.a, case.b, case.c, **case.settings)
    wrong = np.argwhere(found != case.expected())
    assert not len(wrong), f"{len(wrong)} words are wrong, first {wrong[0]}: {case}"
    return driver.counts
