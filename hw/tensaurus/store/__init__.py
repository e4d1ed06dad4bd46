"""The store side: what the rows have summed, added up tile by tile, and written to memory."""
