/* Puts sparse matrices into memory in C2SR (row i is in channel i modulo CHANNELS, whole), runs a
 * job, takes the product out. What is where follows from constants of the generated header. */
#include "spgemm.h"

#include "platform.h"

#define LANES MATRAPTOR_PARAM_LANES
#define CHANNELS MATRAPTOR_OPERAND_ROWS_A_CHANNELS
#define INTERLEAVE MATRAPTOR_OPERAND_ROWS_A_INTERLEAVE
#define ALIGN MATRAPTOR_OPERAND_ROWS_A_ALIGN
#define PAIR MATRAPTOR_OPERAND_ROWS_A_PAIRS_BYTES
#define ENTRY MATRAPTOR_OPERAND_ROWS_A_ENTRIES_BYTES
#define BLOCK MATRAPTOR_OPERAND_ROWS_C_ROOM_MULTIPLE_OF
#define CHANNEL_LANES MATRAPTOR_OPERAND_ROWS_C_ROOM_TIMES
#define GROUPS (LANES > CHANNELS ? LANES : CHANNELS)
#define RESET_LOOKS 1000000u

#define INT32 4 /* of CONFIG1.format */
_Static_assert(MATRAPTOR_CONFIG1_FORMAT_CONSTANT == INT32, "values are integers of 32 bits");
_Static_assert(MATRAPTOR_OPERAND_ROWS_A_ENTRIES_PARTS_VALUE_LOW == 0, "the value comes first");
_Static_assert(MATRAPTOR_OPERAND_ROWS_A_ENTRIES_PARTS_COLUMN_LOW == 32, "then the column,");
_Static_assert(MATRAPTOR_OPERAND_ROWS_A_ENTRIES_PARTS_COLUMN_BITS == 32, "of 32 bits");
_Static_assert(MATRAPTOR_OPERAND_ROWS_A_PAIRS_PARTS_LENGTH_LOW == 0, "the length comes first");
_Static_assert(MATRAPTOR_OPERAND_ROWS_A_PAIRS_PARTS_POINTER_LOW == 32, "then the pointer");

/* A matrix in memory: addresses of its two arrays, of which each channel has a part. */
struct placed {
    uint64_t pairs, entries;
};

/* What is still free of a memory. */
struct arena {
    struct memory memory;
    uint64_t used;
};

static void put32(uint8_t *to, uint32_t value)
{
    for (int byte = 0; byte < 4; byte++)
        to[byte] = (uint8_t)(value >> 8 * byte);
}

static uint32_t get32(const uint8_t *from)
{
    return from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 | (uint32_t)from[3] << 24;
}

/* Byte x of a channel's part of the array at an address. */
static uint8_t *at(const struct memory *memory, uint64_t array, uint32_t channel, uint64_t x)
{
    uint64_t block = x / INTERLEAVE * CHANNELS + channel;
    return memory->bytes + (array - memory->address) + block * INTERLEAVE + x % INTERLEAVE;
}

/* An array of so many bytes in every channel; 0 if there is no more memory. */
static uint64_t take(struct arena *arena, uint64_t channel_bytes, int *enough)
{
    uint64_t blocks = (channel_bytes + INTERLEAVE - 1) / INTERLEAVE;
    uint64_t bytes = (blocks ? blocks : 1) * INTERLEAVE * CHANNELS;
    uint64_t first = arena->memory.address + arena->used;
    uint64_t start = (first + ALIGN - 1) / ALIGN * ALIGN;
    uint64_t end = start + bytes - arena->memory.address;
    if (end > arena->memory.size) {
        *enough = 0;
        return 0;
    }
    arena->used = end;
    return start;
}

static uint64_t pairs_bytes(uint32_t rows)
{
    return ((uint64_t)rows + CHANNELS - 1) / CHANNELS * PAIR;
}

/* Put a matrix into memory. Gives 0 if there is not enough of it. */
static int store(struct arena *arena, const struct csr *matrix, struct placed *placed)
{
    uint32_t filled[CHANNELS] = {0}, most = 0;
    int enough = 1;
    for (uint32_t row = 0; row < matrix->rows; row++) {
        uint32_t *channel = &filled[row % CHANNELS];
        *channel += matrix->starts[row + 1] - matrix->starts[row];
        most = *channel > most ? *channel : most;
    }
    placed->pairs = take(arena, pairs_bytes(matrix->rows), &enough);
    placed->entries = take(arena, (uint64_t)most * ENTRY, &enough);
    if (!enough)
        return 0;
    for (uint32_t channel = 0; channel < CHANNELS; channel++)
        filled[channel] = 0;
    for (uint32_t row = 0; row < matrix->rows; row++) {
        uint32_t channel = row % CHANNELS;
        uint32_t length = matrix->starts[row + 1] - matrix->starts[row];
        uint8_t *pair = at(&arena->memory, placed->pairs, channel, (uint64_t)(row / CHANNELS) * PAIR);
        put32(pair, length);
        put32(pair + 4, filled[channel]);
        for (uint32_t n = 0; n < length; n++) {
            uint64_t x = (uint64_t)filled[channel]++ * ENTRY;
            uint8_t *entry = at(&arena->memory, placed->entries, channel, x);
            put32(entry, (uint32_t)matrix->value[matrix->starts[row] + n]);
            put32(entry + 4, matrix->column[matrix->starts[row] + n]);
        }
    }
    return 1;
}

/* Entries that suffice for what any lane writes into a channel: whole blocks, never none. */
static uint64_t capacity(const struct csr *a, const struct csr *b)
{
    uint64_t sums[GROUPS] = {0}, most = 0;
    for (uint32_t row = 0; row < a->rows; row++) {
        uint64_t products = 0;
        for (uint32_t n = a->starts[row]; n < a->starts[row + 1]; n++) {
            uint32_t k = a->column[n];
            products += k < b->rows ? b->starts[k + 1] - b->starts[k] : 0;
        }
        uint64_t *sum = &sums[row % GROUPS];
        *sum += products < b->columns ? products : b->columns;
        most = *sum > most ? *sum : most;
    }
    uint64_t blocks = (most + BLOCK - 1) / BLOCK;
    return (blocks ? blocks : 1) * BLOCK;
}

/* Take a matrix out of memory. Gives 0 if it has more entries than there is room for. */
static int load(const struct memory *memory, const struct placed *placed, struct csr *matrix,
                uint32_t room)
{
    uint32_t count = 0;
    for (uint32_t row = 0; row < matrix->rows; row++) {
        uint32_t channel = row % CHANNELS;
        const uint8_t *pair =
            at(memory, placed->pairs, channel, (uint64_t)(row / CHANNELS) * PAIR);
        uint32_t length = get32(pair), pointer = get32(pair + 4);
        matrix->starts[row] = count;
        if (length > room - count)
            return 0;
        for (uint32_t n = 0; n < length; n++) {
            uint64_t x = ((uint64_t)pointer + n) * ENTRY;
            const uint8_t *entry = at(memory, placed->entries, channel, x);
            matrix->value[count] = (int32_t)get32(entry);
            matrix->column[count++] = get32(entry + 4);
        }
    }
    matrix->starts[matrix->rows] = count;
    return 1;
}

int spgemm(void *device, struct memory memory, const struct csr *a, const struct csr *b,
           struct csr *c, uint32_t room)
{
    struct arena arena = {memory, 0};
    struct placed at_a, at_b, at_c;
    uint64_t entries = capacity(a, b);
    int enough = 1;

    if (!matraptor_is_there(device))
        return SPGEMM_OTHER_DEVICE;
    if (a->columns != b->rows)
        return SPGEMM_SHAPES;
    if (entries > UINT32_MAX || !store(&arena, a, &at_a) || !store(&arena, b, &at_b))
        return SPGEMM_NO_MEMORY;
    at_c.pairs = take(&arena, pairs_bytes(a->rows), &enough);
    at_c.entries = take(&arena, entries * CHANNEL_LANES * ENTRY, &enough);
    if (!enough)
        return SPGEMM_NO_MEMORY;

    struct matraptor_job job = {
        .rows = a->rows,
        .b_rows = b->rows,
        .capacity = (uint32_t)entries,
        .a_pairs = at_a.pairs,
        .a_entries = at_a.entries,
        .b_pairs = at_b.pairs,
        .b_entries = at_b.entries,
        .c_pairs = at_c.pairs,
        .c_entries = at_c.entries,
    };
    matraptor_write_job(device, &job);
    int ended = RUN_JOB(device);
    if (ended < 0) {
        matraptor_soft_reset(device, RESET_LOOKS);
        return SPGEMM_NO_ANSWER;
    }
    if (ended != MATRAPTOR_ERROR_NONE)
        return ended;
    c->rows = a->rows;
    c->columns = b->columns;
    return load(&memory, &at_c, c, room) ? 0 : SPGEMM_NO_ROOM;
}
