// Ports of a Verilated top by name, patterns of READY, and what a run reports.
//
// native_glue.h defines `Model`, set_clock, set_reset and `find_port`.
#pragma once

#include <algorithm>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "native_glue.h"
#include "verilated.h"

using Bits = unsigned __int128;

// A port of any width, of which the lowest 128 bits are read. The host is little-endian.
struct Port {
    void* at = nullptr;
    unsigned bytes = 0;

    Bits get() const {
        switch (bytes) {
            case 1: return *static_cast<const uint8_t*>(at);
            case 2: return *static_cast<const uint16_t*>(at);
            case 4: return *static_cast<const uint32_t*>(at);
            case 8: return *static_cast<const uint64_t*>(at);
        }
        Bits value = 0;
        std::memcpy(&value, at, bytes < sizeof value ? bytes : sizeof value);
        return value;
    }
    bool high() const { return *static_cast<const uint8_t*>(at) & 1; }
    void set(bool value) { *static_cast<uint8_t*>(at) = value; }
    void put(const uint8_t* content) { std::memcpy(at, content, bytes); }
};

inline uint64_t field(Bits payload, unsigned low, unsigned width) {
    return static_cast<uint64_t>(payload >> low & ((Bits{1} << width) - 1));
}

struct Stream {
    Port valid, ready, payload;
};

// `count` bits, the lowest first, over and over or followed by ones.
struct Pattern {
    int32_t bits, count, repeats;

    bool at(int cycle) const {
        if (cycle >= count && !repeats) return true;
        return bits >> cycle % count & 1;
    }
};

// A queue that forgets nothing until it is cleared.
template <typename T> struct Queue {
    std::vector<T> items;
    size_t first = 0;

    void clear() { items.clear(), first = 0; }
    bool empty() const { return first == items.size(); }
    size_t size() const { return items.size() - first; }
    T& front() { return items[first]; }
    T& back() { return items.back(); }
    T& operator[](size_t n) { return items[first + n]; }
    void push(const T& item) { items.push_back(item); }
    void pop() { ++first; }
};

// What a run ends with; `text` is empty if no rule was broken.
struct Verdict {
    char text[200];
    int32_t cycles;
    int32_t idle_after;  // cycles from a stop to idle, -1 without one
    int32_t overtakes;   // responses that came before older ones
    int32_t moved;       // bursts, or accesses
};

class Bench {
public:
    Bench() : context_(new VerilatedContext), model_(new Model(context_.get())) {}
    virtual ~Bench() { model_->final(); }

protected:
    Port port(const std::string& name) {
        Port found;
        if (!find_port(*model_, name.c_str(), &found.at, &found.bytes))
            throw std::string("no port " + name);
        return found;
    }
    Stream stream(const std::string& name) {
        return {port(name + "__valid"), port(name + "__ready"), port(name + "__payload")};
    }
    std::vector<Stream> streams(const std::string& name, unsigned count) {
        std::vector<Stream> found;
        for (unsigned n = 0; n < count; ++n)
            found.push_back(stream(name + "__" + std::to_string(n)));
        return found;
    }

    void settle() { model_->eval(); }
    void edge() {
        set_clock(*model_, true);
        model_->eval();
        set_clock(*model_, false);
        ++cycle_;
    }
    void reset() {
        set_reset(*model_, true);
        for (int n = 0; n < 2; ++n) settle(), edge();
        set_reset(*model_, false);
        cycle_ = 0;
    }

    void begin(Verdict* verdict) {
        verdict_ = verdict;
        *verdict = {};
        verdict->idle_after = -1;
    }
    void fault(const char* format, ...) {
        if (verdict_->text[0]) return;
        va_list arguments;
        va_start(arguments, format);
        int used = std::vsnprintf(verdict_->text, sizeof verdict_->text - 24, format, arguments);
        va_end(arguments);
        if (used > int(sizeof verdict_->text) - 25) used = sizeof verdict_->text - 25;
        std::snprintf(verdict_->text + used, 24, ", cycle %d", cycle_);
    }
    bool faulty() const { return verdict_->text[0]; }

    std::unique_ptr<VerilatedContext> context_;
    std::unique_ptr<Model> model_;
    int cycle_ = 0;
    Verdict* verdict_ = nullptr;
};

// Payloads that a stream is offered in a run, one after the other.
struct Words {
    std::vector<uint8_t> content;
    size_t stride = 1, count = 0, next = 0;

    bool done() const { return next == count; }
    void offer(Stream& to, bool wanted) {
        to.valid.set(wanted && !done());
        if (wanted && !done()) to.payload.put(&content[next * stride]);
    }
    void take(const Stream& from) { next += from.valid.high() && from.ready.high(); }
};

#define EXPORT extern "C" __attribute__((visibility("default")))

// Runs cases until one finds a fault; returns how many ran. `verdict` is of the last one, but for
// `cycles` and `idle_after`, which are the greatest, and `overtakes` and `moved`, which are sums.
template <typename Runs, typename Case>
uint64_t run_all(Runs& bench, const Case* cases, uint64_t count, Verdict* verdict, uint64_t* cycles) {
    Verdict sum{};
    sum.idle_after = -1;
    uint64_t ran = 0;
    while (ran < count && !sum.text[0]) {
        Verdict one;
        bench.run(cases[ran++], &one);
        *cycles += one.cycles;
        sum.cycles = std::max(sum.cycles, one.cycles);
        sum.idle_after = std::max(sum.idle_after, one.idle_after);
        sum.overtakes += one.overtakes, sum.moved += one.moved;
        std::memcpy(sum.text, one.text, sizeof sum.text);
    }
    *verdict = sum;
    return ran;
}
