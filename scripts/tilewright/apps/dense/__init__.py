"""Dense matrix products, Fourier transforms and convolutions through a matrix unit."""
