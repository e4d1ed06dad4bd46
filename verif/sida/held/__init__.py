"""Elements that wait on chip, and what is done with them."""
