/* SPDX-License-Identifier: MIT */
/* Many fixtures, a few boxes at a time, from one thread: boxes are processes of their own. */
#include "conform/conform_internal.h"
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/sysinfo.h>

enum { JOBS_MAX = 64 };

struct suite {
    const struct conform_set *set;
    const struct conform_options *options;
    conform_report *report;
    void *context;
    struct conform_totals *totals;
    struct conform_run *
        *runs; /* owned; one a fixture, NULL before it starts and when it was told */
    size_t started, told, running;
    bool stop;
};

static void finish(struct suite *suite, struct conform_run *run)
{
    run->done = true;
    if (run->result.status == CONFORM_FAILED && suite->options->fail_fast)
        suite->stop = true;
}

static int start_next(struct suite *suite, struct err *err)
{
    size_t index = suite->started++;
    struct conform_run *run = suite->runs[index] = mem_alloc(sizeof *run);
    int r = conform_begin(run, &suite->set->fixtures[index], suite->options, err);

    if (r > 0)
        suite->running++;
    else if (r == 0)
        finish(suite, run);
    return r;
}

static void tell(struct suite *suite)
{
    for (; suite->told < suite->started && suite->runs[suite->told]->done; suite->told++) {
        struct conform_run *run = suite->runs[suite->told];

        suite->totals->passed += run->result.status == CONFORM_PASSED;
        suite->totals->failed += run->result.status == CONFORM_FAILED;
        suite->totals->skipped += run->result.status == CONFORM_SKIPPED;
        suite->report(suite->context, run->fixture, &run->result);
        conform_run_done(run);
        free(run);
        suite->runs[suite->told] = NULL;
    }
}

/* Until a box has ended, or more. box_wait sees to their ceilings. */
static int await(struct suite *suite, struct err *err)
{
    struct pollfd fds[JOBS_MAX];
    struct conform_run *which[JOBS_MAX];
    nfds_t count = 0;

    for (size_t i = suite->told; i < suite->started && count < JOBS_MAX; i++) {
        struct conform_run *run = suite->runs[i];
        if (!run || !run->started)
            continue;
        which[count] = run;
        fds[count++] = (struct pollfd){.fd = run->child.report_fd, .events = POLLIN};
    }
    if (poll(fds, count, -1) < 0 && errno != EINTR)
        return err_set(err, -errno, "wait for fixtures: %m");
    for (nfds_t i = 0; i < count; i++)
        if (fds[i].revents) {
            conform_end(which[i]);
            suite->running--;
            finish(suite, which[i]);
        }
    return 0;
}

static int run_all(struct suite *suite, size_t jobs, struct err *err)
{
    int r = 0;

    for (;;) {
        while (suite->running < jobs && suite->started < suite->set->count && !suite->stop) {
            r = start_next(suite, err);
            if (r < 0)
                return r;
        }
        tell(suite);
        if (!suite->running)
            return 0;
        r = await(suite, err);
        if (r < 0)
            return r;
    }
}

int conform_suite(const struct conform_set *set, const struct conform_options *options,
                  conform_report *report, void *context, struct conform_totals *ret,
                  struct err *err)
{
    size_t jobs = options->jobs ? options->jobs : (size_t)get_nprocs();
    struct suite suite = {.set = set,
                          .options = options,
                          .report = report,
                          .context = context,
                          .totals = ret,
                          .runs = mem_alloc((set->count + 1) * sizeof(struct conform_run *))};

    *ret = (struct conform_totals){0};
    int r = run_all(&suite, jobs < JOBS_MAX ? jobs : JOBS_MAX, err);
    for (size_t i = suite.told; i < suite.started; i++) { /* after trouble */
        conform_run_done(suite.runs[i]);
        free(suite.runs[i]);
    }
    free(suite.runs);
    return r;
}
