// Runs of something that reads: its requests in, its data out, and a memory that answers exactly
// as a case says. Every rule of the bus is checked in every cycle.
//
// The generated native_glue.h also defines kParts, kChannels, kAddrBits, kDataBits, kIdBits,
// kBurstBeats; kOutstanding, the most bursts in flight under an ID; kOwnerShift, the lowest bit of
// an ID that tells the part; kAlwaysReady, whether RREADY is high throughout; kExact, whether all
// data before an error comes; kErrorAfter, the most cycles from a bad response to the error; kLanes,
// lanes of a crossbar, 0 without one.

#include <map>

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
    uint32_t address, left, id, channel;
    int due, number;
};

// A beat of a channel.
uint64_t place_of(uint32_t channel, uint32_t address) { return uint64_t{channel} << 32 | address; }

struct Traffic {
    std::vector<Words> requests;
    std::vector<std::vector<uint64_t>> expected;
    std::vector<std::vector<size_t>> left_by;  // of each request, words that its data ends with
    std::vector<std::map<uint64_t, size_t>> words;  // that a beat is a part of, by its place
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
    // Whether requests were taken of which not all data has come.
    bool waits() const {
        for (unsigned n = 0; n < kParts; ++n)
            if (requests[n].next && came[n] < left_by[n][requests[n].next - 1]) return true;
        return false;
    }
};

// What memory holds.
uint64_t content(uint32_t channel, uint32_t address) {
    const uint64_t word = address / kBytes + (uint64_t{channel} << 40);
    return word * 0x9E3779B97F4A7C15u >> (64 - kDataBits);
}

class Readers : public Bench {
public:
    Readers()
        : requests_(streams("request", kParts)), data_(streams("o", kParts)),
          ar_(streams("ar", kChannels)), r_(streams("r", kChannels)),
          stop_(port("stop")), idle_(port("idle")), error_(port("error")),
          error_address_(port("error_address")) {
        for (Traffic& traffic : traffic_) {
            traffic.requests.resize(kParts), traffic.expected.resize(kParts);
            traffic.came.resize(kParts), traffic.left_by.resize(kParts);
            traffic.words.resize(kParts);
        }
        if (kLanes) {
            conflicts_ = port("conflicts"), offered_ = port("offered"), taken_ = port("taken");
            wanted_ = port("wanted");
        }
    }

    void spoil(int way) {
        *static_cast<uint8_t*>(port("spoil").at) = way;
    }

    // Requests of a part, and the places of the beats that they are for, all of which are new. A
    // word of data has `beats_of_word` beats, and above them `last` of the request if `marked`.
    void words(
        int traffic, int part, const uint8_t* requests, size_t stride, size_t count,
        const uint64_t* places, const uint8_t* last, size_t beats, size_t beats_of_word,
        bool marked) {
        Traffic& to = traffic_[traffic];
        Words& words = to.requests[part];
        words.content.assign(requests, requests + stride * count);
        words.stride = stride, words.count = count;
        for (size_t n = 0; n < beats; ++n) {
            std::vector<uint64_t>& all = to.expected[part];
            const size_t place = n % beats_of_word;
            if (!place) all.push_back(0);
            all.back() |= content(places[n] >> 32, places[n]) << kDataBits * place;
            if (marked) all.back() |= uint64_t{last[n]} << kDataBits * beats_of_word;
            to.words[part][places[n]] = all.size() - 1;
            if (last[n]) to.left_by[part].push_back(all.size());
        }
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
            for (unsigned n = 0; n < kChannels; ++n) respond(n);
            for (Stream& ar : ar_) ar.ready.set(false);
            settle();
            bool any = false;
            for (unsigned n = 0; n < kChannels; ++n) any |= ask(n);
            settle();
            for (unsigned n = 0; n < kChannels; ++n) {
                const bool same = !valid_[n] || ar_[n].payload.get() == asks_[n];
                if (ar_[n].valid.high() != valid_[n] || !same) fault("a VALID follows a READY");
            }
            const bool idle = idle_.high();
            if (idle && (!bursts_.empty() || sends() || any))
                fault("idle while the bus owes something");
            if (idle && active && !stops && active->waits()) fault("idle with data inside");
            if (stops) refused();
            if (stop_end < 0 || second_) failed();
            if (kLanes) conflicts();
            take(active, stops);
            for (unsigned n = 0; n < kChannels; ++n) observe(n);
            if (stop_end >= 0 && idle && verdict->idle_after < 0 && cycle_ > stop_at && !second_) {
                verdict->idle_after = cycle_ - stop_at;
                if (error_.high()) fault("an error after a stop");
                if (stop_end == 1 << 30) stop_end = cycle_ + 1;
            }
            const bool last = asked.stop_at < 0 || second_;
            const bool fails = error_seen_ && bursts_.empty() && !any;
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
        bursts_.clear(), under_way_.assign(kChannels << kIdBits, 0), held_data_.assign(kParts, -1);
        sending_.assign(kChannels, -1), asks_.assign(kChannels, 0), payload_.assign(kChannels, 0);
        for (std::vector<bool>* flags : {&held_, &valid_, &ready_}) flags->assign(kChannels, false);
        error_seen_ = second_ = false, conflicts_before_ = -1;
        first_ = -1, number_ = beats_ = 0, failed_ = -1, sent_bad_ = 0, going_ = -1;
        for (unsigned n = 0; n < kChannels; ++n) r_[n].valid.set(false), ar_[n].ready.set(false);
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

    bool sends() const {
        for (int burst : sending_)
            if (burst >= 0) return true;
        return false;
    }

    // AR of a channel: READY of this cycle; whether it is valid.
    bool ask(unsigned channel) {
        const bool valid = valid_[channel] = ar_[channel].valid.high();
        asks_[channel] = ar_[channel].payload.get();
        bool ready = case_->ar.at(case_->ar.repeats ? cycle_ : since(valid));
        if (case_->ready_after_valid) ready &= held_[channel];
        if (case_->one_read) ready &= bursts_.empty() && !sends();
        ready_[channel] = ready;
        ar_[channel].ready.set(ready);
        return valid;
    }

    // R of a channel: a beat that was not taken stays.
    void respond(unsigned channel) {
        if (sending_[channel] >= 0) return;
        r_[channel].valid.set(false);
        if (!case_->r.at(cycle_)) return;
        int chosen = -1;
        for (int n = 0; n < int(bursts_.size()); ++n) {
            const Burst& burst = bursts_[n];
            if (burst.channel != channel) continue;
            bool first = burst.due <= cycle_;
            for (int m = 0; m < n; ++m)
                first &= bursts_[m].channel != channel
                    || (bursts_[m].id != burst.id && case_->order >= 0);
            if (!first) continue;
            const bool young = case_->order >= 0 && case_->order >> (beats_ & 3) & 1;
            if (chosen < 0 || young) chosen = n;
        }
        if (chosen < 0) return;
        Burst& burst = bursts_[chosen];
        sending_[channel] = burst.number;
        bool older = false;
        for (int m = 0; m < chosen; ++m) older |= bursts_[m].channel == channel;
        verdict_->overtakes += older;
        const bool bad = beats_ == case_->bad && !second_;
        const uint64_t word = content(channel, burst.address);
        if (bad) {
            failed_ = burst.address, failed_part_ = burst.id >> kOwnerShift;
            failed_place_ = place_of(channel, burst.address), bad_burst_ = burst.number;
        }
        ++beats_;
        const Bits payload = Bits{bad ? ~word & ((uint64_t{1} << kDataBits) - 1) : word}
            | Bits{bad ? 2u : 0u} << kDataBits | Bits{burst.left == 1} << (kDataBits + 2)
            | Bits{burst.id} << (kDataBits + 3);
        uint8_t bytes[16];
        std::memcpy(bytes, &payload, sizeof bytes);
        r_[channel].payload.put(bytes);
        r_[channel].valid.set(true);
    }

    // The beat of a channel, if it was taken.
    void sent(unsigned channel) {
        if (sending_[channel] < 0) return;
        if (!r_[channel].ready.high()) {
            if (kAlwaysReady) fault("rready is low when a response comes");
            return;
        }
        auto burst = bursts_.begin();
        while (burst->number != sending_[channel]) ++burst;
        const bool bad = failed_ == burst->address && bad_burst_ == burst->number;
        if (bad && !sent_bad_) sent_bad_ = cycle_;
        sending_[channel] = -1;
        burst->address += kBytes;
        if (--burst->left) return;
        --under_way_[channel << kIdBits | burst->id];
        bursts_.erase(burst);
    }

    void failed() {
        const bool error = error_.high();
        if (error && failed_ < 0) fault("an error without reason");
        if (error && !error_seen_ && field(error_address_.get(), 0, 32) != uint32_t(failed_))
            fault("an error at another address");
        if (sent_bad_ && sent_bad_ + int(kErrorAfter) <= cycle_ && !error)
            fault("no error after a bad response");
        error_seen_ |= error;
    }

    // A part whose beat failed has given all before it, or no more than that.
    void check_failed() {
        const Traffic& traffic = traffic_[0];
        const size_t before = traffic.words[failed_part_].at(failed_place_);
        const size_t came = traffic.came[failed_part_];
        if (came > before || (kExact && came < before))
            fault("other beats came than those before");
    }

    // What waits at the crossbar while its channel takes another request.
    void conflicts() {
        const unsigned bits = kChannels > 2 ? 2 : 1;
        if (conflicts_before_ >= 0 && int(conflicts_.get()) != conflicts_before_)
            fault("another number of conflicts");
        const unsigned offered = offered_.get(), taken = taken_.get(), wanted = wanted_.get();
        conflicts_before_ = 0;
        for (unsigned lane = 0; lane < kLanes; ++lane) {
            if (!(offered >> lane & 1) || taken >> lane & 1) continue;
            for (unsigned other = 0; other < kLanes; ++other)
                if (taken >> other & 1
                    && !((wanted >> bits * other ^ wanted >> bits * lane) & ((1u << bits) - 1))) {
                    ++conflicts_before_;
                    break;
                }
        }
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

    void observe(unsigned channel) {
        sent(channel);
        const bool valid = valid_[channel], ready = ready_[channel];
        const Bits payload = asks_[channel];
        if (held_[channel] && (!valid || payload != payload_[channel]))
            fault("ar changes before ready");
        if (valid && !held_[channel]) {
            const unsigned part = field(payload, kAddrBits + 8, kIdBits) >> kOwnerShift;
            ++verdict_->moved;
            if (part >= kParts) fault("the ID of part %u is nobody's", part);
            if (error_seen_ && part == failed_part_ && ++going_ > 3) fault("reads after an error");
            if (!error_seen_) going_ = 0;
        }
        held_[channel] = valid && !ready, payload_[channel] = payload;
        if (!valid || !ready) return;
        Burst burst{};
        burst.channel = channel;
        burst.address = field(payload, 0, kAddrBits);
        burst.left = field(payload, kAddrBits, 8) + 1;
        burst.id = field(payload, kAddrBits + 8, kIdBits);
        burst.number = number_++;
        burst.due = cycle_ + case_->latency;
        if (burst.address % kBytes) fault("a burst is not aligned");
        if (burst.address / kBytes % kBurstBeats + burst.left > kBurstBeats)
            fault("a burst of %u beats at 0x%x crosses a boundary", burst.left, burst.address);
        if (++under_way_[channel << kIdBits | burst.id] > int(kOutstanding))
            fault("too many bursts under way");
        bursts_.push_back(burst);
    }

    std::vector<Stream> requests_, data_, ar_, r_;
    Port stop_, idle_, error_, error_address_, conflicts_, offered_, taken_, wanted_;
    Traffic traffic_[2];
    const Case* case_ = nullptr;
    std::vector<Burst> bursts_;
    std::vector<int> under_way_, sending_;  // by channel and ID; the burst of the beat at R
    std::vector<int64_t> held_data_;
    std::vector<bool> held_, valid_, ready_;
    std::vector<Bits> asks_, payload_;
    bool error_seen_, second_;
    int first_, number_, beats_, sent_bad_, going_, bad_burst_ = -1, conflicts_before_;
    unsigned failed_part_ = 0;
    uint64_t failed_place_ = 0;
    int64_t failed_;
};

}  // namespace

EXPORT void* readers_create() { return new Readers; }
EXPORT void readers_destroy(void* bench) { delete static_cast<Readers*>(bench); }

EXPORT void readers_words(
    void* bench, int traffic, int part, const uint8_t* requests, uint64_t stride, uint64_t count,
    const uint64_t* places, const uint8_t* last, uint64_t beats, uint64_t beats_of_word,
    int marked) {
    static_cast<Readers*>(bench)->words(
        traffic, part, requests, stride, count, places, last, beats, beats_of_word, marked);
}

// The way in which a top that has a port `spoil` is spoilt.
EXPORT void readers_spoil(void* bench, int way) { static_cast<Readers*>(bench)->spoil(way); }

EXPORT uint64_t readers_run(
    void* bench, const Case* cases, uint64_t count, Verdict* verdict, uint64_t* cycles) {
    return run_all(*static_cast<Readers*>(bench), cases, count, verdict, cycles);
}
