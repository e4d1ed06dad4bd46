// Runs of something that reads: its requests in, its data out, and a memory that answers exactly
// as a case says. Every rule of the bus is checked in every cycle.
//
// The generated native_glue.h also defines kParts, kAddrBits, kDataBits, kIdBits, kBurstBeats,
// kOutstanding.

#include "ports.h"

namespace {

constexpr unsigned kBytes = kDataBits / 8;

struct Case {
    Pattern ar, r, o;    // READY of AR, cycles in which a beat may come, READY of the data
    int32_t one_read, ready_after_valid;
    int32_t latency;     // cycles from the address to the first beat, at least 1
    int32_t order;       // -1: whole bursts in order; else bits, a beat each: oldest or youngest
    int32_t stop_at;     // -1: never
    int32_t stop_for;    // cycles, 0: until idle
    int32_t resume;      // the second traffic begins with the end of `stop`, not with idle
    int32_t bad;         // number of the beat that fails, -1: none
    int32_t patience;    // cycles in which all must be done, and so many from a stop to idle
};

struct Burst {
    uint32_t address, left, id;
    int due, number;
};

struct Traffic {
    std::vector<Words> requests;
    std::vector<std::vector<uint64_t>> expected;  // data, and above it `last`
    std::vector<size_t> came;

    bool done() const {
        for (unsigned n = 0; n < kParts; ++n)
            if (!requests[n].done() || came[n] != expected[n].size()) return false;
        return true;
    }
    void restart() {
        for (Words& words : requests) words.next = 0;
        came.assign(kParts, 0);
    }
};

// What memory holds.
uint64_t content(uint32_t address) {
    return address / kBytes * 0x9E3779B97F4A7C15u >> (64 - kDataBits);
}

class Readers : public Bench {
public:
    Readers()
        : requests_(streams("request", kParts)), data_(streams("o", kParts)),
          ar_(stream("ar__0")), r_(stream("r__0")), stop_(port("stop")), idle_(port("idle")),
          error_(port("error")), error_address_(port("error_address")) {
        for (Traffic& traffic : traffic_) {
            traffic.requests.resize(kParts), traffic.expected.resize(kParts);
            traffic.came.resize(kParts);
        }
    }

    void spoil(int way) {
        *static_cast<uint8_t*>(port("spoil").at) = way;
    }

    // Requests of a part, and the addresses of the beats that they are for; `last` of each.
    void words(
        int traffic, int part, const uint8_t* requests, size_t stride, size_t count,
        const uint32_t* addresses, const uint8_t* last, size_t beats) {
        Words& words = traffic_[traffic].requests[part];
        words.content.assign(requests, requests + stride * count);
        words.stride = stride, words.count = count;
        for (size_t n = 0; n < beats; ++n)
            traffic_[traffic].expected[part].push_back(
                content(addresses[n]) | uint64_t{last[n]} << kDataBits);
    }

    void run(const Case& asked, Verdict* verdict) {
        begin(verdict);
        case_ = &asked;
        start();
        int stop_at = asked.stop_at, stop_end = -1, quiet = 0, limit = asked.patience;
        Traffic* active = &traffic_[0];
        while (!faulty()) {
            if (cycle_ > limit) {
                const bool waits = stop_at >= 0 && cycle_ >= stop_at && !second_;
                fault(waits ? "no idle after a stop" : "not done");
                break;
            }
            if (cycle_ == stop_at) {
                stop_end = asked.stop_for ? cycle_ + asked.stop_for : 1 << 30;
                active = nullptr, limit = cycle_ + asked.patience;
            }
            const bool stops = cycle_ < stop_end;
            if (stop_end >= 0 && !stops && !second_ && (asked.resume || verdict->idle_after >= 0)) {
                second_ = true, active = &traffic_[1], limit = cycle_ + 2 * asked.patience;
                error_seen_ = false, failed_ = -1, sent_bad_ = 0;
            }
            offer(active, stops);
            respond();
            ar_.ready.set(false);
            settle();
            const bool valid = ar_.valid.high();
            const Bits payload = ar_.payload.get();
            ready_ = asked.ar.at(asked.ar.repeats ? cycle_ : since(valid));
            if (asked.ready_after_valid) ready_ &= held_;
            if (asked.one_read) ready_ &= bursts_.empty() && !sending_;
            ar_.ready.set(ready_);
            settle();
            if (ar_.valid.high() != valid || (valid && ar_.payload.get() != payload))
                fault("a VALID follows a READY");
            const bool idle = idle_.high();
            if (idle && (!bursts_.empty() || sending_ || valid))
                fault("idle while the bus owes something");
            if (stops) refused();
            if (stop_end < 0 || second_) failed();
            take(active, stops);
            observe(valid, payload);
            if (stop_end >= 0 && idle && verdict->idle_after < 0 && cycle_ > stop_at && !second_) {
                verdict->idle_after = cycle_ - stop_at;
                if (error_.high()) fault("an error after a stop");
                if (stop_end == 1 << 30) stop_end = cycle_ + 1;
            }
            const bool last = asked.stop_at < 0 || second_;
            const bool fails = error_seen_ && bursts_.empty() && !valid;
            const bool over = fails || (active && active->done() && bursts_.empty() && idle);
            quiet = last && over ? quiet + 1 : 0;
            if (fails && quiet == 24 && stop_end < 0) {
                stop_at = cycle_ + 1, quiet = 0;
                check_failed();
            }
            edge();
            if (quiet == 3 && !error_seen_) break;
        }
        verdict->cycles = cycle_;
    }

private:
    void start() {
        for (Traffic& traffic : traffic_) traffic.restart();
        bursts_.clear(), under_way_.assign(1 << kIdBits, 0), held_data_.assign(kParts, -1);
        held_ = sending_ = error_seen_ = second_ = false;
        first_ = -1, number_ = beats_ = 0, failed_ = -1, sent_bad_ = 0, going_ = -1;
        r_.valid.set(false), ar_.ready.set(false);
        offer(nullptr, false);
        reset();
    }

    int since(bool valid) {
        if (valid && first_ < 0) first_ = cycle_;
        return first_ < 0 ? 0 : cycle_ - first_;
    }

    void offer(Traffic* traffic, bool stops) {
        stop_.set(stops);
        for (unsigned n = 0; n < kParts; ++n) {
            if (traffic) traffic->requests[n].offer(requests_[n], true);
            else requests_[n].valid.set(false);
            data_[n].ready.set(traffic && case_->o.at(cycle_));
        }
    }

    void refused() {
        for (unsigned n = 0; n < kParts; ++n) {
            if (requests_[n].ready.high()) fault("a request is taken during a stop");
            if (data_[n].valid.high()) fault("data is offered during a stop");
        }
    }

    // R of this cycle.
    void respond() {
        sending_ = false;
        r_.valid.set(false);
        if (!case_->r.at(cycle_)) return;
        int chosen = -1;
        for (int n = 0; n < int(bursts_.size()); ++n) {
            const Burst& burst = bursts_[n];
            bool first = burst.due <= cycle_;
            for (int m = 0; m < n; ++m) first &= bursts_[m].id != burst.id;
            if (case_->order < 0) first &= n == 0;
            if (!first) continue;
            const bool young = case_->order >= 0 && case_->order >> (beats_ & 3) & 1;
            if (chosen < 0 || young) chosen = n;
        }
        if (chosen < 0) return;
        Burst& burst = bursts_[chosen];
        sending_ = true, sent_ = burst;
        verdict_->overtakes += chosen > 0;
        const bool bad = beats_ == case_->bad && !second_;
        if (bad) failed_ = burst.address, failed_id_ = burst.id, sent_bad_ = cycle_;
        ++beats_;
        const Bits payload = Bits{bad ? ~content(burst.address) & ((1u << kDataBits) - 1)
                                      : content(burst.address)}
            | Bits{bad ? 2u : 0u} << kDataBits | Bits{burst.left == 1} << (kDataBits + 2)
            | Bits{burst.id} << (kDataBits + 3);
        uint8_t bytes[16];
        std::memcpy(bytes, &payload, sizeof bytes);
        r_.payload.put(bytes);
        r_.valid.set(true);
        burst.address += kBytes;
        if (--burst.left == 0) {
            --under_way_[burst.id];
            bursts_.erase(bursts_.begin() + chosen);
        }
    }

    void failed() {
        const bool error = error_.high();
        if (error && failed_ < 0) fault("an error without reason");
        if (error && !error_seen_ && field(error_address_.get(), 0, 32) != uint32_t(failed_))
            fault("an error at another address");
        if (sent_bad_ && sent_bad_ < cycle_ && !error) fault("no error after a bad response");
        error_seen_ |= error;
    }

    // A part whose beat failed has given all before it.
    void check_failed() {
        const std::vector<uint64_t>& all = traffic_[0].expected[failed_id_];
        size_t before = 0;
        while (before < all.size() && field(all[before], 0, kDataBits) != content(failed_)) ++before;
        if (traffic_[0].came[failed_id_] != before) fault("other beats came than those before");
    }

    void take(Traffic* traffic, bool stops) {
        for (unsigned n = 0; n < kParts; ++n) {
            const Stream& o = data_[n];
            const bool valid = o.valid.high();
            const int64_t word = static_cast<int64_t>(o.payload.get());
            if (held_data_[n] >= 0 && traffic && (!valid || word != held_data_[n]))
                fault("data changes before ready");
            const bool taken = valid && o.ready.high();
            held_data_[n] = traffic && valid && !taken ? word : -1;
            if (!traffic) continue;
            traffic->requests[n].take(requests_[n]);
            if (!taken) continue;
            size_t& came = traffic->came[n];
            if (came == traffic->expected[n].size()) fault("more data than was asked for");
            else if (traffic->expected[n][came++] != uint64_t(word)) fault("other data than asked");
        }
    }

    void observe(bool valid, Bits payload) {
        if (sending_ && !r_.ready.high()) fault("rready is low when a response comes");
        if (held_ && (!valid || payload != payload_)) fault("ar changes before ready");
        if (valid && !held_) {
            const unsigned id = field(payload, kAddrBits + 8, kIdBits);
            ++verdict_->moved;
            if (id >= kParts) fault("ID %u is nobody's", id);
            if (error_seen_ && id == failed_id_ && ++going_ > 3) fault("reads after an error");
            if (!error_seen_) going_ = 0;
        }
        held_ = valid && !ready_, payload_ = payload;
        if (!valid || !ready_) return;
        Burst burst{};
        burst.address = field(payload, 0, kAddrBits);
        burst.left = field(payload, kAddrBits, 8) + 1;
        burst.id = field(payload, kAddrBits + 8, kIdBits);
        burst.number = number_++;
        burst.due = cycle_ + case_->latency;
        if (burst.address % kBytes) fault("a burst is not aligned");
        if (burst.address / kBytes % kBurstBeats + burst.left > kBurstBeats)
            fault("a burst of %u beats at 0x%x crosses a boundary", burst.left, burst.address);
        if (++under_way_[burst.id] > int(kOutstanding)) fault("too many bursts under way");
        bursts_.push_back(burst);
    }

    std::vector<Stream> requests_, data_;
    Stream ar_, r_;
    Port stop_, idle_, error_, error_address_;
    Traffic traffic_[2];
    const Case* case_ = nullptr;
    std::vector<Burst> bursts_;
    std::vector<int> under_way_;
    std::vector<int64_t> held_data_;
    Burst sent_;
    bool held_, sending_, ready_, error_seen_, second_;
    Bits payload_ = 0;
    int first_, number_, beats_, sent_bad_, going_;
    unsigned failed_id_ = 0;
    int64_t failed_;
};

}  // namespace

EXPORT void* readers_create() { return new Readers; }
EXPORT void readers_destroy(void* bench) { delete static_cast<Readers*>(bench); }

EXPORT void readers_words(
    void* bench, int traffic, int part, const uint8_t* requests, uint64_t stride, uint64_t count,
    const uint32_t* addresses, const uint8_t* last, uint64_t beats) {
    static_cast<Readers*>(bench)->words(
        traffic, part, requests, stride, count, addresses, last, beats);
}

// The way in which a top that has a port `spoil` is spoilt.
EXPORT void readers_spoil(void* bench, int way) { static_cast<Readers*>(bench)->spoil(way); }

EXPORT uint64_t readers_run(
    void* bench, const Case* cases, uint64_t count, Verdict* verdict, uint64_t* cycles) {
    return run_all(*static_cast<Readers*>(bench), cases, count, verdict, cycles);
}
