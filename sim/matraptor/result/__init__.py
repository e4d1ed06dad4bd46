"""What a product is, in the order in which the hardware adds."""
