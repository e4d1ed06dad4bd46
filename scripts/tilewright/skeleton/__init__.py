"""``tilewright generate --cocotb``: a cocotb bench of a unit, for users to extend."""
