// A program's side of an AXI4-Lite subordinate: one access at a time, with random gaps.
#pragma once

#include <string>

#include "axi_faults.h"
#include "axi_memory.h"
#include "axi_pins.h"
#include "random.h"

class LiteMaster {
public:
    LiteMaster(const std::string& prefix, const Pins& pins, Faults& faults)
        : prefix_(prefix), aw_(pins, prefix + "_aw"), w_(pins, prefix + "_w"),
          ar_(pins, prefix + "_ar"), b_(pins, prefix + "_b"), r_(pins, prefix + "_r"),
          faults_(faults) {}

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
            reply->held.clear();
            reply->ready.set(0);
        }
    }

    void check_reset() {
        for (const Reply* reply : {&b_, &r_})
            if (reply->valid.get()) faults_.add(prefix_, "%s is valid in reset", reply->name());
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
        // A reply may come in the cycle after the last of its requests, not in the same.
        take(b_, aw_.due || w_.due);
        take(r_, ar_.due);
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
    struct Answer {
        uint64_t response, value;
        bool operator==(const Answer& o) const {
            return response == o.response && value == o.value;
        }
    };
    struct Reply {
        Reply(const Pins& pins, const std::string& prefix)
            : letter(prefix.substr(prefix.size() - 1)), valid(pins[prefix + "valid"]),
              ready(pins[prefix + "ready"]), resp(pins[prefix + "resp"]),
              data(pins[prefix + "data"]) {}
        const char* name() const { return letter.c_str(); }
        std::string letter;
        Pin valid, ready, resp, data;
        Held<Answer> held;
        bool due = false, accepts = false;
        bool waits = false;  // valid, not ready, a cycle ago
    };

    void take(Reply& reply, bool early) {
        const bool valid = reply.valid.get();
        reply.waits = valid && !reply.accepts;
        if (valid && (early || !reply.due))
            faults_.add(prefix_, "%s is valid without a request", reply.name());
        const Answer answer{valid ? reply.resp.get() : 0, valid ? reply.data.get() : 0};
        if (!reply.held.sample(valid, reply.accepts, answer, faults_, prefix_, reply.name()))
            return;
        response_ = static_cast<uint32_t>(answer.response);
        value_ = static_cast<uint32_t>(answer.value);
        reply.due = false;
    }

    const std::string prefix_;
    Request aw_, w_, ar_;
    Reply b_, r_;
    Faults& faults_;
    Random random_{0};
    Behaviour behaviour_{};
    uint32_t response_ = 0, value_ = 0;
};
