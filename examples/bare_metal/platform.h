/* How a program reaches the accelerator. On a target the generated header does it itself, through
 * a pointer; on a host two functions stand in, which something that simulates it supplies. */
#ifndef PLATFORM_H
#define PLATFORM_H

#include <stdint.h>

#ifdef ON_HOST
uint32_t host_read32(void *device, uint32_t offset);
void host_write32(void *device, uint32_t offset, uint32_t value);
#define MATRAPTOR_READ32(device, offset) host_read32(device, offset)
#define MATRAPTOR_WRITE32(device, offset, value) host_write32(device, offset, value)
#endif

#include "matraptor.h"

/* How a job runs to its end: by polling, unless a header that -DPLATFORM names defines it. Gives the
 * code of its error, 0 if it ended well, -1 if it did not end. */
#ifdef PLATFORM
#include PLATFORM
#endif
#ifndef RUN_JOB
#define LOOKS 1000000u
#define RUN_JOB(device) (matraptor_start(device, 0), matraptor_wait(device, LOOKS))
#endif

#endif
