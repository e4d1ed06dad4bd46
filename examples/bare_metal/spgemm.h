/* Products of sparse matrices of integers on MatRaptor. */
#ifndef SPGEMM_H
#define SPGEMM_H

#include <stdint.h>

/* A matrix by rows: row i has the entries starts[i] to starts[i + 1] - 1, columns ascending. */
struct csr {
    uint32_t rows, columns;
    uint32_t *starts; /* rows + 1 */
    uint32_t *column;
    int32_t *value;
};

/* Memory that the accelerator reaches: where the processor sees it, and its address on the bus.
 * Neither the processor nor the bus may keep copies of it in a cache. */
struct memory {
    uint8_t *bytes;
    uint64_t address;
    uint64_t size;
};

enum {
    SPGEMM_OTHER_DEVICE = -1, /* it is not what the header was generated with */
    SPGEMM_SHAPES = -2,       /* a has not as many columns as b has rows */
    SPGEMM_NO_MEMORY = -3,    /* the operands and the largest result do not fit */
    SPGEMM_NO_ROOM = -4,      /* the result has more entries than c can hold */
    SPGEMM_NO_ANSWER = -5     /* the job did not end; the device has been reset */
};

/* c = a b, modulo 2^32; c's arrays have room for a->rows + 1 starts and `room` entries. Gives 0, one
 * of the above, or the code with which the accelerator ended (matraptor_error_text says more). */
int spgemm(void *device, struct memory memory, const struct csr *a, const struct csr *b,
           struct csr *c, uint32_t room);

#endif
