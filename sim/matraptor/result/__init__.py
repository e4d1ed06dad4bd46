"""Golden models of a product, with additions in the order of the hardware."""
