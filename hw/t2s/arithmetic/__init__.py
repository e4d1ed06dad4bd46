"""What an element adds to its sums."""
