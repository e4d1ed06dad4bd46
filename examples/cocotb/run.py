"""Builds the bench for a simulator, and runs it: ``python run.py [verilator|icarus]``."""

import sys

from cocotb_tools.runner import get_results, get_runner


def main() -> int:
    """Returns 0 if all tests pass."""
    simulator = sys.argv[1] if len(sys.argv) > 1 else "verilator"
    runner = get_runner(simulator)
    runner.build(
        sources=["engine.sv"],
        hdl_toplevel="engine_simd2",
        build_args=["-g2012"] if simulator == "icarus" else [],
        timescale=("1ns", "1ps"),
    )
    results = runner.test(
        test_module="engine_bench", hdl_toplevel="engine_simd2", test_dir=".", seed=1
    )
    tests, failed = get_results(results)
    print(f"{'FAIL' if failed else 'PASS'}: {tests} tests, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
