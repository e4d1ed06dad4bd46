"""Programs of the mapping language, run statement by statement: what their hardware has to give."""
