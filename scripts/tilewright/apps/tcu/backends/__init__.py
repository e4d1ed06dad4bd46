"""Opens backends, one module each: a function from the options, checked, to a backend."""
