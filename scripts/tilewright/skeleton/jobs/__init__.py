"""The jobs that bench skeletons of accelerators run: a module each, which is written into them."""
