// Bursts that wait for their responses, and whose turn it is.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "random.h"

struct Burst {
    uint64_t start = 0;
    uint64_t address = 0;   // of its next beat
    uint64_t due = 0;       // first cycle of its response
    uint32_t id = 0;
    uint32_t left = 0;      // beats to come
    uint8_t response = 0;
    int32_t next = -1;      // the burst behind it in its line
};

// Bursts with one ID stay in order. Others overtake each other when `mixed`, beat by beat; else all
// bursts stay in order. A choice takes constant time but for a heap of the bursts not yet due.
class ResponseQueue {
public:
    void configure(bool mixed, unsigned id_bits) {
        lines_.assign(mixed ? std::size_t{1} << id_bits : 1, Line{});
        bursts_.clear();
        free_.clear();
        ready_.clear();
        waiting_ = {};
    }

    void push(const Burst& burst) {
        int32_t slot = static_cast<int32_t>(bursts_.size());
        if (free_.empty()) {
            bursts_.push_back(burst);
        } else {
            slot = free_.back();
            free_.pop_back();
            bursts_[slot] = burst;
        }
        bursts_[slot].next = -1;
        Line& line = line_of(burst);
        if (line.last < 0) {
            waiting_.emplace(burst.due, slot);
        } else {
            bursts_[line.last].next = slot;
        }
        line.last = slot;
    }

    // A burst that is first of its line and due, any of them; null if there is none.
    Burst* choose(uint64_t now, Random& random) {
        while (!waiting_.empty() && waiting_.top().first <= now) {
            ready_.push_back(waiting_.top().second);
            waiting_.pop();
        }
        if (ready_.empty()) return nullptr;
        chosen_ = random.between(0, ready_.size() - 1);
        return &bursts_[ready_[chosen_]];
    }

    // Removes the burst that was chosen last.
    void pop() {
        const int32_t slot = ready_[chosen_], next = bursts_[slot].next;
        ready_[chosen_] = ready_.back();
        ready_.pop_back();
        if (next < 0) {
            line_of(bursts_[slot]).last = -1;
        } else {
            waiting_.emplace(bursts_[next].due, next);
        }
        free_.push_back(slot);
    }

private:
    struct Line {
        int32_t last = -1;
    };
    using Due = std::pair<uint64_t, int32_t>;

    Line& line_of(const Burst& burst) { return lines_[burst.id & (lines_.size() - 1)]; }

    std::size_t chosen_ = 0;
    std::vector<Line> lines_;
    std::vector<Burst> bursts_;
    std::vector<int32_t> free_;
    std::vector<int32_t> ready_;
    std::priority_queue<Due, std::vector<Due>, std::greater<Due>> waiting_;
};
