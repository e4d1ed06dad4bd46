"""verif.t2s.hardware"""
