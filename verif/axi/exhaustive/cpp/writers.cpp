// Runs of something that writes: its requests and data in, and a memory at each of its channels
// that answers exactly as a case says. Every rule of the bus is checked in every cycle.
//
// The generated native_glue.h also defines kParts, kChannels, kAddrBits, kDataBits, kIdBits,
// kBurstBeats, kOutstanding, kRefuses (nothing is taken during a stop, data neither).

#include "ports.h"

namespace {

constexpr unsigned kBytes = kDataBits / 8;
constexpr unsigned kSpace = 1 << 16;

struct Case {
    Pattern aw, w;
    int32_t aw_after_w, w_after_aw, ready_after_valid;
    int32_t latency;     // cycles from the last beat and the address to B, at least 1
    int32_t every;       // B comes in one of so many cycles
    int32_t order;       // -1: B in the order of completion; else bits: oldest or youngest first
    int32_t spread;      // data is offered in one of so many cycles
    int32_t stop_at;     // -1: never
    int32_t stop_for;    // cycles, 0: until idle
    int32_t resume;      // the second traffic begins with the end of `stop`, not with idle
    int32_t bad;         // number of the burst that fails, -1: none
    int32_t patience;    // cycles in which all must be done, and so many from a stop to idle
};

struct Burst {
    uint32_t address, left, id, start;
    int due, number;
};

struct Beat {
    uint64_t data, strobe;
    bool last;
};

struct Channel {
    Stream aw, w, b;
    Queue<Burst> waiting;             // for data
    Queue<Beat> early;                // beats whose address has not come
    std::vector<Burst> answers;       // that are due, or will be
    std::vector<int> under_way;       // bursts of each ID from AWVALID to B
    bool aw_held, w_held, sending, answering, ready_aw, ready_w;
    Bits aw_payload, w_payload;
    unsigned shown, begun;
    int first;                        // cycle of the first AWVALID, -1: not yet
    Burst answer;

    int owed() const {
        int sum = 0;
        for (int n : under_way) sum += n;
        return sum;
    }
};

struct Traffic {
    std::vector<Words> requests, data;
    std::vector<int16_t> expected;    // of each byte of memory, -1: it must not be written
    unsigned bytes = 0;

    bool done() const {
        for (const auto* all : {&requests, &data})
            for (const Words& words : *all)
                if (!words.done()) return false;
        return true;
    }
    void restart() {
        for (auto* all : {&requests, &data})
            for (Words& words : *all) words.next = 0;
    }
};

class Writers : public Bench {
public:
    Writers()
        : requests_(streams("request", kParts)), data_(streams("i", kParts)),
          stop_(port("stop")), idle_(port("idle")), error_(port("error")),
          error_address_(port("error_address")), answerable_(port("answerable")),
          memory_(kSpace), written_(kSpace) {
        auto aw = streams("aw", kChannels), w = streams("w", kChannels), b = streams("b", kChannels);
        for (unsigned n = 0; n < kChannels; ++n) channels_.push_back({aw[n], w[n], b[n]});
        for (Traffic& traffic : traffic_) {
            traffic.requests.resize(kParts), traffic.data.resize(kParts);
            traffic.expected.assign(kSpace, -1);
        }
    }

    void spoil(int way) {
        *static_cast<uint8_t*>(port("spoil").at) = way;
    }

    void words(int traffic, int part, bool data, const uint8_t* content, size_t stride, size_t count) {
        Words& words = (data ? traffic_[traffic].data : traffic_[traffic].requests)[part];
        words.content.assign(content, content + stride * count);
        words.stride = stride, words.count = count;
        const Port& payload = (data ? data_ : requests_)[part].payload;
        if (payload.bytes > stride) throw std::string("a payload is too short");
    }

    void expect(int traffic, const uint32_t* addresses, const uint8_t* bytes, size_t count) {
        for (size_t n = 0; n < count; ++n) traffic_[traffic].expected[addresses[n]] = bytes[n];
        traffic_[traffic].bytes = count;
    }

    void run(const Case& asked, Verdict* verdict) {
        begin(verdict);
        case_ = &asked;
        start();
        // The first traffic; what follows a stop, which an error makes necessary; the second one.
        int stop_at = asked.stop_at, stop_end = -1, quiet = 0, limit = asked.patience;
        bool& second = second_ = false;
        Traffic* active = &traffic_[0];
        while (!faulty()) {
            if (cycle_ > limit) {
                const bool waits = stop_at >= 0 && cycle_ >= stop_at && !second;
                fault(waits ? "no idle after a stop" : "not done");
                break;
            }
            if (cycle_ == stop_at) {
                stop_end = asked.stop_for ? cycle_ + asked.stop_for : 1 << 30;
                active = nullptr, limit = cycle_ + asked.patience;
            }
            const bool stops = cycle_ < stop_end;
            if (stop_end >= 0 && !stops && !second && (asked.resume || verdict->idle_after >= 0)) {
                second = true, active = &traffic_[1], limit = cycle_ + 2 * asked.patience;
                error_seen_ = false, failed_ = -1, answered_bad_ = 0;
            }
            offer(active, stops);
            respond();
            for (Channel& c : channels_) c.aw.ready.set(false), c.w.ready.set(false);
            settle();
            const Bits before = outputs();
            for (Channel& c : channels_) ready(c);
            settle();
            if (outputs() != before) fault("a VALID follows a READY");
            if (stops) refused();
            const bool idle = idle_.high();
            check_idle(idle);
            if (stop_end < 0 || second) failed();
            if (active) take(*active);
            for (Channel& c : channels_) observe(c);
            if (stop_end >= 0 && idle && verdict->idle_after < 0 && cycle_ > stop_at && !second) {
                verdict->idle_after = cycle_ - stop_at;
                if (error_.high()) fault("an error after a stop");
                if (stop_end == 1 << 30) stop_end = cycle_ + 1;
            }
            const bool last = asked.stop_at < 0 || second;
            const bool fails = error_seen_ && !owed();
            const bool over = fails || (active && active->done() && !owed() && idle);
            quiet = last && over ? quiet + 1 : 0;
            if (fails && quiet == 24 && stop_end < 0) stop_at = cycle_ + 1, quiet = 0;
            edge();
            if (quiet == 3 && !error_seen_) break;
        }
        if (!faulty()) finish(second);
        verdict->cycles = cycle_;
    }

private:
    void start() {
        for (Traffic& traffic : traffic_) traffic.restart();
        for (uint32_t address : touched_) written_[address] = 0;
        touched_.clear();
        number_ = 0, error_seen_ = false, failed_ = -1, answered_bad_ = 0;
        for (Channel& c : channels_) {
            c.waiting.clear(), c.early.clear(), c.answers.clear();
            c.under_way.assign(1 << kIdBits, 0);
            c.aw_held = c.w_held = c.sending = c.answering = c.ready_aw = c.ready_w = false;
            c.shown = c.begun = 0, c.first = -1;
            c.b.valid.set(false), c.aw.ready.set(false), c.w.ready.set(false);
        }
        offer(nullptr, false);
        reset();
    }

    int owed() const {
        int sum = 0;
        for (const Channel& c : channels_) sum += c.owed();
        return sum;
    }

    void offer(Traffic* traffic, bool stops) {
        stop_.set(stops);
        for (unsigned n = 0; n < kParts; ++n) {
            if (!traffic) {
                requests_[n].valid.set(false), data_[n].valid.set(false);
                continue;
            }
            traffic->requests[n].offer(requests_[n], true);
            // What was offered stays.
            const bool now = case_->spread < 2 || cycle_ % case_->spread == 0;
            traffic->data[n].offer(data_[n], now || offered_ >> n & 1);
        }
        offered_ = 0;
        for (unsigned n = 0; n < kParts; ++n) offered_ |= unsigned(data_[n].valid.high()) << n;
    }

    void take(Traffic& traffic) {
        for (unsigned n = 0; n < kParts; ++n) {
            traffic.requests[n].take(requests_[n]);
            traffic.data[n].take(data_[n]);
            if (data_[n].ready.high()) offered_ &= ~(1u << n);
        }
    }

    void refused() {
        for (unsigned n = 0; n < kParts; ++n) {
            if (requests_[n].ready.high()) fault("a request is taken during a stop");
            if (kRefuses && data_[n].ready.high()) fault("data is taken during a stop");
        }
    }

    Bits outputs() {
        Bits sum = 0;
        for (Channel& c : channels_) {
            sum = sum * 0x9E3779B97F4A7C15u + c.aw.valid.high() * 2 + c.w.valid.high();
            if (c.aw.valid.high()) sum = sum * 31 + c.aw.payload.get();
            if (c.w.valid.high()) sum = sum * 37 + c.w.payload.get();
        }
        return sum;
    }

    // READY of AW and W in this cycle.
    void ready(Channel& c) {
        const bool aw = c.aw.valid.high(), w = c.w.valid.high();
        // What is not repeated begins with the first AWVALID.
        if (aw && c.first < 0) c.first = cycle_;
        const int since = c.first < 0 ? 0 : cycle_ - c.first;
        bool ready_aw = case_->aw.at(case_->aw.repeats ? cycle_ : since);
        bool ready_w = case_->w.at(case_->w.repeats ? cycle_ : since);
        if (case_->ready_after_valid) ready_aw &= c.aw_held, ready_w &= c.w_held;
        if (case_->aw_after_w) ready_aw &= w;
        if (c.waiting.empty()) {
            if (case_->w_after_aw) ready_w &= aw;
            // Once its last beat is gone, no WVALID would come for the address to follow.
            const bool last = w && field(c.w.payload.get(), kDataBits + kBytes, 1);
            if (case_->aw_after_w && last) ready_w &= aw && ready_aw;
        }
        c.ready_aw = ready_aw, c.ready_w = ready_w;
        c.aw.ready.set(ready_aw), c.w.ready.set(ready_w);
    }

    // B of this cycle.
    void respond() {
        for (Channel& c : channels_) {
            c.answering = false;
            c.b.valid.set(false);
            if (cycle_ % case_->every) continue;
            int chosen = -1;
            std::vector<Burst>& all = c.answers;
            for (int n = 0; n < int(all.size()); ++n) {
                if (all[n].due > cycle_) continue;
                bool first = true;
                for (int m = 0; m < int(all.size()); ++m)
                    first &= all[m].id != all[n].id || all[m].number >= all[n].number;
                if (!first) continue;
                if (chosen < 0) chosen = n;
                else if (case_->order < 0) {
                    if (all[n].due < all[chosen].due) chosen = n;
                } else {
                    const bool young = case_->order >> (cycle_ / case_->every & 3) & 1;
                    if ((all[n].number > all[chosen].number) == young) chosen = n;
                }
            }
            c.b.valid.set(chosen >= 0);
            if (chosen < 0) continue;
            c.answer = all[chosen];
            for (const Burst& other : all) verdict_->overtakes += other.number < c.answer.number;
            all.erase(all.begin() + chosen);
            c.answering = true;
            const bool bad = c.answer.number == case_->bad && !second_;
            if (bad) failed_ = c.answer.start, failed_id_ = c.answer.id, after_error_ = 0;
            const uint64_t payload = (bad ? 2 : 0) | uint64_t{c.answer.id} << 2;
            uint8_t bytes[16] = {};
            std::memcpy(bytes, &payload, sizeof payload);
            c.b.payload.put(bytes);
        }
    }

    void check_idle(bool idle) {
        if (!idle) return;
        if (owed()) fault("idle while the bus owes something");
        for (Channel& c : channels_)
            if (c.aw.valid.high() || c.w.valid.high()) fault("idle with VALID high");
    }

    void failed() {
        const bool error = error_.high();
        if (error && failed_ < 0) fault("an error without reason");
        if (error && !error_seen_ && field(error_address_.get(), 0, 32) != uint32_t(failed_))
            fault("an error at another address");
        if (answered_bad_ && answered_bad_ < cycle_ && !error && failed_ >= 0)
            fault("no error after a bad response");
        error_seen_ |= error;
    }

    // What moved over a channel, and its rules.
    void observe(Channel& c) {
        const unsigned number = &c - &channels_[0];
        const bool aw = c.aw.valid.high(), w = c.w.valid.high();
        const Bits address = c.aw.payload.get(), data = c.w.payload.get();
        if (c.aw_held && !aw) fault("aw takes back its valid");
        if (c.aw_held && aw && address != c.aw_payload) fault("aw changes before ready");
        if (c.w_held && !w) fault("w takes back its valid");
        if (c.w_held && w && data != c.w_payload) fault("w changes before ready");
        if (aw && !c.aw_held) shown(c, field(address, kAddrBits + 8, kIdBits));
        if (w && !c.sending && !c.w_held && ++c.begun > c.shown) fault("w before its aw");
        if (!w && c.sending) fault("w pauses within a burst");
        c.aw_held = aw && !c.ready_aw, c.w_held = w && !c.ready_w;
        c.aw_payload = address, c.w_payload = data;
        if (aw && c.ready_aw) accept(c, address);
        if (w && c.ready_w) {
            const bool last = field(data, kDataBits + kBytes, 1);
            c.early.push({field(data, 0, kDataBits), field(data, kDataBits, kBytes), last});
            c.sending = !last;
        }
        while (!c.early.empty() && !c.waiting.empty()) store(c);
        if (c.answering) {
            if (!c.b.ready.high()) fault("bready is low when a response comes");
            const unsigned writer = kChannels > 1 ? number : c.answer.id;
            if (!(static_cast<uint64_t>(answerable_.get()) >> writer & 1))
                fault("a response comes before its address can leave the queue");
            if (c.answer.number == case_->bad && !second_) answered_bad_ = cycle_;
            --c.under_way[c.answer.id];
        }
    }

    void shown(Channel& c, unsigned id) {
        ++c.shown;
        ++verdict_->moved;
        // One waits at its output, two in the arbiter.
        if (error_seen_ && id == failed_id_ && ++after_error_ > 3 * kChannels)
            fault("bursts are issued after an error");
        if (kIdBits && id >= kParts) fault("ID %u is nobody's", id);
        if (++c.under_way[id] > int(kOutstanding)) fault("too many bursts under way");
    }

    void accept(Channel& c, Bits payload) {
        Burst burst{};
        burst.address = burst.start = field(payload, 0, kAddrBits);
        burst.left = field(payload, kAddrBits, 8) + 1;
        burst.id = field(payload, kAddrBits + 8, kIdBits);
        burst.number = number_++;
        if (burst.address % kBytes) fault("a burst is not aligned");
        if (burst.address / kBytes % kBurstBeats + burst.left > kBurstBeats)
            fault("a burst of %u beats at 0x%x crosses a boundary", burst.left, burst.address);
        if (burst.address + burst.left * kBytes > kSpace) fault("a burst is outside");
        c.waiting.push(burst);
    }

    void store(Channel& c) {
        const Beat beat = c.early.front();
        c.early.pop();
        Burst& burst = c.waiting.front();
        for (unsigned lane = 0; lane < kBytes && !faulty(); ++lane) {
            if (!(beat.strobe >> lane & 1)) continue;
            const uint32_t address = burst.address + lane;
            if (written_[address]) fault("byte 0x%x is written twice", address);
            written_[address] = 1;
            memory_[address] = beat.data >> 8 * lane;
            touched_.push_back(address);
            const bool first = traffic_[0].expected[address] == memory_[address];
            const bool second = traffic_[1].expected[address] == memory_[address];
            if (!first && !second) fault("byte 0x%x is written wrongly", address);
        }
        burst.address += kBytes;
        --burst.left;
        if (beat.last != (burst.left == 0)) fault("wlast is wrong");
        if (burst.left == 0) {
            burst.due = cycle_ + case_->latency;
            c.answers.push_back(burst);
            c.waiting.pop();
        }
    }

    // Whether all is in memory that should be.
    void finish(bool second) {
        unsigned found = 0;
        for (uint32_t address : touched_) found += traffic_[second].expected[address] >= 0;
        if (found != traffic_[second].bytes)
            fault("%u bytes are written of %u", found, traffic_[second].bytes);
    }

    std::vector<Stream> requests_, data_;
    std::vector<Channel> channels_;
    Port stop_, idle_, error_, error_address_, answerable_;
    Traffic traffic_[2];
    std::vector<uint8_t> memory_, written_;
    std::vector<uint32_t> touched_;
    const Case* case_ = nullptr;
    unsigned offered_ = 0;
    int number_ = 0, answered_bad_ = 0;
    unsigned failed_id_ = 0, after_error_ = 0;
    int64_t failed_ = -1;
    bool error_seen_ = false, second_ = false;
};

}  // namespace

EXPORT void* writers_create() { return new Writers; }
EXPORT void writers_destroy(void* bench) { delete static_cast<Writers*>(bench); }

// Payloads that a part is offered, in the first traffic or in the one after a stop.
EXPORT void writers_words(
    void* bench, int traffic, int part, int data, const uint8_t* content, uint64_t stride,
    uint64_t count) {
    static_cast<Writers*>(bench)->words(traffic, part, data, content, stride, count);
}

EXPORT void writers_expect(
    void* bench, int traffic, const uint32_t* addresses, const uint8_t* bytes, uint64_t count) {
    static_cast<Writers*>(bench)->expect(traffic, addresses, bytes, count);
}

// The way in which a top that has a port `spoil` is spoilt.
EXPORT void writers_spoil(void* bench, int way) { static_cast<Writers*>(bench)->spoil(way); }

EXPORT uint64_t writers_run(
    void* bench, const Case* cases, uint64_t count, Verdict* verdict, uint64_t* cycles) {
    return run_all(*static_cast<Writers*>(bench), cases, count, verdict, cycles);
}
