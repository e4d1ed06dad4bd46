// Replays cycles event by event, with a delay for each path through a cell; see delays.py.
//
// Each cycle begins at rest, with the clock edge: sources change, and changes run through the cells
// until all is at rest again. Delays are inertial, as Verilog has them: an output that is to change
// and is told to stay, before it has changed, stays. Times are in femtoseconds.

#include <algorithm>
#include <cstdint>
#include <vector>

namespace {

using Word = uint64_t;

struct Kind {
    int64_t inputs, outputs, clock;  // clock: its input, -1 of cells without; see replay.cpp
    const uint8_t* truth;
    const int16_t* passive;
    const int16_t* active;
};

struct Network {
    int64_t rows, cells, outputs, sources;
    const Kind* kinds;
    const int32_t* kind;          // of each cell
    const int64_t* first_input;   // of each cell, in `input_rows`
    const int64_t* first_output;  // of each cell, in `output_nets`
    const int32_t* input_rows;
    const int32_t* output_nets;   // -1 for none
    const int64_t* first_energy;  // of each cell, in `energy`
    const float* energy;
    const int64_t* first_delay;   // of each cell, in `delay`
    const int32_t* delay;         // by input, output, edge of the input, edge of the output
    const int64_t* first_fanout;  // of each row, in the next two
    const int32_t* fanout_cell;
    const uint8_t* fanout_input;
    const int32_t* source_rows;   // rows that change with the clock
    const int32_t* source_cells;  // the flip-flop whose state it is, -1 of a net
    const int32_t* source_delays; // of a net, by edge
};

// A change that is due. That of a net without a driver has the output -1 - net.
struct Event {
    int64_t time;
    uint32_t serial;
    int32_t output;
    bool operator<(const Event& other) const {
        return time != other.time ? time < other.time : serial < other.serial;
    }
};

// Events by time, in buckets of about a picosecond each; times never go back in a cycle.
class Queue {
public:
    void push(const Event& event) {
        const size_t place = static_cast<size_t>(event.time >> kShift);
        if (place >= buckets_.size()) buckets_.resize(place + 1024);
        std::vector<Event>& bucket = buckets_[place];
        if (place == now_ && sorted_)
            bucket.insert(std::upper_bound(bucket.begin() + at_, bucket.end(), event), event);
        else
            bucket.push_back(event);
        ++left_;
    }

    bool empty() const { return left_ == 0; }

    Event pop() {
        while (at_ == buckets_[now_].size()) next();
        if (!sorted_) {
            std::sort(buckets_[now_].begin(), buckets_[now_].end());
            sorted_ = true;
        }
        --left_;
        return buckets_[now_][at_++];
    }

    void restart() {
        if (now_ < buckets_.size()) buckets_[now_].clear();
        now_ = at_ = 0;
        sorted_ = false;
    }

private:
    static constexpr int kShift = 10;

    void next() {
        buckets_[now_].clear();
        ++now_;
        at_ = 0;
        sorted_ = false;
    }

    std::vector<std::vector<Event>> buckets_;
    size_t now_ = 0, at_ = 0, left_ = 0;
    bool sorted_ = false;
};

struct Cell {
    int32_t state;
    int32_t kind;
    int64_t first_output, first_energy, first_delay;
};

struct Output {
    uint32_t serial;  // of the event that is due; 0 for none
    int32_t state;    // of the cell when it was caused
    int32_t net;
    int32_t cell;
    uint8_t input;
    uint8_t value;
};

bool bit(const Word* row, int64_t cycle) { return row[cycle >> 6] >> (cycle & 63) & 1; }

class Run {
public:
    Run(const Network& network, int64_t* toggles, double* internal)
        : net_(network), toggles_(toggles), internal_(internal), cells_(network.cells),
          outputs_(network.outputs) {
        for (int64_t c = 0; c < net_.cells; ++c) {
            const int64_t first = net_.first_output[c];
            cells_[c] = {0, net_.kind[c], first, net_.first_energy[c], net_.first_delay[c]};
            for (int64_t o = first; o < net_.first_output[c + 1]; ++o)
                outputs_[o] = {0, 0, net_.output_nets[o], static_cast<int32_t>(c), 0, 0};
        }
    }

    // Takes the values of a cycle, at rest and with a low clock.
    void begin(const Word* values, int64_t words, int64_t cycle) {
        for (int64_t c = 0; c < net_.cells; ++c) {
            const Kind& kind = net_.kinds[net_.kind[c]];
            int32_t state = 0;
            for (int64_t i = 0; i < kind.inputs; ++i)
                if (i != kind.clock)
                    state |= bit(values + net_.input_rows[net_.first_input[c] + i] * words, cycle)
                             << i;
            cells_[c].state = state;
            for (int64_t o = 0; o < kind.outputs; ++o)
                outputs_[net_.first_output[c] + o].value = kind.truth[o << kind.inputs | state];
        }
    }

    // Replays one cycle; `changed`: the sources that change.
    void cycle(const std::vector<int32_t>& changed, int64_t half) {
        clocks();
        for (const int32_t s : changed) {
            const int32_t c = net_.source_cells[s], row = net_.source_rows[s];
            if (c >= 0)
                state_changes(c);
            else
                queue_.push({net_.source_delays[2 * s + high(row)], ++serial_, -1 - row});
        }
        bool low = false;
        while (!queue_.empty()) {
            const Event event = queue_.pop();
            if (!low && event.time >= half) {
                clocks();
                low = true;
            }
            fire(event);
        }
        queue_.restart();
        if (!low) clocks();
    }

    // Returns the first output that differs from the values of a cycle; -1 if none does.
    int64_t differs(const Word* values, int64_t words, int64_t cycle) const {
        for (int64_t o = 0; o < net_.outputs; ++o) {
            const int32_t row = outputs_[o].net;
            if (row >= 0 && bit(values + row * words, cycle) != (outputs_[o].value != 0)) return o;
        }
        return -1;
    }

private:
    // Edge of a net that no cell drives: 1 if it falls, by any pin that it drives.
    bool high(int32_t row) const {
        const int64_t first = net_.first_fanout[row];
        if (first == net_.first_fanout[row + 1]) return false;
        return cells_[net_.fanout_cell[first]].state >> net_.fanout_input[first] & 1;
    }

    void add(int32_t c, int16_t slot) {
        if (slot >= 0) internal_[c] += net_.energy[cells_[c].first_energy + slot];
    }

    // All flip-flops' clocks rise or fall.
    void clocks() {
        for (int64_t s = 0; s < net_.sources; ++s) {
            const int32_t c = net_.source_cells[s];
            if (c < 0) continue;
            const Kind& kind = net_.kinds[cells_[c].kind];
            add(c, kind.passive[kind.clock << kind.inputs | cells_[c].state]);
            cells_[c].state ^= 1 << kind.clock;
        }
    }

    // The state of a flip-flop changes, whose clock has risen.
    void state_changes(int32_t c) {
        const Kind& kind = net_.kinds[cells_[c].kind];
        const int32_t before = cells_[c].state ^ (1 << kind.clock);
        cells_[c].state ^= 1 << (kind.inputs - 1);
        outputs(cells_[c], kind, 0, static_cast<uint8_t>(kind.clock), before, false);
    }

    // An input of a cell changed: its outputs follow.
    void outputs(const Cell& cell, const Kind& kind, int64_t time, uint8_t input, int32_t before,
                 bool fell) {
        for (int64_t o = 0; o < kind.outputs; ++o) {
            const int64_t at = cell.first_output + o;
            const uint8_t wanted = kind.truth[o << kind.inputs | cell.state];
            Output& output = outputs_[at];
            if (wanted == output.value) {
                output.serial = 0;  // what is due is cancelled
                continue;
            }
            if (output.serial) continue;  // as it is due already
            const int64_t arc = ((input * kind.outputs + o) * 2 + fell) * 2 + !wanted;
            output.serial = ++serial_;
            output.state = before;
            output.input = input;
            queue_.push({time + net_.delay[cell.first_delay + arc], serial_,
                         static_cast<int32_t>(at)});
        }
    }

    void fire(const Event& event) {
        if (event.output < 0) {
            change(-1 - event.output, event.time);
            return;
        }
        Output& output = outputs_[event.output];
        if (output.serial != event.serial) return;
        output.serial = 0;
        output.value ^= 1;
        const Cell& cell = cells_[output.cell];
        const Kind& kind = net_.kinds[cell.kind];
        const int64_t o = event.output - cell.first_output;
        add(output.cell, kind.active[(o * kind.inputs + output.input) << kind.inputs |
                                     output.state]);
        if (output.net >= 0) change(output.net, event.time);
    }

    // A net changes, and so do the pins that it drives.
    void change(int32_t row, int64_t time) {
        ++toggles_[row];
        for (int64_t f = net_.first_fanout[row]; f < net_.first_fanout[row + 1]; ++f) {
            const int32_t c = net_.fanout_cell[f];
            const uint8_t input = net_.fanout_input[f];
            Cell& cell = cells_[c];
            const Kind& kind = net_.kinds[cell.kind];
            const int32_t before = cell.state;
            add(c, kind.passive[input << kind.inputs | before]);
            cell.state = before ^ (1 << input);
            if (kind.clock < 0) outputs(cell, kind, time, input, before, before >> input & 1);
        }
    }

    const Network& net_;
    int64_t* toggles_;
    double* internal_;
    std::vector<Cell> cells_;
    std::vector<Output> outputs_;
    Queue queue_;
    uint32_t serial_ = 0;
};

}  // namespace

extern "C" {

// Replays `steps` cycles from `first` on. Adds the changes of each row and the energy of each cell.
// Returns the first output whose value at the end differs from the one given; -1 if none does.
int64_t replay_events(const Word* values, int64_t words, int64_t first, int64_t steps,
                      int64_t half, const Network* network, int64_t* toggles, double* internal) {
    std::vector<std::vector<int32_t>> changed(steps);
    for (int64_t s = 0; s < network->sources; ++s) {
        const Word* row = values + network->source_rows[s] * words;
        for (int64_t k = 0; k < steps; ++k)
            if (bit(row, first + k) != bit(row, first + k + 1))
                changed[k].push_back(static_cast<int32_t>(s));
    }
    Run run(*network, toggles, internal);
    run.begin(values, words, first);
    for (int64_t k = 0; k < steps; ++k) run.cycle(changed[k], half);
    return run.differs(values, words, first + steps);
}
}
