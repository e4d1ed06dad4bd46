/* Text on LiteX' serial port. */
#ifndef CONSOLE_H
#define CONSOLE_H

#include <stdint.h>

void put_text(const char *text);
void put_number(uint32_t number);
void put_hex(uint32_t number);

#endif
