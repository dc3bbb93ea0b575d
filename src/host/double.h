/* SPDX-License-Identifier: MIT */
/* double: the world that only answers: null denies every call, mock has what it was given.
 *
 * Every method goes the same way: double_begin notes the call with its arguments and looks for a
 * response, the method answers from the state, double_end notes what it gave. The notes are never
 * moved or freed before the host is, so what was handed out stays. One lock guards all of it; it
 * is not held while anybody sleeps or waits for a program. */
#pragma once
#include "base/arena.h"
#include "base/json.h"
#include "host/host_internal.h"
#include "match/call.h"
#include <pthread.h>

enum host_method {
    STDIO_PRINT,
    STDIO_PRINT_ERROR,
    STDIO_READ_LINE,
    CLOCK_NOW,
    CLOCK_MONO,
    CLOCK_SLEEP,
    CLOCK_SLEEP_UNTIL,
    ENV_GET,
    ENV_SET,
    ENV_LIST,
    FS_READ,
    FS_WRITE,
    FS_APPEND,
    FS_STAT,
    FS_REMOVE,
    FS_RENAME,
    FS_MAKE_DIR,
    FS_LIST,
    RANDOM_U64,
    RANDOM_BYTES,
    RANDOM_UUID,
    NET_GET,
    NET_REQUEST,
    PROCESS_RUN,
    PROCESS_SPAWN,
    TERMINAL_SIZE,
    TERMINAL_IS_TTY,
    HOST_METHOD_COUNT,
};
struct host_method_row {
    const char *sub_handle, *method;
    const char *args[3]; /* names, in the order of the call; the last may be a list: "argv..." */
    const char *result;  /* in words */
};
extern const struct host_method_row host_methods[HOST_METHOD_COUNT];

struct host_note { /* one call */
    char *sub_handle, *method, *worker;
    char **args; /* NULL-ended */
    size_t arg_count;
    json_t *given; /* owned; what it gave, for transcripts; NULL: nothing to tell */
    int result;
    bool denied;
};
struct host_response { /* owned texts */
    struct host_response *next;
    char *capability, *method, *error;
    json_t *when, *result;
    int error_code;
    unsigned repeat, used;
};
struct host_responses {
    struct host_response *first, **last;
};
struct host_entry { /* a file, a variable, an answer: in the arena */
    const char *key;
    const char *bytes;
    size_t length;
    bool is_dir;
};
struct host_entries { /* sorted by key */
    struct host_entry *items;
    size_t count;
};
struct host_step {
    struct call_rule rule;
    char *output, *error_output;
    int exit_code, signal;
};

struct host_double {
    struct vitro_host host; /* first */
    struct vitro_stdio stdio;
    struct vitro_env env;
    struct vitro_fs fs;
    struct vitro_random random;
    struct vitro_net net;
    struct vitro_processes processes;
    struct vitro_terminal terminal;
    struct vitro_clock clock;      /* notes, and asks `inner` */
    struct vitro_clock *inner;     /* borrowed, or `own_clock` */
    struct vitro_clock *own_clock; /* owned */
    pthread_mutex_t lock;
    struct arena arena; /* texts that live as long as the host */
    bool is_null, echo;
    struct host_note **notes; /* owned */
    size_t note_count;
    size_t unanswered;
    struct host_responses responses; /* below all scopes */
    struct vitro_host_scope *top;
    struct host_entries variables, files, answers;
    uint64_t *numbers; /* owned */
    size_t number_count, number_next;
    char **lines; /* owned */
    size_t line_next;
    char **capabilities;     /* owned; "mail.send" */
    struct host_step *steps; /* owned */
    size_t step_count, step_next;
    vitro_spawner *spawner, *own_spawner; /* borrowed; owned, of steps and responses */
    vitro_cassette *cassette;             /* borrowed */
    struct buf captured[3];
    struct harness *harness; /* owned; the sidecar it was made from; NULL: none */
    int report_fd;           /* owned; where calls are told; -1: nowhere */
};

/* NULL for a host that is no double. */
struct host_double *host_double(const struct vitro_host *host);
struct host_double *double_new(void); /* half built: options and sub-handles are to come */
void double_free(struct vitro_host *host);

/* ---- the way of a call */

struct ask {
    struct host_double *d;
    struct host_note *note;
    json_t *args;   /* owned */
    json_t *answer; /* owned; of a response; NULL: none */
};
/* Takes `args`, an object. 0: answer it from the state. 1: `answer` is what to give. -errno: give
 * that; the call is over. With the lock not held. */
int double_begin(struct host_double *d, enum host_method method, json_t *args, struct ask *ret,
                 struct err *err);
int double_begin_named(struct host_double *d, const char *sub_handle, const char *method,
                       const char *const *names, json_t *args, struct ask *ret, struct err *err);
/* Notes the result, which it returns, and what was given (taken; may be NULL). */
int double_end(struct ask *ask, int result, json_t *given);
/* The answer to a method that has none: -ENODATA with words, `key` says what was asked for. */
int double_missing(struct ask *ask, const char *key, struct err *err);
/* A response that is not what the method gives: -EPROTO with words. */
int double_wrong(struct ask *ask, struct err *err);

/* Texts of any bytes as JSON: a string, or {"base64": ...}. */
json_t *double_bytes(const void *bytes, size_t length); /* returns owned */
/* false: neither. Owned bytes with a NUL behind them. */
bool double_bytes_of(const json_t *value, char **ret, size_t *ret_length);

/* ---- entries */
const struct host_entry *entries_find(const struct host_entries *entries, const char *key);
void entries_put(struct host_double *d, struct host_entries *entries, const char *key,
                 const void *bytes, size_t length, bool is_dir);
bool entries_remove(struct host_entries *entries, const char *key);

/* ---- responses: double_respond.c */
int responses_add(struct host_double *d, struct host_responses *to,
                  const struct vitro_host_response *response, struct err *err);
void responses_done(struct host_responses *responses);
/* With the lock held. The one that answers, or NULL. */
struct host_response *responses_find(struct host_double *d, const struct ask *ask);

/* ---- sub-handles: fill in ops */
void double_stdio_init(struct host_double *d); /* stdio, terminal */
void double_env_init(struct host_double *d);   /* env, random */
void double_fs_init(struct host_double *d);
void double_net_init(struct host_double *d);
void double_process_init(struct host_double *d);
int double_clock_init(struct host_double *d, const struct vitro_host_mock_options *options,
                      struct err *err);

#define DOUBLE_OF(pointer, member)                                                                 \
    ((struct host_double *)(void *)((char *)(pointer)-offsetof(struct host_double, member)))
