"""What a pass computes, bit for bit: products, sums in their order, element-wise programs."""
