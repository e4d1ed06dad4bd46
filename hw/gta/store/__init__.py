"""Transfer of results from the lanes to memory."""
