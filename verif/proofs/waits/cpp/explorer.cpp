// Visits every state that a circuit can reach, breadth first, and measures the longest waits.
//
// explorer CIRCUIT.aig WAITS REACHED BROKEN STATES
//
// The outputs of the circuit (binary AIGER, all latches 0 at first): whether a cycle counts, then
// so many waits, events that can happen and events that must not. A state is tried with every
// combination of inputs, 256 at a time. A wait that never ends is a cycle of states.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

namespace {

constexpr unsigned kLaneInputs = 8, kGroups = 4;
typedef uint64_t Lanes __attribute__((vector_size(8 * kGroups)));

inline bool any(Lanes v) { return v[0] | v[1] | v[2] | v[3]; }

[[noreturn]] void fail(const std::string& text) {
    std::cerr << text << "\n";
    std::exit(2);
}

struct Gate {
    unsigned out, a, b;
};

struct Circuit {
    unsigned inputs = 0, latches = 0, outputs = 0, variables = 0;
    std::vector<unsigned> next, out;
    std::vector<Gate> gates;
};

unsigned coded(std::istream& text) {
    unsigned value = 0, shift = 0, byte;
    do {
        byte = text.get();
        value |= (byte & 127) << shift;
        shift += 7;
    } while (byte & 128);
    return value;
}

Circuit read(const char* name) {
    std::ifstream text(name, std::ios::binary);
    std::string line, kind;
    unsigned gates = 0;
    Circuit c;
    std::getline(text, line);
    std::istringstream head(line);
    if (!(head >> kind >> c.variables >> c.inputs >> c.latches >> c.outputs >> gates) ||
        kind != "aig")
        fail("not a binary AIGER file");
    auto literal = [&] {
        std::getline(text, line);
        if (line.find(' ') != std::string::npos) fail("a latch does not begin with 0");
        return unsigned(std::stoul(line));
    };
    for (unsigned n = 0; n < c.latches; n++) c.next.push_back(literal());
    for (unsigned n = 0; n < c.outputs; n++) c.out.push_back(literal());
    unsigned out = 2 * (c.inputs + c.latches);
    for (unsigned n = 0; n < gates; n++) {
        out += 2;
        unsigned a = out - coded(text), b = a - coded(text);
        c.gates.push_back({out >> 1, a, b});
    }
    return c;
}

// Values of all variables for 256 combinations of inputs. The first 8 inputs differ between lanes,
// the others are set one after the other; gates are sorted by the last one that they depend on.
class Evaluator {
  public:
    explicit Evaluator(const Circuit& c) : c_(c), value_(c.variables + 1), level_(c.variables + 1) {
        std::vector<bool> used(c.variables + 1);
        for (const Gate& g : c.gates) used[g.a >> 1] = used[g.b >> 1] = true;
        for (unsigned l : c.next) used[l >> 1] = true;
        for (unsigned l : c.out) used[l >> 1] = true;
        for (unsigned n = 1; n <= c.inputs; n++)
            if (used[n]) inputs_.push_back(n);
        unsigned lanes = std::min<size_t>(kLaneInputs, inputs_.size());
        for (unsigned n = 0; n < lanes; n++)
            for (unsigned lane = 0; lane < 64 * kGroups; lane++)
                if (lane >> n & 1) value_[inputs_[n]][lane / 64] |= uint64_t(1) << lane % 64;
        upper_.assign(inputs_.begin() + lanes, inputs_.end());
        for (unsigned n = 0; n < upper_.size(); n++) level_[upper_[n]] = n + 1;
        gates_.resize(upper_.size() + 1);
        for (const Gate& g : c.gates) {
            level_[g.out] = std::max(level_[g.a >> 1], level_[g.b >> 1]);
            gates_[level_[g.out]].push_back(g);
        }
        for (unsigned lane = 0; lane < 1u << lanes; lane++)
            in_use_[lane / 64] |= uint64_t(1) << lane % 64;
    }

    unsigned inputs() const { return inputs_.size(); }

    Lanes of(unsigned literal) const {
        Lanes v = value_[literal >> 1];
        return literal & 1 ? ~v : v;
    }

    Lanes lanes_in_use() const { return in_use_; }

    // Calls visit after each 256 combinations, unless no cycle of them counts.
    template <class Visit>
    void run(const uint64_t* state, Visit visit) {
        for (unsigned n = 0; n < c_.latches; n++) {
            uint64_t bits = state[n / 64] >> n % 64 & 1 ? ~uint64_t(0) : 0;
            value_[1 + c_.inputs + n] = Lanes{bits, bits, bits, bits};
        }
        step(0, visit);
    }

  private:
    template <class Visit>
    void step(unsigned level, Visit& visit) {
        for (const Gate& g : gates_[level]) value_[g.out] = of(g.a) & of(g.b);
        if (level >= level_[c_.out[0] >> 1]) {
            if (!any(of(c_.out[0]) & in_use_)) return;
        }
        if (level == upper_.size()) return visit();
        for (uint64_t bits : {uint64_t(0), ~uint64_t(0)}) {
            value_[upper_[level]] = Lanes{bits, bits, bits, bits};
            step(level + 1, visit);
        }
    }

    const Circuit& c_;
    std::vector<Lanes> value_;
    std::vector<unsigned> level_, inputs_, upper_;
    std::vector<std::vector<Gate>> gates_;
    Lanes in_use_{};
};

// Splits lanes into classes in which all signals are equal.
class Classes {
  public:
    void start(Lanes all) { classes_.assign(1, all); }
    size_t count() const { return classes_.size(); }

    void split(Lanes signal) {
        if (!any(signal) || !any(~signal)) return;
        for (size_t n = 0, end = classes_.size(); n < end; n++) {
            Lanes high = classes_[n] & signal, low = classes_[n] & ~signal;
            if (!any(high) || !any(low)) continue;
            classes_[n] = high;
            classes_.push_back(low);
        }
    }

    // A lane of a class.
    unsigned lane(size_t number) const {
        for (unsigned group = 0; group < kGroups; group++)
            if (uint64_t bits = classes_[number][group]) return 64 * group + __builtin_ctzll(bits);
        return 0;
    }

  private:
    std::vector<Lanes> classes_;
};

uint64_t hashed(const uint64_t* words, unsigned count) {
    uint64_t h = 0x9E3779B97F4A7C15ull;
    for (unsigned n = 0; n < count; n++) {
        h ^= words[n];
        h *= 0xD6E8FEB86659FD93ull;
        h ^= h >> 32;
    }
    return h;
}

// All states found so far, by number.
class States {
  public:
    States(unsigned words, uint64_t most) : words_(words), most_(most), slots_(1 << 16) {}

    const uint64_t* operator[](uint64_t number) const { return &all_[number * words_]; }
    uint64_t count() const { return count_; }

    uint32_t number(const uint64_t* state) {
        if (2 * count_ >= slots_.size()) grow();
        uint64_t at = place(state);
        if (!slots_[at]) {
            if (count_ == most_) fail("more than " + std::to_string(most_) + " states");
            all_.insert(all_.end(), state, state + words_);
            slots_[at] = ++count_;
        }
        return slots_[at] - 1;
    }

  private:
    uint64_t place(const uint64_t* state) const {
        uint64_t mask = slots_.size() - 1, at = hashed(state, words_) & mask;
        while (slots_[at] &&
               std::memcmp(&all_[(slots_[at] - 1) * uint64_t(words_)], state, 8 * words_))
            at = (at + 1) & mask;
        return at;
    }

    void grow() {
        slots_.assign(2 * slots_.size(), 0);
        for (uint64_t n = 0; n < count_; n++) slots_[place(&all_[n * words_])] = n + 1;
    }

    unsigned words_;
    uint64_t most_, count_ = 0;
    std::vector<uint64_t> all_;
    std::vector<uint32_t> slots_;
};

// Successors of a state, so that most of them are looked up once: of each hash the last one.
class Successors {
  public:
    explicit Successors(unsigned words) : words_(words), seen_(kSeen * words), entries_(kSeen) {}

    void start() { state_++; }

    // Whether it is not known to be there.
    bool insert(const uint64_t* state, uint32_t waiting) {
        uint64_t at = ((hashed(state, words_) >> 32) ^ waiting) % kSeen;
        Entry& entry = entries_[at];
        uint64_t* words = &seen_[at * words_];
        if (entry.state == state_ && entry.waiting == waiting &&
            !std::memcmp(words, state, 8 * words_))
            return false;
        entry = {state_, waiting};
        std::memcpy(words, state, 8 * words_);
        return true;
    }

  private:
    static constexpr unsigned kSeen = 1 << 10;
    struct Entry {
        uint64_t state = 0;
        uint32_t waiting = 0;
    };
    unsigned words_;
    uint64_t state_ = 0;
    std::vector<uint64_t> seen_;
    std::vector<Entry> entries_;
};

struct Step {
    uint32_t to, waits;
};

// Most steps on end with a wait; -1 if it never ends.
int64_t longest(const std::vector<Step>& steps, const std::vector<uint64_t>& first, unsigned wait) {
    uint64_t states = first.size() - 1, done = 0;
    std::vector<uint32_t> before(states), length(states), ready;
    auto each = [&](uint64_t state, auto act) {
        for (uint64_t n = first[state]; n < first[state + 1]; n++)
            if (steps[n].waits >> wait & 1) act(steps[n].to);
    };
    for (uint64_t s = 0; s < states; s++) each(s, [&](uint32_t to) { before[to]++; });
    for (uint64_t s = 0; s < states; s++)
        if (!before[s]) ready.push_back(s);
    int64_t most = 0;
    while (!ready.empty()) {
        uint32_t from = ready.back();
        ready.pop_back();
        done++;
        most = std::max<int64_t>(most, length[from]);
        each(from, [&](uint32_t to) {
            length[to] = std::max(length[to], length[from] + 1);
            if (!--before[to]) ready.push_back(to);
        });
    }
    return done == states ? most : -1;
}

}  // namespace

int main(int count, char** words) {
    if (count != 6) fail("usage: explorer CIRCUIT.aig WAITS REACHED BROKEN STATES");
    Circuit c = read(words[1]);
    unsigned waits = std::stoul(words[2]), reached = std::stoul(words[3]),
             broken = std::stoul(words[4]);
    if (c.outputs != 1 + waits + reached + broken || c.outputs > 64) fail("other outputs");
    Evaluator evaluator(c);
    unsigned size = (c.latches + 63) / 64;
    if (!size) size = 1;
    States states(size, std::min<uint64_t>(std::stoull(words[5]), UINT32_MAX - 1));
    std::vector<Step> steps;
    std::vector<uint64_t> first{0}, initial(size);
    std::vector<int64_t> depth(c.outputs, -1);
    states.number(initial.data());
    uint64_t layer_ends = 1, tried = 0, dead = 0;
    int64_t cycle = 0;
    Classes classes;
    Successors successors(size);
    std::vector<uint64_t> to(size), state(size);
    for (uint64_t from = 0; from < states.count(); from++) {
        if (from == layer_ends) cycle++, layer_ends = states.count();
        bool alive = false;
        state.assign(states[from], states[from] + size);
        successors.start();
        evaluator.run(state.data(), [&] {
            Lanes counts = evaluator.of(c.out[0]) & evaluator.lanes_in_use();
            if (!any(counts)) return;
            alive = true;
            for (unsigned group = 0; group < kGroups; group++)
                tried += __builtin_popcountll(counts[group]);
            for (unsigned n = 1; n < c.outputs; n++)
                if (depth[n] < 0 && any(evaluator.of(c.out[n]) & counts)) depth[n] = cycle;
            classes.start(counts);
            for (unsigned n = 0; n < waits; n++) classes.split(evaluator.of(c.out[1 + n]));
            for (unsigned next : c.next) classes.split(evaluator.of(next));
            for (size_t number = 0; number < classes.count(); number++) {
                unsigned lane = classes.lane(number);
                auto bit = [&](unsigned literal) {
                    return evaluator.of(literal)[lane / 64] >> lane % 64 & 1;
                };
                std::fill(to.begin(), to.end(), 0);
                for (unsigned n = 0; n < c.latches; n++) to[n / 64] |= bit(c.next[n]) << n % 64;
                uint32_t waiting = 0;
                for (unsigned n = 0; n < waits; n++) waiting |= bit(c.out[1 + n]) << n;
                if (!successors.insert(to.data(), waiting)) continue;
                uint32_t found = states.number(to.data());
                if (waiting) steps.push_back({found, waiting});
            }
        });
        dead += !alive;
        first.push_back(steps.size());
    }
    std::cout << "states " << states.count() << "\nsteps " << tried << "\ndead " << dead
              << "\nlatches " << c.latches << "\ninputs " << evaluator.inputs() << "\ngates "
              << c.gates.size() << "\nkept " << steps.size() << "\ncycles " << cycle << "\n";
    for (unsigned n = 0; n < waits; n++)
        std::cout << "wait " << longest(steps, first, n) << "\n";
    for (unsigned n = 1 + waits; n < c.outputs; n++)
        std::cout << "event " << depth[n] << "\n";
}
