/* SPDX-License-Identifier: MIT */
/* harness: sidecars, a world in a file: NAME.harness.json (docs/formats/harness.md). Read once and
 * whole: a field that is not known, or not of its kind, is refused with its line. The members are
 * kept as JSON, each checked, so that who uses them need not check again. */
#pragma once
#include "base/json.h"
#include "host/double.h"

enum { HARNESS_BYTES_MAX = 64 << 20 };

#define HARNESS_VARIABLE        "VITRO_HARNESS"        /* the path of a sidecar */
#define HARNESS_REPORT_VARIABLE "VITRO_HARNESS_REPORT" /* where calls are told; may be unset */

struct harness {
    char *path;   /* owned; for words */
    json_t *root; /* owned */
    bool is_null; /* the mode; otherwise mock */
    bool has_clock;
    int64_t clock_at_unix_ms;
    /* borrowed from root; NULL: not there */
    const json_t *env, *fs_reads, *random_u64, *net_gets, *stdin_lines, *capabilities, *responses,
        *argv_steps, *expect_calls, *expect_deny_events;
    const char *expect_stdio, *expect_stderr; /* NULL: not there, or "" */
};

int harness_read(const char *path, struct harness *ret, struct err *err);
int harness_parse(const char *text, size_t length, const char *path, struct harness *ret,
                  struct err *err);
/* Where the steps lead to: names of members, and "#3" for places in lists; as far as they do. */
size_t harness_line(const char *text, size_t length, const char *const *steps, size_t depth);
void harness_done(struct harness *harness);
static inline __attribute__((unused)) void harness_done_cleanup(struct harness *harness)
{
    harness_done(harness);
}
/* The bytes of a member of fs_reads; owned. */
void harness_bytes(const json_t *value, char **ret, size_t *ret_length);
/* The host it describes; takes the harness. NULL with words. `echo` as of the mock's options. */
struct vitro_host *harness_host(struct harness *harness, bool echo, struct err *err);

/* ---- expectations: exact and in order; what is empty is not checked */

/* A call that was made: {"sub_handle", "method", "args"}; NULL behind the last. */
typedef const json_t *harness_call_at(void *context, size_t index);
/* -EPROTO with the first that is not as expected. */
int harness_check_calls(const struct harness *harness, const char *what, const json_t *expected,
                        harness_call_at *at, void *context, struct err *err);
int harness_check_text(const struct harness *harness, const char *what, const char *expected,
                       const char *actual, size_t length, struct err *err);

/* ---- what a program tells whoever started it: harness_env.c */
void harness_report_call(struct host_double *d, const struct host_note *note); /* lock held */
