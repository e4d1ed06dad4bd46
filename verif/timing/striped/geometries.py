"""Channels, and blocks of a line, that the models of striped memory are tried with."""

from __future__ import annotations

from tilewright.hw.spec.channels import ChannelGeometry


def _geometry(channels: int, data_bits: int, interleave: int = 64) -> ChannelGeometry:
    return ChannelGeometry(
        channels=channels, data_bits=data_bits, interleave=interleave, addr_bits=32
    )


GEOMETRIES: dict[str, tuple[ChannelGeometry, int]] = {
    "one": (_geometry(1, 64), 1),
    "two": (_geometry(2, 256, 128), 1),
    "four": (_geometry(4, 256), 2),
    "three": (_geometry(3, 512), 3),
    "three, lines of two": (_geometry(3, 512), 2),
    "six": (_geometry(6, 512, 128), 1),
    "eight": (_geometry(8, 128), 2),
}
