"""What a Tensaurus computes, bit for bit, from patterns."""
