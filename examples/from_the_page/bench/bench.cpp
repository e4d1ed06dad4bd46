// Clocks a generated unit: a master at its registers and one memory behind all its managers.
// Commands come on standard input, one a line; each is answered by one line:
//   w OFFSET VALUE   write a register of 32 bits       r OFFSET   read one
//   i CYCLES         wait until irq is high            c CYCLES   let cycles pass
// An answer is `ok NUMBER CYCLE`; `fault TEXT` ends the program.
#include "Vunit.h"
#include "verilated.h"

#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fcntl.h>
#include <random>
#include <sys/mman.h>
#include <vector>

[[noreturn]] static void fault(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    printf("fault ");
    vprintf(format, arguments);
    printf("\n");
    exit(1);
}

// A port of any width; one that the unit does not have is 0. The host is little-endian.
struct Port {
    void *at = nullptr;
    size_t bytes = 0;
    uint64_t get() const {
        uint64_t value = 0;
        if (at) memcpy(&value, at, bytes < 8 ? bytes : 8);
        return value;
    }
    void set(uint64_t value) {
        if (at) memcpy(at, &value, bytes < 8 ? bytes : 8);
    }
};

struct Bus { // the signals of a port in the sidecar, without their prefix
    Port awid, awaddr, awlen, awsize, awburst, awvalid, awready, wdata, wstrb, wlast, wvalid,
        wready, bid, bresp, bvalid, bready, arid, araddr, arlen, arsize, arburst, arvalid, arready,
        rid, rdata, rresp, rlast, rvalid, rready;
};

static VerilatedContext context;
static Vunit unit{&context};
static Bus registers;
static uint8_t *memory;
static uint64_t memory_bytes, cycle, stall, latency_low, latency_high, reorder, aw_after_w;
static std::mt19937_64 draw;

static bool stalls() { return draw() % 100 < stall; }
static uint64_t later() { return cycle + latency_low + draw() % (latency_high - latency_low + 1); }

struct Burst {
    uint64_t id, address, beats, due, done = 0;
    bool outside = false;
};

// Picks the next response. One ID is served in order, other IDs in any order if `reorder` is 1.
static int pick(const std::deque<Burst> &queue) {
    std::vector<int> ready;
    for (size_t n = 0; n < queue.size() && (reorder || n == 0); n++) {
        bool first = queue[n].due <= cycle;
        for (size_t before = 0; before < n; before++) first &= queue[before].id != queue[n].id;
        if (first) ready.push_back(int(n));
    }
    return ready.empty() || stalls() ? -1 : ready[draw() % ready.size()];
}

struct Memory : Bus {
    struct Beat {
        std::vector<uint8_t> data;
        uint64_t strobes, last;
    };
    std::deque<Burst> reads, writes, responses;
    std::deque<Beat> beats;
    int reading = -1, responding = -1;

    uint64_t wide; // bytes of a beat

    Memory(const Bus &bus, uint64_t beat_bytes) : Bus(bus), wide(beat_bytes) {}

    Burst burst(Port &id, Port &address, Port &length, Port &size, Port &type) {
        Burst burst{id.get(), address.get(), length.get() + 1, later()};
        uint64_t bytes = burst.beats * wide;
        if (uint64_t(1) << size.get() != wide) fault("a beat is not as wide as the bus");
        if (type.get() != 1) fault("a burst is not of kind INCR");
        if (burst.address % wide) fault("a burst at 0x%lx is not aligned", burst.address);
        if (burst.address % 4096 + bytes > 4096) fault("a burst at 0x%lx crosses 4 KiB", burst.address);
        burst.outside = burst.address + bytes > memory_bytes;
        return burst;
    }

    void before() { // inputs that depend on no output
        if (reading < 0) reading = pick(reads);
        if (responding < 0) responding = pick(responses);
        rvalid.set(reading >= 0);
        bvalid.set(responding >= 0);
        if (reading >= 0) {
            Burst &burst = reads[reading];
            rid.set(burst.id);
            rresp.set(burst.outside ? 3 : 0); // DECERR
            rlast.set(burst.done + 1 == burst.beats);
            if (burst.outside) memset(rdata.at, 0, wide);
            else memcpy(rdata.at, memory + burst.address + burst.done * wide, wide);
        }
        if (responding >= 0) {
            bid.set(responses[responding].id);
            bresp.set(responses[responding].outside ? 3 : 0);
        }
        arready.set(!stalls());
        awready.set(!stalls());
        wready.set(!stalls());
    }
    void ready() { // a memory that accepts an address only when data of it is there, or offered
        if (aw_after_w && beats.empty() && !wvalid.get()) awready.set(0);
    }
    void after() { // what the edge transfers
        if (rvalid.get() && rready.get()) {
            if (++reads[reading].done == reads[reading].beats) reads.erase(reads.begin() + reading);
            reading = -1;
        }
        if (bvalid.get() && bready.get()) {
            responses.erase(responses.begin() + responding);
            responding = -1;
        }
        if (arvalid.get() && arready.get())
            reads.push_back(burst(arid, araddr, arlen, arsize, arburst));
        if (awvalid.get() && awready.get())
            writes.push_back(burst(awid, awaddr, awlen, awsize, awburst));
        if (wvalid.get() && wready.get()) {
            auto *data = static_cast<uint8_t *>(wdata.at);
            beats.push_back({{data, data + wide}, wstrb.get(), wlast.get()});
        }
        while (!writes.empty() && !beats.empty()) { // data may come before its address
            Burst &burst = writes.front();
            Beat &beat = beats.front();
            for (uint64_t n = 0; n < wide; n++)
                if (beat.strobes >> n & 1 && !burst.outside)
                    memory[burst.address + burst.done * wide + n] = beat.data[n];
            if (beat.last != (++burst.done == burst.beats)) fault("WLAST is not in the last beat");
            beats.pop_front();
            if (burst.done == burst.beats) {
                burst.due = later();
                responses.push_back(burst);
                writes.pop_front();
            }
        }
    }
};

static std::vector<Memory> memories;

static void connect() {
#define PORT(name) Port{&unit.name, sizeof unit.name}
#include "connect.inc" // written from the sidecar
}

static void settle(bool clock) {
    unit.clk = clock;
    unit.eval();
}

static void tick() { // one clock cycle; the caller has set the register port's inputs
    for (auto &memory : memories) memory.before();
    settle(false);
    for (auto &memory : memories) memory.ready();
    unit.eval();
}

static void edge() {
    for (auto &memory : memories) memory.after();
    settle(true);
    cycle++;
}

static void idle(uint64_t cycles) {
    while (cycles--) tick(), edge();
}

static uint64_t read(uint64_t offset) {
    Bus &bus = registers;
    bus.araddr.set(offset);
    bool address = true, data = true;
    for (uint64_t waited = 0; address || data; waited++) {
        if (waited > 1000) fault("the register at 0x%lx does not answer", offset);
        bus.arvalid.set(address);
        bus.rready.set(!stalls());
        tick();
        if (bus.arready.get()) address = false;
        uint64_t value = bus.rdata.get(), wrong = bus.rresp.get();
        bool taken = bus.rvalid.get() && bus.rready.get();
        edge();
        if (!taken) continue;
        bus.arvalid.set(0), bus.rready.set(0);
        if (wrong) fault("reading the register at 0x%lx gave response %lu", offset, wrong);
        return value;
    }
    return 0;
}

static void write(uint64_t offset, uint64_t value) {
    Bus &bus = registers;
    bus.awaddr.set(offset);
    bus.wdata.set(value);
    bus.wstrb.set(15);
    bool address = true, data = true, offers_address = false, offers_data = false, taken = false;
    for (uint64_t waited = 0; !taken; waited++) {
        if (waited > 1000) fault("the register at 0x%lx does not answer", offset);
        offers_address = address && (offers_address || !stalls());
        offers_data = data && (offers_data || !stalls());
        bus.awvalid.set(offers_address);
        bus.wvalid.set(offers_data);
        bus.bready.set(!stalls());
        tick();
        if (offers_address && bus.awready.get()) address = offers_address = false;
        if (offers_data && bus.wready.get()) data = offers_data = false;
        taken = bus.bvalid.get() && bus.bready.get();
        uint64_t wrong = bus.bresp.get();
        edge();
        if (taken && wrong) fault("writing the register at 0x%lx gave response %lu", offset, wrong);
    }
    bus.awvalid.set(0), bus.wvalid.set(0), bus.bready.set(0);
}

int main(int count, char **words) {
    if (count != 9) return 2;
    uint64_t *numbers[] = {&memory_bytes, &stall, &latency_low, &latency_high, &reorder, &aw_after_w};
    for (int n = 0; n < 6; n++) *numbers[n] = strtoull(words[n + 2], nullptr, 0);
    draw.seed(strtoull(words[8], nullptr, 0));
    int file = open(words[1], O_RDWR);
    void *mapped = mmap(nullptr, memory_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (file < 0 || mapped == MAP_FAILED) fault("no memory in %s", words[1]);
    memory = static_cast<uint8_t *>(mapped);
    connect();
    unit.rst = 1;
    idle(4);
    unit.rst = 0;
    idle(1);
    char command;
    unsigned long first, second;
    char line[200];
    while (fgets(line, sizeof line, stdin)) {
        if (sscanf(line, "%c %lu %lu", &command, &first, &second) < 2) fault("no command");
        uint64_t answer = 0;
        if (command == 'w') write(first, second);
        if (command == 'r') answer = read(first);
        if (command == 'c') idle(first);
        if (command == 'i')
            for (uint64_t end = cycle + first; !(answer = unit.irq) && cycle < end;) idle(1);
        printf("ok %lu %lu\n", answer, cycle);
        fflush(stdout);
    }
}
