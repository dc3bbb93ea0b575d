/* SPDX-License-Identifier: MIT */
/* process_findings: a cassette of vitro/process.h, for who keeps one for others (src/bench): what
 * it ran, as it happens, and what is wrong at the end, in lists. */
#pragma once
#include "base/err.h"
#include "vitro/process.h"

/* A program was run or played. In the thread that asked for it. */
typedef void process_watcher(void *arg, const struct vitro_process_call *call,
                             const struct vitro_process_result *result);
void process_watch(vitro_cassette *cassette, process_watcher *watcher, void *arg);

struct process_findings {
    char **unmatched; /* owned: "no recording answers 'git'", and what was closest */
    size_t unmatched_count;
    char **unused; /* owned: the command */
    size_t unused_count;
};
/* As vitro_cassette_close, but what was found is no failure. The cassette is gone afterwards, and
 * *ret is filled, whatever is returned. */
int process_close(vitro_cassette *cassette, struct process_findings *ret, struct err *err);
void process_findings_done(struct process_findings *findings);
