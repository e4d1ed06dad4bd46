/* Pseudo-random numbers of 24 bits, a sequence of its own for each file. */
#ifndef DRAW_H
#define DRAW_H

#include <stdint.h>

static inline uint32_t draw(void)
{
    static uint32_t state = 1;
    state = state * UINT32_C(1664525) + UINT32_C(1013904223);
    return state >> 8;
}

#endif
