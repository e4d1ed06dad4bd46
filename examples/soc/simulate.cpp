// The SoC's clock and serial port: prints what it sends. Ends when the SoC says so (0), or after as
// many cycles as the argument says (1).
#include <cstdio>
#include <cstdlib>

#include "Vsoc.h"
#include "verilated.h"

// What $finish does, as -DVL_USER_FINISH asks for: without a message.
void vl_finish(const char *, int, const char *)
{
    Verilated::threadContextp()->gotFinish(true);
}

int main(int, char **argv)
{
    Vsoc soc;
    soc.serial_source_ready = 1;
    soc.serial_sink_valid = 0;
    for (unsigned long long left = std::strtoull(argv[1], nullptr, 10); left; left--) {
        soc.sys_clk = 0;
        soc.eval();
        if (soc.serial_source_valid)
            std::putchar(soc.serial_source_data);
        soc.sys_clk = 1;
        soc.eval();
        if (Verilated::gotFinish())
            return 0;
    }
    std::puts("\nnot ended");
    return 1;
}
