"""Tables of the (m, l)-TCU model."""
