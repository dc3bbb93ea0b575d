/* SPDX-License-Identifier: MIT */
/* cleanup: release by attribute at the end of scope, and hand over in one visible place.
 *
 *     CLEANUP(tape_free) struct tape *tape = NULL;    freed at every return
 *     *ret_tape = take_ptr(&tape);                    ... unless handed over
 *
 * A function used with CLEANUP is declared once with DEFINE_CLEANUP next to its prototype. It must
 * accept the "nothing" value (NULL, -1) and half-built objects. */
#pragma once
#include <stddef.h>
#include <stdlib.h>

#define CLEANUP(function) __attribute__((cleanup(function##_cleanup)))

#define DEFINE_CLEANUP(type, function)                                                             \
    static inline __attribute__((unused)) void function##_cleanup(type *p)                         \
    {                                                                                              \
        (void)function(*p);                                                                        \
    }

#define take_ptr(pointer)                                                                          \
    __extension__({                                                                                \
        __typeof__(*(pointer)) taken_ = *(pointer);                                                \
        *(pointer) = NULL;                                                                         \
        taken_;                                                                                    \
    })

static inline int take_fd(int *fd)
{
    int taken = *fd;
    *fd = -1;
    return taken;
}

static inline void *mem_free(void *memory)
{
    free(memory);
    return NULL;
}
static inline __attribute__((unused)) void mem_free_cleanup(void *p)
{
    void **memory = p;
    free(*memory);
}

#define ARRAY_LENGTH(array)      (sizeof(array) / sizeof((array)[0]))
#define PRINTF_LIKE(text, first) __attribute__((format(printf, text, first)))
