"""The emitted Verilog of any components, driven port by port at native speed."""
