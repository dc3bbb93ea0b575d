/* SPDX-License-Identifier: MIT */
/* The shim: one static program that stands in for any command, under the command's name, in the
 * bin/ of a sandbox. It runs where the command would have run, inside a box or not, so it shares
 * nothing with the test but files: ../shim/plan.json says what to answer, ../shim/journal.jsonl is
 * where it notes that it was called, ../shim/lock makes the two one step. Formats:
 * docs/formats/shim.md. */
#pragma once
#include "base/buf.h"
#include "base/json.h"
#include "match/call.h"
#include <stdbool.h>
#include <sys/types.h>

enum {
    SHIM_UNMATCHED = 122, /* nothing in the plan for this call */
    SHIM_BROKEN = 127,    /* the sandbox is gone, or its plan cannot be read */
    SHIM_STDIN_MAX = 64 << 20,
    SHIM_PLAN_MAX = 64 << 20,
};

struct shim_call {
    char *bin, *meta, *name; /* owned: directory of shims, ../shim, the command */
    struct call call;
    char *cwd;        /* owned */
    struct buf input; /* what stood on standard input, if it was no terminal */
    bool input_taken;
    json_t *plan; /* owned */
};

struct shim_choice {
    const char *outcome;  /* "answered", "unmatched", "too_many", "out_of_order" */
    const json_t *answer; /* borrowed from the plan; NULL: exit 0 and say nothing */
    int rule;             /* index in the plan; -1: none */
    struct buf why;       /* closest rule and what did not fit */
};

/* Which rule answers; counts are those of the calls so far, one a rule. */
void shim_choose(const struct shim_call *call, const json_t *command, const json_t *counts,
                 struct shim_choice *ret);

/* Does what the answer says and ends as it says. `seq` is the number of the call. */
void shim_act(const struct shim_call *call, const json_t *answer, json_int_t seq)
    __attribute__((noreturn));
/* Notes how a program ended that the call was passed to; takes `heard`, what it wrote and when, or
 * NULL. */
void shim_note_end(const struct shim_call *call, json_int_t seq, int wait_status, json_t *heard);
/* Takes over what a child writes to two pipes and hands it on; returns owned JSON, see
 * docs/formats/shim.md. */
json_t *shim_listen(const int pipes[2]);
json_int_t shim_now_ns(void);
void shim_die(const char *format, ...) PRINTF_LIKE(1, 2) __attribute__((noreturn));

/* Text is itself; other bytes are {"hex": ".."}. */
json_t *shim_bytes_to_json(const char *bytes, size_t length);
bool shim_bytes_from_json(const json_t *value, struct buf *ret);
