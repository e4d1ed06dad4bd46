#include "console.h"

#include <generated/csr.h>

static void put(char sign)
{
    while (uart_txfull_read())
        ;
    uart_rxtx_write((uint8_t)sign);
}

void put_text(const char *text)
{
    for (; *text; text++)
        put(*text);
}

void put_number(uint32_t number)
{
    if (number >= 10)
        put_number(number / 10);
    put((char)('0' + number % 10));
}

void put_hex(uint32_t number)
{
    put_text("0x");
    for (int low = 28; low >= 0; low -= 4)
        put("0123456789abcdef"[number >> low & 15]);
}
