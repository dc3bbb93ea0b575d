/* SPDX-License-Identifier: MIT */
/* buf: a growing run of bytes that always ends in a NUL behind its length.
 *
 *     CLEANUP(buf_done) struct buf text = {0};
 *     buf_addf(&text, "%d files", count);
 *     puts(text.data);                          "" while nothing was added: use buf_text()
 *
 * Zeroed memory is an empty buffer. Growth that fails aborts: callers that take sizes from input
 * bound them first. */
#pragma once
#include "base/cleanup.h"
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

struct buf {
    char *data; /* owned; NULL while empty and never grown */
    size_t length;
    size_t capacity;
};

void buf_reserve(struct buf *buf, size_t more); /* room for `more` bytes and the NUL */
void buf_add(struct buf *buf, const void *bytes, size_t length);
void buf_adds(struct buf *buf, const char *text);
void buf_addc(struct buf *buf, char c);
void buf_addf(struct buf *buf, const char *format, ...) PRINTF_LIKE(2, 3);
void buf_addv(struct buf *buf, const char *format, va_list args) PRINTF_LIKE(2, 0);
void buf_addu(struct buf *buf, uint64_t number); /* decimal; the fast way to write numbers */
void buf_clear(struct buf *buf);                 /* empty, memory kept */
void buf_cut(struct buf *buf, size_t length);    /* shorten to `length` */
void buf_drop(struct buf *buf, size_t length);   /* remove `length` bytes at the front */
char *buf_take(struct buf *buf);                 /* returns owned text, leaves an empty buffer */
const char *buf_text(const struct buf *buf);     /* never NULL; borrowed until the next change */
void buf_done(struct buf *buf);
static inline __attribute__((unused)) void buf_done_cleanup(struct buf *buf)
{
    buf_done(buf);
}

/* Memory that cannot be had ends the program with a message: nothing useful can go on. */
void *mem_alloc(size_t size);                     /* zeroed */
void *mem_grow(void *memory, size_t size);        /* realloc */
char *mem_dup(const char *text);                  /* NULL gives NULL */
char *mem_dupn(const void *bytes, size_t length); /* adds a NUL */
char *mem_format(const char *format, ...) PRINTF_LIKE(1, 2);
