/* On a host registers are read and written by whoever simulates the accelerator. */
#include "platform.h"

typedef uint32_t (*reader)(uint32_t offset);
typedef void (*writer)(uint32_t offset, uint32_t value);

static reader read_word;
static writer write_word;

void host_connect(reader read, writer write);

void host_connect(reader read, writer write)
{
    read_word = read;
    write_word = write;
}

uint32_t host_read32(void *device, uint32_t offset)
{
    (void)device;
    return read_word(offset);
}

void host_write32(void *device, uint32_t offset, uint32_t value)
{
    (void)device;
    write_word(offset, value);
}
