"""Array of processing elements in rows and columns, and the components that feed it."""
