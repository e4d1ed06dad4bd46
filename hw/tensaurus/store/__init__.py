"""Store side: adds the sums of the rows tile by tile, and writes them to memory."""
