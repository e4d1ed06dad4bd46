#include "dense.h"

#include "jobs.h"
#include "draw.h"

#define BEAT ENGINE_M3XU_OPERAND_FP32_D_ALIGN
#define SIDE 12u
#define WORDS (SIDE * SIDE)
#define GUARD 8u /* words before and after D: a line of the cache */
#define UNTOUCHED UINT32_C(0x7fa5a5a5)

_Static_assert(ENGINE_M3XU_PARAM_ADDR_BITS == 32, "addresses as on the bus");
_Static_assert(ENGINE_M3XU_OPERAND_FP16_A_ELEMENT_BYTES == 2, "A and B of fp16");
_Static_assert(ENGINE_M3XU_OPERAND_FP16_D_ELEMENT_BYTES == 4, "and sums of fp32");

/* Rows begin at a beat. */
static uint32_t a[WORDS] SHARED, b[WORDS] SHARED, c[WORDS] SHARED;
static uint32_t d[GUARD + WORDS + GUARD] SHARED;
static uint32_t expected[GUARD + WORDS + GUARD];

static uint32_t stride(uint32_t columns, uint32_t element)
{
    return (columns * element + BEAT - 1) / BEAT * BEAT;
}

/* An integer below 2^24 in fp32. */
static uint32_t as_fp32(int32_t number)
{
    uint32_t sign = number < 0 ? 1u << 31 : 0, magnitude = (uint32_t)(number < 0 ? -number : number);
    uint32_t exponent = 127 + 23;
    if (!magnitude)
        return 0;
    for (; magnitude < 1u << 23; exponent--)
        magnitude <<= 1;
    return sign | exponent << 23 | (magnitude & 0x7fffffu);
}

/* An integer below 2048 in fp16. */
static uint32_t as_fp16(int32_t number)
{
    uint32_t word = as_fp32(number);
    if (!number)
        return 0;
    return (word >> 16 & 0x8000u) | ((word >> 23 & 255u) - 127u + 15u) << 10 | (word >> 13 & 1023u);
}

static void put(uint32_t *matrix, uint32_t bytes, uint32_t element, int32_t number)
{
    if (element == 4)
        matrix[bytes / 4] = as_fp32(number);
    else
        ((volatile uint16_t *)matrix)[bytes / 2] = (uint16_t)as_fp16(number);
}

void dense_prepare(uint32_t op, uint32_t m, uint32_t n, uint32_t k)
{
    uint32_t element = op == ENGINE_M3XU_OP_VALUE_FP16 ? 2 : 4;
    uint32_t of_a = stride(k, element), of_b = stride(n, element), of_d = stride(n, 4);
    int32_t left[SIDE][SIDE], right[SIDE][SIDE];
    for (uint32_t word = 0; word < GUARD + WORDS + GUARD; word++)
        d[word] = expected[word] = UNTOUCHED;
    for (uint32_t i = 0; i < m; i++)
        for (uint32_t l = 0; l < k; l++)
            put(a, i * of_a + l * element, element, left[i][l] = (int32_t)(draw() % 201) - 100);
    for (uint32_t l = 0; l < k; l++)
        for (uint32_t j = 0; j < n; j++)
            put(b, l * of_b + j * element, element, right[l][j] = (int32_t)(draw() % 201) - 100);
    for (uint32_t i = 0; i < m; i++)
        for (uint32_t j = 0; j < n; j++) {
            int32_t sum = (int32_t)(draw() % 2001) - 1000;
            put(c, i * of_d + j * 4, 4, sum);
            for (uint32_t l = 0; l < k; l++)
                sum += left[i][l] * right[l][j];
            expected[GUARD + (i * of_d) / 4 + j] = as_fp32(sum);
        }
    for (uint32_t word = 0; word < GUARD + WORDS + GUARD; word++)
        (void)((volatile uint32_t *)d)[word];
    struct engine_m3xu_job job = {
        .op = op,
        .flags = ENGINE_M3XU_FLAGS_USE_C_MASK,
        .m = m,
        .n = n,
        .k = k,
        .a_base = (uintptr_t)a,
        .b_base = (uintptr_t)b,
        .c_base = (uintptr_t)c,
        .d_base = (uintptr_t)(d + GUARD),
        .a_stride = of_a,
        .b_stride = of_b,
        .c_stride = of_d,
        .d_stride = of_d,
    };
    engine_m3xu_write_job(ENGINE, &job);
}

uint32_t dense_wrong(void)
{
    static uint32_t found[GUARD + WORDS + GUARD];
    uint32_t wrong = 0;
    /* First all of D: other reads would drop lines of D from the cache. */
    for (uint32_t word = 0; word < GUARD + WORDS + GUARD; word++)
        found[word] = ((volatile uint32_t *)d)[word];
    for (uint32_t word = 0; word < GUARD + WORDS + GUARD; word++)
        wrong += found[word] != expected[word];
    return wrong;
}
