"""How good the tests are: small faults are put into the emitted Verilog, and tests must fail."""
