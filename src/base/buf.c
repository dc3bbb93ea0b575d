/* SPDX-License-Identifier: MIT */
#include "base/buf.h"
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void out_of_memory(size_t size)
{
    (void)fprintf(stderr, "vitro: out of memory (asked for %zu bytes)\n", size);
    abort();
}

void *mem_alloc(size_t size)
{
    void *memory = calloc(1, size ? size : 1);
    if (!memory)
        out_of_memory(size);
    return memory;
}

void *mem_grow(void *memory, size_t size)
{
    void *grown = realloc(memory, size ? size : 1);
    if (!grown)
        out_of_memory(size);
    return grown;
}

char *mem_dupn(const void *bytes, size_t length)
{
    char *copy = mem_alloc(length + 1);
    if (length)
        memcpy(copy, bytes, length);
    return copy;
}

char *mem_dup(const char *text)
{
    return text ? mem_dupn(text, strlen(text)) : NULL;
}

char *mem_format(const char *format, ...)
{
    struct buf buf = {0};
    va_list args;

    va_start(args, format);
    buf_addv(&buf, format, args);
    va_end(args);
    return buf_take(&buf);
}

void buf_reserve(struct buf *buf, size_t more)
{
    size_t needed = buf->length + more + 1;

    assert(needed > more);
    if (needed <= buf->capacity)
        return;
    size_t capacity = buf->capacity ? buf->capacity : 64;
    while (capacity < needed)
        capacity = capacity > SIZE_MAX / 2 ? needed : capacity * 2;
    buf->data = mem_grow(buf->data, capacity);
    buf->capacity = capacity;
}

void buf_add(struct buf *buf, const void *bytes, size_t length)
{
    buf_reserve(buf, length);
    if (length)
        memcpy(buf->data + buf->length, bytes, length);
    buf->length += length;
    buf->data[buf->length] = '\0';
}

void buf_adds(struct buf *buf, const char *text)
{
    buf_add(buf, text, strlen(text));
}

void buf_addc(struct buf *buf, char c)
{
    buf_add(buf, &c, 1);
}

void buf_addv(struct buf *buf, const char *format, va_list args)
{
    va_list again;

    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    assert(length >= 0);
    buf_reserve(buf, (size_t)length);
    (void)vsnprintf(buf->data + buf->length, (size_t)length + 1, format, again);
    va_end(again);
    buf->length += (size_t)length;
}

void buf_addf(struct buf *buf, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    buf_addv(buf, format, args);
    va_end(args);
}

void buf_addu(struct buf *buf, uint64_t number)
{
    char digits[20];
    size_t start = sizeof digits;

    do {
        digits[--start] = (char)('0' + number % 10);
        number /= 10;
    } while (number);
    buf_add(buf, digits + start, sizeof digits - start);
}

void buf_clear(struct buf *buf)
{
    buf_cut(buf, 0);
}

void buf_cut(struct buf *buf, size_t length)
{
    assert(length <= buf->length);
    buf->length = length;
    if (buf->data)
        buf->data[length] = '\0';
}

void buf_drop(struct buf *buf, size_t length)
{
    assert(length <= buf->length);
    if (!length)
        return;
    memmove(buf->data, buf->data + length, buf->length - length + 1);
    buf->length -= length;
}

char *buf_take(struct buf *buf)
{
    char *data = buf->data ? buf->data : mem_dupn("", 0);
    *buf = (struct buf){0};
    return data;
}

const char *buf_text(const struct buf *buf)
{
    return buf->data ? buf->data : "";
}

void buf_done(struct buf *buf)
{
    free(buf->data);
    *buf = (struct buf){0};
}
