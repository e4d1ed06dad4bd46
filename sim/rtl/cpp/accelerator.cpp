// Runs one Verilated accelerator: a memory behind its AXI4 managers, a program at its registers.
//
// Besides what model.h needs, the generated native_glue.h defines visit_ports, which names
// the ports used here, and kAxiRules, the
// texts of the checkers' rules.

#include <memory>
#include <string>
#include <vector>

#include "axi_faults.h"
#include "axi_lite.h"
#include "axi_manager.h"
#include "model.h"

namespace {

constexpr int kDone = 0, kTimeOut = 1, kFault = 2, kWavesLost = 3;
constexpr int kResetCycles = 4;

struct ManagerSettings {
    const char* prefix;
    uint64_t width;    // bytes of a beat
    uint64_t id_bits;
};

struct Settings {
    const char* registers;  // prefix of the AXI4-Lite subordinate
    const char* interrupt;
    const ManagerSettings* managers;
    uint64_t manager_count;
    uint8_t* memory;
    uint64_t base, size;
};

class Accelerator {
public:
    explicit Accelerator(const Settings& settings)
        : pins_(*model_), memory_(settings.memory, settings.base, settings.size), faults_(cycle_),
          lite_(settings.registers, pins_), interrupt_(pins_[settings.interrupt]) {
        for (uint64_t i = 0; i < settings.manager_count; ++i) {
            const ManagerSettings& manager = settings.managers[i];
            managers_.emplace_back(new Manager(
                manager.prefix, pins_, static_cast<uint32_t>(manager.width),
                static_cast<unsigned>(manager.id_bits), i, memory_));
        }
    }

    void behave(const Behaviour& behaviour) {
        memory_.behave(behaviour);
        lite_.behave(behaviour);
        follows_ = false;
        for (auto& manager : managers_) {
            manager->behave(behaviour);
            follows_ = follows_ || manager->follows_valid();
        }
    }

    int reset() {
        const std::size_t known = faults_.lines().size();
        cycle_ = 0;
        lite_.reset();
        for (auto& manager : managers_) manager->reset();
        faults_.listen();
        set_reset(*model_, true);
        for (int i = 0; i < kResetCycles; ++i) {
            model_.settle();
            model_.edge();
        }
        set_reset(*model_, false);
        // Nothing may be valid before the first edge without reset.
        model_.settle();
        model_.edge();
        return faults_.lines().size() > known ? kFault : kDone;
    }

    int run(uint64_t cycles, bool until_interrupt) {
        return step_until(cycles, [&] { return until_interrupt && interrupt(); }, !until_interrupt);
    }
    int write(uint64_t offset, uint32_t value, uint64_t limit) {
        if (const int status = finish_access(limit)) return status;
        lite_.begin_write(offset, value);
        return finish_access(limit);
    }
    int read(uint64_t offset, uint64_t limit) {
        if (const int status = finish_access(limit)) return status;
        lite_.begin_read(offset);
        return finish_access(limit);
    }

    bool interrupt() const { return interrupt_.get() != 0; }
    uint64_t cycle() const { return cycle_; }
    const LiteMaster& lite() const { return lite_; }
    const Faults& faults() const { return faults_; }
    const Manager& manager(uint64_t number) const { return *managers_[number]; }
    ClockedModel& model() { return model_; }

private:
    int finish_access(uint64_t limit) {
        return step_until(limit, [this] { return !lite_.busy(); }, false);
    }

    // Cycles until something holds; to be out of cycles is fine if `any`. Ends at a fault, and
    // where the waves can no longer be written.
    template <typename Done> int step_until(uint64_t cycles, Done done, bool any) {
        faults_.listen();
        const std::size_t known = faults_.lines().size();
        for (; !done(); --cycles) {
            if (cycles == 0) return any ? kDone : kTimeOut;
            step();
            if (faults_.lines().size() > known) return kFault;
            if (model_.waves_error()) return kWavesLost;
        }
        return kDone;
    }

    void step() {
        lite_.offer();
        for (auto& manager : managers_) manager->offer(cycle_);
        model_.settle();
        if (follows_) {
            for (auto& manager : managers_) manager->follow_valid();
            model_.settle();
        }
        lite_.sample();
        for (auto& manager : managers_) manager->sample(cycle_);
        model_.edge();
        ++cycle_;
    }

    ClockedModel model_;
    const Pins pins_;
    uint64_t cycle_ = 0;
    bool follows_ = false;  // a manager has a READY that depends on a VALID of the same cycle
    Memory memory_;
    Faults faults_;
    LiteMaster lite_;
    Pin interrupt_;
    std::vector<std::unique_ptr<Manager>> managers_;
};

Accelerator& of(void* accelerator) { return *static_cast<Accelerator*>(accelerator); }

}  // namespace

#define EXPORT __attribute__((visibility("default")))

extern "C" {

EXPORT void* native_create(const Settings* settings) { return new Accelerator(*settings); }

// Returns what kept the waves from being written, a number of errno.h, or 0.
EXPORT int native_destroy(void* accelerator) {
    const int error = of(accelerator).model().finish();
    delete &of(accelerator);
    return error;
}

EXPORT void native_behave(void* accelerator, const Behaviour* behaviour) {
    of(accelerator).behave(*behaviour);
}

EXPORT int native_reset(void* accelerator) { return of(accelerator).reset(); }

EXPORT int native_run(void* accelerator, uint64_t cycles, int until_interrupt) {
    return of(accelerator).run(cycles, until_interrupt != 0);
}

EXPORT int native_write(void* accelerator, uint64_t offset, const uint32_t* value, uint64_t limit,
                        uint32_t* response) {
    const int status = of(accelerator).write(offset, *value, limit);
    *response = of(accelerator).lite().response();
    return status;
}

EXPORT int native_read(void* accelerator, uint64_t offset, uint32_t* value, uint64_t limit,
                       uint32_t* response) {
    const int status = of(accelerator).read(offset, limit);
    *response = of(accelerator).lite().response();
    *value = of(accelerator).lite().value();
    return status;
}

EXPORT int native_interrupt(void* accelerator) { return of(accelerator).interrupt(); }

EXPORT uint64_t native_cycle(void* accelerator) { return of(accelerator).cycle(); }

// Reads, then writes, of a manager.
EXPORT void native_traffic(void* accelerator, uint64_t manager, Traffic* traffic) {
    const Manager& found = of(accelerator).manager(manager);
    traffic[0] = found.traffic[Manager::kRead];
    traffic[1] = found.traffic[Manager::kWrite];
}

EXPORT uint64_t native_fault_count(void* accelerator) {
    return of(accelerator).faults().lines().size();
}

EXPORT const char* native_fault(void* accelerator, uint64_t number) {
    return of(accelerator).faults().lines()[number].c_str();
}

#ifdef NATIVE_TRACE
EXPORT int native_trace(void* accelerator, const char* path) {
    of(accelerator).model().trace(path);
    return of(accelerator).model().waves_error();
}
#endif
}
