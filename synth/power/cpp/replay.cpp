// Evaluates a circuit for 64 cycles a word, and adds up what its cells take in each of them.
//
// A row of values has a bit for each cycle, the first one in the lowest bit. See circuit.py for the
// rows, and energies.py for the tables of events.

#include <cstdint>
#include <cstring>
#include <vector>

namespace {

using Word = uint64_t;

struct Gates {
    const uint8_t* truth;
    const int32_t* table;
    const int32_t* counts;
    const int32_t* inputs;
    const int32_t* outputs;
    int64_t count;
};

bool bit(const Word* row, int64_t cycle) { return row[cycle >> 6] >> (cycle & 63) & 1; }

// Evaluates one gate; `scratch` has 2^inputs rows of words.
void gate(const uint8_t* truth, int count, const Word* const* inputs, Word* output, int64_t words,
          std::vector<Word>& scratch) {
    if (count == 0) {
        std::memset(output, truth[0] ? 0xff : 0, words * sizeof(Word));
        return;
    }
    const int64_t half = int64_t{1} << (count - 1);
    if (static_cast<int64_t>(scratch.size()) < half * words) scratch.resize(half * words);
    const Word* low = inputs[0];
    for (int64_t s = 0; s < half; ++s) {
        // The value for input 0 low is the word a, for high it is b.
        const Word a = truth[2 * s] ? ~Word{0} : 0, b = truth[2 * s + 1] ? ~Word{0} : 0;
        Word* to = half == 1 ? output : scratch.data() + s * words;
        for (int64_t w = 0; w < words; ++w) to[w] = (a & ~low[w]) | (b & low[w]);
    }
    for (int level = 1; level < count; ++level) {
        const int64_t left = int64_t{1} << (count - 1 - level);
        const Word* select = inputs[level];
        for (int64_t s = 0; s < left; ++s) {
            const Word* zero = scratch.data() + 2 * s * words;
            const Word* one = zero + words;
            Word* to = left == 1 ? output : scratch.data() + s * words;
            for (int64_t w = 0; w < words; ++w)
                to[w] = (zero[w] & ~select[w]) | (one[w] & select[w]);
        }
    }
}

// What the cells of a kind take. A state has a bit for each input; an event is a change of one
// input in a state, which is the one before it.
struct Kind {
    int64_t cells, inputs, outputs, slots;
    const int32_t* rows;      // of each cell's inputs
    const uint8_t* order;     // of each cell's inputs, by when they change in a cycle
    const uint8_t* truth;     // value of each output in each state
    const int16_t* passive;   // energy of an event by input and state, a slot or -1
    const int16_t* active;    // the same of a change of an output, by output, input and state
    const float* energy;      // of each cell's slots, in pJ
    const double* leakage;    // in each state, in mW
    double* internal;         // energy of each cell (added to)
    double* leaked;           // sum of each cell's leakage over cycles (added to)
};

struct Walk {
    const Kind& kind;
    const float* energy;
    int64_t states;

    double passive(int64_t input, int64_t state) const {
        const int16_t slot = kind.passive[input * states + state];
        return slot < 0 ? 0.0 : energy[slot];
    }
    double active(int64_t output, int64_t input, int64_t state) const {
        const int16_t slot = kind.active[(output * kind.inputs + input) * states + state];
        return slot < 0 ? 0.0 : energy[slot];
    }
    bool value(int64_t output, int64_t state) const {
        return kind.truth[output * states + state];
    }

    // Energy of the change from a state to another, the inputs in an order, each output at most
    // once: with the last input that changes it on the way.
    double change(int64_t before, int64_t after, const uint8_t* order) const {
        double sum = 0.0;
        int64_t state = before;
        int64_t input_of[8], state_of[8];
        for (int64_t i = 0; i < kind.inputs; ++i) {
            const int64_t input = order[i], mask = int64_t{1} << input;
            if (!((state ^ after) & mask)) continue;
            sum += passive(input, state);
            for (int64_t o = 0; o < kind.outputs; ++o)
                if (value(o, state) != value(o, state ^ mask)) {
                    input_of[o] = input;
                    state_of[o] = state;
                }
            state ^= mask;
        }
        for (int64_t o = 0; o < kind.outputs; ++o)
            if (value(o, before) != value(o, after)) sum += active(o, input_of[o], state_of[o]);
        return sum;
    }
};

int64_t state_at(const Word* const* rows, int64_t inputs, int64_t cycle) {
    int64_t state = 0;
    for (int64_t i = 0; i < inputs; ++i) state |= int64_t{bit(rows[i], cycle)} << i;
    return state;
}

// Cycles at whose end an input differs from its value before, as bits of a word.
Word changes(const Word* const* rows, int64_t inputs, int64_t word, int64_t words, int64_t steps) {
    Word found = 0;
    for (int64_t i = 0; i < inputs; ++i) {
        const Word next = word + 1 < words ? rows[i][word + 1] << 63 : 0;
        found |= rows[i][word] ^ (rows[i][word] >> 1 | next);
    }
    const int64_t left = steps - 64 * word;
    if (left < 64) found &= left > 0 ? (Word{1} << left) - 1 : 0;
    return found;
}

}  // namespace

extern "C" {

void replay_evaluate(Word* values, int64_t words, const Gates* gates) {
    std::vector<Word> scratch;
    const Word* inputs[16];
    const int32_t* rows = gates->inputs;
    for (int64_t g = 0; g < gates->count; ++g) {
        const int count = gates->counts[g];
        for (int i = 0; i < count; ++i) inputs[i] = values + rows[i] * words;
        gate(gates->truth + gates->table[g], count, inputs, values + gates->outputs[g] * words,
             words, scratch);
        rows += count;
    }
}

// Adds the changes of each row in so many steps from cycle to cycle, and the steps at whose end it
// is high.
void replay_count(const Word* values, int64_t rows, int64_t words, int64_t steps, int64_t* toggles,
                  int64_t* high) {
    for (int64_t r = 0; r < rows; ++r) {
        const Word* row = values + r * words;
        for (int64_t w = 0; w < words; ++w) {
            const Word next = row[w] >> 1 | (w + 1 < words ? row[w + 1] << 63 : 0);
            const int64_t left = steps - 64 * w;
            const Word mask = left >= 64 ? ~Word{0} : left > 0 ? (Word{1} << left) - 1 : 0;
            toggles[r] += __builtin_popcountll((row[w] ^ next) & mask);
            high[r] += __builtin_popcountll(next & mask);
        }
    }
}

// Returns the first step after which a row differs from the one that tells its next value; -1 if
// none does.
int64_t replay_differs(const Word* row, const Word* next, int64_t steps) {
    for (int64_t s = 0; s < steps; ++s)
        if (bit(row, s + 1) != bit(next, s)) return s;
    return -1;
}

void replay_gates(const Word* values, int64_t words, int64_t steps, const Kind* kind) {
    const Word* rows[16];
    const int64_t states = int64_t{1} << kind->inputs;
    for (int64_t c = 0; c < kind->cells; ++c) {
        for (int64_t i = 0; i < kind->inputs; ++i)
            rows[i] = values + kind->rows[c * kind->inputs + i] * words;
        const Walk walk{*kind, kind->energy + c * kind->slots, states};
        const uint8_t* order = kind->order + c * kind->inputs;
        double internal = 0.0, leaked = 0.0;
        int64_t state = state_at(rows, kind->inputs, 0), since = 0;
        for (int64_t w = 0; w < words; ++w)
            for (Word left = changes(rows, kind->inputs, w, words, steps); left; left &= left - 1) {
                const int64_t step = 64 * w + __builtin_ctzll(left);
                leaked += kind->leakage[state] * static_cast<double>(step - since);
                since = step;
                const int64_t after = state_at(rows, kind->inputs, step + 1);
                internal += walk.change(state, after, order);
                state = after;
            }
        leaked += kind->leakage[state] * static_cast<double>(steps - since);
        kind->internal[c] += internal;
        kind->leaked[c] += leaked;
    }
}

// Flip-flops: input `clock` is the clock, the last one the state. In each step the clock rises, the
// state changes, then the other inputs do, and the clock falls.
void replay_flip_flops(const Word* values, int64_t words, int64_t steps, int64_t clock,
                       const Kind* kind) {
    const Word* rows[16];
    const int64_t states = int64_t{1} << kind->inputs;
    const int64_t high = int64_t{1} << clock, own = int64_t{1} << (kind->inputs - 1);
    for (int64_t c = 0; c < kind->cells; ++c) {
        for (int64_t i = 0; i < kind->inputs; ++i)
            rows[i] = values + kind->rows[c * kind->inputs + i] * words;
        const Walk walk{*kind, kind->energy + c * kind->slots, states};
        const uint8_t* order = kind->order + c * kind->inputs;
        int64_t state = state_at(rows, kind->inputs, 0) & ~high;
        double internal = 0.0, leaked = 0.0;
        for (int64_t step = 0; step < steps; ++step) {
            const int64_t after = state_at(rows, kind->inputs, step + 1) & ~high;
            internal += walk.passive(clock, state);
            if ((state ^ after) & own)
                for (int64_t o = 0; o < kind->outputs; ++o)
                    if (walk.value(o, state) != walk.value(o, state ^ own))
                        internal += walk.active(o, clock, state);
            int64_t now = (state ^ ((state ^ after) & own)) | high;
            for (int64_t i = 0; i < kind->inputs; ++i) {
                const int64_t mask = int64_t{1} << order[i];
                if (!((now ^ after) & mask & ~high)) continue;
                internal += walk.passive(order[i], now);
                now ^= mask;
            }
            internal += walk.passive(clock, now);
            leaked += 0.5 * (kind->leakage[now] + kind->leakage[after]);
            state = after;
        }
        kind->internal[c] += internal;
        kind->leaked[c] += leaked;
    }
}
}
