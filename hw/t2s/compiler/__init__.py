"""The compiler: passes from a computation and its mapping to functions joined by channels."""
