"""What the models of Tensaurus compute."""
