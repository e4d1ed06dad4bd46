// What Verilator's FST writer wants of zlib, so that waves need no library: a stream of stored
// blocks (RFC 1950, 1951). The writer takes what is smaller, so a file has these parts as they are;
// the values themselves go through LZ4.
#pragma once

#include <cstdint>
#include <cstring>

using Bytef = unsigned char;
using uLong = unsigned long;
using uLongf = unsigned long;

constexpr int Z_OK = 0;
constexpr int Z_BUF_ERROR = -5;

namespace stored {

constexpr uLong kLargest = 65535;  // bytes of a block

inline uLong blocks(uLong size) { return size / kLargest + 1; }

inline uint32_t adler32(const Bytef* from, uLong size) {
    uint32_t low = 1, high = 0;
    for (uLong i = 0; i < size; ++i) {
        low = (low + from[i]) % 65521;
        high = (high + low) % 65521;
    }
    return high << 16 | low;
}

}  // namespace stored

inline uLong compressBound(uLong size) { return size + 5 * stored::blocks(size) + 6; }

inline int compress2(Bytef* target, uLongf* length, const Bytef* source, uLong size, int) {
    if (*length < compressBound(size)) return Z_BUF_ERROR;
    Bytef* out = target;
    *out++ = 0x78;
    *out++ = 0x01;
    uLong done = 0;
    for (uLong left = stored::blocks(size); left; --left) {
        const uLong part = left > 1 ? stored::kLargest : size - done;
        *out++ = left == 1;
        *out++ = static_cast<Bytef>(part);
        *out++ = static_cast<Bytef>(part >> 8);
        *out++ = static_cast<Bytef>(~part);
        *out++ = static_cast<Bytef>(~part >> 8);
        if (part) std::memcpy(out, source + done, part);
        out += part;
        done += part;
    }
    const uint32_t sum = stored::adler32(source, size);
    for (int shift = 24; shift >= 0; shift -= 8) *out++ = static_cast<Bytef>(sum >> shift);
    *length = static_cast<uLongf>(out - target);
    return Z_OK;
}
