// How a simulation for cocotb ends that cannot go on, such as one whose waves find no space:
// Verilator's own way (verilated.cpp, which VL_USER_FATAL leaves it out of) flushes the waves once
// more, and waits for ever for a lock that it holds.

#include <cstdio>
#include <unistd.h>

#include "verilated.h"

void vl_fatal(const char*, int, const char*, const char* message) {
    std::fprintf(stderr, "%%Error: %s\n", message);
    std::fflush(stderr);
    _exit(1);
}
