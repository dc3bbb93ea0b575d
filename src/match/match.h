/* SPDX-License-Identifier: MIT */
/* match: does this text, or this JSON, fit that pattern; and the volatile parts of a text taken out
 * before two are compared.
 *
 * There is one matcher. Cassettes, shims, doubles and sidecars all say what they accept with these
 * patterns; call.h says it of whole calls. */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include <stdbool.h>
#include <stddef.h>

enum match_how {
    MATCH_EXACT, /* the same bytes */
    MATCH_GLOB,  /* * ? [a-z]; "*" crosses slashes; the whole text */
    MATCH_REGEX, /* PCRE2, anywhere in the text unless anchored */
    MATCH_CONTAINS,
    MATCH_ANY,
};

/* One pattern. Zeroed memory matches the empty text and nothing else. */
struct match_text {
    enum match_how how;
    char *source; /* owned */
    void *code;   /* owned; the compiled expression */
};

/* -EINVAL where a regular expression does not compile, with the place and the reason. */
int match_text_init(struct match_text *match, enum match_how how, const char *source,
                    struct err *err);
/* As people spell it: "glob:*.c", "regex:^a", "contains:x", "any:", "text:glob:" for the bytes
 * "glob:"; anything else stands for itself. */
int match_text_parse(struct match_text *match, const char *spelled, struct err *err);
/* As JSON: "text", {"text": ..}, {"glob": ..}, {"regex": ..}, {"contains": ..}, {"any": true}.
 * `where` names the value in messages. */
int match_text_from_json(struct match_text *match, const json_t *value, const char *where,
                         struct err *err);
bool match_text_fits(const struct match_text *match, const char *bytes, size_t length);
/* Appends the pattern as match_text_parse reads it. */
void match_text_add(struct buf *buf, const struct match_text *match);
void match_text_done(struct match_text *match);

/* Every member of `pattern` is in `value`, at every depth; arrays have the same length and match
 * item by item; other values are equal. Says where and how they differ in `why`, which may be
 * NULL. */
bool match_json_subset(const json_t *pattern, const json_t *value, struct buf *why);

/* Rules that write a steady word in place of what differs from run to run. Applied in order, each
 * to what the one before left. Zeroed memory holds none. */
struct match_rule;
struct match_rules {
    struct match_rule *items; /* owned */
    size_t count;
};

/* A rule by its name ("temp", "time", "port", "uuid", "pid", "hash"), or "s/REGEX/TEXT/" with any
 * character in the place of the slash; TEXT may hold $1. -EINVAL names what is known. */
int match_rules_add(struct match_rules *rules, const char *spelled, struct err *err);
/* Appends `bytes` with the rules applied. */
void match_rules_apply(const struct match_rules *rules, const char *bytes, size_t length,
                       struct buf *ret);
/* The names of the built-in rules, NULL-ended, with what they replace. */
struct match_known_rule {
    const char *name, *regex, *text, *help;
};
extern const struct match_known_rule match_known_rules[];
void match_rules_done(struct match_rules *rules);
static inline __attribute__((unused)) void match_rules_done_cleanup(struct match_rules *rules)
{
    match_rules_done(rules);
}
