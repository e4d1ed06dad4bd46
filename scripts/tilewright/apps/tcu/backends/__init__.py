"""What multiplies, a module each: a function from the options, checked, to a backend."""
