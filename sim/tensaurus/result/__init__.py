"""Golden models of a Tensaurus, bit for bit, from patterns."""
