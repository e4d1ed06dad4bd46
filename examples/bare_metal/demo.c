#include "demo.h"

#include <inttypes.h>
#include <stdio.h>

#include "platform.h"
#include "spgemm.h"

#define SIDE 48u
#define ROOM (SIDE * SIDE)

struct matrix {
    struct csr csr;
    uint32_t starts[SIDE + 1], column[ROOM];
    int32_t value[ROOM];
};

static struct matrix a, b, c;

static uint32_t draw(void)
{
    static uint32_t state = 1;
    state = state * UINT32_C(1664525) + UINT32_C(1013904223);
    return state >> 8;
}

/* A random matrix in which an element is there with a chance of `part` in 256. */
static void fill(struct matrix *matrix, uint32_t rows, uint32_t columns, uint32_t part)
{
    uint32_t count = 0;
    matrix->csr = (struct csr){rows, columns, matrix->starts, matrix->column, matrix->value};
    for (uint32_t row = 0; row < rows; row++) {
        matrix->starts[row] = count;
        for (uint32_t column = 0; column < columns; column++)
            if (draw() % 256 < part) {
                matrix->column[count] = column;
                matrix->value[count++] = (int32_t)(draw() << 8 ^ draw());
            }
    }
    matrix->starts[rows] = count;
}

/* Entries of the product that are missing, too many or different. */
static int compare(void)
{
    int wrong = 0;
    for (uint32_t row = 0; row < a.csr.rows; row++) {
        uint32_t sum[SIDE] = {0}, place = c.starts[row];
        uint8_t there[SIDE] = {0};
        for (uint32_t n = a.starts[row]; n < a.starts[row + 1]; n++)
            for (uint32_t m = b.starts[a.column[n]]; m < b.starts[a.column[n] + 1]; m++) {
                sum[b.column[m]] += (uint32_t)a.value[n] * (uint32_t)b.value[m];
                there[b.column[m]] = 1;
            }
        for (uint32_t column = 0; column < b.csr.columns; column++) {
            int found = place < c.starts[row + 1] && c.column[place] == column;
            if (found != there[column] || (found && (uint32_t)c.value[place] != sum[column]))
                wrong++;
            place += found ? 1 : 0;
        }
        if (place != c.starts[row + 1])
            wrong++;
    }
    return wrong;
}

static int multiply(void *device, struct memory memory)
{
    struct matraptor_counters counters;
    c.csr = (struct csr){0, 0, c.starts, c.column, c.value};
    int ended = spgemm(device, memory, &a.csr, &b.csr, &c.csr, ROOM);
    if (ended) {
        printf("the product ended with %d: %s\n", ended, matraptor_error_text(ended));
        return 1;
    }
    int wrong = compare();
    matraptor_read_counters(device, &counters);
    printf("%2" PRIu32 " x %2" PRIu32 " x %2" PRIu32 ": %4" PRIu32 " entries, %d wrong; ",
           a.csr.rows, a.csr.columns, b.csr.columns, c.starts[a.csr.rows], wrong);
    printf("%" PRIu64 " multiplications, %" PRIu64 " cycles\n", counters.operations,
           counters.cycles);
    return wrong;
}

/* A job without rows is refused, and ERROR_DETAIL names the register. */
static int break_a_rule(void *device, struct memory memory)
{
    fill(&a, 0, 1, 256);
    fill(&b, 1, 2, 256);
    int ended = spgemm(device, memory, &a.csr, &b.csr, &c.csr, ROOM);
    uint64_t offset = matraptor_read64(device, MATRAPTOR_ERROR_DETAIL_OFFSET);
    printf("wrong on purpose: %s; register 0x%03" PRIx64 "\n", matraptor_error_text(ended), offset);
    return ended != MATRAPTOR_ERROR_ZERO_SIZE || offset != MATRAPTOR_ROWS_OFFSET;
}

int demo(void *device, uint8_t *bytes, uint64_t address, uint64_t size)
{
    static const uint32_t shapes[][4] = {
        {1, 1, 1, 256}, {5, 3, 7, 128}, {SIDE, SIDE, SIDE, 12}, {17, SIDE, 32, 40}, {3, 9, 4, 0},
    };
    struct memory memory = {bytes, address, size};
    int wrong = 0;
    for (uint32_t n = 0; n < sizeof shapes / sizeof shapes[0]; n++) {
        const uint32_t *shape = shapes[n];
        fill(&a, shape[0], shape[1], shape[3]);
        fill(&b, shape[1], shape[2], shape[3]);
        wrong += multiply(device, memory);
        if (n == 1)
            wrong += break_a_rule(device, memory);
    }
    fflush(stdout);
    return wrong;
}
