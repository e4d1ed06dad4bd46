// A Verilated unit whose caller drives its ports one by one, and its clock.
//
// native_glue.h is generated: it defines the model class `Model`, set_clock and visit_ports.

#include <cstring>

#include "native_glue.h"
#include "verilated.h"

namespace {

struct Simulation {
    VerilatedContext context;
    Model model{&context};
};

Simulation& of(void* simulation) { return *static_cast<Simulation*>(simulation); }

void half(Model& model, bool high) {
    set_clock(model, high);
    model.eval();
}

}  // namespace

#define EXPORT __attribute__((visibility("default")))

extern "C" {

EXPORT void* native_create() { return new Simulation; }

EXPORT void native_destroy(void* simulation) {
    of(simulation).model.final();
    delete &of(simulation);
}

// Where the value of a port is, as Verilator keeps it; null for an unknown name.
EXPORT void* native_port(void* simulation, const char* name) {
    void* found = nullptr;
    visit_ports(of(simulation).model, [&](const char* port, auto& value) {
        if (!std::strcmp(port, name)) found = &value;
    });
    return found;
}

// Outputs follow the inputs.
EXPORT void native_settle(void* simulation) { half(of(simulation).model, false); }

// A clock edge; then outputs follow.
EXPORT void native_tick(void* simulation) {
    half(of(simulation).model, true);
    half(of(simulation).model, false);
}
}
