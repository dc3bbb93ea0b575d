/* SPDX-License-Identifier: MIT */
/* proc_mode: the words for what is to become of a cassette, as VCRs have them. */
#pragma once
#include "base/err.h"

enum proc_asked {
    ASKED_ONCE,    /* play it if it is there, else record it */
    ASKED_NEW,     /* play what it knows, record what it does not */
    ASKED_NONE,    /* play it */
    ASKED_ALL,     /* record; keep old recordings of other calls */
    ASKED_REFRESH, /* record it anew */
    ASKED_VERIFY,  /* run, and hold against it */
    ASKED_OFF,
    ASKED_COUNT,
};
extern const char *const proc_asked_words[ASKED_COUNT];

/* -EINVAL with the closest word. */
int proc_asked_parse(const char *text, enum proc_asked *ret, struct err *err);
