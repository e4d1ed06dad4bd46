"""The tile engine: a matrix unit with memory access, scratchpads and a tile sequencer."""
