/* SPDX-License-Identifier: MIT */
/* proc_cli: what is to be done about subprocesses, on the command line. */
#pragma once
#include "cli/cli.h"
#include "match/match.h"
#include "proc/proc_options.h"
#include <jansson.h>

/* Rows for a verb's option table: how recordings answer. */
#define PROC_CLI_OPTIONS                                                                           \
    {"tape-only", "NAMES", "programs that are recorded or played: git,curl", 0, true},             \
        {"tape-except", "NAMES", "programs that run as they are: sh,env", 0, true},                \
        {"match", "FIELDS", "what of a call counts (default program,argv,cwd,env,stdin)", 0,       \
         false},                                                                                   \
        {"match-env", "NAME", "a variable that counts", 0, true},                                  \
        {"match-rule", "RULE", "take volatile parts out: temp, time, port, uuid, s/REGEX/TEXT/",   \
         0, true},                                                                                 \
        {"match-path", NULL, "programs count by their path, not by their name", 0, false},         \
        {"on-miss", "WHAT", "a call without a recording: fail (default), passthrough, record", 0,  \
         false},                                                                                   \
        {"order", "ORDER", "free (default), or strict: calls come in the recorded order", 0,       \
         false},                                                                                   \
    {                                                                                              \
        "max-age", "DURATION", "refuse recordings that are older", 0, false                        \
    }

struct proc_cli { /* what reading made, and must outlive the options */
    char **only, **except;
    const char **env_names;
    struct match_rules rules;
};

int proc_cli_read(const struct cli_args *args, struct proc_options *ret, struct proc_cli *keep,
                  struct err *err);
void proc_cli_done(struct proc_cli *keep);
static inline __attribute__((unused)) void proc_cli_done_cleanup(struct proc_cli *keep)
{
    proc_cli_done(keep);
}
/* The lines about recordings and misses. */
void proc_cli_add(struct buf *buf, const struct proc_findings *findings,
                  const struct proc_options *options);
json_t *proc_cli_json(const struct proc_findings *findings); /* returns owned */
