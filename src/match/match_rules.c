/* SPDX-License-Identifier: MIT */
/* Rules that take the volatile parts out of a text. */
#include "match/match.h"
#include "match/regex.h"
#include "base/text.h"
#include <errno.h>
#include <string.h>

struct match_rule {
    void *code; /* owned */
    char *text; /* owned */
};

const struct match_known_rule match_known_rules[] = {
    {"temp", "(?:/private)?(?:/var)?/(?:tmp|dev/shm|run/user/\\d+)/[^\\s/:'\"]+", "/TEMP",
     "names of temporary files and directories"},
    {"time",
     "\\b\\d{4}-\\d\\d-\\d\\d[T ]\\d\\d:\\d\\d:\\d\\d(?:[.,]\\d+)?(?:Z|[+-]\\d\\d:?\\d\\d)?",
     "TIME", "points in time, as 2026-01-01T00:00:00Z"},
    {"port", "\\b(127\\.0\\.0\\.1|localhost|0\\.0\\.0\\.0|\\[::1?\\]):\\d{1,5}\\b", "$1:PORT",
     "ports of this machine"},
    {"uuid", "\\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\\b", "UUID", "UUIDs"},
    {"pid", "\\bpid[ =:]?\\d+\\b", "pid PID", "process numbers after the word pid"},
    {"hash", "\\b(?:[0-9a-f]{64}|[0-9a-f]{40})\\b", "HASH", "SHA-1 and SHA-256 in hex"},
    {NULL, NULL, NULL, NULL},
};

static int rules_push(struct match_rules *rules, const char *regex, const char *text,
                      struct err *err)
{
    void *code = NULL;
    int r = regex_compile(regex, &code, err);
    if (r < 0)
        return r;
    rules->items = mem_grow(rules->items, (rules->count + 1) * sizeof *rules->items);
    rules->items[rules->count++] = (struct match_rule){code, mem_dup(text)};
    return 0;
}

/* s/REGEX/TEXT/: cut at the mark behind the s; there is no escape for it, another mark is. */
static int rules_push_s(struct match_rules *rules, const char *spelled, struct err *err)
{
    char mark = spelled[1];
    const char *middle = strchr(spelled + 2, mark);
    const char *end = middle ? strchr(middle + 1, mark) : NULL;
    if (!end || end[1] || middle == spelled + 2)
        return err_set(err, -EINVAL, "rule '%s' is not s%cREGEX%cTEXT%c", spelled, mark, mark,
                       mark);
    CLEANUP(mem_free) char *regex = mem_dupn(spelled + 2, (size_t)(middle - spelled) - 2);
    CLEANUP(mem_free) char *text = mem_dupn(middle + 1, (size_t)(end - middle) - 1);
    return rules_push(rules, regex, text, err);
}

int match_rules_add(struct match_rules *rules, const char *spelled, struct err *err)
{
    const struct match_known_rule *known = match_known_rules;
    const char *names[ARRAY_LENGTH(match_known_rules)];
    size_t count = 0;
    for (; known->name; known++) {
        if (strcmp(known->name, spelled) == 0)
            return rules_push(rules, known->regex, known->text, err);
        names[count++] = known->name;
    }
    if (spelled[0] == 's' && spelled[1] && strchr("/|,#!%:@;~", spelled[1]))
        return rules_push_s(rules, spelled, err);
    err_set(err, -EINVAL, "'%s' is no rule", spelled);
    const char *closest = text_closest(spelled, names, count);
    if (closest)
        return err_hint(err, "did you mean '%s'?", closest);
    return err_hint(err, "rules are temp, time, port, uuid, pid, hash, or s/REGEX/TEXT/");
}

void match_rules_apply(const struct match_rules *rules, const char *bytes, size_t length,
                       struct buf *ret)
{
    if (!rules || !rules->count) {
        buf_add(ret, bytes, length);
        return;
    }
    CLEANUP(buf_done) struct buf from = {0};
    CLEANUP(buf_done) struct buf into = {0};
    buf_add(&from, bytes, length);
    for (size_t i = 0; i < rules->count; i++) {
        buf_clear(&into);
        regex_replace(rules->items[i].code, buf_text(&from), from.length, rules->items[i].text,
                      &into);
        struct buf swap = from;
        from = into;
        into = swap;
    }
    buf_add(ret, buf_text(&from), from.length);
}

void match_rules_done(struct match_rules *rules)
{
    for (size_t i = 0; i < rules->count; i++) {
        regex_free(rules->items[i].code);
        free(rules->items[i].text);
    }
    free(rules->items);
    *rules = (struct match_rules){0};
}
