/* Runs jobs on both accelerators, and compares every word of their results with the processor's. */
#include <generated/csr.h>

#include "console.h"
#include "dense.h"
#include "jobs.h"
#include "sparse.h"

#ifdef CSR_SDRAM_BASE
#include <generated/sdram_phy.h>

/* What LiteX' BIOS does for a chip without delays to be found. */
static void memory_init(void)
{
    sdram_dfii_control_write(DFII_CONTROL_CKE | DFII_CONTROL_ODT | DFII_CONTROL_RESET_N);
    init_sequence();
    sdram_dfii_control_write(DFII_CONTROL_SEL);
}
#else
static void memory_init(void) {}
#endif

static const uint32_t shapes[][3] = {{1, 1, 1}, {3, 5, 7}, {5, 3, 2}, {11, 9, 10}};

static uint32_t jobs, wrong;

static void put_shape(uint32_t rows, uint32_t depth, uint32_t columns)
{
    put_number(rows);
    put_text(" x ");
    put_number(depth);
    put_text(" x ");
    put_number(columns);
    put_text(": ");
}

static void put_wrong(int found)
{
    put_number((uint32_t)found);
    put_text(" wrong");
    wrong += (uint32_t)found;
}

static void put_cycles(uint64_t cycles)
{
    put_text(", ");
    put_number((uint32_t)cycles);
    put_text(" cycles\n");
}

static void dense(uint32_t op, const uint32_t *shape)
{
    dense_prepare(op, shape[0], shape[1], shape[2]);
    engine_begin();
    int error = engine_end();
    put_text(op == ENGINE_M3XU_OP_VALUE_FP16 ? "engine fp16 " : "engine fp32 ");
    put_shape(shape[0], shape[2], shape[1]);
    put_wrong(error ? 1 : (int)dense_wrong());
    put_cycles(engine_m3xu_read64(ENGINE, ENGINE_M3XU_CYCLES_OFFSET));
    jobs++;
}

static void sparse(uint32_t rows, uint32_t depth, uint32_t columns, uint32_t part)
{
    uint32_t entries = 0;
    int found = sparse_product(rows, depth, columns, part, &entries);
    put_text("matraptor ");
    put_shape(rows, depth, columns);
    put_number(entries);
    put_text(" entries, ");
    put_wrong(found < 0 ? 1 : found);
    put_cycles(matraptor_read64(MATRAPTOR, MATRAPTOR_CYCLES_OFFSET));
    jobs++;
}

/* The engine works while MatRaptor does; both use the same bus. */
static void both(void)
{
    put_text("both at once:\n");
    dense_prepare(ENGINE_M3XU_OP_VALUE_FP32, 12, 12, 12);
    engine_begin();
    sparse(13, 13, 13, 90);
    int error = engine_end();
    put_text("engine fp32 ");
    put_shape(12, 12, 12);
    put_wrong(error ? 1 : (int)dense_wrong());
    put_cycles(engine_m3xu_read64(ENGINE, ENGINE_M3XU_CYCLES_OFFSET));
    jobs++;
}

/* An address of more than 32 bits is refused before anything is read. */
static void beyond(void)
{
    dense_prepare(ENGINE_M3XU_OP_VALUE_FP32, 1, 1, 1);
    engine_m3xu_write64(ENGINE, ENGINE_M3XU_A_BASE_OFFSET, UINT64_C(1) << 32);
    engine_begin();
    int error = engine_end();
    put_text("beyond 32 bits: ");
    put_text(engine_m3xu_error_text(error));
    put_text("; register ");
    put_hex((uint32_t)engine_m3xu_read64(ENGINE, ENGINE_M3XU_ERROR_DETAIL_OFFSET));
    put_text("\n");
    wrong += error != ENGINE_M3XU_ERROR_ADDRESS_RANGE;
    jobs++;
}

static void run(void)
{
    if (!engine_m3xu_is_there(ENGINE) || !matraptor_is_there(MATRAPTOR)) {
        put_text("the accelerators are not those of the headers\n");
        wrong++;
        return;
    }
    jobs_init();
    for (uint32_t n = 0; n < sizeof shapes / sizeof shapes[0]; n++) {
        dense(ENGINE_M3XU_OP_VALUE_FP32, shapes[n]);
        dense(ENGINE_M3XU_OP_VALUE_FP16, shapes[n]);
    }
    sparse(1, 1, 1, 256);
    sparse(5, 3, 7, 128);
    sparse(13, 11, 9, 60);
    sparse(3, 9, 4, 0);
    both();
    beyond();
    put_number(jobs);
    put_text(" jobs, ");
    put_number(interrupts());
    put_text(" interrupts\n");
    wrong += jobs != interrupts();
}

int main(void)
{
    memory_init();
    run();
    put_text(wrong ? "wrong\n" : "all as it must be\n");
    while (!uart_txempty_read())
        ;
#ifdef CSR_SIM_FINISH_BASE
    sim_finish_finish_write(1);
#endif
    return 0;
}
