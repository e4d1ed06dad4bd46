"""Limits of mapped arrays, written by hand: what the parameters, and the registers of the jobs of a
matrix product, may hold."""

from tilewright.verif.conformance.limits import Edge, Limits, Setting, bases, one_of, settings_of

_SETTINGS = settings_of("""
    largest     | -1 0 1 1024     | -2 1025             | an integer in -1..1024
    pipeline    | 0 1 9           | -1 10               | an integer in 0..9
    trip_bits   | 4 5 32          | 3 33                | an integer in 4..32
    data_bits   | 64 128 1024     | 32 96 2048 0        | a power of two in 64..1024
    addr_bits   | 32 33 64        | 31 65               | an integer in 32..64
    outstanding | 1 2 32          | 0 33                | an integer in 1..32
""")

_FORMATS = (
    "fp8e4m3", "fp8e5m2", "fp16", "bf16", "fp32", "fp64", "int8", "int16", "int32",
)  # fmt: skip
_SUMS = ("auto", "fp16", "bf16", "fp32", "fp64", "int32", "int64")
_TRIPS = {"TRIPS_I": 0x80, "TRIPS_J": 0x84, "TRIPS_K": 0x88}
_BASES = {"A_BASE": 0x100, "B_BASE": 0x200, "C_BASE": 0x300}
_STRIDES = {
    "A_STRIDE_I": 0x108, "A_STRIDE_K": 0x118, "B_STRIDE_J": 0x210, "B_STRIDE_K": 0x218,
    "C_STRIDE_I": 0x308, "C_STRIDE_J": 0x310,
}  # fmt: skip

LIMITS = Limits(
    settings=(
        *_SETTINGS,
        Setting(
            name="design",
            accepted=("gemm", "mttkrp", "sparse/spmm"),
            refused=("", "Gemm", "a/b/c", "../gemm", 1),
            must="the name of a design, or a file that ends in .py",
        ),
        Setting(
            name="sizes",
            accepted=("", "II=2", "II=2,JJ=2"),
            refused=("II", "II=0", "II=2,II=2", "II=2;JJ=2", 1),
            must="sizes as II=2,JJ=2",
        ),
        one_of("format", "auto", *_FORMATS),
        *(
            one_of("accumulator", *_SUMS, accepted=accepted, format=format)
            for format, accepted in (
                ("fp16", ("auto", "fp16", "fp32", "fp64")),
                ("bf16", ("bf16",)),
                ("int8", ("int32", "int64")),
            )
        ),
        Setting(
            name="managers",
            accepted=(1, 2, 4),
            refused=(0, 5),
            must="an integer in 1..4",
            given={"design": "mttkrp"},
        ),
    ),
    job=dict.fromkeys(_TRIPS, 1),
    edges=(
        Edge(registers=_TRIPS, accepted=(1, 65535), refused={0: 1, 65536: 2, 1 << 31: 2}),
        bases(_BASES, step=16, misaligned=3, too_far=5),
        bases(_STRIDES, step=16, misaligned=4, too_far=5),
    ),
    reads=("A_BASE", "B_BASE"),
)
