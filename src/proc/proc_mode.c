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
