/* SPDX-License-Identifier: MIT */
/* Making a failing schedule small.
 *
 * 1. Everything behind the failure goes back to the dull choice, then halves, quarters and single
 *    ones of the decisions that are not dull, as long as the run fails the same way.
 * 2. All schedules with fewer preemptions are searched, fewest first, within a budget of runs: when
 *    that search ends without a failure, the schedule is the smallest there is.
 * Every attempt is a run; what counts is what the run really decided, not what it was told to. */
#include "sched/explore.h"
#include <string.h>

enum { ATTEMPTS_MAX = 2000, SEARCH_MAX = 50000, STEPS_MAX = 10000000 };

/* Preemptions first, then decisions that are not dull, then switches. */
static uint64_t weight(const struct session *s)
{
    uint64_t odd = 0;

    for (size_t i = 0; i < s->sched->core.decision_count; i++)
        odd += !s->sched->core.decisions[i].dull;
    return s->last.preemptions << 40 | (odd & 0xfffff) << 20 | (s->last.switches & 0xfffff);
}

struct shrinking {
    struct session *session;
    const struct run *failure;
    struct decisions *best;
    uint64_t best_weight;
    unsigned attempts;
    uint64_t steps_stop; /* enough is enough: long runs get fewer attempts */
};

/* Tries a list; takes it when it fails the same way and weighs less. */
static bool attempt(struct shrinking *sh, const struct core_decision *list, size_t count)
{
    struct session *s = sh->session;

    if (++sh->attempts > ATTEMPTS_MAX || s->steps > sh->steps_stop)
        return false;
    if (!session_fails_like(s, list, count, sh->failure))
        return false;
    if (s->options.isolate) { /* the run was in another process: take the list at its word */
        memcpy(sh->best->list, list, count * sizeof *list);
        sh->best->count = count;
        return true;
    }
    uint64_t w = weight(s);
    if (w >= sh->best_weight)
        return false;
    decisions_done(sh->best);
    *sh->best = decisions_copy(&s->sched->core);
    sh->best_weight = w;
    return true;
}

/* Makes `count` of the odd decisions from number `from` dull. True if any was, in *ret. */
static bool without(const struct decisions *in, size_t from, size_t count,
                    struct core_decision *ret)
{
    size_t odd = 0;
    bool changed = false;

    for (size_t i = 0; i < in->count; i++) {
        ret[i] = in->list[i];
        if (in->list[i].dull)
            continue;
        if (odd >= from && odd < from + count) {
            ret[i].dull = true;
            ret[i].value = 0;
            changed = true;
        }
        odd++;
    }
    return changed;
}

static size_t odd_count(const struct decisions *in)
{
    size_t odd = 0;

    for (size_t i = 0; i < in->count; i++)
        odd += !in->list[i].dull;
    return odd;
}

static void remove_chunks(struct shrinking *sh)
{
    for (size_t chunk = odd_count(sh->best); chunk > 0; chunk /= 2)
        for (size_t from = 0; from < odd_count(sh->best);) {
            CLEANUP(mem_free) struct core_decision *list =
                mem_alloc((sh->best->count + 1) * sizeof *list);
            if (!without(sh->best, from, chunk, list) || !attempt(sh, list, sh->best->count))
                from += chunk;
        }
}

/* A preemption that stands one decision later, and the same with a shorter tail. */
static void cut_tail(struct shrinking *sh)
{
    for (size_t keep = sh->best->count / 2; keep > 0 && keep < sh->best->count; keep /= 2)
        (void)attempt(sh, sh->best->list, keep);
}

/* Searches everything with fewer preemptions than the best has. */
static bool search_fewer(struct shrinking *sh, uint64_t preemptions)
{
    struct session *s = sh->session;
    CLEANUP(decider_free) struct decider *dfs =
        decider_dfs_new(0, (uint32_t)(preemptions - 1), false);
    bool more = true, ended = false;

    for (unsigned runs = 0; more && runs < SEARCH_MAX && s->steps < sh->steps_stop; runs++) {
        session_run(s, dfs, &more);
        if (same_failure(&s->last, sh->failure)) {
            decisions_done(sh->best);
            *sh->best = decisions_copy(&s->sched->core);
            sh->best_weight = weight(s);
            ended = true;
            break;
        }
    }
    sched_reset(s->sched, decider_fifo_new(), false);
    return ended || (!more && !dfs->incomplete);
}

void shrink(struct session *s, struct decisions *decisions, const struct run *failure,
            bool *ret_minimal)
{
    struct shrinking sh = {.session = s,
                           .failure = failure,
                           .best = decisions,
                           .best_weight = UINT64_MAX,
                           .steps_stop = s->steps + STEPS_MAX};
    struct decisions original = {.list = mem_alloc((decisions->count + 1) * sizeof *original.list),
                                 .count = decisions->count};

    memcpy(original.list, decisions->list, decisions->count * sizeof *original.list);
    if (!attempt(&sh, original.list, original.count) && !s->options.isolate) {
        decisions_done(&original); /* does not repeat: nothing to shrink */
        return;
    }
    decisions_done(&original);
    cut_tail(&sh);
    remove_chunks(&sh);
    if (s->options.isolate)
        return;
    uint64_t preemptions = sh.best_weight >> 40;
    *ret_minimal = preemptions == 0 || search_fewer(&sh, preemptions);
}
