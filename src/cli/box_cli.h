/* SPDX-License-Identifier: MIT */
/* box_cli: the options of a box on the command line, shared by the verbs that make boxes. */
#pragma once
#include "cli/cli.h"
#include "cli/wasi_cli.h"
#include "box/box_options.h"

/* Rows for a verb's option table. */
#define BOX_CLI_OPTIONS                                                                            \
    {"clock", "WHEN", "real, WHEN, WHEN,manual, +7d, -2h or x10 (default 2026-01-01T00:00:00Z)",   \
     'c', false},                                                                                  \
        {"seed", "N", "the seed of everything random (default 1)", 's', false},                    \
        {"net", "MODE", "deny: loopback only (default); real: the machine's network", 0, false},   \
        {"random", "MODE", "virtual (default) or real", 0, false},                                 \
        {"identity", "MODE", "virtual (default) or real: host name, kernel, CPUs, locale, zone",   \
         0, false},                                                                                \
        {"cpus", "N", "CPUs that the box may use (default 1)", 0, false},                          \
        {"max-time", "DURATION", "end the box after this much virtual time", 0, false},            \
        {"timeout", "DURATION", "end the box after this much real time (default 10m)", 0, false},  \
        {"max-steps", "N", "end the box after so many stops", 0, false},                           \
        {"max-procs", "N", "end the box when more processes exist at once (default 4096)", 0,      \
         false},                                                                                   \
        {"fs", "MODE", "overlay: writes stay in memory (default); ro; real", 0, false},            \
        {"worktree", "DIR", "what the diff speaks of (default: the current directory)", 0, false}, \
        {"writable", "DIR", "a directory whose writes do reach the disk", 0, true},                \
        {"hide", "PATH", "a file or directory that guests find empty", 0, true},                   \
        {"size-limit", "BYTES", "how much guests may write (default: half of the memory)", 0,      \
         false},                                                                                   \
        {"upper", "DIR", "keep what guests write in this empty directory on disk", 0, false},      \
        {"share-tmp", NULL, "show the machine's /tmp, as when the command names a file there", 0,  \
         false},                                                                                   \
        {"trace-reads", NULL, "put what guests open and list on the tape too", 0, false},          \
        WASI_CLI_OPTIONS,                                                                          \
    {                                                                                              \
        "allow", "WHAT", "do not fail on a finding: leak, orphan, miss, unused", 0, true           \
    }

/* Fills `ret` from the arguments; `ret->argv` are the operands. -EINVAL with words. */
int box_cli_read(const struct cli_args *args, struct box_options *ret, struct err *err);
void box_cli_done(struct box_options *options); /* frees what reading made */
static inline __attribute__((unused)) void box_cli_done_cleanup(struct box_options *options)
{
    box_cli_done(options);
}
