/* SPDX-License-Identifier: MIT */
#include "proc/proc_mode.h"
#include "base/text.h"
#include <errno.h>
#include <string.h>

const char *const proc_asked_words[ASKED_COUNT] = {"once",    "new",    "none", "all",
                                                   "refresh", "verify", "off"};

int proc_asked_parse(const char *text, enum proc_asked *ret, struct err *err)
{
    for (size_t i = 0; i < ASKED_COUNT; i++)
        if (strcmp(text, proc_asked_words[i]) == 0) {
            *ret = (enum proc_asked)i;
            return 0;
        }
    err_set(err, -EINVAL, "mode '%s' is not known", text);
    const char *closest = text_closest(text, proc_asked_words, ASKED_COUNT);
    return err_hint(err, "write %s",
                    closest ? closest : "once, new, none, all, refresh, verify or off");
}

int cassette_words_read(const struct vitro_cassette_options *options, struct cassette_words *ret,
                        struct err *err)
{
    static const char *const misses[] = {"fail", "passthrough", "record"};
    int r = options->mode ? proc_asked_parse(options->mode, &ret->mode, err) : 0;
    size_t i = 0;

    if (r == 0 && options->match)
        r = call_fields_parse(options->match, &ret->fields, err);
    for (const char *const *rule = options->match_rules; r == 0 && rule && *rule; rule++)
        r = match_rules_add(&ret->rules, *rule, err);
    if (r < 0 || !options->on_miss)
        return r;
    while (i < ARRAY_LENGTH(misses) && strcmp(misses[i], options->on_miss) != 0)
        i++;
    if (i == ARRAY_LENGTH(misses))
        return err_set(err, -EINVAL, "on_miss '%s' is not fail, passthrough or record",
                       options->on_miss);
    ret->on_miss = (enum proc_on_miss)i;
    return 0;
}
