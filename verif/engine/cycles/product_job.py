"""The job of a product of matrices for the cycle model of the engine."""

from __future__ import annotations

from tilewright.hw.spec.engine import EngineConfig
from tilewright.hw.spec.host.words import not_one_of
from tilewright.sim.engine.job import Job


def product_job(
    config: EngineConfig,
    operation: str,
    m: int,
    n: int,
    k: int,
    *,
    use_c: bool = False,
    transposed_b: bool = False,
    spread: int = 0,
) -> Job:
    """Returns a product whose matrices follow each other as ``Driver`` places them, with C in D's
    place.

    Parameters
    ----------
    operation: its name
    m, n, k: sizes, ``k`` in elements
    use_c, transposed_b: as the registers say them
    spread: bytes between a row and the next one, a multiple of a beat. In a DRAM rows whose
        distance is a power of two are all in one bank; a page between them brings them apart

    Raises ValueError if the engine does not have the operation, or ``spread`` is no multiple.
    """
    known, beat = config.unit.operations, config.beat_bytes
    if operation not in known:
        raise ValueError(not_one_of("`operation`", known, operation))
    if spread % beat or spread < 0:
        raise ValueError(f"`spread` must be a multiple of {beat}, not {spread}")
    found = known[operation]
    right = (n, k) if transposed_b else (k, n)
    shapes = {
        "a": (m, k * found.operand_bits),
        "b": (right[0], right[1] * found.operand_bits),
        "d": (m, n * found.result_bits),
    }
    base, stride, address = {}, {}, 0
    for name, (rows, bits) in shapes.items():
        stride[name] = -(-bits // config.data_bits) * beat + spread
        base[name] = address
        address += rows * stride[name]
    base["c"], stride["c"] = base["d"], stride["d"]
    return Job(
        op=found.opcode,
        m=m,
        n=n,
        k=k,
        base=base,
        stride=stride,
        transposed_b=transposed_b,
        use_c=use_c,
    )
