// Rules of AXI that were broken, in words.
//
// The checkers in SystemVerilog around the unit find them, and call axi_rules_broken.
#pragma once

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "native_glue.h"

class Faults {
public:
    explicit Faults(const uint64_t& cycle) : cycle_(cycle) {}

    // From now on, in this thread, the checkers' findings come here.
    void listen() { listener = this; }

    // Notes the rules of a port that were broken in this cycle, and the addresses on AR and AW.
    void add(unsigned port, uint64_t rules, uint64_t ar, uint64_t aw) {
        for (unsigned rule = 0; rules; ++rule, rules >>= 1) {
            if (!(rules & 1)) continue;
            const AxiRuleText& broken = kAxiRules[port][rule];
            char text[256];
            std::snprintf(text, sizeof text, broken.format, broken.of_write ? aw : ar);
            lines_.push_back(std::string(text) + ", cycle " + std::to_string(cycle_));
        }
    }
    const std::vector<std::string>& lines() const { return lines_; }

    inline static thread_local Faults* listener = nullptr;

private:
    const uint64_t& cycle_;
    std::vector<std::string> lines_;
};

extern "C" void axi_rules_broken(int port, unsigned long long rules, unsigned long long ar,
                                 unsigned long long aw) {
    Faults::listener->add(static_cast<unsigned>(port), rules, ar, aw);
}
