/* SPDX-License-Identifier: MIT */
/* call: one call of a program, whoever made it: a guest's exec, a shim, a double in a C test. Here
 * is what a call is, when two are the same, which recorded one answers it, and which came closest
 * when none does. */
#pragma once
#include "match/match.h"
#include <stdint.h>

struct call {                 /* borrows everything; texts are any bytes without NUL */
    const char *program;      /* as called: "git", "./tool", "/usr/bin/git" */
    const char *const *argv;  /* NULL-ended, argv[0] first */
    const char *cwd;          /* relative to the worktree when inside it; NULL: not known */
    const char *const *env;   /* "NAME=VALUE", NULL-ended; NULL: not known */
    const char *stdin_digest; /* 64 hex digits; NULL: not known, nothing read */
};

enum call_field {
    CALL_PROGRAM,
    CALL_ARGV,
    CALL_CWD,
    CALL_ENV,
    CALL_STDIN,
    CALL_FIELD_COUNT,
};
extern const char *const call_field_names[CALL_FIELD_COUNT];

/* What of a call counts when two are compared. */
struct call_view {
    unsigned fields;                 /* 1u << enum call_field; 0 stands for CALL_FIELDS_DEFAULT */
    bool whole_path;                 /* the program by its path; otherwise by its last name */
    const char *const *env_names;    /* variables that count, NULL-ended; NULL: none */
    const struct match_rules *rules; /* applied to every argument, cwd and value; may be NULL */
};
#define CALL_FIELDS_DEFAULT                                                                        \
    (1u << CALL_PROGRAM | 1u << CALL_ARGV | 1u << CALL_CWD | 1u << CALL_ENV | 1u << CALL_STDIN)
/* "program,argv,cwd": -EINVAL names the closest. */
int call_fields_parse(const char *text, unsigned *ret_fields, struct err *err);

/* Appends the key: one line for each field that counts. Two calls are the same when their keys are
 * the same bytes. Readable, so that a miss can print it. */
void call_key(const struct call *call, const struct call_view *view, struct buf *ret);

/* Recordings by key, first in first out within a key. Adding and taking cost the same for ten and
 * for a hundred thousand. */
struct call_table;
struct call_table *call_table_new(void);
void call_table_add(struct call_table *table, const char *key, size_t key_length, size_t id);
/* The oldest not yet taken of this key; false when none is left. */
bool call_table_take(struct call_table *table, const char *key, size_t key_length, size_t *ret_id);
/* The last one of this key, taken or not: for answers that stay. */
bool call_table_last(const struct call_table *table, const char *key, size_t key_length,
                     size_t *ret_id);
struct call_table *call_table_free(struct call_table *table);
DEFINE_CLEANUP(struct call_table *, call_table_free)

/* How a call differs from the candidate nearest to it. */
struct call_miss {
    size_t index; /* of the candidate; SIZE_MAX when there was none */
    enum call_field field;
    struct buf detail; /* "argv[2]: recorded 'a', called with 'b'" */
    char *rule; /* owned; an s/// rule that would make this field the same; NULL: none would */
};
typedef const struct call *call_at(void *context, size_t index);
void call_closest(const struct call *call, const struct call_view *view, call_at *at, void *context,
                  size_t count, struct call_miss *ret);
void call_miss_done(struct call_miss *miss);

/* What a shim or a double accepts. */
enum call_args {
    CALL_ARGS_ANY,
    CALL_ARGS_VECTOR, /* the same number, one pattern each */
    CALL_ARGS_PREFIX, /* one pattern each, then anything: a list that ends in "..." */
    CALL_ARGS_SUBSET, /* every pattern fits some argument, in any place */
};
struct call_env_rule {
    char *name; /* owned */
    bool absent;
    struct match_text value;
};
/* Zeroed memory accepts every call. */
struct call_rule {
    struct match_text *program; /* owned; NULL: any */
    enum call_args how;
    struct match_text *args; /* owned; without argv[0] */
    size_t arg_count;
    struct call_env_rule *env; /* owned */
    size_t env_count;
    struct match_text *input; /* owned; NULL: any */
    struct match_text *cwd;   /* owned; NULL: any */
};
/* {"program": PATTERN, "args": [PATTERN.., "..."] or {"subset": [PATTERN..]},
 *  "env": {"NAME": PATTERN or null (not set)}, "stdin": PATTERN, "cwd": PATTERN}; all may be left
 * out. Unknown members are refused. */
int call_rule_from_json(struct call_rule *rule, const json_t *value, const char *where,
                        struct err *err);
/* The same from texts as people spell them (match_text_parse): a program, and arguments that may
 * end in "..."; either may be NULL, for any. */
int call_rule_from_texts(struct call_rule *rule, const char *program, const char *const *args,
                         struct err *err);
/* `input` is what stands on the call's standard input. Says the first thing that does not fit in
 * `why`, which may be NULL. */
bool call_rule_fits(const struct call_rule *rule, const struct call *call, const char *input,
                    size_t input_length, struct buf *why);
void call_rule_done(struct call_rule *rule);
