// The memory behind all managers: one array of bytes, and what goes wrong in it.
#pragma once

#include <cstdint>
#include <cstring>
#include <unordered_map>

constexpr uint8_t kOkay = 0, kDecodeError = 3;

// How a memory answers; see AxiBehaviour in Python. Chances in units of 2^-32.
struct Behaviour {
    uint64_t seed;
    uint64_t least_latency, most_latency;
    uint64_t least_write_latency, most_write_latency;
    uint64_t stall_ar, stall_aw, stall_w, stall_r, stall_b, stall_registers;
    uint64_t mixed, aw_after_w, w_after_aw, ready_after_valid, one_read;
    uint64_t register_order;  // of a write: 0 address and data together, 1 address, 2 data first
    uint64_t beat_cost;  // cycles of a beat in units of 2^-16, 0: reads and writes at full rate
    uint64_t read_errors, write_errors;
    const uint64_t* read_addresses;
    const uint8_t* read_responses;
    const uint64_t* write_addresses;
    const uint8_t* write_responses;
};

class Memory {
public:
    Memory(uint8_t* bytes, uint64_t base, uint64_t size)
        : bytes_(bytes), base_(base), size_(size) {}

    void behave(const Behaviour& behaviour) {
        read_errors_.clear();
        write_errors_.clear();
        for (uint64_t i = 0; i < behaviour.read_errors; ++i)
            read_errors_[behaviour.read_addresses[i]] = behaviour.read_responses[i];
        for (uint64_t i = 0; i < behaviour.write_errors; ++i)
            write_errors_[behaviour.write_addresses[i]] = behaviour.write_responses[i];
    }

    // The response to reading the beat at an address, whose bytes are copied if it is OKAY.
    uint8_t read(uint64_t address, uint8_t* beat, uint32_t width) const {
        if (!holds(address, width)) return kDecodeError;
        if (const uint8_t response = find(read_errors_, address)) return response;
        std::memcpy(beat, bytes_ + (address - base_), width);
        return kOkay;
    }

    // The response to a burst of writes that starts at an address, as far as that decides it.
    uint8_t write_response(uint64_t start) const { return find(write_errors_, start); }

    // Writes the bytes of a beat that `strobe` names, if the beat lies in the memory.
    bool write(uint64_t address, const uint8_t* beat, uint32_t width, uint64_t strobe) {
        if (!holds(address, width)) return false;
        uint8_t* at = bytes_ + (address - base_);
        for (uint32_t i = 0; i < width; ++i)
            if (strobe >> i & 1) at[i] = beat[i];
        return true;
    }

private:
    using Errors = std::unordered_map<uint64_t, uint8_t>;

    bool holds(uint64_t address, uint32_t width) const {
        const uint64_t offset = address - base_;
        return address >= base_ && offset < size_ && size_ - offset >= width;
    }
    static uint8_t find(const Errors& errors, uint64_t address) {
        if (errors.empty()) return kOkay;
        const auto found = errors.find(address);
        return found == errors.end() ? kOkay : found->second;
    }

    uint8_t* bytes_;
    uint64_t base_, size_;
    Errors read_errors_, write_errors_;
};
