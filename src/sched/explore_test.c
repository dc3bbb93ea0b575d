/* SPDX-License-Identifier: MIT */
/* Verdicts and what they say; schedules as text; the self-check; processes that share the work. */
#include "sched/explore.h"
#include "base/json.h"
#include "base/rng.h"
#include "base/wall.h"
#include "lib/check.h"
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void free_sched(vitro_sched **sched)
{
    *sched = vitro_sched_free(*sched);
}
#define SCHED(name, ...)                                                                           \
    __attribute__((cleanup(free_sched))) vitro_sched *name = vitro_sched_new(__VA_ARGS__)

struct account {
    int balance;
    struct vitro_mutex mutex;
};

static int deposit(void *arg)
{
    struct account *a = arg;
    int seen = a->balance;

    vitro_yield_at("bank.c:12");
    a->balance = seen + 10;
    return 0;
}
static int deposit_locked(void *arg)
{
    struct account *a = arg;

    vitro_lock(&a->mutex);
    int seen = a->balance;
    vitro_yield();
    a->balance = seen + 10;
    vitro_unlock(&a->mutex);
    return 0;
}
static int two_deposits(vitro_fn fn)
{
    struct account a = {.mutex = VITRO_MUTEX("account")};
    vitro_task *left = vitro_spawn(fn, &a, .name = "left");
    vitro_task *right = vitro_spawn(fn, &a, .name = "right");

    (void)vitro_join_at(left, NULL, "bank.c:20");
    (void)vitro_join_at(right, NULL, "bank.c:21");
    return a.balance;
}
static int deposits(void *arg)
{
    (void)arg;
    return two_deposits(deposit);
}
static int deposits_locked(void *arg)
{
    (void)arg;
    return two_deposits(deposit_locked);
}

TEST(a_lost_update_is_reported_on_one_screen)
{
    struct vitro_verdict v =
        vitro_check(deposits, NULL, .name = "deposits", .want = 20, .schedules = 1000);
    CHECK_INT(v.kind, VITRO_PROPERTY);
    CHECK_INT(v.result, 10);
    CHECK_INT(v.preemptions, 1);
    CHECK_TRUE(v.minimal);
    CHECK_TEXT(v.report,
               "deposits: FAILED, property: the result is 10, not 20\n"
               "  schedule 1 (fifo, seed 1), 1 preemption, shrunk from 2, the fewest there are\n"
               "\n"
               "      1  main: start\n"
               "      2    main/left: start\n"
               "      3      main/right: start, yield (bank.c:12)\n"
               "      5    main/left: yield (bank.c:12)\n"
               "      6  main: join main/left, join main/right (bank.c:21)\n"
               "\n"
               "  decides  main/right yield (bank.c:12)  before  main/left yield (bank.c:12)\n"
               "  again    VITRO_SCHEDULE='vitro schedule 1;test deposits;strategy fifo;seed 1;"
               "kind property;error the result is 10, not 20;run main/left;run main/right *2' "
               "PROGRAM\n");
    vitro_verdict_done(&v);
}

TEST(the_outcomes_of_a_lost_update_are_exactly_10_and_20)
{
    struct vitro_outcomes o = vitro_explore(deposits, NULL, .schedules = 500);
    CHECK_INT(o.count, 2);
    for (size_t i = 0; i < 2; i++) {
        struct vitro_verdict v =
            vitro_replay(deposits, NULL, o.list[i].schedule, .check.want = o.list[i].result);
        CHECK_INT(v.kind, VITRO_OK);
        CHECK_INT(v.result, o.list[i].result);
        vitro_verdict_done(&v);
    }
    CHECK_INT(o.list[0].count + o.list[1].count, 500);
    CHECK_TRUE(o.unseen == 0);
    vitro_outcomes_done(&o);
}

TEST(a_proof_says_that_it_is_complete_and_how_many_runs_it_took)
{
    struct vitro_verdict v = vitro_prove(deposits_locked, NULL, .name = "locked", .want = 20);
    CHECK_TRUE(v.kind == VITRO_OK && v.complete);
    CHECK_HAS(v.report, "locked: ok, fully explored, ");
    vitro_verdict_done(&v);
    v = vitro_prove(deposits_locked, NULL, .want = 20, .strategy = VITRO_DFS);
    CHECK_TRUE(v.kind == VITRO_OK && v.complete);
    CHECK_TRUE(v.schedules > 20); /* without reduction there are many more */
    vitro_verdict_done(&v);
    v = vitro_check(deposits_locked, NULL, .want = 20, .strategy = VITRO_PREEMPTIONS, .bound = 1);
    CHECK_TRUE(v.kind == VITRO_OK && v.complete);
    vitro_verdict_done(&v);
    v = vitro_check(deposits_locked, NULL, .want = 20, .strategy = VITRO_PCT, .depth = 2,
                    .schedules = 500);
    CHECK_TRUE(v.kind == VITRO_OK && v.miss < 0.001);
    CHECK_HAS(v.report, "a bug of depth 2 was missed with a chance of at most");
    vitro_verdict_done(&v);
}

TEST(opaque_steps_make_the_search_see_memory_nobody_declared)
{
    struct vitro_verdict declared = vitro_prove(deposits_locked, NULL, .want = 20);
    struct vitro_verdict opaque = vitro_prove(deposits_locked, NULL, .want = 20, .opaque = true);

    CHECK_TRUE(opaque.kind == VITRO_OK && opaque.complete);
    CHECK_TRUE(opaque.schedules > declared.schedules);
    vitro_verdict_done(&declared);
    vitro_verdict_done(&opaque);
}

/* ---- kinds */

struct pair {
    struct vitro_mutex a, b;
};
static int ab(void *arg)
{
    struct pair *p = arg;

    vitro_lock_at(&p->a, VITRO_FOREVER, "p.c:1");
    vitro_lock_at(&p->b, VITRO_FOREVER, "p.c:2");
    vitro_unlock(&p->b);
    vitro_unlock(&p->a);
    return 0;
}
static int ba(void *arg)
{
    struct pair *p = arg;

    vitro_lock_at(&p->b, VITRO_FOREVER, "p.c:3");
    vitro_lock_at(&p->a, VITRO_FOREVER, "p.c:4");
    vitro_unlock(&p->a);
    vitro_unlock(&p->b);
    return 0;
}
static int crosswise(void *arg)
{
    struct pair p = {VITRO_MUTEX("fork 1"), VITRO_MUTEX("fork 2")};
    vitro_task *x = vitro_spawn(ab, &p, .name = "x"), *y = vitro_spawn(ba, &p, .name = "y");

    (void)arg;
    (void)vitro_join_at(x, NULL, "p.c:9");
    return vitro_join(y);
}

TEST(a_deadlock_names_waiters_holders_places_and_the_cycle)
{
    struct vitro_verdict v = vitro_check(crosswise, NULL, .schedules = 1000);
    CHECK_INT(v.kind, VITRO_DEADLOCK);
    CHECK_HAS(v.error, "deadlock: no task can go on and no timer is armed\n"
                       "  'main' waits: join main/x at p.c:9\n"
                       "  'main/x' waits: lock mutex 'fork 2' at p.c:2, held by 'main/y' since "
                       "p.c:3\n"
                       "  'main/y' waits: lock mutex 'fork 1' at p.c:4, held by 'main/x' since "
                       "p.c:1\n"
                       "  cycle: 'main/x' -> 'main/y' -> 'main/x'");
    vitro_verdict_done(&v);
}

struct flagged {
    struct vitro_mutex mutex;
    struct vitro_cond cond;
    bool set;
};
static int wait_flag(void *arg)
{
    struct flagged *f = arg;
    bool set = f->set; /* looked at without the lock */

    vitro_yield();
    vitro_lock(&f->mutex);
    if (!set)
        (void)vitro_wait_at(&f->cond, &f->mutex, VITRO_FOREVER, "f.c:5");
    vitro_unlock(&f->mutex);
    return 0;
}
static int set_flag(void *arg)
{
    struct flagged *f = arg;

    f->set = true;
    vitro_signal_at(&f->cond, "f.c:9");
    return 0;
}
static int lost_wakeup(void *arg)
{
    struct flagged f = {.cond = VITRO_COND("flag")};
    struct vitro_call calls[] = {{wait_flag, &f, "waiter", 0}, {set_flag, &f, "setter", 0}};

    (void)arg;
    return vitro_join_all(calls, 2);
}

TEST(a_lost_wakeup_is_hinted_at_with_the_place_of_the_signal)
{
    struct vitro_verdict v = vitro_check(lost_wakeup, NULL, .schedules = 1000);
    CHECK_INT(v.kind, VITRO_DEADLOCK);
    CHECK_HAS(v.error, "'main/waiter' waits: wait cond 'flag' at f.c:5");
    CHECK_HAS(v.error, "hint: lost wake-up? 1 signal, last at f.c:9 found nobody waiting");
    vitro_verdict_done(&v);
}

struct polite {
    int turn;
};
static int after_you(void *arg)
{
    int *turn = arg;

    while (*turn != 2)
        vitro_yield_at("polite.c:3");
    return 0;
}
static int livelock(void *arg)
{
    int turn = 0;
    struct vitro_call calls[] = {{after_you, &turn, "a", 0}, {after_you, &turn, "b", 0}};

    (void)arg;
    return vitro_join_all(calls, 2);
}

TEST(a_livelock_shows_the_cycle_that_repeats)
{
    struct vitro_verdict v =
        vitro_check(livelock, NULL, .schedules = 1, .max_steps = 2000, .strategy = VITRO_FIFO);
    CHECK_INT(v.kind, VITRO_LIVELOCK);
    CHECK_HAS(v.error, "step budget exceeded: 2001 > 2000\n"
                       "livelock: the last steps repeat a cycle of ");
    CHECK_HAS(v.error, "yield  at polite.c:3");
    vitro_verdict_done(&v);
}

static int forget(void *arg)
{
    (void)arg;
    (void)vitro_spawn(deposit, &(struct account){0}, .name = "lost");
    return 0;
}

TEST(a_forgotten_task_fails_a_check)
{
    struct vitro_verdict v = vitro_check(forget, NULL, .schedules = 5);
    CHECK_INT(v.kind, VITRO_LEAK);
    CHECK_HAS(v.error, "'main/lost'");
    vitro_verdict_done(&v);
    v = vitro_check(forget, NULL, .schedules = 5, .allow_leaks = true);
    CHECK_INT(v.kind, VITRO_OK);
    vitro_verdict_done(&v);
}

/* ---- nondeterminism */

static struct vitro_mutex by_address[2] = {VITRO_MUTEX("low"), VITRO_MUTEX("high")};
static int lock_lower(void *arg)
{
    int here, *there = arg;
    struct vitro_mutex *m = &by_address[(uintptr_t)&here > (uintptr_t)there];

    vitro_lock(m);
    vitro_unlock(m);
    return -EILSEQ;
}
static int compares_addresses(void *arg)
{
    int here = 0;

    (void)arg;
    return vitro_join(vitro_spawn(lock_lower, &here));
}
static int reads_real_clock(void *arg)
{
    uint64_t state = wall_monotonic_ns(), bits = rng_mix(&state);

    (void)arg;
    for (int i = 0; i < 64; i++) /* sixty-four steps: that all agree by chance will not be seen */
        if (bits >> i & 1)
            vitro_yield();
        else
            vitro_yield(); /* from another place */
    return -EILSEQ;
}
static int left_behind;
static int keeps_state(void *arg)
{
    (void)arg;
    if (left_behind++ % 2)
        vitro_yield();
    return -EILSEQ;
}

struct cell {
    struct cell *next;
    int key;
};
static int hashes_pointers(void *arg)
{
    struct cell *table[64] = {0};
    int order = 0;

    (void)arg;
    for (int i = 0; i < 24; i++) { /* a table hashed by pointer, gone through in its order */
        struct cell *cell = malloc(sizeof *cell);
        size_t slot = (uintptr_t)cell / 16 % 64;
        *cell = (struct cell){table[slot], i};
        table[slot] = cell;
    }
    for (int i = 0; i < 64; i++)
        while (table[i]) {
            struct cell *cell = table[i];
            table[i] = cell->next;
            order = (order * 31 + cell->key) % 1000003;
            free(cell);
        }
    return -1 - order % 100;
}

TEST(a_schedule_that_does_not_repeat_is_named_with_the_kind_of_cause)
{
    struct vitro_verdict v = vitro_check(keeps_state, NULL, .schedules = 1);
    CHECK_INT(v.kind, VITRO_NONDETERMINISM);
    CHECK_HAS(v.error, "the same schedule gives different runs\nfirst difference at step 2:\n");
    CHECK_HAS(v.error, "depends on something outside");
    vitro_verdict_done(&v);
    v = vitro_check(reads_real_clock, NULL, .schedules = 1);
    CHECK_INT(v.kind, VITRO_NONDETERMINISM);
    CHECK_HAS(v.error, "a real clock");
    vitro_verdict_done(&v);
    v = vitro_check(compares_addresses, NULL, .schedules = 1);
    CHECK_INT(v.kind, VITRO_NONDETERMINISM);
    CHECK_HAS(v.error, "depends on addresses");
    vitro_verdict_done(&v);
    v = vitro_check(hashes_pointers, NULL, .schedules = 1);
    CHECK_INT(v.kind, VITRO_NONDETERMINISM);
    CHECK_HAS(v.error, "all steps are alike, but the result is");
    vitro_verdict_done(&v);
}

/* ---- schedules as text */

static const struct {
    const char *text, *words;
} bad_schedules[] = {
    {"", "not a schedule"},
    {"run main", "not a schedule"},
    {"vitro schedule 2\n", "a schedule of format 2; this vitro reads format 1"},
    {"vitro schedule 1\nrun\n", "line 2: 'run' needs a value"},
    {"vitro schedule 1\ntimer x\n", "line 2: 'x' is not WHICH/OF-HOW-MANY"},
    {"vitro schedule 1\ntimer 3/3\n", "'3/3' is not WHICH/OF-HOW-MANY"},
    {"vitro schedule 1\nrun a *0\n", "how often is '*0'"},
    {"vitro schedule 1\nrun a\njump b\n", "line 3: 'jump b' is no decision"},
};

TEST(a_text_that_is_no_schedule_is_refused_with_its_line)
{
    for (size_t i = 0; i < ARRAY_LENGTH(bad_schedules); i++) {
        struct vitro_verdict v = vitro_replay(deposits, NULL, bad_schedules[i].text);
        CHECK_INT(v.kind, VITRO_DIVERGED);
        CHECK_HAS(v.error, bad_schedules[i].words);
        vitro_verdict_done(&v);
        CHECK_TRUE(vitro_sched_new(.schedule = bad_schedules[i].text) == NULL);
    }
}

TEST(a_schedule_that_does_not_fit_names_the_first_difference)
{
    struct vitro_verdict v =
        vitro_replay(deposits, NULL, "vitro schedule 1\nrun main/left\n", .check.want = 20);
    CHECK_INT(v.kind, VITRO_DIVERGED);
    CHECK_HAS(v.error, "at decision 2 the schedule is at its end (1 entries); these can go on: "
                       "main/left, main/right");
    vitro_verdict_done(&v);
    v = vitro_replay(deposits, NULL, "vitro schedule 1\nrun other/task\n", .check.want = 20);
    CHECK_INT(v.kind, VITRO_DIVERGED);
    CHECK_HAS(v.error, "at decision 1 task 'other/task' cannot go on; these can: main/left");
    vitro_verdict_done(&v);
    v = vitro_replay(deposits, NULL, "vitro schedule 1\ntimer 0/2\n", .check.want = 20);
    CHECK_HAS(v.error, "the schedule says 'timer', but the program chooses a task");
    vitro_verdict_done(&v);
    v = vitro_replay(deposits, NULL, "vitro schedule 1\nrun other/task\n", .check.want = 20,
                     .tolerant = true);
    CHECK_INT(v.kind, VITRO_OK); /* goes on without preemptions */
    CHECK_INT(v.result, 20);
    CHECK_HAS(v.error, "task 'other/task' cannot go on");
    vitro_verdict_done(&v);
}

TEST(a_schedule_that_is_too_long_is_named_too)
{
    SCHED(sched);
    CHECK_INT(vitro_run(sched, deposits, NULL), 10);
    CLEANUP(mem_free) char *schedule = vitro_schedule(sched);
    CLEANUP(mem_free) char *longer = mem_format("%srun main/right *2\n", schedule);
    struct vitro_verdict v = vitro_replay(deposits, NULL, schedule, .check.want = 10);

    CHECK_INT(v.kind, VITRO_OK);
    vitro_verdict_done(&v);
    v = vitro_replay(deposits, NULL, longer, .check.want = 10);
    CHECK_INT(v.kind, VITRO_DIVERGED);
    CHECK_HAS(v.error, "with 2 decisions of the schedule not used");
    vitro_verdict_done(&v);
}

static int random_numbers(void *arg)
{
    (void)arg;
    return (int)(vitro_choose(10) * 10 + vitro_choose(10));
}

TEST(the_tests_own_chance_is_part_of_the_schedule)
{
    struct vitro_verdict v = vitro_check(random_numbers, NULL, .strategy = VITRO_DFS, .exact = true,
                                         .want = 0, .schedules = 200);
    CHECK_INT(v.kind, VITRO_PROPERTY);
    CHECK_HAS(v.shrunk, "random ");
    struct vitro_verdict again = vitro_replay(random_numbers, NULL, v.shrunk, .check.exact = true);
    CHECK_INT(again.result, v.result);
    vitro_verdict_done(&again);
    vitro_verdict_done(&v);
    struct vitro_outcomes o = vitro_explore(random_numbers, NULL, .strategy = VITRO_DPOR);
    CHECK_INT(o.count, 100);
    CHECK_TRUE(o.complete);
    vitro_outcomes_done(&o);
}

static uint32_t always_last(void *arg, const char *kind, uint32_t n, const char *const *names)
{
    (void)names;
    strcat(arg, kind);
    return n - 1;
}

TEST(a_manual_decider_is_asked_at_every_choice)
{
    char asked[256] = "";
    SCHED(sched, .manual = always_last, .manual_arg = asked);

    CHECK_INT(vitro_run(sched, deposits, NULL), 10);
    CHECK_HAS(asked, "runrun");
}

/* ---- processes */

static int crashes(void *arg)
{
    struct account a = {0};
    vitro_task *left = vitro_spawn(deposit, &a), *right = vitro_spawn(deposit, &a);

    (void)arg;
    (void)vitro_join(left);
    (void)vitro_join(right);
    if (a.balance == 10)
        (void)raise(SIGABRT);
    return 0;
}

TEST(a_crash_in_an_isolated_run_is_a_verdict_with_its_schedule)
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE};
    for (size_t i = 0; i < ARRAY_LENGTH(signals); i++)
        (void)signal(signals[i], SIG_DFL);
    struct vitro_verdict v = vitro_check(crashes, NULL, .name = "crashes", .isolate = true);
    CHECK_INT(v.kind, VITRO_CRASH);
    CHECK_HAS(v.error, "signal 6");
    CHECK_HAS(v.report, "crashes: FAILED, crash: signal 6");
    vitro_verdict_done(&v);
}

static void check_crashes(void *path)
{
    struct vitro_verdict v = vitro_check(crashes, NULL, .name = "crashes", .save = path);
    vitro_verdict_done(&v);
}

TEST(a_crash_in_this_process_leaves_its_schedule_behind)
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE};
    const char *path = tmp_path("crash.schedule");
    CLEANUP(buf_done) struct buf saved = {0};
    int status;

    (void)fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        for (size_t i = 0; i < ARRAY_LENGTH(signals); i++)
            (void)signal(signals[i], SIG_DFL);
        (void)dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), STDERR_FILENO);
        check_crashes((void *)path);
        _exit(0);
    }
    CHECK_INT(waitpid(pid, &status, 0), pid);
    CHECK_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    CHECK_INT(file_read(path, 1 << 20, &saved, NULL), 0);
    CHECK_HAS(buf_text(&saved),
              "vitro schedule 1\ntest crashes\nkind crash\nerror signal 6\nrun main/");
    SCHED(replay, .schedule = buf_text(&saved));
    CHECK_TRUE(replay != NULL);
}

TEST(the_first_failure_is_the_same_whatever_the_number_of_workers)
{
    struct vitro_verdict one =
        vitro_check(deposits, NULL, .want = 20, .strategy = VITRO_RANDOM, .seed = 7);
    for (unsigned workers = 2; workers <= 3; workers++) {
        struct vitro_verdict many = vitro_check(deposits, NULL, .want = 20, .workers = workers,
                                                .strategy = VITRO_RANDOM, .seed = 7);
        CHECK_INT(many.kind, one.kind);
        CHECK_INT(many.index, one.index);
        CHECK_TEXT(many.shrunk, one.shrunk);
        vitro_verdict_done(&many);
    }
    vitro_verdict_done(&one);
    struct vitro_verdict ok = vitro_check(deposits_locked, NULL, .want = 20, .workers = 2,
                                          .schedules = 300, .strategy = VITRO_RANDOM);
    CHECK_INT(ok.kind, VITRO_OK);
    CHECK_INT(ok.schedules, 300);
    vitro_verdict_done(&ok);
}

/* ---- make, save, seeds, memory */

static int made, unmade;
static void *make(void *arg)
{
    (void)arg;
    made++;
    return mem_alloc(sizeof(struct account));
}
static void unmake(void *made_one)
{
    unmade++;
    free(made_one);
}
static int use_made(void *arg)
{
    return ((struct account *)arg)->balance++;
}

TEST(every_run_gets_a_fresh_world)
{
    struct vitro_verdict v =
        vitro_check(use_made, NULL, .make = make, .unmake = unmake, .exact = true, .schedules = 9);
    CHECK_INT(v.kind, VITRO_OK);
    CHECK_TRUE(made == 9 && unmade == 9);
    vitro_verdict_done(&v);
}

TEST(equal_seeds_give_equal_verdicts_and_the_schedule_is_saved)
{
    const char *path = tmp_path("failure.schedule");
    struct vitro_verdict a = vitro_check(deposits, NULL, .want = 20, .seed = 5, .save = path);
    struct vitro_verdict b = vitro_check(deposits, NULL, .want = 20, .seed = 5, .save = path);
    CLEANUP(buf_done) struct buf saved = {0};

    CHECK_TEXT(a.report, b.report);
    CHECK_HAS(a.report, "--vitro-replay");
    CHECK_INT(file_read(path, 1 << 20, &saved, NULL), 0);
    CHECK_TEXT(buf_text(&saved), a.shrunk);
    CHECK_HAS(a.shrunk, "\nstep main/left yield - bank.c:12\n");
    vitro_verdict_done(&a);
    vitro_verdict_done(&b);
}

static size_t resident_kb(void)
{
    CLEANUP(buf_done) struct buf text = {0};
    size_t kb = 0;

    if (file_read("/proc/self/status", 1 << 20, &text, NULL) == 0) {
        const char *line = strstr(text.data, "VmRSS:");
        kb = line ? strtoul(line + 6, NULL, 10) : 0;
    }
    return kb;
}

TEST(memory_stays_flat_over_many_schedules)
{
    struct vitro_verdict v =
        vitro_check(deposits_locked, NULL, .want = 20, .schedules = 2000, .strategy = VITRO_RANDOM);
    vitro_verdict_done(&v);
    size_t before = resident_kb();
    v = vitro_check(deposits_locked, NULL, .want = 20, .schedules = 100000,
                    .strategy = VITRO_RANDOM);
    CHECK_INT(v.kind, VITRO_OK);
    vitro_verdict_done(&v);
    CHECK_TRUE(resident_kb() < before + 2048);
}

/* ---- trace */

TEST(a_trace_exports_as_json_tape_lines_chrome_and_text)
{
    SCHED(sched, .trace = VITRO_TRACE_FULL, .seed = 3);
    static const enum vitro_trace_format formats[] = {VITRO_TRACE_JSON, VITRO_TRACE_CHROME};
    struct err err = {0};

    (void)vitro_run(sched, deposits, NULL);
    for (size_t i = 0; i < ARRAY_LENGTH(formats); i++) {
        CLEANUP(mem_free) char *text = vitro_trace_export(sched, formats[i]);
        CLEANUP(json_free) json_t *json = NULL;
        CHECK_OK(json_parse(text, strlen(text), "trace", &json, &err), err);
    }
    CLEANUP(mem_free) char *tape = vitro_trace_export(sched, VITRO_TRACE_TAPE);
    size_t lines = 0;
    for (char *line = tape; *line; lines++) {
        size_t length = strcspn(line, "\n");
        CLEANUP(json_free) json_t *json = NULL;
        CLEANUP(buf_done) struct buf canonical = {0};
        CLEANUP(mem_free) char *copy = mem_dupn(line, length);
        CHECK_OK(json_parse(line, length, "tape", &json, &err), err);
        json_add_canonical(&canonical, json);
        CHECK_TEXT(canonical.data, copy);
        CHECK_TEXT(json_string_value(json_object_get(json, "kind")), "sched_choice");
        line += length + 1;
    }
    CHECK_INT(lines, vitro_trace_count(sched));
    CLEANUP(mem_free) char *text = vitro_trace_export(sched, VITRO_TRACE_TEXT);
    CHECK_HAS(text, "run-microtask");
    CHECK_HAS(text, "select-task");
    CHECK_HAS(text, "main/right");
}

TEST(a_ring_keeps_the_last_events_only)
{
    SCHED(sched, .trace = VITRO_TRACE_RING, .trace_ring = 3);
    struct vitro_trace_event e;

    (void)vitro_run(sched, deposits, NULL);
    CHECK_INT(vitro_trace_count(sched), 3);
    CHECK_TRUE(vitro_trace_at(sched, 2, &e));
    CHECK_INT(e.event, VITRO_EVENT_TASK_COMPLETE);
    CHECK_INT(e.task, 1);
    CHECK_TRUE(!vitro_trace_at(sched, 3, &e));
}
