/* SPDX-License-Identifier: MIT */
#include "sched/op.h"

const char *op_name(unsigned kind)
{
    static const char *const names[OP_KINDS] = {
        [OP_NONE] = "nothing",    [OP_START] = "start",     [OP_END] = "end",
        [OP_SPAWN] = "spawn",     [OP_JOIN] = "join",       [OP_CANCEL] = "cancel",
        [OP_YIELD] = "yield",     [OP_SLEEP] = "sleep",     [OP_READ] = "read",
        [OP_WRITE] = "write",     [OP_LOCK] = "lock",       [OP_TRYLOCK] = "trylock",
        [OP_UNLOCK] = "unlock",   [OP_RDLOCK] = "rdlock",   [OP_RDUNLOCK] = "rdunlock",
        [OP_WAIT] = "wait",       [OP_SIGNAL] = "signal",   [OP_BROADCAST] = "broadcast",
        [OP_ACQUIRE] = "acquire", [OP_RELEASE] = "release", [OP_SEND] = "send",
        [OP_RECEIVE] = "receive", [OP_CLOSE] = "close",     [OP_POST] = "post",
        [OP_FETCH] = "fetch",     [OP_ASSIGN] = "assign",   [OP_DEREF] = "deref",
        [OP_GIVE] = "give",       [OP_TAKE] = "take",       [OP_SET] = "set",
        [OP_RESET] = "reset",     [OP_ARRIVE] = "arrive",   [OP_ONCE] = "once",
        [OP_SELECT] = "select",   [OP_WORK] = "work",       [OP_FD] = "fd",
    };

    return kind < OP_KINDS ? names[kind] : "?";
}
