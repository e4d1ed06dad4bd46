// Random numbers for gaps, stalls and latencies: the same seed gives the same ones.
#pragma once

#include <cstdint>

class Random {
public:
    explicit Random(uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15ull + 0xD1B54A32D192ED03ull) {
        if (state_ == 0) state_ = 1;
    }

    uint64_t bits() {
        state_ ^= state_ << 13;
        state_ ^= state_ >> 7;
        state_ ^= state_ << 17;
        return state_ * 0x2545F4914F6CDD1Dull;
    }

    // True in `threshold` of 2^32 cases; draws nothing when that is none.
    bool chance(uint64_t threshold) { return threshold != 0 && (bits() >> 32) < threshold; }

    // Any of `low` .. `high`, at most 2^32 apart.
    uint64_t between(uint64_t low, uint64_t high) {
        return low == high ? low : low + ((bits() >> 32) * (high - low + 1) >> 32);
    }

private:
    uint64_t state_;
};
