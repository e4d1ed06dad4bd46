// Runs one Verilated board: bytes from and to its serial line, bit by bit.
//
// Besides what model.h needs, the generated native_glue.h defines set_rx, tx and broken_rule.

#include <cstdint>
#include <deque>

#include "model.h"

namespace {

constexpr int kResetCycles = 4;
constexpr unsigned kFrameBits = 10;  // start bit, eight data bits, stop bit

// Shifts bytes out, each after the one before.
class Sender {
public:
    explicit Sender(unsigned divisor) : divisor_(divisor) {}
    void clear() { bits_ = wait_ = 0; queue_.clear(); }
    void put(uint8_t byte) { queue_.push_back(byte); }

    bool next() {
        if (wait_ == 0) {
            if (bits_ == 0 && !queue_.empty()) {
                word_ = 1u << (kFrameBits - 1) | queue_.front() << 1;
                queue_.pop_front();
                bits_ = kFrameBits;
            }
            if (bits_ == 0) return true;
            level_ = word_ & 1;
            word_ >>= 1;
            --bits_;
            wait_ = divisor_;
        }
        --wait_;
        return level_;
    }

private:
    unsigned divisor_, bits_ = 0, wait_ = 0, word_ = 0;
    bool level_ = true;
    std::deque<uint8_t> queue_;
};

// Samples bits in their middle.
class Receiver {
public:
    explicit Receiver(unsigned divisor) : divisor_(divisor) {}
    void clear() { bits_ = 0; }

    // Whether a byte is complete, which is put into `byte`.
    bool next(bool level, uint8_t& byte) {
        if (bits_ == 0) {
            if (!level) bits_ = kFrameBits, wait_ = divisor_ / 2;
            return false;
        }
        if (--wait_) return false;
        wait_ = divisor_;
        word_ = word_ >> 1 | unsigned{level} << (kFrameBits - 1);
        if (--bits_) return false;
        byte = static_cast<uint8_t>(word_ >> 1);
        return level;
    }

private:
    unsigned divisor_, bits_ = 0, wait_ = 0, word_ = 0;
};

class Board {
public:
    explicit Board(unsigned divisor) : sender_(divisor), receiver_(divisor) {}

    void reset() {
        sender_.clear();
        receiver_.clear();
        set_rx(*model_, true);
        set_reset(*model_, true);
        for (int i = 0; i < kResetCycles; ++i) cycle();
        set_reset(*model_, false);
    }

    uint64_t run(uint64_t cycles, const uint8_t* in, uint64_t count, uint8_t* out, uint64_t want) {
        for (uint64_t i = 0; i < count; ++i) sender_.put(in[i]);
        uint64_t found = 0;
        for (; cycles && found < want; --cycles) {
            set_rx(*model_, sender_.next());
            cycle();
            if (receiver_.next(tx(*model_), out[found])) ++found;
        }
        return found;
    }

    uint64_t cycles() const { return cycles_; }
    unsigned rule() { return broken_rule(*model_); }
    ClockedModel& model() { return model_; }

private:
    void cycle() {
        model_.settle();
        model_.edge();
        ++cycles_;
    }

    uint64_t cycles_ = 0;
    ClockedModel model_;
    Sender sender_;
    Receiver receiver_;
};

Board& of(void* board) { return *static_cast<Board*>(board); }

}  // namespace

#define EXPORT __attribute__((visibility("default")))

extern "C" {

EXPORT void* native_create(unsigned divisor) { return new Board(divisor); }

EXPORT int native_destroy(void* board) {
    const int error = of(board).model().finish();
    delete &of(board);
    return error;
}

EXPORT void native_reset(void* board) { of(board).reset(); }

// Sends bytes, and runs until as many have come as are wanted, at most so many cycles; returns how
// many have come.
EXPORT uint64_t native_run(void* board, uint64_t cycles, const uint8_t* in, uint64_t count,
                           uint8_t* out, uint64_t want) {
    return of(board).run(cycles, in, count, out, want);
}

EXPORT uint64_t native_cycles(void* board) { return of(board).cycles(); }

// The rule that the model of an SDRAM has found broken, 0 if there is none.
EXPORT unsigned native_rule(void* board) { return of(board).rule(); }
}
