// The ports of a Verilated unit by name, as integers or as bytes.
//
// Verilator keeps a port of up to 64 bits in an unsigned integer and a wider one in 32-bit words,
// the low one first: on a little-endian machine both are the port's bytes in order.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <string>

#include "native_glue.h"

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "ports are copied as little-endian bytes");

class Pin {
public:
    Pin() = default;
    template <typename T> explicit Pin(T& port) : at_(&port), bytes_(sizeof(T)) {}
    template <std::size_t N> explicit Pin(VlWide<N>& port) : at_(port.data()), bytes_(4 * N) {}

    // The value of a port of up to 64 bits; an absent port is 0 and swallows what is set.
    uint64_t get() const {
        switch (bytes_) {
            case 0: return 0;
            case 1: return *static_cast<const uint8_t*>(at_);
            case 2: return read<uint16_t>();
            case 4: return read<uint32_t>();
            default: return read<uint64_t>();
        }
    }
    void set(uint64_t value) const {
        if (bytes_) std::memcpy(at_, &value, bytes_ < 8 ? bytes_ : 8);
    }
    void load(uint8_t* bytes, std::size_t count) const { std::memcpy(bytes, at_, count); }
    void store(const uint8_t* bytes, std::size_t count) const { std::memcpy(at_, bytes, count); }

private:
    template <typename T> uint64_t read() const {
        T value;
        std::memcpy(&value, at_, sizeof(T));
        return value;
    }

    void* at_ = nullptr;
    uint32_t bytes_ = 0;
};

// All ports that the glue names; any other is absent.
class Pins {
public:
    explicit Pins(Model& model) {
        visit_ports(model, [this](const char* name, auto& port) { pins_[name] = Pin(port); });
    }
    Pin operator[](const std::string& name) const {
        const auto found = pins_.find(name);
        return found == pins_.end() ? Pin() : found->second;
    }

private:
    std::map<std::string, Pin> pins_;
};
