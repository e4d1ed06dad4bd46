// A program's side of an AXI4-Lite subordinate: one access at a time, with random gaps.
#pragma once

#include <string>

#include "axi_memory.h"
#include "axi_pins.h"
#include "random.h"

class LiteMaster {
public:
    LiteMaster(const std::string& prefix, const Pins& pins)
        : aw_(pins, prefix + "_aw"), w_(pins, prefix + "_w"),
          ar_(pins, prefix + "_ar"), b_(pins, prefix + "_b"), r_(pins, prefix + "_r") {}

    void behave(const Behaviour& behaviour) {
        behaviour_ = behaviour;
        random_ = Random(behaviour.seed);
    }

    void reset() {
        random_ = Random(behaviour_.seed);
        for (Request* request : {&aw_, &w_, &ar_}) {
            request->due = request->offered = false;
            request->valid.set(0);
        }
        for (Reply* reply : {&b_, &r_}) {
            reply->due = reply->waits = false;
            reply->ready.set(0);
        }
    }

    void begin_write(uint64_t offset, uint32_t value) {
        aw_.addr.set(offset);
        w_.data.set(value);
        w_.strb.set(0xF);
        aw_.due = w_.due = b_.due = true;
    }
    void begin_read(uint64_t offset) {
        ar_.addr.set(offset);
        ar_.due = r_.due = true;
    }
    bool busy() const { return b_.due || r_.due; }

    // Of the last access.
    uint32_t response() const { return response_; }
    uint32_t value() const { return value_; }

    void offer() {
        const uint64_t stall = behaviour_.stall_registers;
        for (Request* request : {&aw_, &w_, &ar_}) {
            const bool behind = (request == &w_ && behaviour_.register_order == 1 && aw_.due) ||
                                (request == &aw_ && behaviour_.register_order == 2 && w_.due);
            if (!request->offered)
                request->offered = request->due && !behind && !random_.chance(stall);
            request->valid.set(request->offered);
        }
        for (Reply* reply : {&b_, &r_}) {
            const bool late = behaviour_.ready_after_valid && !reply->waits;
            reply->accepts = reply->due && !late && !random_.chance(stall);
            reply->ready.set(reply->accepts);
        }
    }

    void sample() {
        take(b_);
        take(r_);
        for (Request* request : {&aw_, &w_, &ar_})
            if (request->offered && request->ready.get()) request->offered = request->due = false;
    }

private:
    struct Request {
        Request(const Pins& pins, const std::string& prefix)
            : valid(pins[prefix + "valid"]), ready(pins[prefix + "ready"]),
              addr(pins[prefix + "addr"]), data(pins[prefix + "data"]),
              strb(pins[prefix + "strb"]) {}
        Pin valid, ready, addr, data, strb;
        bool due = false, offered = false;
    };
    struct Reply {
        Reply(const Pins& pins, const std::string& prefix)
            : valid(pins[prefix + "valid"]),
              ready(pins[prefix + "ready"]), resp(pins[prefix + "resp"]),
              data(pins[prefix + "data"]) {}
        Pin valid, ready, resp, data;
        bool due = false, accepts = false;
        bool waits = false;  // valid, not ready, a cycle ago
    };

    void take(Reply& reply) {
        const bool valid = reply.valid.get();
        reply.waits = valid && !reply.accepts;
        if (!valid || !reply.accepts) return;
        response_ = static_cast<uint32_t>(reply.resp.get());
        value_ = static_cast<uint32_t>(reply.data.get());
        reply.due = false;
    }

    Request aw_, w_, ar_;
    Reply b_, r_;
    Random random_{0};
    Behaviour behaviour_{};
    uint32_t response_ = 0, value_ = 0;
};
