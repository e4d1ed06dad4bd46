// The channels of an AXI4 manager: their ports, what they carry, and the rules for a burst.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "axi_faults.h"
#include "axi_pins.h"

constexpr uint32_t kWidest = 64;  // bytes of a beat
constexpr uint32_t kPage = 4096;  // that no burst may cross
constexpr uint64_t kIncrementing = 1;

// The ports of a channel; those that it does not have are absent.
struct Channel {
    Channel(const Pins& pins, const std::string& prefix)
        : letters(prefix.substr(prefix.rfind('_') + 1)), valid(pins[prefix + "valid"]),
          ready(pins[prefix + "ready"]), id(pins[prefix + "id"]), addr(pins[prefix + "addr"]),
          len(pins[prefix + "len"]), size(pins[prefix + "size"]), burst(pins[prefix + "burst"]),
          data(pins[prefix + "data"]), strb(pins[prefix + "strb"]), resp(pins[prefix + "resp"]),
          last(pins[prefix + "last"]) {}
    const char* name() const { return letters.c_str(); }
    std::string letters;
    Pin valid, ready, id, addr, len, size, burst, data, strb, resp, last;
};

// What AR and AW carry.
struct Address {
    uint64_t address, id, beats, size, burst;
    bool operator==(const Address& o) const {
        return address == o.address && id == o.id && beats == o.beats && size == o.size &&
               burst == o.burst;
    }
};

// What W carries.
struct WriteBeat {
    std::array<uint8_t, kWidest> data;
    uint64_t strobe;
    bool last;
    bool operator==(const WriteBeat& o) const {
        return data == o.data && strobe == o.strobe && last == o.last;
    }
};

// A burst must be INCR, of whole beats and within 4 KiB; if `aligned` it begins at a whole beat.
inline void check_burst(const Address& a, uint32_t width, bool aligned, Faults& faults,
                        const std::string& port, const char* channel) {
    const uint64_t place = a.address & (kPage - 1) & ~uint64_t(width - 1);
    const auto fault = [&](const char* what, uint64_t value) {
        faults.add(port, "%s 0x%" PRIx64 " %s %" PRIu64, channel, a.address, what, value);
    };
    if (a.burst != kIncrementing) fault("is not INCR but of burst type", a.burst);
    if (uint64_t{1} << a.size != width) fault("has not the bus's width but size", a.size);
    if (aligned && a.address % width) fault("is not a multiple of", width);
    if (place + a.beats * width > kPage) fault("crosses 4 KiB, its beats being", a.beats);
}
