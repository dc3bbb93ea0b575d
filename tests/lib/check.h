/* SPDX-License-Identifier: MIT */
/* check: unit tests over cmocka, in sentences.
 *
 *     TEST(equal_deadlines_fire_in_the_order_they_were_started)
 *     {
 *         CHECK_INT(heap_size(&heap), 2);
 *     }
 *
 * A test registers itself; main is in check.c. Every check prints the expression and both values.
 * SKIP("no tmux") ends a test as skipped with its reason. Each test file is one process that
 * prints TAP and runs in a temporary directory of its own, removed at the end. */
#pragma once
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/fd.h"
#include <stdarg.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

void check_register(const char *name, void (*function)(void **));
void check_fail(const char *file, int line, const char *format, ...) PRINTF_LIKE(3, 4);
void check_ints(long long actual, long long wanted, const char *text, const char *file, int line);
void check_texts(const char *actual, const char *wanted, const char *text, const char *file,
                 int line);
void check_has(const char *actual, const char *part, const char *text, const char *file, int line);
void check_skip(const char *reason) __attribute__((noreturn));

/* A file of that name with that text in the test's own directory; borrowed until the test ends. */
const char *tmp_file(const char *name, const char *text);
const char *tmp_path(const char *name); /* a path there, nothing created */

#define TEST(name)                                                                                 \
    static void name(void **);                                                                     \
    __attribute__((constructor)) static void register_##name(void)                                 \
    {                                                                                              \
        check_register(#name, name);                                                               \
    }                                                                                              \
    static void name(__attribute__((unused)) void **check_state_)

#define CHECK_TRUE(expression)                                                                     \
    do {                                                                                           \
        if (!(expression))                                                                         \
            check_fail(__FILE__, __LINE__, "%s does not hold", #expression);                       \
    } while (0)
#define CHECK_INT(actual, wanted)                                                                  \
    check_ints((long long)(actual), (long long)(wanted), #actual, __FILE__, __LINE__)
#define CHECK_TEXT(actual, wanted) check_texts(actual, wanted, #actual, __FILE__, __LINE__)
#define CHECK_HAS(actual, part)    check_has(actual, part, #actual, __FILE__, __LINE__)
/* The call succeeded; prints the err text if not. */
#define CHECK_OK(call, error)                                                                      \
    do {                                                                                           \
        int r_ = (call);                                                                           \
        if (r_ < 0)                                                                                \
            check_fail(__FILE__, __LINE__, "%s gave %d: %s", #call, r_, (error).text);             \
    } while (0)
#define SKIP(reason) check_skip(reason)
