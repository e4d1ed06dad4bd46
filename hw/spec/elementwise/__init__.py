"""Programs of the element-wise core between two products: instructions, their words, their text."""
