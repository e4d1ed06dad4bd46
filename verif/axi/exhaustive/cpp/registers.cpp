// Runs of AXI4-Lite registers: two writes and two reads, each channel with delays of its own.
//
// The map is the one of registers.py: VALUE (rw, 32 bits), FLAGS (w1c, 8 bits), PULSE (wo, 4 bits)
// and STATE (ro, 8 bits), in the first four words; nothing behind them.

#include "ports.h"

namespace {

constexpr unsigned kWrites = 2, kReads = 2;
constexpr uint32_t kReset = 0x12345678;

struct Case {
    int32_t script;
    int32_t aw[kWrites], w[kWrites], ar[kReads];  // cycles from the one before to VALID
    Pattern b, r;                                 // READY
    int32_t set_at, clear_at;                     // cycles in which the hardware does so to bits
                                                  // of FLAGS, -1: none
    int32_t patience;
};

struct Script {
    uint32_t place[kWrites], data[kWrites], strobe[kWrites], read[kReads];
};

// One channel of a master: transfers, each so long after the one before.
struct Sender {
    Stream port;
    const int32_t* delays;
    unsigned count, next = 0;
    int from = 0;
    int taken[2] = {-1, -1};

    bool offers(int cycle) const { return next < count && cycle >= from + delays[next]; }
    void moved(int cycle) { taken[next++] = cycle, from = cycle + 1; }
};

class Registers : public Bench {
public:
    Registers()
        : aw_(stream("aw")), w_(stream("w")), b_(stream("b")), ar_(stream("ar")), r_(stream("r")),
          value_(port("value")), flags_(port("flags")), set_(port("flags_set")),
          clear_(port("flags_clear")), pulse_(port("pulse")), state_(port("state")) {}

    void spoil(int way) {
        *static_cast<uint8_t*>(port("spoil").at) = way;
    }

    void script(int number, const Script& script) {
        if (scripts_.size() <= size_t(number)) scripts_.resize(number + 1);
        scripts_[number] = script;
    }

    void run(const Case& asked, Verdict* verdict) {
        begin(verdict);
        const Script& script = scripts_[asked.script];
        Sender aw{aw_, asked.aw, kWrites}, w{w_, asked.w, kWrites}, ar{ar_, asked.ar, kReads};
        for (Sender* sender : {&aw, &w, &ar}) sender->port.valid.set(false);
        b_.ready.set(false), r_.ready.set(false);
        put(set_, 0), put(clear_, 0);
        reset();
        free_since_ = 0;
        unsigned written = 0, answered = 0, replied = 0;
        bool b_held = false, r_held = false;
        Bits b_payload = 0, r_payload = 0;
        uint32_t value = kReset, flags = 0, before_set = 0, before_clear = 0;
        Bits replies[kReads] = {};
        while ((answered < kWrites || replied < kReads) && !faulty()) {
            if (cycle_ > asked.patience) {
                fault("not done");
                break;
            }
            for (Sender* sender : {&aw, &w, &ar}) sender->port.valid.set(sender->offers(cycle_));
            if (aw.offers(cycle_)) put(aw_.payload, 4 * script.place[aw.next]);
            if (w.offers(cycle_))
                put(w_.payload, script.data[w.next] | uint64_t{script.strobe[w.next]} << 32);
            if (ar.offers(cycle_)) put(ar_.payload, 4 * script.read[ar.next]);
            const uint32_t set = cycle_ == asked.set_at ? 0xFF : 0;
            const uint32_t cleared = cycle_ == asked.clear_at ? 0x3C : 0;
            put(set_, set), put(clear_, cleared);
            put(state_, cycle_ & 0xFF);
            b_.ready.set(false), r_.ready.set(false);
            settle();
            const bool b = b_.valid.high(), r = r_.valid.high();
            const bool aw_ready = aw_.ready.high(), w_ready = w_.ready.high(), ar_ready = ar_.ready.high();
            b_.ready.set(asked.b.at(cycle_)), r_.ready.set(asked.r.at(cycle_));
            settle();
            if (b_.valid.high() != b || r_.valid.high() != r) fault("a VALID follows a READY");
            if (aw_.ready.high() != aw_ready || w_.ready.high() != w_ready || ar_.ready.high() != ar_ready)
                fault("a READY follows a READY");
            if (r != (replied < ar.next)) fault("data do not come a cycle after their address");
            if (ar_ready == r) fault("ARREADY does not wait for RREADY alone");

            // A new response: the write takes effect with it, after both its transfers.
            uint32_t pulse = 0, clear = 0;
            if (b && !b_held) {
                if (written >= aw.next || written >= w.next) {
                    fault("a response before address and data");
                    break;
                }
                const int later = std::max(aw.taken[written], w.taken[written]);
                if (cycle_ != std::max(later + 2, free_since_ + 1))
                    fault("a write does not take effect two cycles after address and data");
                uint32_t mask = 0;
                for (unsigned n = 0; n < 4; ++n)
                    if (script.strobe[written] >> n & 1) mask |= 0xFFu << 8 * n;
                const uint32_t data = script.data[written] & mask;
                const uint32_t place = script.place[written];
                if (place == 0) value = (value & ~mask) | data;
                if (place == 1) clear = data & 0xFF;
                if (place == 2) pulse = data & 0xF;
                if (field(b_.payload.get(), 0, 2) != (place <= 2 ? 0u : 2u)) fault("another response");
                ++written;
            }
            flags = (flags & ~(clear | before_clear)) | before_set;
            before_set = set, before_clear = cleared;
            if (field(value_.get(), 0, 32) != value) fault("another value");
            if (field(flags_.get(), 0, 8) != flags) fault("other flags");
            if (field(pulse_.get(), 0, 4) != pulse) fault("another pulse");
            if (b_held && (!b || b_.payload.get() != b_payload)) fault("b changes before ready");
            if (r_held && (!r || r_.payload.get() != r_payload)) fault("r changes before ready");
            if (r && replied < ar.next && r_.payload.get() != replies[replied]) fault("other data");
            // What moves.
            const bool b_moves = b && b_.ready.high(), r_moves = r && r_.ready.high();
            b_held = b && !b_moves, b_payload = b_.payload.get();
            r_held = r && !r_moves, r_payload = r_.payload.get();
            if (b_held) free_since_ = cycle_ + 1;
            if (ar.offers(cycle_) && ar_.ready.high()) {
                const uint32_t place = script.read[ar.next];
                const uint32_t words[] = {value, flags, 0, uint32_t(cycle_ & 0xFF)};
                replies[ar.next] = place < 4 ? Bits{words[place]} : Bits{2} << 32;
                ar.moved(cycle_);
            }
            if (aw.offers(cycle_) && aw_.ready.high()) aw.moved(cycle_);
            if (w.offers(cycle_) && w_.ready.high()) w.moved(cycle_);
            answered += b_moves, replied += r_moves;
            edge();
        }
        if (aw.taken[0] >= 0 && w.taken[0] >= 0) {
            verdict->overtakes = w.taken[0] < aw.taken[0];
            verdict->idle_after = std::abs(w.taken[0] - aw.taken[0]);
        }
        verdict->moved = answered + replied;
        verdict->cycles = cycle_;
    }

private:
    static void put(const Port& port, uint64_t number) { std::memcpy(port.at, &number, port.bytes); }

    Stream aw_, w_, b_, ar_, r_;
    Port value_, flags_, set_, clear_, pulse_, state_;
    std::vector<Script> scripts_;
    int free_since_ = 0;
};

}  // namespace

EXPORT void* registers_create() { return new Registers; }
EXPORT void registers_destroy(void* bench) { delete static_cast<Registers*>(bench); }

EXPORT void registers_script(void* bench, int number, const Script* script) {
    static_cast<Registers*>(bench)->script(number, *script);
}

// The way in which a top that has a port `spoil` is spoilt.
EXPORT void registers_spoil(void* bench, int way) { static_cast<Registers*>(bench)->spoil(way); }

EXPORT uint64_t registers_run(
    void* bench, const Case* cases, uint64_t count, Verdict* verdict, uint64_t* cycles) {
    return run_all(*static_cast<Registers*>(bench), cases, count, verdict, cycles);
}
