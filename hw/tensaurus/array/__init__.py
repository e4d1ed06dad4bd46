"""The rows and columns of processing elements, and what feeds them."""
