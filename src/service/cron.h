/* SPDX-License-Identifier: MIT */
/* cron: a schedule as sets of bits. Public face: include/vitro/cron.h. */
#pragma once
#include "base/err.h"
#include "vitro/cron.h"
#include <stdbool.h>

enum cron_field { CRON_MINUTE, CRON_HOUR, CRON_DAY, CRON_MONTH, CRON_WEEKDAY, CRON_FIELDS };

struct vitro_cron {
    char *text;                 /* owned */
    const vitro_zone *zone;     /* borrowed; NULL: UTC */
    int64_t every_ns;           /* 0: by fields */
    uint64_t bits[CRON_FIELDS]; /* bit n: the value n; Sunday is 0 only */
    bool starred[CRON_FIELDS];  /* begins with '*' */
};

int cron_parse(const char *text, struct vitro_cron *ret, struct err *err);
/* Which of the times up to now are to run: `due` is the first of them. *ret_due is the one to run
 * now, if the result is 1; *ret_last is where the next one is counted from. */
int cron_missed(const vitro_cron *cron, enum vitro_cron_missed missed, int64_t due_ns,
                int64_t now_ns, int64_t *ret_due_ns, int64_t *ret_last_ns);
