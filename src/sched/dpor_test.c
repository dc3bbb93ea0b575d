/* SPDX-License-Identifier: MIT */
/* The reduced search against a count made without it: small programs are generated, all their
 * interleavings are walked by a model that knows nothing of the scheduler, and the classes of those
 * that differ in the order of conflicting operations are counted. The search must finish exactly
 * one run of each. */
#include "sched/explore.h"
#include "base/rng.h"
#include "lib/check.h"
#include <stdio.h>

enum { TASKS_MAX = 3, OPS_MAX = 6, OBJECTS = 3 };
enum kind { READ, WRITE, LOCK, UNLOCK, ACQUIRE, RELEASE, SEND, RECEIVE };
struct action {
    enum kind kind;
    int object;
};
struct program {
    int tasks, ops[TASKS_MAX];
    struct action action[TASKS_MAX][OPS_MAX];
    int permits;
};

/* ---- a set of texts */

struct set {
    char **list;
    size_t count;
};

static bool set_add(struct set *set, const char *text)
{
    for (size_t i = 0; i < set->count; i++)
        if (strcmp(set->list[i], text) == 0)
            return false;
    set->list = mem_grow(set->list, (set->count + 1) * sizeof *set->list);
    set->list[set->count++] = mem_dup(text);
    return true;
}

static void set_done(struct set *set)
{
    for (size_t i = 0; i < set->count; i++)
        free(set->list[i]);
    free(set->list);
    *set = (struct set){0};
}

/* ---- a run as the orders of what conflicts */

struct log {
    int count;
    struct {
        int task, op;
    } entry[TASKS_MAX * OPS_MAX];
};

static char family(enum kind kind)
{
    return kind <= WRITE ? 'v' : kind <= UNLOCK ? 'm' : kind <= RELEASE ? 's' : 'c';
}

/* For every object its operations in order, a run of reads as a set. */
static void canonical(const struct program *p, const struct log *log, struct buf *buf)
{
    static const char families[] = "vmsc";

    for (const char *f = families; *f; f++)
        for (int o = 0; o < OBJECTS; o++) {
            bool readers[TASKS_MAX][OPS_MAX] = {0};
            buf_addf(buf, "|%c%d:", *f, o);
            for (int i = 0; i <= log->count; i++) {
                const struct action *a =
                    i < log->count ? &p->action[log->entry[i].task][log->entry[i].op] : NULL;
                if (a && (family(a->kind) != *f || a->object != o))
                    continue;
                if (a && a->kind == READ) {
                    readers[log->entry[i].task][log->entry[i].op] = true;
                    continue;
                }
                for (int t = 0; t < TASKS_MAX; t++)
                    for (int k = 0; k < OPS_MAX; k++)
                        if (readers[t][k]) {
                            buf_addf(buf, " r%d.%d", t, k);
                            readers[t][k] = false;
                        }
                if (a)
                    buf_addf(buf, " %d.%d;", log->entry[i].task, log->entry[i].op);
            }
        }
}

/* ---- the model */

struct model {
    const struct program *program;
    int at[TASKS_MAX], owner[OBJECTS], permits[OBJECTS], filled[OBJECTS];
    struct log log;
};

static bool can(const struct model *m, int t)
{
    if (m->at[t] >= m->program->ops[t])
        return false;
    const struct action *a = &m->program->action[t][m->at[t]];
    if (a->kind == LOCK)
        return m->owner[a->object] < 0;
    if (a->kind == ACQUIRE)
        return m->permits[a->object] > 0;
    if (a->kind == SEND)
        return m->filled[a->object] == 0;
    if (a->kind == RECEIVE)
        return m->filled[a->object] > 0;
    return true;
}

static void walk(struct model m, struct set *classes)
{
    bool stuck = true;

    for (int t = 0; t < m.program->tasks; t++) {
        if (!can(&m, t))
            continue;
        stuck = false;
        struct model next = m;
        const struct action *a = &m.program->action[t][m.at[t]];
        if (a->kind == LOCK)
            next.owner[a->object] = t;
        if (a->kind == UNLOCK)
            next.owner[a->object] = -1;
        if (a->kind == ACQUIRE)
            next.permits[a->object]--;
        if (a->kind == RELEASE)
            next.permits[a->object]++;
        if (a->kind == SEND)
            next.filled[a->object]++;
        if (a->kind == RECEIVE)
            next.filled[a->object]--;
        next.log.entry[next.log.count].task = t;
        next.log.entry[next.log.count++].op = m.at[t];
        next.at[t]++;
        walk(next, classes);
    }
    if (stuck) {
        CLEANUP(buf_done) struct buf text = {0};
        canonical(m.program, &m.log, &text);
        (void)set_add(classes, buf_text(&text));
    }
}

/* ---- the same program as tasks */

struct world {
    const struct program *program;
    int variable[OBJECTS];
    struct vitro_mutex mutex[OBJECTS];
    struct vitro_sem sem[OBJECTS];
    struct vitro_chan chan[OBJECTS]; /* of one value */
    struct log log;
};
struct part {
    struct world *world;
    int task;
};

static int run_part(void *arg)
{
    struct part *part = arg;
    struct world *w = part->world;
    vitro_value value;

    for (int i = 0; i < w->program->ops[part->task]; i++) {
        const struct action *a = &w->program->action[part->task][i];
        int r = 0;
        switch (a->kind) {
        case READ:
            vitro_read(&w->variable[a->object]);
            break;
        case WRITE:
            vitro_write(&w->variable[a->object]);
            break;
        case LOCK:
            r = vitro_lock(&w->mutex[a->object]);
            break;
        case UNLOCK:
            vitro_unlock(&w->mutex[a->object]);
            break;
        case ACQUIRE:
            r = vitro_acquire(&w->sem[a->object]);
            break;
        case RELEASE:
            vitro_release(&w->sem[a->object]);
            break;
        case SEND:
            r = vitro_send(&w->chan[a->object], i);
            break;
        case RECEIVE:
            r = vitro_receive(&w->chan[a->object], &value);
            break;
        }
        if (r < 0)
            return r; /* taken down after a deadlock */
        w->log.entry[w->log.count].task = part->task;
        w->log.entry[w->log.count++].op = i;
    }
    return 0;
}

static int run_program(void *arg)
{
    struct world *w = arg;
    struct part parts[TASKS_MAX];
    vitro_task *tasks[TASKS_MAX];

    for (int t = 0; t < w->program->tasks; t++) {
        parts[t] = (struct part){w, t};
        tasks[t] = vitro_spawn(run_part, &parts[t]);
    }
    for (int t = 0; t < w->program->tasks; t++)
        if (vitro_join(tasks[t]) < 0)
            return 0;
    return 0;
}

static struct world world;
static void *make_world(void *program)
{
    for (int i = 0; i < OBJECTS; i++)
        vitro_chan_done(&world.chan[i]);
    world = (struct world){.program = program};
    for (int i = 0; i < OBJECTS; i++)
        world.chan[i].capacity = 1;
    for (int i = 0; i < OBJECTS; i++)
        world.sem[i].permits = (uint32_t)((const struct program *)program)->permits;
    return &world;
}

static void generate(struct program *p, uint64_t number)
{
    struct rng rng;

    rng_stream(&rng, number, "dpor_test", NULL);
    *p = (struct program){.permits = (int)rng_below(&rng, 2)};
    p->tasks = 2 + (int)rng_below(&rng, 2);
    bool locks = rng_below(&rng, 2), sems = rng_below(&rng, 2), chans = rng_below(&rng, 2);
    int budget = p->tasks == 2 ? 5 : 3;
    for (int t = 0; t < p->tasks; t++) {
        int held = -1;
        while (p->ops[t] < budget) {
            struct action *a = &p->action[t][p->ops[t]];
            uint64_t what = rng_below(&rng, 6);
            int object = (int)rng_below(&rng, 2);
            if (held >= 0 && (what < 2 || p->ops[t] + 1 == budget)) {
                *a = (struct action){UNLOCK, held};
                held = -1;
            } else if (locks && held < 0 && what >= 3 && p->ops[t] + 2 <= budget) {
                *a = (struct action){LOCK, object};
                held = object;
            } else if (sems && what == 2) {
                *a = (struct action){rng_below(&rng, 2) ? ACQUIRE : RELEASE, object};
            } else if (chans && what < 2) {
                *a = (struct action){rng_below(&rng, 2) ? SEND : RECEIVE, 0};
            } else {
                *a = (struct action){rng_below(&rng, 2) ? READ : WRITE, object};
            }
            p->ops[t]++;
        }
    }
}

/* Runs the search; fails unless it gives each class once and no other. */
static size_t compare(struct program *p, uint64_t number, uint64_t *cut)
{
    struct set wanted = {0}, got = {0};
    struct model model = {.program = p, .owner = {-1, -1, -1}};
    struct session s;
    bool more = true;
    size_t runs = 0;

    for (int i = 0; i < OBJECTS; i++)
        model.permits[i] = p->permits;
    walk(model, &wanted);
    session_init(&s, run_program, p, &(struct vitro_check_options){.make = make_world}, true);
    struct decider *dpor = decider_dpor_new(false);
    while (more) {
        session_run(&s, dpor, &more);
        CHECK_TRUE(!decider_dpor_trouble(dpor));
        if (s.last.cut)
            continue;
        CLEANUP(buf_done) struct buf text = {0};
        canonical(p, &world.log, &text);
        if (!set_add(&got, buf_text(&text)))
            check_fail(__FILE__, __LINE__, "program %llu: class twice: %s",
                       (unsigned long long)number, text.data);
        runs++;
    }
    for (size_t i = 0; i < got.count; i++)
        if (set_add(&wanted, got.list[i]))
            check_fail(__FILE__, __LINE__, "program %llu: no such class: %s",
                       (unsigned long long)number, got.list[i]);
    if (runs != wanted.count)
        check_fail(__FILE__, __LINE__, "program %llu: %zu runs for %zu classes",
                   (unsigned long long)number, runs, wanted.count);
    *cut += decider_dpor_cut(dpor);
    decider_free(dpor);
    sched_reset(s.sched, decider_fifo_new(), false);
    session_done(&s);
    set_done(&wanted);
    set_done(&got);
    return runs;
}

TEST(each_class_of_six_hundred_generated_programs_is_run_once)
{
    uint64_t cut = 0, runs = 0;

    for (uint64_t number = 1; number <= 600; number++) {
        struct program p;
        generate(&p, number);
        runs += compare(&p, number, &cut);
    }
    print_message("# %llu classes in 600 programs, %llu runs cut\n", (unsigned long long)runs,
                  (unsigned long long)cut);
    CHECK_TRUE(runs > 2000);
}

TEST(a_lock_taken_crosswise_deadlocks_in_one_class_of_three)
{
    struct program p = {.tasks = 2,
                        .ops = {4, 4},
                        .action = {{{LOCK, 0}, {LOCK, 1}, {UNLOCK, 1}, {UNLOCK, 0}},
                                   {{LOCK, 1}, {LOCK, 0}, {UNLOCK, 0}, {UNLOCK, 1}}}};
    uint64_t cut = 0;

    CHECK_INT(compare(&p, 0, &cut), 3);
}

TEST(two_tasks_with_two_sections_have_six_lock_orders_and_six_runs)
{
    struct program p = {.tasks = 2,
                        .ops = {4, 4},
                        .action = {{{LOCK, 0}, {UNLOCK, 0}, {LOCK, 0}, {UNLOCK, 0}},
                                   {{LOCK, 0}, {UNLOCK, 0}, {LOCK, 0}, {UNLOCK, 0}}}};
    uint64_t cut = 0;

    CHECK_INT(compare(&p, 0, &cut), 6);
    CHECK_INT(cut, 0);
}

TEST(operations_on_different_objects_need_one_run)
{
    struct program p = {.tasks = 3,
                        .ops = {3, 3, 3},
                        .action = {{{WRITE, 0}, {READ, 0}, {WRITE, 0}},
                                   {{WRITE, 1}, {READ, 1}, {WRITE, 1}},
                                   {{WRITE, 2}, {READ, 2}, {WRITE, 2}}}};
    uint64_t cut = 0;

    CHECK_INT(compare(&p, 0, &cut), 1);
    CHECK_INT(cut, 0);
}
