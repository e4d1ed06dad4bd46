// Rules of AXI that the unit broke, in words.
#pragma once

#include <cinttypes>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

class Faults {
public:
    explicit Faults(const uint64_t& cycle) : cycle_(cycle) {}

    // Notes a fault of a port; `format` as in printf.
    __attribute__((format(printf, 3, 4)))
    void add(const std::string& port, const char* format, ...) {
        char text[256];
        va_list values;
        va_start(values, format);
        std::vsnprintf(text, sizeof text, format, values);
        va_end(values);
        lines_.push_back("`" + port + "`: " + text + ", cycle " + std::to_string(cycle_));
    }
    const std::vector<std::string>& lines() const { return lines_; }

private:
    const uint64_t& cycle_;
    std::vector<std::string> lines_;
};

// What a sender has on a channel, held to the rule that it stays until it is taken.
template <typename Payload> class Held {
public:
    // Notes a cycle; true if the payload moves.
    bool sample(bool valid, bool ready, const Payload& payload, Faults& faults,
                const std::string& port, const char* channel) {
        if (held_ && !valid) faults.add(port, "%s took back its valid", channel);
        if (held_ && valid && !(payload == payload_))
            faults.add(port, "%s changed before ready", channel);
        held_ = valid && !ready;
        if (held_) payload_ = payload;
        return valid && ready;
    }
    bool waits() const { return held_; }
    void clear() { held_ = false; }

private:
    bool held_ = false;
    Payload payload_{};
};
