"""The matrix units of the catalogue as backends: what they hold, results and cycles."""
