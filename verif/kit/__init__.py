"""Code that benches of several subjects share besides drivers and monitors (``verif/bench``)."""
