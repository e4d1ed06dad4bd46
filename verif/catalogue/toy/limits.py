"""The toy's limits, written by hand. A system's: ``verif/<name>``."""

from tilewright.verif.conformance.limits import Edge, Limits, bases, settings_of

LIMITS = Limits(
    settings=settings_of("""
        data_bits   | 64 128 512 | 32 96 1024 0 | a power of two in 64..512
        addr_bits   | 32 33 64   | 31 65        | an integer in 32..64
        outstanding | 1 2 32     | 0 33         | an integer in 1..32
    """),
    job={"BEATS": 1},
    edges=(
        Edge(registers={"BEATS": 0x110}, accepted=(1, 65535), refused={0: 1, 65536: 2}),
        bases({"SOURCE": 0x100, "TARGET": 0x108}, step=8, misaligned=3, too_far=4),
    ),
    reads=("SOURCE",),
)
