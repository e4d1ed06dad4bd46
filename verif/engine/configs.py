"""The engines that the benches build: one for each thing that the scratchpads do differently."""

from __future__ import annotations

from tilewright.hw.spec.engine import EngineConfig, M3xuEngineConfig, Simd2EngineConfig

MEMORY_BYTES = 1 << 16

CONFIGS: dict[str, EngineConfig] = {
    # Blocks of 2 x 2 x 2 tiles: small matrices have many blocks, and hazards of every kind.
    "small": Simd2EngineConfig(
        tile=2, ops=("mma", "minplus"), pipeline=2, block_rows=2, block_cols=2, block_depth=2
    ),
    "simd2": Simd2EngineConfig(tile=4, block_rows=2, block_cols=2, block_depth=2),
    "three_managers": Simd2EngineConfig(
        tile=4, ops=("mma", "maxmul"), managers=3, outstanding=2, block_rows=4, block_depth=1
    ),
    # No infinities to pad with; a beat is wider than a tile each way.
    "fp8": Simd2EngineConfig(
        tile=2,
        format="fp8e4m3",
        ops=("mma", "minplus", "maxmin", "minmul"),
        data_bits=128,
        pipeline=2,
    ),
    "wide_results": Simd2EngineConfig(
        tile=2, format="int8", accumulator="int64", ops=("mma", "minplus"), managers=3
    ),
    "narrow_results": Simd2EngineConfig(tile=2, accumulator="fp16", ops=("mma", "maxplus")),
    # A tile is wider than a beat each way; a block is one tile, whose sums are always waited for.
    "large_tile": M3xuEngineConfig(
        rows=2,
        cols=8,
        depth=8,
        modes=("bf16",),
        alignment_bits=26,
        pipeline=1,
        block_rows=1,
        block_cols=1,
        block_depth=1,
    ),
    # An element is as wide as a beat.
    "fp64": Simd2EngineConfig(tile=2, format="fp64", ops=("minmax", "maxmin"), managers=2),
    "two_steps": M3xuEngineConfig(rows=4, cols=4, depth=4, modes=("fp16", "fp32"), managers=3),
    "complex": M3xuEngineConfig(
        rows=2, cols=4, depth=8, modes=("fp16", "bf16", "fp32c"), data_bits=256, addr_bits=64
    ),
    "every_mode": M3xuEngineConfig(
        rows=4, cols=2, depth=4, managers=2, outstanding=1, block_rows=1, block_depth=1
    ),
}
