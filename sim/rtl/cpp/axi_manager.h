// The memory's side of one AXI4 manager: bursts in, responses out. Checkers hold both sides to the
// rules of AXI; here they are taken to hold.
#pragma once

#include <algorithm>
#include <array>
#include <deque>
#include <string>

#include "axi_channel.h"
#include "axi_memory.h"
#include "axi_queue.h"
#include "axi_rate.h"

constexpr std::size_t kAhead = 256;  // beats that W may lead AW by

// What went over one direction of a manager since the last reset.
struct Traffic {
    uint64_t bursts, beats, bytes;
    uint64_t busy;       // cycles with a burst under way
    uint64_t waits;      // cycles in which a transfer waited: W for the memory, R for the unit
    uint64_t under_way;  // bursts without their last response
    uint64_t most;       // bursts that were under way at a time
};

class Manager {
public:
    Manager(const std::string& prefix, const Pins& pins, uint32_t width, unsigned id_bits,
            uint64_t number, Memory& memory)
        : number_(number), ar_(pins, prefix + "_ar"), aw_(pins, prefix + "_aw"),
          w_(pins, prefix + "_w"), r_(pins, prefix + "_r"), b_(pins, prefix + "_b"),
          width_(width), id_bits_(id_bits), memory_(memory) {}

    // Nothing may be under way.
    void behave(const Behaviour& behaviour) {
        behaviour_ = behaviour;
        random_ = Random(behaviour.seed + (number_ + 1) * 0xA0761D6478BD642Full);
        rate_.configure(behaviour.beat_cost);
        reads_.configure(behaviour.mixed, id_bits_);
        writes_.configure(behaviour.mixed, id_bits_);
    }

    void reset() {
        for (const Pin& pin : {ar_.ready, aw_.ready, w_.ready, r_.valid, b_.valid}) pin.set(0);
        ahead_.clear();
        awaiting_.clear();
        behave(behaviour_);
        r_out_ = b_out_ = more_data_ = false;
        ar_waits_ = aw_waits_ = w_waits_ = false;
        traffic = {};
    }

    // Sets the unit's inputs for a cycle.
    void offer(uint64_t now) {
        const bool late = behaviour_.ready_after_valid;
        ar_ready_ = !random_.chance(behaviour_.stall_ar) && (!late || ar_waits_) &&
                    !(behaviour_.one_read && traffic[kRead].under_way);
        aw_ready_ = !random_.chance(behaviour_.stall_aw) && (!late || aw_waits_);
        bool take = !random_.chance(behaviour_.stall_w) && ahead_.size() < kAhead &&
                    (!late || w_waits_);
        bool send = !r_out_ && !random_.chance(behaviour_.stall_r);
        Burst* burst = send ? reads_.choose(now, random_) : nullptr;
        if (rate_.limited()) {
            // One of the two at most; when both want to, they take turns.
            if (!rate_.free(now) || (more_data_ && take && read_last_)) burst = nullptr;
            take = take && rate_.free(now) && !burst;
        }
        if (burst) {
            send_beat(*burst);
            rate_.use(now);
            read_last_ = true;
        }
        w_ready_ = take;
        if (!b_out_ && !random_.chance(behaviour_.stall_b)) answer(now);
        ar_.ready.set(ar_ready_);
        aw_.ready.set(aw_ready_);
        w_.ready.set(w_ready_);
        r_.valid.set(r_out_);
        b_.valid.set(b_out_);
    }

    // Whether this cycle's AWREADY or WREADY depends on a VALID of this cycle.
    bool follows_valid() const { return behaviour_.aw_after_w || behaviour_.w_after_aw; }

    // Takes those back whose VALID is not there.
    void follow_valid() {
        const bool address = aw_.valid.get() || !awaiting_.empty();
        const bool data = w_.valid.get() || !ahead_.empty();
        if (behaviour_.aw_after_w) aw_.ready.set(aw_ready_ = aw_ready_ && data);
        if (behaviour_.w_after_aw) w_.ready.set(w_ready_ = w_ready_ && address);
    }

    // Sees what moves at the end of the cycle.
    void sample(uint64_t now) {
        for (Traffic& side : traffic) side.busy += side.under_way != 0;
        Address address;
        ar_waits_ = ar_.valid.get() && !ar_ready_;
        aw_waits_ = aw_.valid.get() && !aw_ready_;
        w_waits_ = w_.valid.get() && !w_ready_;
        if (take_address(ar_, ar_ready_, traffic[kRead], address)) {
            Burst burst = begin(address);
            burst.due = now + read_latency();
            reads_.push(burst);
        }
        if (take_address(aw_, aw_ready_, traffic[kWrite], address)) {
            awaiting_.push_back(begin(address));
            awaiting_.back().response = memory_.write_response(address.address);
        }
        take_data(now);
        match_data(now);
        finish_read();
        if (b_out_ && b_.ready.get()) {
            b_out_ = false;
            --traffic[kWrite].under_way;
        }
    }

    static constexpr unsigned kRead = 0, kWrite = 1;
    std::array<Traffic, 2> traffic{};

private:
    uint64_t read_latency() {
        return random_.between(behaviour_.least_latency, behaviour_.most_latency);
    }
    uint64_t write_latency() {
        return random_.between(behaviour_.least_write_latency, behaviour_.most_write_latency);
    }

    static Burst begin(const Address& address) {
        Burst burst;
        burst.start = burst.address = address.address;
        burst.id = static_cast<uint32_t>(address.id);
        burst.left = static_cast<uint32_t>(address.beats);
        return burst;
    }

    static bool take_address(const Channel& channel, bool ready, Traffic& side, Address& address) {
        if (!channel.valid.get() || !ready) return false;
        address = {channel.addr.get(), channel.id.get(), channel.len.get() + 1};
        ++side.bursts;
        ++side.under_way;
        side.most = std::max(side.most, side.under_way);
        return true;
    }

    void take_data(uint64_t now) {
        const bool valid = w_.valid.get(), moved = valid && w_ready_;
        if (moved) {
            WriteBeat& beat = ahead_.emplace_back();
            w_.data.load(beat.data.data(), width_);
            beat.strobe = w_.strb.get();
            beat.last = w_.last.get();
            rate_.use(now);
            read_last_ = false;
        }
        more_data_ = valid && !(moved && ahead_.back().last);
        traffic[kWrite].waits += valid && !w_ready_;
    }

    // Gives data to the bursts they belong to; either may come first.
    void match_data(uint64_t now) {
        while (!ahead_.empty() && !awaiting_.empty()) {
            Burst& burst = awaiting_.front();
            write(burst, ahead_.front());
            ahead_.pop_front();
            if (burst.left) continue;
            burst.due = now + write_latency();
            writes_.push(burst);
            awaiting_.pop_front();
        }
    }

    void write(Burst& burst, const WriteBeat& beat) {
        const uint64_t place = burst.address & ~uint64_t(width_ - 1);
        --burst.left;
        const bool fails = memory_.write_response(burst.start) != kOkay;
        if (!fails && !memory_.write(place, beat.data.data(), width_, beat.strobe))
            burst.response = kDecodeError;
        burst.address = place + width_;
        ++traffic[kWrite].beats;
        traffic[kWrite].bytes += __builtin_popcountll(beat.strobe);
    }

    // Puts a burst's next beat on R; random bytes if it is an error.
    void send_beat(Burst& burst) {
        std::array<uint8_t, kWidest> beat;
        const uint64_t place = burst.address & ~uint64_t(width_ - 1);
        const uint8_t response = memory_.read(place, beat.data(), width_);
        if (response != kOkay)
            for (uint32_t i = 0; i < width_; ++i)
                beat[i] = static_cast<uint8_t>(random_.bits() >> 56);
        burst.address = place + width_;
        --burst.left;
        r_.data.store(beat.data(), width_);
        r_.id.set(burst.id);
        r_.resp.set(response);
        r_last_ = burst.left == 0;
        r_.last.set(r_last_);
        r_out_ = true;
        if (r_last_) reads_.pop();
    }

    void answer(uint64_t now) {
        const Burst* burst = writes_.choose(now, random_);
        if (!burst) return;
        b_.id.set(burst->id);
        b_.resp.set(burst->response);
        b_out_ = true;
        writes_.pop();
    }

    void finish_read() {
        if (!r_out_) return;
        Traffic& side = traffic[kRead];
        if (!r_.ready.get()) {
            ++side.waits;
            return;
        }
        ++side.beats;
        side.bytes += width_;
        side.under_way -= r_last_;
        r_out_ = false;
    }

    const uint64_t number_;
    const Channel ar_, aw_, w_, r_, b_;
    const uint32_t width_;
    const unsigned id_bits_;
    Memory& memory_;
    Behaviour behaviour_{};
    Random random_{0};
    SharedRate rate_;
    std::deque<WriteBeat> ahead_;   // data that came before their address
    std::deque<Burst> awaiting_;    // writes whose data are not all here
    ResponseQueue reads_, writes_;
    bool ar_ready_ = false, aw_ready_ = false, w_ready_ = false;
    bool ar_waits_ = false, aw_waits_ = false, w_waits_ = false;  // valid, not ready, a cycle ago
    bool r_out_ = false, r_last_ = false, b_out_ = false;
    bool more_data_ = false;        // W is likely to have a beat in the next cycle
    bool read_last_ = false;        // the last beat at a limited rate was a read
};
