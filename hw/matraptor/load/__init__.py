"""From C2SR in memory to the entries, row pairs and products of a lane."""
