"""Runs algorithms on the (m, l)-TCU model on backends, and reports them."""
