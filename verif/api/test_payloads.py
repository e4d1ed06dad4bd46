"""``tilewright.payloads`` and ``compute``: operations through the RTL, against the models."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import tilewright
from tilewright import payloads
from tilewright.sim.rtl.streams import NativeSimulation, Pauses
from tilewright.verif.catalogue.sidecars import LABELS, config_of, emitted
from tilewright.verif.kit.refusal import refused
from tilewright.verif.kit.sampling import rng_of, slow_but

STREAMS = [label for label, (name, _) in LABELS.items() if not tilewright.units[name].backends]
PAYLOADS = slow_but(
    ["m3xu"], STREAMS, ["m3xu_sequencer", "simd2 {'sparsity': '2:4'}", "gta_separate"]
)


def _rows(transfers: list[int], width: int) -> Any:
    """Payloads as the harness takes them."""
    size = -(-width // 32) * 4
    content = b"".join(one.to_bytes(size, "little") for one in transfers)
    return np.frombuffer(content, np.uint32).reshape(len(transfers), size // 4)


@pytest.mark.parametrize("label", PAYLOADS)
def test_operations_through_the_unit(label: str) -> None:
    """Runs all operations twice, with gaps and stalls, and compares the results with the model."""
    rng, made = rng_of(7), emitted(label)
    entry, config = config_of(label)
    sidecar = json.loads(json.dumps(made.sidecar))
    widths = {stream["name"]: stream["width"] for stream in sidecar["streams"]}
    sent: dict[str, list[int]] = {}
    work = []
    for operation in 2 * [one["name"] for one in sidecar["operations"]]:
        operands = payloads.random_operands(rng, sidecar, operation)
        for stream, transfers in payloads.pack(sidecar, operation, operands).items():
            sent.setdefault(stream, []).extend(transfers)
        work.append((operation, operands, payloads.transfers(sidecar, operation)["o"]))
    found, _ = NativeSimulation(made).run_streams(
        {name: _rows(transfers, widths[name]) for name, transfers in sent.items()},
        {"o": sum(count for *_, count in work)},
        pauses=Pauses(seed=3, gap=0.2, stall=0.2),
    )
    left = [int.from_bytes(row.tobytes(), "little") for row in found["o"]]
    info = tilewright.units[entry.unit.name]
    for operation, operands, count in work:
        results = payloads.unpack(sidecar, operation, {"o": left[:count]})
        wanted = info.compute(operation, operands, config)
        assert results.keys() == wanted.keys()
        for name, words in wanted.items():
            np.testing.assert_equal(results[name], words, f"{operation}: {name}")
        left = left[count:]
    assert left == []


def test_what_does_not_fit() -> None:
    sidecar, rng = emitted("m3xu").sidecar, np.random.default_rng(1)
    operands = payloads.random_operands(rng, sidecar, "fp16")
    with refused(ValueError, "`operation` must be one of fp16, bf16, tf32, fp32, fp32c, not 'fp8'"):
        payloads.pack(sidecar, "fp8", operands)
    with refused(ValueError, "`operands` must be a, b, c, not a, b"):
        payloads.pack(sidecar, "fp16", {name: operands[name] for name in "ab"})
    with refused(ValueError, "`a` must have shape (2, 4), not (4, 2)"):
        payloads.pack(sidecar, "fp16", operands | {"a": operands["a"].T})
    with refused(ValueError, "`payloads` must have 1 transfers of o for fp16"):
        payloads.unpack(sidecar, "fp16", {"o": []})
    width = next(one["width"] for one in sidecar["streams"] if one["name"] == "o")
    with refused(ValueError, "fp16: the flag `error` is [1]"):
        payloads.unpack(sidecar, "fp16", {"o": [1 << width - 1]})
    sparse = emitted("simd2 {'sparsity': '2:4'}").sidecar
    few = payloads.random_operands(rng, sparse, "mma")
    few["a"].popitem()
    with refused(ValueError, "`a` must have 2 elements in each group of 4 columns"):
        payloads.pack(sparse, "mma", few)
    with refused(ValueError, "`sidecar` must be of a unit with streams and operations"):
        payloads.pack(tilewright.generate("c2sr_converter").sidecar, "csr_to_c2sr", {})


def test_what_a_model_refuses() -> None:
    info = tilewright.units["simd2"]
    with refused(ValueError, "`operation` must be one of mma, orand, not 'minplus'"):
        info.compute("minplus", {}, ops=("mma", "orand"))
    with refused(ValueError, "`operands` must be a, b, c, not a"):
        info.compute("mma", {"a": [[0]]})
    with refused(ValueError, "sida runs programs, not single operations"):
        tilewright.units["sida"].compute("pass", {})


def test_a_model_on_numbers() -> None:
    a, b = np.array([[1.0, 2], [3, 4]]), np.array([[5.0, 6], [7, 8]])
    words = tilewright.formats.to_words
    given = {"a": words(a, "fp16"), "b": words(b, "fp16"), "c": words([[1, 0], [0, 1]], "fp32")}
    found = tilewright.units["simd2"].compute("mma", given, tile=2)
    numbers = tilewright.formats.from_words(found["d"], "fp32")
    assert numbers.tolist() == (a @ b + np.eye(2)).tolist()
