/* SPDX-License-Identifier: MIT */
/* Programs with deadlines, generated: the reduced search must see every outcome that the plain one
 * sees, and no other. dpor_test.c counts classes for programs without time; where time can end a
 * wait there is no model to count by, but there is the plain search. */
#include "vitro/explore.h"
#include "base/rng.h"
#include "lib/check.h"
#include <errno.h>
#include <stdio.h>

enum { TASKS_MAX = 3, OPS_MAX = 3, PROGRAMS = 250 };
enum kind { ACQUIRE, RELEASE, SEND, RECEIVE, GIVE, TAKE, SELECT, CROSS, SLEEP, KINDS };

struct program {
    int tasks, ops[TASKS_MAX], permits;
    struct {
        enum kind kind;
        int object, ms;
    } action[TASKS_MAX][OPS_MAX];
};

static void generate(struct rng *rng, struct program *p)
{
    p->tasks = 2 + (int)rng_below(rng, TASKS_MAX - 1);
    p->permits = (int)rng_below(rng, 2);
    for (int t = 0; t < p->tasks; t++) {
        p->ops[t] = 1 + (int)rng_below(rng, p->tasks == 2 ? OPS_MAX : OPS_MAX - 1);
        for (int i = 0; i < p->ops[t]; i++) {
            p->action[t][i].kind = (enum kind)rng_below(rng, KINDS);
            p->action[t][i].object = (int)rng_below(rng, 2);
            p->action[t][i].ms = 1 + (int)rng_below(rng, 2);
        }
    }
}

struct world {
    const struct program *program;
    struct vitro_sem sem[2];
    struct vitro_chan chan[2], meet[2];
};

struct part {
    struct world *world;
    int task;
};

/* Zero, or one for a wait that time ended; a select says which case it was. */
static int step(struct world *w, int t, int i)
{
    int object = w->program->action[t][i].object;
    uint64_t wait = VITRO_MS(w->program->action[t][i].ms), until = vitro_clock() + wait;
    vitro_value got = 0;
    struct vitro_case cases[] = {{.kind = VITRO_CASE_RECEIVE, .object = &w->chan[object]},
                                 {.kind = VITRO_CASE_ACQUIRE, .object = &w->sem[1 - object]},
                                 {.kind = VITRO_CASE_AFTER, .ns = wait}};
    struct vitro_case cross[] = {
        {.kind = VITRO_CASE_SEND, .object = &w->meet[object], .value = t + 1},
        {.kind = VITRO_CASE_RECEIVE, .object = &w->meet[1 - object]},
        {.kind = VITRO_CASE_AFTER, .ns = wait}};

    switch (w->program->action[t][i].kind) {
    case ACQUIRE:
        return vitro_acquire_until(&w->sem[object], until) != 0;
    case RELEASE:
        vitro_release(&w->sem[object]);
        return 0;
    case SEND:
        return vitro_send_until(&w->chan[object], t + 1, until) != 0;
    case RECEIVE:
        return vitro_receive_until(&w->chan[object], &got, until) != 0 ? 0 : 1 + (int)got;
    case GIVE:
        return vitro_send_until(&w->meet[object], t + 1, until) != 0;
    case TAKE:
        return vitro_receive_until(&w->meet[object], &got, until) != 0 ? 0 : 1 + (int)got;
    case SELECT:
        return vitro_select(cases, 3);
    case CROSS:
        return vitro_select(cross, 3);
    case SLEEP:
        return vitro_sleep(wait);
    case KINDS:
        break;
    }
    return -EINVAL;
}

static int body(void *arg)
{
    const struct part *part = arg;
    int result = 0;

    for (int i = 0; i < part->world->program->ops[part->task]; i++) {
        int r = step(part->world, part->task, i);
        if (r < 0)
            return r;
        result = result * 5 + r;
    }
    return result;
}

static int run(void *arg)
{
    const struct program *p = arg;
    struct world w = {.program = p,
                      .sem = {VITRO_SEM("s0", 0), VITRO_SEM("s1", 0)},
                      .chan = {VITRO_CHAN("c0", 1), VITRO_CHAN("c1", 1)},
                      .meet = {VITRO_RENDEZVOUS("r0"), VITRO_RENDEZVOUS("r1")}};
    struct part parts[TASKS_MAX];
    struct vitro_call calls[TASKS_MAX];
    int result = 0;

    w.sem[0].permits = w.sem[1].permits = (uint32_t)p->permits;
    for (int t = 0; t < p->tasks; t++) {
        parts[t] = (struct part){&w, t};
        calls[t] = (struct vitro_call){body, &parts[t], NULL, 0};
    }
    int r = vitro_join_all(calls, (size_t)p->tasks);
    for (int t = 0; t < p->tasks; t++)
        result = result * 130 + calls[t].result;
    for (int i = 0; i < 2; i++) {
        vitro_chan_done(&w.chan[i]);
        vitro_chan_done(&w.meet[i]);
    }
    return r < 0 ? r : result;
}

static bool has(const struct vitro_outcomes *o, const struct vitro_outcome *wanted)
{
    for (size_t i = 0; i < o->count; i++)
        if (o->list[i].kind == wanted->kind && o->list[i].result == wanted->result)
            return true;
    return false;
}

TEST(with_deadlines_the_reduced_search_sees_what_the_plain_one_sees)
{
    struct rng rng;
    int compared = 0, several = 0;

    rng_seed(&rng, 20);
    for (int n = 0; n < PROGRAMS; n++) {
        struct program p = {0};
        generate(&rng, &p);
        struct vitro_outcomes plain =
            vitro_explore(run, &p, .strategy = VITRO_DFS, .schedules = 20000);
        struct vitro_outcomes reduced =
            vitro_explore(run, &p, .strategy = VITRO_DPOR, .schedules = 20000);
        if (plain.complete) {
            compared++;
            several += plain.count > 1;
            CHECK_TRUE(reduced.complete);
            for (size_t i = 0; i < plain.count; i++) {
                CHECK_INT(plain.list[i].kind, VITRO_OK); /* every wait has an end */
                if (!has(&reduced, &plain.list[i]))
                    check_fail(__FILE__, __LINE__, "program %d: outcome %d is not seen; it is\n%s",
                               n, plain.list[i].result, plain.list[i].schedule);
            }
            CHECK_INT(reduced.count, plain.count);
        }
        vitro_outcomes_done(&plain);
        vitro_outcomes_done(&reduced);
    }
    CHECK_TRUE(compared > PROGRAMS / 2 && several > PROGRAMS / 10);
    (void)printf("# %d of %d programs compared, %d with several outcomes\n", compared, PROGRAMS,
                 several);
}
