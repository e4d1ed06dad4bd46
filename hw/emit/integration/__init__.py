"""Files for integrators beside the modules: a package of types, an instance to paste, a C
header, SystemRDL, IP-XACT, a FuseSoC core, a list of files.

Everything is written from the sidecar, taken as the dictionary that its file holds: what a text
says, any other program could have read there, and a unit that has a sidecar has them all. So the
folder is part of the emitter, which makes sidecars; it is plain Python, imports neither Amaranth
nor a system, and a new system has its outputs without a line here.
"""
