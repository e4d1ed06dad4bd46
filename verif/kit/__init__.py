"""What every bench shares.

Inside the simulator (cocotb): ``streams``, ``scoreboard``, ``bench``. Around it: ``job`` builds
once per configuration and runs any number of jobs; ``coverage`` counts; ``sampling`` and
``matrix_stimuli`` make operands. ``registered`` and ``arithmetic`` put combinational components
into the native harness.
"""
