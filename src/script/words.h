/* SPDX-License-Identifier: MIT */
/* words: the words of one line, read one after the other by the verb they begin with. The same
 * reading serves twice: when a file is checked, before anything runs, and when it plays; only then
 * do variables have values. Errors have the place, what was expected, and the closest word. */
#pragma once
#include "script/vt.h"
#include <stdint.h>

struct play;
struct script_options;

struct words {
    const struct vt_line *line;
    size_t at;
    const struct play *play;              /* NULL while checking */
    const struct script_options *options; /* while checking */
    struct arena *arena;                  /* what is read lives there */
    struct err *err;
};

struct words_pattern {
    const char *text;
    size_t length;
    bool regex;
};

const struct vt_token *words_next(const struct words *w); /* NULL at the end */
bool words_take(struct words *w, const char *keyword);    /* if it is the next */
bool words_checking(const struct words *w);
/* While checking, a word with variables has no value yet. */
bool words_is_open(const struct words *w, const struct vt_token *token);
/* "path:line:column: text", at the next word or at the end of the line. */
int words_wrong(const struct words *w, const char *format, ...) PRINTF_LIKE(2, 3);
int words_end(struct words *w); /* -EINVAL when there is more */
int words_text(struct words *w, const char *what, const char **ret);
int words_bytes(struct words *w, const char *what, const char **ret, size_t *ret_length);
int words_pattern(struct words *w, const char *what, struct words_pattern *ret);
/* A text as an expression, where others on the line are expressions. */
const char *words_as_regex(struct words *w, const struct words_pattern *pattern);
int words_number(struct words *w, const char *what, uint64_t max, uint64_t *ret);
int words_duration(struct words *w, const char *what, uint64_t *ret_ns);
/* One of these keywords; its index. */
int words_choice(struct words *w, const char *const *candidates, size_t count);
/* The rest of the line as a command: NULL-ended, at least one. */
int words_command(struct words *w, const char *const **ret);
/* A token's bytes with variables in their place. */
int words_expand(const struct words *w, const struct vt_token *token, const char **ret,
                 size_t *ret_length);
/* The line as it is written, for people. */
void words_show(const struct vt_line *line, struct buf *ret);

#define WORDS_CHOICE(w, ...)                                                                       \
    words_choice(w, (const char *const[]){__VA_ARGS__},                                            \
                 sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))
