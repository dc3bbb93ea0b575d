/* SPDX-License-Identifier: MIT */
/* What tests of terminal sessions share. */
#pragma once
#include "lib/check.h"
#include "vitro/term.h"
#include <stdlib.h>
#include <unistd.h>

#define MS     UINT64_C(1000000)
#define SECOND (1000 * MS)
#define ARGV(...)                                                                                  \
    (const char *const[])                                                                          \
    {                                                                                              \
        __VA_ARGS__, NULL                                                                          \
    }

static inline vitro_term *term_close_(vitro_term *t)
{
    vitro_term_close(t);
    return NULL;
}
DEFINE_CLEANUP(vitro_term *, term_close_)
#define TERM CLEANUP(term_close_) vitro_term

/* The session's own story is printed when a call fails. */
#define HOLDS(t, call)                                                                             \
    do {                                                                                           \
        int64_t held_ = (call);                                                                    \
        if (held_ < 0)                                                                             \
            check_fail(__FILE__, __LINE__, "%s gave %d:\n%s", #call, (int)held_,                   \
                       vitro_term_failure(t)->text);                                               \
    } while (0)
#define FAILS(t, call, code, part)                                                                 \
    do {                                                                                           \
        CHECK_INT((call), (code));                                                                 \
        CHECK_HAS(vitro_term_failure(t)->text, (part));                                            \
    } while (0)

static inline vitro_term *open_term_(struct vitro_term_options options)
{
    struct vitro_box_error error = {0};
    vitro_term *t = vitro_term_open(&options, &error);

    if (!t)
        check_fail(__FILE__, __LINE__, "open: %s", error.text);
    return t;
}
#define open_term(...) open_term_((struct vitro_term_options){__VA_ARGS__})
/* sh -c SCRIPT, with more options behind it */
#define open_shell(script, ...) open_term(.box.argv = ARGV("sh", "-c", script), ##__VA_ARGS__)

static inline void need_program(const char *name)
{
    CLEANUP(mem_free) char *probe = mem_format("command -v %s >/dev/null 2>&1", name);

    if (system(probe) != 0)
        SKIP(name);
}
