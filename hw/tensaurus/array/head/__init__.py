"""Head of a row, which selects the operations of the row's elements."""
