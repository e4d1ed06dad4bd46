"""Applications on the tile engine: with memory around the matrix unit."""
