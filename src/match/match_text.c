/* SPDX-License-Identifier: MIT */
/* One pattern for one text. Regular expressions are PCRE2 with a bound on its backtracking: a
 * pattern that explodes does not fit, it does not hang. */
#include "match/match.h"
#include "match/regex.h"
#include "base/text.h"
#include <errno.h>
#include <fnmatch.h>
#include <string.h>

static const struct {
    const char *prefix;
    enum match_how how;
} spellings[] = {
    {"text:", MATCH_EXACT},        {"glob:", MATCH_GLOB}, {"regex:", MATCH_REGEX},
    {"contains:", MATCH_CONTAINS}, {"any:", MATCH_ANY},
};

int match_text_init(struct match_text *match, enum match_how how, const char *source,
                    struct err *err)
{
    void *code = NULL;
    if (how == MATCH_REGEX) {
        int r = regex_compile(source, &code, err);
        if (r < 0)
            return r;
    }
    *match = (struct match_text){how, mem_dup(source), code};
    return 0;
}

int match_text_parse(struct match_text *match, const char *spelled, struct err *err)
{
    for (size_t i = 0; i < ARRAY_LENGTH(spellings); i++)
        if (text_starts(spelled, spellings[i].prefix))
            return match_text_init(match, spellings[i].how, spelled + strlen(spellings[i].prefix),
                                   err);
    return match_text_init(match, MATCH_EXACT, spelled, err);
}

int match_text_from_json(struct match_text *match, const json_t *value, const char *where,
                         struct err *err)
{
    if (json_is_string(value))
        return match_text_init(match, MATCH_EXACT, json_string_value(value), err);
    if (json_is_object(value) && json_object_size(value) == 1) {
        const char *name = json_object_iter_key(json_object_iter((json_t *)value));
        const json_t *inner = json_object_iter_value(json_object_iter((json_t *)value));
        for (size_t i = 0; i < ARRAY_LENGTH(spellings); i++) {
            size_t length = strlen(spellings[i].prefix) - 1;
            if (strlen(name) != length || strncmp(name, spellings[i].prefix, length) != 0)
                continue;
            if (spellings[i].how == MATCH_ANY && json_is_true(inner))
                return match_text_init(match, MATCH_ANY, "", err);
            if (spellings[i].how != MATCH_ANY && json_is_string(inner)) {
                int r = match_text_init(match, spellings[i].how, json_string_value(inner), err);
                return r < 0 ? err_wrap(err, "%s", where) : r;
            }
        }
    }
    return err_set(err, -EINVAL,
                   "%s is no pattern\nhint: write \"text\", {\"glob\": \"*.c\"}, {\"regex\": "
                   "\"^a\"}, {\"contains\": \"x\"} or {\"any\": true}",
                   where);
}

bool match_text_fits(const struct match_text *match, const char *bytes, size_t length)
{
    const char *source = match->source ? match->source : "";
    switch (match->how) {
    case MATCH_EXACT:
        return strlen(source) == length && memcmp(source, bytes, length) == 0;
    case MATCH_GLOB: {
        CLEANUP(mem_free) char *text = mem_dupn(bytes, length);
        return strlen(text) == length && fnmatch(source, text, 0) == 0;
    }
    case MATCH_REGEX:
        return regex_finds(match->code, bytes, length);
    case MATCH_CONTAINS:
        return memmem(bytes, length, source, strlen(source)) != NULL;
    case MATCH_ANY:
        return true;
    }
    return false;
}

void match_text_add(struct buf *buf, const struct match_text *match)
{
    const char *source = match->source ? match->source : "";
    bool plain = match->how == MATCH_EXACT;
    for (size_t i = 0; i < ARRAY_LENGTH(spellings); i++)
        if (match->how == MATCH_EXACT ? text_starts(source, spellings[i].prefix)
                                      : spellings[i].how == match->how) {
            buf_adds(buf, plain ? "text:" : spellings[i].prefix);
            break;
        }
    buf_adds(buf, source);
}

void match_text_done(struct match_text *match)
{
    free(match->source);
    regex_free(match->code);
    *match = (struct match_text){0};
}
