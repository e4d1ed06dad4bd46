// The bandwidth of a memory channel.
#pragma once

#include <algorithm>
#include <cstdint>

// Reads and writes that share a rate of one beat in `cost` / 2^16 cycles.
class SharedRate {
public:
    void configure(uint64_t cost) { cost_ = cost, next_ = 0; }
    bool limited() const { return cost_ != 0; }
    bool free(uint64_t now) const { return cost_ == 0 || (now << 16) >= next_; }
    // A fraction of a cycle that a beat came late is made good.
    void use(uint64_t now) {
        const uint64_t credit = std::min(now << 16, uint64_t{0xFFFF});
        if (cost_) next_ = std::max(next_, (now << 16) - credit) + cost_;
    }

private:
    uint64_t cost_ = 0, next_ = 0;
};
