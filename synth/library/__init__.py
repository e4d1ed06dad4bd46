"""Cell libraries: Liberty files and what their cells compute."""
