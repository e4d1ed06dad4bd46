"""What benches of several subjects share beside their drivers and monitors (``verif/bench``)."""
