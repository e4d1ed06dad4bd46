/* The program on a target: a processor without an operating system beside the accelerator. */
#include "demo.h"

#ifndef DEVICE
#define DEVICE 0x40000000 /* where the processor sees the registers */
#endif
#ifndef MEMORY
#define MEMORY 0x80000000 /* where both see the memory */
#endif
#ifndef MEMORY_SIZE
#define MEMORY_SIZE 0x100000
#endif

int main(void)
{
    return demo((void *)(uintptr_t)DEVICE, (uint8_t *)(uintptr_t)MEMORY, MEMORY, MEMORY_SIZE);
}
