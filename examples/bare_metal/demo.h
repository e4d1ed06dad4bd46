/* Products of random matrices on the accelerator, compared with a loop on the processor. */
#ifndef DEMO_H
#define DEMO_H

#include <stdint.h>

/* Gives the number of things that are not as they must be: 0 if all is well. */
int demo(void *device, uint8_t *bytes, uint64_t address, uint64_t size);

#endif
