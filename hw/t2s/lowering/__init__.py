"""From a program to the parts that its hardware is made of."""
