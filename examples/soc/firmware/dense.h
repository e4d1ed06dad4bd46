/* Products of dense matrices on the engine, compared word by word. */
#ifndef DENSE_H
#define DENSE_H

#include <stdint.h>

/* Prepares D = C + A B with M x K and K x N, in fp32, or with A and B in fp16; random integers.
 * The processor has read all of D's memory: it is in the data cache. */
void dense_prepare(uint32_t op, uint32_t m, uint32_t n, uint32_t k);

/* Words of D's memory that are wrong: elements, and what lies between rows and around D. */
uint32_t dense_wrong(void);

#endif
