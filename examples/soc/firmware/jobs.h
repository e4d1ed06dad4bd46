/* Jobs of both accelerators: started by the processor, ended by an interrupt.
 *
 * The data cache of VexRiscv writes through, so memory holds what the processor has written. It
 * does not see what others write: it is emptied when a job has ended. */
#ifndef JOBS_H
#define JOBS_H

#include <stdint.h>

#include <generated/mem.h>

#include "engine_m3xu.h"
#include "matraptor.h"

#define ENGINE ((void *)(uintptr_t)ENGINE_M3XU_BASE)
#define MATRAPTOR ((void *)(uintptr_t)MATRAPTOR_BASE)

/* An array in memory that accelerators reach, at the beginning of a line of the cache. */
#define SHARED __attribute__((section(".shared"), aligned(32)))

/* Lets both accelerators interrupt. */
void jobs_init(void);

/* Starts the job in the registers of an accelerator. */
void engine_begin(void);
void matraptor_begin(void);

/* Sleeps until it has ended. Gives 0, or the code of its error. */
int engine_end(void);
int matraptor_end(void);

/* Interrupts so far. */
uint32_t interrupts(void);

/* How `spgemm` runs a job: see sparse.c. */
int sparse_job(void);

#define RUN_JOB(device) ((void)(device), sparse_job())

#endif
