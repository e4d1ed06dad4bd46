"""Memories that the benches of hw/channels run on."""

from __future__ import annotations

from tilewright.hw.spec.channels import ChannelGeometry
from tilewright.verif.kit.sampling import slow_but

GEOMETRIES = {
    "one channel": ChannelGeometry(channels=1, interleave=64, data_bits=64, addr_bits=32),
    "one channel, wide": ChannelGeometry(channels=1, interleave=256, data_bits=512),
    "three channels": ChannelGeometry(channels=3, interleave=64, data_bits=128),
    "three channels, long blocks": ChannelGeometry(
        channels=3, interleave=256, data_bits=64, addr_bits=64
    ),
    "eight channels": ChannelGeometry(channels=8, interleave=64),
    "eight channels, long blocks": ChannelGeometry(channels=8, interleave=256, data_bits=128),
    "a beat a block": ChannelGeometry(channels=3, interleave=64, data_bits=512),
}
"""Geometries by description: one channel, three and eight; short and long blocks; beats from an
eighth of a block to a whole one."""

EVERY = slow_but(
    ["one channel", "three channels, long blocks", "eight channels"], GEOMETRIES, ["a beat a block"]
)
"""Their names, as parameters of a test."""
