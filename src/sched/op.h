/* SPDX-License-Identifier: MIT */
/* op: what a task is about to do. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

enum op_kind {
    OP_NONE,
    OP_START,
    OP_END,
    OP_SPAWN,
    OP_JOIN,
    OP_CANCEL,
    OP_YIELD,
    OP_SLEEP,
    OP_READ,
    OP_WRITE,
    OP_LOCK,
    OP_TRYLOCK,
    OP_UNLOCK,
    OP_RDLOCK,
    OP_RDUNLOCK,
    OP_WAIT,
    OP_SIGNAL,
    OP_BROADCAST,
    OP_ACQUIRE,
    OP_RELEASE,
    OP_SEND,
    OP_RECEIVE,
    OP_CLOSE,
    OP_POST,
    OP_FETCH,
    OP_ASSIGN,
    OP_DEREF,
    OP_GIVE,
    OP_TAKE,
    OP_SET,
    OP_RESET,
    OP_ARRIVE,
    OP_ONCE,
    OP_SELECT,
    OP_WORK,
    OP_FD,
    OP_KINDS
};

enum op_flags {
    OP_READS = 1,  /* does not change the object: two of these have nothing to do with each other */
    OP_OPAQUE = 2, /* plain memory may be touched on either side: nobody declared what */
    OP_GIVES_WAY = 4, /* a fifo run lets the others go first */
    OP_CANCELS = 8,   /* ends with -ECANCELED when the task is cancelled */
};

struct op {
    const char *where; /* "file.c:12", static; may be NULL */
    uint32_t object;
    uint8_t kind;
    uint8_t flags;
};

const char *op_name(unsigned kind);

static inline bool op_conflict(const struct op *a, const struct op *b)
{
    if (a->flags & b->flags & OP_OPAQUE)
        return true;
    return a->object == b->object && !(a->flags & b->flags & OP_READS);
}
