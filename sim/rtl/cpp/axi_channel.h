// The channels of an AXI4 manager: their ports, and what they carry.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "axi_pins.h"

constexpr uint32_t kWidest = 64;  // bytes of a beat

// The ports of a channel; those that it does not have are absent.
struct Channel {
    Channel(const Pins& pins, const std::string& prefix)
        : valid(pins[prefix + "valid"]),
          ready(pins[prefix + "ready"]), id(pins[prefix + "id"]), addr(pins[prefix + "addr"]),
          len(pins[prefix + "len"]), data(pins[prefix + "data"]), strb(pins[prefix + "strb"]), resp(pins[prefix + "resp"]),
          last(pins[prefix + "last"]) {}
    Pin valid, ready, id, addr, len, data, strb, resp, last;
};

// What AR and AW carry.
struct Address {
    uint64_t address, id, beats;
};

// What W carries.
struct WriteBeat {
    std::array<uint8_t, kWidest> data;
    uint64_t strobe;
    bool last;
};
