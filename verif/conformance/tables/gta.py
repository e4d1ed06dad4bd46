"""GTA's limits, written by hand: what its parameters and the registers of its jobs may hold."""

from tilewright.verif.conformance.limits import Edge, Limits, bases, settings_of, subset

_SETTINGS = settings_of("""
    lanes        | 1 2 64          | 0 3 128             | a power of two in 1..64
    float_adders | 0 8 16 32 64    | 1 12 24 72 128      | 0, 8, 16, 32 or 64
    adder_stages | 1 2 5           | 0 6                 | an integer in 1..5
    partial_bits | 20 21 64        | 19 65               | an integer in 20..64
    vector_bytes | 2048 131072     | 1024 3072 262144    | a power of two in 2048..131072
    mask_bits    | 1 3 8           | 0 9                 | an integer in 1..8
    data_bits    | 64 128 512      | 32 96 1024          | a power of two in 64..512
    outstanding  | 2 3 32          | 1 33                | an integer in 2..32
    managers     | 1 2             | 0 3                 | an integer in 1..2
    addr_bits    | 32 33 64        | 31 65               | an integer in 32..64
""")

_FORMATS = ("int8", "int16", "int32", "int64", "bf16", "fp16", "fp32", "fp64")

LIMITS = Limits(
    settings=(*_SETTINGS, subset("formats", *_FORMATS)),
    job={"COMMANDS": 1},
    edges=(
        Edge(
            registers={"COMMANDS": 0x208}, accepted=(1, (1 << 24) - 1),
            refused={0: 1, 1 << 24: 2, 1 << 31: 2},
        ),
        bases({"LIST": 0x200}, step=64, misaligned=3, too_far=5),
        Edge(registers={"LAYOUT": 0x20C}, accepted=(0, 1), refused={2: 4, 1 << 31: 4}),
    ),
    reads=("LIST",),
)  # fmt: skip
