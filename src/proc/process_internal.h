/* SPDX-License-Identifier: MIT */
/* process_internal: a cassette that is open, shared by the files of vitro/process.h. */
#pragma once
#include "proc/cassette.h"
#include "proc/proc_mode.h"
#include "proc/process_findings.h"
#include "tape/tape.h"

struct vitro_cassette {
    struct cassette *cassette;
    struct cassette_words words;
    char **env_names;
    char *path, *fresh, *worktree; /* fresh: the tape that is being written; NULL: none */
    struct tape_writer *writer;
    struct programs *programs; /* NULL until one is recorded */
    bool exists, allow_unused, apply_files, takes_time;
    size_t misses, differences, recorded;
    struct buf report;
    char **missed; /* owned: each call without a recording, and why none answers */
    process_watcher *watcher;
    void *watcher_arg;
};

/* Passes what went wrong on to the caller's own struct. */
int process_tell(const struct err *err, int code, struct vitro_process_error *error);
void process_cassette_done(vitro_cassette *tape);
