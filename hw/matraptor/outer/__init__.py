"""The second mode: sums outer products on the chip."""
