"""The checkers of AXI, tested by traffic that they must flag and by traffic that they must not."""
