/* SPDX-License-Identifier: MIT */
/* proc_mode: the words for what is to become of a cassette, as VCRs have them, and the others of
 * struct vitro_cassette_options. */
#pragma once
#include "base/err.h"
#include "match/match.h"
#include "proc/proc_options.h"
#include "vitro/process.h"

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

struct cassette_words {
    enum proc_asked mode;
    enum proc_on_miss on_miss;
    unsigned fields; /* 0: the default */
    struct match_rules rules;
};
/* -EINVAL with the word that is wrong. */
int cassette_words_read(const struct vitro_cassette_options *options, struct cassette_words *ret,
                        struct err *err);
