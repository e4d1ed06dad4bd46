/* Functions that the compiler may call, so that no library is needed. */
#include <stddef.h>

void *memset(void *to, int value, size_t size);
void *memcpy(void *to, const void *from, size_t size);

void *memset(void *to, int value, size_t size)
{
    for (unsigned char *byte = to; size; size--)
        *byte++ = (unsigned char)value;
    return to;
}

void *memcpy(void *to, const void *from, size_t size)
{
    const unsigned char *source = from;
    for (unsigned char *byte = to; size; size--)
        *byte++ = *source++;
    return to;
}
