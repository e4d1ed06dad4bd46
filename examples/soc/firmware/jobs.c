#include "jobs.h"

#include <generated/csr.h>
#include <generated/soc.h>
#include <irq.h>

#define NOT_ENDED (-1)

static volatile int engine_ended, matraptor_ended;
static volatile uint32_t count;

void isr(void);

/* A job has ended: its STATUS is read once and acknowledged, so that the interrupt falls. */
void isr(void)
{
    uint32_t pending = irq_pending() & irq_getmask();
    if (pending & 1u << ENGINE_M3XU_INTERRUPT)
        engine_ended = engine_m3xu_wait(ENGINE, 1);
    if (pending & 1u << MATRAPTOR_INTERRUPT)
        matraptor_ended = matraptor_wait(MATRAPTOR, 1);
    count++;
}

void jobs_init(void)
{
    engine_m3xu_ev_enable_write(1);
    matraptor_ev_enable_write(1);
    irq_setmask(1u << ENGINE_M3XU_INTERRUPT | 1u << MATRAPTOR_INTERRUPT);
    irq_setie(1);
}

void engine_begin(void)
{
    engine_ended = NOT_ENDED;
    engine_m3xu_start(ENGINE, 1);
}

void matraptor_begin(void)
{
    matraptor_ended = NOT_ENDED;
    matraptor_start(MATRAPTOR, 1);
}

/* Interrupts are off between the look at `ended` and the sleep, or one could be missed; a pending
 * interrupt ends the sleep all the same. It is taken after the instruction that follows their
 * enabling has entered the pipeline. */
static int end(const volatile int *ended)
{
    irq_setie(0);
    while (*ended == NOT_ENDED) {
        __asm__ volatile("wfi");
        irq_setie(1);
        __asm__ volatile("nop\n nop\n nop\n nop");
        irq_setie(0);
    }
    irq_setie(1);
    flush_cpu_dcache();
    __asm__ volatile("" ::: "memory"); /* the compiler, too, reads results only now */
    return *ended;
}

int engine_end(void)
{
    return end(&engine_ended);
}

int matraptor_end(void)
{
    return end(&matraptor_ended);
}

uint32_t interrupts(void)
{
    return count;
}
