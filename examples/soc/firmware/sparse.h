/* Products of sparse matrices on MatRaptor, by the driver in `examples/bare_metal`. */
#ifndef SPARSE_H
#define SPARSE_H

#include <stdint.h>

/* Multiplies random matrices of rows x depth and depth x columns, whose elements are present with a
 * chance of `part` in 256. Gives the number of wrong entries, or -1 if the job failed; `entries`
 * gets those of the product. */
int sparse_product(uint32_t rows, uint32_t depth, uint32_t columns, uint32_t part,
                   uint32_t *entries);

#endif
