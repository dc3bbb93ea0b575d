/* SPDX-License-Identifier: MIT */
/* explore: running a test under many schedules. One session holds one scheduler that is used again
 * for every run; see include/vitro/explore.h for what it is for. */
#pragma once
#include "sched/sched.h"
#include "vitro/explore.h"

struct seen { /* a set of fingerprints, up to SEEN_MAX of them */
    uint64_t *slots;
    uint64_t count, capacity;
};
enum { SEEN_MAX = 1 << 20 };
void seen_add(struct seen *seen, uint64_t print);

struct run { /* how one run went */
    enum vitro_kind kind;
    int result;
    bool cut;
    uint64_t fingerprint, check, steps, preemptions, switches;
    char *error; /* owned by the session; NULL when all is well */
};

struct session {
    vitro_sched *sched;
    vitro_fn fn;
    void *arg;
    struct vitro_check_options options; /* resolved */
    struct run last;
    struct seen seen;
    uint64_t steps;
};

void session_init(struct session *session, vitro_fn fn, void *arg,
                  const struct vitro_check_options *options, bool prove);
void session_done(struct session *session);
/* One run under a decider (lent). With more set, the decider prepares its next run and says whether
 * there is one. */
void session_run(struct session *session, struct decider *decider, bool *more);
struct decider *session_decider(const struct session *session);
bool same_failure(const struct run *a, const struct run *b);
/* Runs a list of decisions; the sched's own list afterwards is what was really decided. */
void session_play(struct session *session, const struct core_decision *decisions, size_t count);
/* The same in a child process when the session is isolated. */
bool session_fails_like(struct session *session, const struct core_decision *decisions,
                        size_t count, const struct run *failure);

struct decisions { /* an owned copy */
    struct core_decision *list;
    size_t count;
};
struct decisions decisions_copy(const struct core *core);
void decisions_done(struct decisions *decisions);

/* shrink.c: replaces the decisions by ones that fail the same way with fewer preemptions. */
void shrink(struct session *session, struct decisions *decisions, const struct run *failure,
            bool *ret_minimal);
/* selfcheck.c: true when the schedule repeats; else the words say what differed first. */
bool selfcheck(struct session *session, const struct decisions *decisions, struct buf *words);
/* report.c: everything of a verdict that comes from a failing run. */
void report_failure(struct session *session, const struct decisions *decisions,
                    struct vitro_verdict *verdict);
void report_ok(const struct session *session, struct vitro_verdict *verdict);
char *report_schedule(const struct session *session, const char *strategy, const struct run *run);
void report_lanes(const vitro_sched *sched, struct buf *buf);
/* workers.c */
struct worker_failure {
    uint64_t index;
    struct decisions decisions;
    enum vitro_kind kind;
    int result;
    bool found;
};
/* Runs schedules 0..n-1 over processes; fills verdict's counts. -errno when it could not. */
int workers_run(struct session *session, struct decider *decider, struct vitro_verdict *verdict,
                struct worker_failure *failure);
int worker_child_run(struct session *session, const struct core_decision *decisions, size_t count,
                     struct run *ret);
/* fault.c: what to do first when a signal ends the program; NULL: nothing. */
void fault_on_crash(void (*callback)(int signal));
/* crash.c: saves the schedule when a signal ends a run of this session; NULL: no longer. */
void crash_watch(const struct session *session);
/* args.c */
const char *args_schedule(const char *test); /* text to replay, "" to skip this test, or NULL */
uint64_t args_seed(uint64_t seed);
uint64_t args_schedules(uint64_t schedules);
const char *args_program(void);
