// Drives one Verilated unit through its valid/ready streams, arrays in and arrays out.
//
// Besides what model.h needs, the generated native_glue.h defines `kInputs`, `kOutputs` and
// the accessors used below.
// A payload is made of fields, each copied from (or to) a dense row of 32-bit words in a table of
// the caller's; `index` picks the row of the i-th transfer, row i when it is null.

#include <cstdint>
#include <cstring>
#include <vector>

#include "model.h"
#include "random.h"

namespace {

constexpr int kDone = 0;
constexpr int kTimeOut = 1;
constexpr int kValidDropped = 2;
constexpr int kPayloadChanged = 3;
constexpr int kWavesLost = 4;

// Bits `offset .. offset + width` of a payload, and where they come from or go to.
struct Field {
    uint32_t* table;
    const int64_t* index;
    uint64_t row_words;
    uint32_t offset;
    uint32_t width;
};

// One stream's part of a run.
struct Port {
    uint64_t count;          // transfers to make
    const Field* fields;
    uint64_t field_count;
    const int64_t* after;    // input i waits until more than after[i] results came from output 0
    uint64_t* cycles;        // cycle of every transfer, or null
    uint64_t pause;          // chance of a gap or a stall in each cycle, in units of 2^-32
    uint64_t done;           // transfers made (written)
};

struct Options {
    uint64_t seed;
    uint64_t time_out;       // cycles without any transfer
    uint64_t cycle;          // cycle counter (read and written)
    uint64_t stream;         // stream at fault (written)
};

uint32_t last_mask(uint32_t width) { return (width & 31) ? (1u << (width & 31)) - 1 : ~0u; }

void insert(uint32_t* payload, const Field& field, const uint32_t* row) {
    const uint32_t words = (field.width + 31) / 32, shift = field.offset & 31;
    uint32_t* out = payload + field.offset / 32;
    if (shift == 0) {
        for (uint32_t i = 0; i + 1 < words; ++i) out[i] |= row[i];
        out[words - 1] |= row[words - 1] & last_mask(field.width);
        return;
    }
    uint32_t carry = 0;
    for (uint32_t i = 0; i < words; ++i) {
        const uint32_t word = (i + 1 == words) ? row[i] & last_mask(field.width) : row[i];
        out[i] |= (word << shift) | carry;
        carry = word >> (32 - shift);
    }
    if (carry) out[words] |= carry;
}

void extract(const uint32_t* payload, const Field& field, uint32_t* row) {
    const uint32_t words = (field.width + 31) / 32, shift = field.offset & 31;
    const uint32_t last = (field.offset + field.width - 1) / 32;
    const uint32_t first = field.offset / 32;
    for (uint32_t i = 0; i < words; ++i) {
        uint32_t word = payload[first + i] >> shift;
        if (shift && first + i < last) word |= payload[first + i + 1] << (32 - shift);
        row[i] = word;
    }
    row[words - 1] &= last_mask(field.width);
}

uint32_t* row_of(const Field& field, uint64_t transfer) {
    const uint64_t row = field.index ? static_cast<uint64_t>(field.index[transfer]) : transfer;
    return field.table + row * field.row_words;
}

class Simulation {
public:
    Simulation() {
        for (unsigned s = 0; s < kOutputs; ++s) held_payload_[s].resize(kOutputWords[s]);
        reset();
    }

    ClockedModel& model() { return model_; }

    void reset() {
        std::vector<uint32_t> zeros;
        for (unsigned s = 0; s < kInputs; ++s) {
            zeros.assign(kInputWords[s], 0);
            set_input_payload(*model_, s, zeros.data());
            set_input_valid(*model_, s, false);
        }
        for (unsigned s = 0; s < kOutputs; ++s) {
            set_output_ready(*model_, s, false);
            held_[s] = false;
        }
        set_reset(*model_, true);
        for (int i = 0; i < 4; ++i) {
            model_.settle();
            model_.edge();
        }
        set_reset(*model_, false);
    }

    int run(Port* inputs, Port* outputs, Options* options) {
        Random random(options->seed);
        bool offered[kInputs] = {};
        uint64_t idle = 0;
        int status = kDone;
        for (unsigned s = 0; s < kInputs; ++s) inputs[s].done = 0;
        for (unsigned s = 0; s < kOutputs; ++s) outputs[s].done = 0;
        while (status == kDone && !finished(inputs, outputs)) {
            for (unsigned s = 0; s < kInputs; ++s) {
                if (!offered[s]) offered[s] = offer(s, inputs[s], outputs[0].done, random);
                set_input_valid(*model_, s, offered[s]);
            }
            for (unsigned s = 0; s < kOutputs; ++s) {
                ready_[s] = outputs[s].done < outputs[s].count && !random.chance(outputs[s].pause);
                set_output_ready(*model_, s, ready_[s]);
            }
            model_.settle();
            bool moved = false;
            for (unsigned s = 0; s < kInputs; ++s) {
                if (!offered[s] || !input_ready(*model_, s)) continue;
                if (inputs[s].cycles) inputs[s].cycles[inputs[s].done] = options->cycle;
                ++inputs[s].done;
                offered[s] = false;
                moved = true;
            }
            for (unsigned s = 0; s < kOutputs && status == kDone; ++s) {
                options->stream = s;
                moved |= take(s, outputs[s], options->cycle, &status);
            }
            model_.edge();
            ++options->cycle;
            idle = moved ? 0 : idle + 1;
            if (status == kDone && idle >= options->time_out) status = kTimeOut;
            if (status == kDone && model_.waves_error()) status = kWavesLost;
        }
        for (unsigned s = 0; s < kInputs; ++s) set_input_valid(*model_, s, false);
        for (unsigned s = 0; s < kOutputs; ++s) set_output_ready(*model_, s, false);
        return status;
    }

private:
    static bool finished(const Port* inputs, const Port* outputs) {
        for (unsigned s = 0; s < kInputs; ++s)
            if (inputs[s].done < inputs[s].count) return false;
        for (unsigned s = 0; s < kOutputs; ++s)
            if (outputs[s].done < outputs[s].count) return false;
        return true;
    }

    // Presents the next payload of an input stream, unless there is none yet or a gap is due.
    bool offer(unsigned s, const Port& port, uint64_t results, Random& random) {
        if (port.done >= port.count) return false;
        if (port.after && port.after[port.done] >= static_cast<int64_t>(results)) return false;
        if (random.chance(port.pause)) return false;
        payload_.assign(kInputWords[s] + 1, 0);
        for (uint64_t f = 0; f < port.field_count; ++f)
            insert(payload_.data(), port.fields[f], row_of(port.fields[f], port.done));
        set_input_payload(*model_, s, payload_.data());
        return true;
    }

    // Takes a result if there is one, and holds the unit to the stream rules.
    bool take(unsigned s, Port& port, uint64_t cycle, int* status) {
        const bool valid = output_valid(*model_, s);
        if (held_[s] && !valid) *status = kValidDropped;
        if (!valid) return false;
        payload_.resize(kOutputWords[s] + 1);
        get_output_payload(*model_, s, payload_.data());
        const size_t bytes = kOutputWords[s] * sizeof(uint32_t);
        if (held_[s] && std::memcmp(payload_.data(), held_payload_[s].data(), bytes) != 0)
            *status = kPayloadChanged;
        held_[s] = !ready_[s];
        if (!ready_[s]) {
            std::memcpy(held_payload_[s].data(), payload_.data(), bytes);
            return false;
        }
        for (uint64_t f = 0; f < port.field_count; ++f)
            extract(payload_.data(), port.fields[f], row_of(port.fields[f], port.done));
        if (port.cycles) port.cycles[port.done] = cycle;
        ++port.done;
        return true;
    }

    ClockedModel model_;
    std::vector<uint32_t> payload_;
    std::vector<uint32_t> held_payload_[kOutputs];
    bool held_[kOutputs] = {};
    bool ready_[kOutputs] = {};
};

Simulation& of(void* simulation) { return *static_cast<Simulation*>(simulation); }

}  // namespace

#define EXPORT __attribute__((visibility("default")))

extern "C" {

EXPORT void* native_create() { return new Simulation; }

// Returns what kept the waves from being written, a number of errno.h, or 0.
EXPORT int native_destroy(void* simulation) {
    const int error = of(simulation).model().finish();
    delete &of(simulation);
    return error;
}

EXPORT void native_reset(void* simulation) { of(simulation).reset(); }

EXPORT int native_run(void* simulation, Port* inputs, Port* outputs, Options* options) {
    return of(simulation).run(inputs, outputs, options);
}

#ifdef NATIVE_TRACE
EXPORT int native_trace(void* simulation, const char* path) {
    of(simulation).model().trace(path);
    return of(simulation).model().waves_error();
}
#endif
}
