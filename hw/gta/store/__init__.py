"""How results go from the lanes to memory."""
