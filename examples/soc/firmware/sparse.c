#include "sparse.h"

#include "draw.h"
#include "jobs.h"
#include "spgemm.h"

#define SIDE 13u
#define ROOM (SIDE * SIDE)
#define BYTES 4096u /* of the shared memory, as many as the data cache holds */

_Static_assert(MATRAPTOR_PARAM_ADDR_BITS == 32, "addresses as on the bus");
_Static_assert(MATRAPTOR_PARAM_QUEUE_DEPTH >= SIDE, "rows of a product fit the queues");

struct matrix {
    struct csr csr;
    uint32_t starts[SIDE + 1], column[ROOM];
    int32_t value[ROOM];
};

static struct matrix a, b, c;
static uint32_t shared[BYTES / 4] SHARED;

/* The processor reads each line of the shared memory before the job: it is in the data cache. */
int sparse_job(void)
{
    for (uint32_t word = 0; word < BYTES / 4; word += 8)
        (void)((volatile uint32_t *)shared)[word];
    matraptor_begin();
    return matraptor_end();
}

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

/* Entries of a row of the product that are missing, too many or different. */
static int compare(uint32_t row)
{
    uint32_t sum[SIDE] = {0}, place = c.starts[row];
    uint8_t present[SIDE] = {0};
    int wrong = 0;
    for (uint32_t n = a.starts[row]; n < a.starts[row + 1]; n++)
        for (uint32_t m = b.starts[a.column[n]]; m < b.starts[a.column[n] + 1]; m++) {
            sum[b.column[m]] += (uint32_t)a.value[n] * (uint32_t)b.value[m];
            present[b.column[m]] = 1;
        }
    for (uint32_t column = 0; column < b.csr.columns; column++) {
        int found = place < c.starts[row + 1] && c.column[place] == column;
        wrong += found != present[column] || (found && (uint32_t)c.value[place] != sum[column]);
        place += found ? 1 : 0;
    }
    return wrong + (place != c.starts[row + 1]);
}

int sparse_product(uint32_t rows, uint32_t depth, uint32_t columns, uint32_t part,
                   uint32_t *entries)
{
    struct memory memory = {(uint8_t *)shared, (uintptr_t)shared, BYTES};
    int wrong = 0;
    fill(&a, rows, depth, part);
    fill(&b, depth, columns, part);
    c.csr = (struct csr){0, 0, c.starts, c.column, c.value};
    if (spgemm(MATRAPTOR, memory, &a.csr, &b.csr, &c.csr, ROOM))
        return -1;
    for (uint32_t row = 0; row < rows; row++)
        wrong += compare(row);
    *entries = c.starts[rows];
    return wrong;
}
