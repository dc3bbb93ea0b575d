/* SPDX-License-Identifier: MIT */
/* Every example with a stated result in the README of the Clojure kit that this part follows, in C
 * and with the same result. Milliseconds there are milliseconds here. */
#include "vitro/explore.h"
#include "vitro/flow.h"
#include "sched/sched.h"
#include "lib/check.h"

enum { FAST = 1, SLOW, DONE, COMPLETED, TIMED_OUT, WINNER, RECOVERED };
#define RUN(sched, fn, arg) vitro_run(sched, fn, arg)

/* A scheduler that is freed at the end of the test. */
static void free_sched(vitro_sched **sched)
{
    *sched = vitro_sched_free(*sched);
}
#define SCHED(name, ...)                                                                           \
    __attribute__((cleanup(free_sched))) vitro_sched *name = vitro_sched_new(__VA_ARGS__)

static int sleep_then(void *arg)
{
    int64_t *what = arg; /* ms, result */
    int r = vitro_sleep(VITRO_MS(what[0]));

    return r < 0 ? r : (int)what[1];
}

/* ---- quickstart */

TEST(ten_seconds_of_sleep_take_no_time)
{
    SCHED(sched);
    CHECK_INT(RUN(sched, sleep_then, ((int64_t[]){10000, DONE})), DONE);
    CHECK_INT(vitro_now(sched), VITRO_SEC(10));
}

static int race_of_sleeps(void *arg)
{
    size_t winner;

    (void)arg;
    return vitro_race(((struct vitro_call[]){{sleep_then, (int64_t[]){100, FAST}, "fast", 0},
                                             {sleep_then, (int64_t[]){200, SLOW}, "slow", 0}}),
                      2, &winner);
}

TEST(the_faster_of_two_sleeps_wins_the_race)
{
    SCHED(sched);
    CHECK_INT(RUN(sched, race_of_sleeps, NULL), FAST);
    CHECK_INT(vitro_now(sched), VITRO_MS(100));
}

static int timeout_of_sleep(void *arg)
{
    (void)arg;
    return vitro_timeout(sleep_then, ((int64_t[]){500, COMPLETED}), VITRO_MS(100), TIMED_OUT);
}

TEST(a_sleep_of_500_under_a_timeout_of_100_times_out)
{
    SCHED(sched);
    CHECK_INT(RUN(sched, timeout_of_sleep, NULL), TIMED_OUT);
    CHECK_INT(vitro_now(sched), VITRO_MS(100));
}

/* ---- the deterministic flag and the clock */

static int is_deterministic(void *arg)
{
    (void)arg;
    return vitro_deterministic();
}

TEST(code_can_tell_whether_it_runs_under_test)
{
    SCHED(sched);
    CHECK_TRUE(!vitro_deterministic());
    CHECK_INT(RUN(sched, is_deterministic, NULL), 1);
    CHECK_TRUE(!vitro_deterministic());
}

static int five_seconds(void *arg)
{
    uint64_t start = vitro_clock();

    CHECK_INT(start, VITRO_MS(1000));
    vitro_sleep(VITRO_MS(5000));
    *(uint64_t *)arg = vitro_clock() - start;
    return 0;
}

TEST(the_clock_is_virtual_in_a_task_and_real_outside)
{
    SCHED(sched, .start_ns = VITRO_MS(1000));
    uint64_t elapsed = 0;

    CHECK_INT(RUN(sched, five_seconds, &elapsed), 0);
    CHECK_INT(elapsed, VITRO_MS(5000));
    CHECK_TRUE(vitro_clock() > VITRO_SEC(1700000000));
}

TEST(a_started_task_is_done_when_time_was_advanced_far_enough)
{
    SCHED(sched);
    vitro_task *job = vitro_start(sched, sleep_then, ((int64_t[]){1000, DONE}), .name = "my-job");

    CHECK_TRUE(!vitro_done(job));
    CHECK_INT(vitro_result(job), -EINPROGRESS);
    CHECK_INT(vitro_advance(sched, (int64_t)VITRO_MS(1000)), 0);
    CHECK_TRUE(vitro_done(job));
    CHECK_INT(vitro_result(job), DONE);
}

/* ---- flows */

struct list {
    vitro_value value[16];
    size_t count, enough;
};

static int append(void *arg, vitro_value value)
{
    struct list *list = arg;

    list->value[list->count++] = value;
    return list->count == list->enough;
}

struct counter {
    vitro_var *var;
    vitro_signal *signal;
    struct list seen;
    uint64_t pause_ns;
    int changes;
};

static int consume_signal(void *arg)
{
    struct counter *c = arg;

    return vitro_reduce(vitro_flow_of(c->signal), append, &c->seen);
}

static int produce_counts(void *arg)
{
    struct counter *c = arg;

    for (int i = 0; i < c->changes; i++) {
        if (vitro_sleep(c->pause_ns) < 0)
            return -ECANCELED;
        vitro_var_set(c->var, vitro_var_get(c->var) + 1);
    }
    return vitro_sleep(VITRO_MS(1000));
}

static int race_consumer_and_producer(void *arg)
{
    struct vitro_call calls[] = {{consume_signal, arg, "consumer", 0},
                                 {produce_counts, arg, "producer", 0}};

    return vitro_race(calls, 2, NULL);
}

TEST(watching_a_counter_gives_0_1_2)
{
    SCHED(sched);
    struct counter c = {
        .var = vitro_var_new(0), .seen.enough = 3, .pause_ns = VITRO_MS(100), .changes = 2};
    c.signal = vitro_watch(c.var);
    CHECK_INT(RUN(sched, race_consumer_and_producer, &c), 1);
    CHECK_INT(c.seen.count, 3);
    for (int i = 0; i < 3; i++)
        CHECK_INT(c.seen.value[i], i);
    CHECK_INT(vitro_now(sched), VITRO_MS(200));
    vitro_signal_unref(c.signal);
    vitro_var_free(c.var);
}

static int collect_seed(void *arg)
{
    return (int)vitro_collect(vitro_flow_seed((vitro_value[]){1, 2, 3}, 3), arg, 8);
}

TEST(collecting_a_seed_gives_its_values)
{
    SCHED(sched);
    vitro_value got[8];

    CHECK_INT(RUN(sched, collect_seed, got), 3);
    CHECK_TRUE(got[0] == 1 && got[1] == 2 && got[2] == 3);
}

/* ---- coordination */

static int post_and_fetch(void *arg)
{
    struct vitro_chan mailbox = VITRO_MAILBOX("mbx");
    vitro_value *got = arg;

    vitro_post(&mailbox, 'a');
    vitro_post(&mailbox, 'b');
    vitro_fetch(&mailbox, &got[0]);
    vitro_fetch(&mailbox, &got[1]);
    vitro_chan_done(&mailbox);
    return 0;
}

TEST(a_mailbox_keeps_the_order)
{
    SCHED(sched);
    vitro_value got[2];

    CHECK_INT(RUN(sched, post_and_fetch, got), 0);
    CHECK_TRUE(got[0] == 'a' && got[1] == 'b');
}

static int assign_later(void *arg)
{
    vitro_sleep(VITRO_MS(100));
    vitro_assign((struct vitro_single *)arg, 6 * 7);
    return DONE;
}

static int wait_for_value(void *arg)
{
    vitro_value value = 0;
    int r = vitro_deref((struct vitro_single *)arg, &value);

    return r < 0 ? r : (int)value;
}

static int assign_and_wait(void *arg)
{
    struct vitro_single single = VITRO_SINGLE("result");
    struct vitro_call *calls = arg;

    calls[0].arg = calls[1].arg = &single;
    return vitro_join_all(calls, 2);
}

TEST(a_single_assignment_gives_worker_done_and_42)
{
    SCHED(sched);
    struct vitro_call calls[] = {{assign_later, NULL, "worker", 0},
                                 {wait_for_value, NULL, "waiter", 0}};

    CHECK_INT(RUN(sched, assign_and_wait, calls), 0);
    CHECK_INT(calls[0].result, DONE);
    CHECK_INT(calls[1].result, 42);
}

static int give_seven(void *arg)
{
    int r = vitro_give((struct vitro_chan *)arg, 7);

    return r < 0 ? r : DONE;
}

static int take_one(void *arg)
{
    vitro_value value = 0;
    int r = vitro_take((struct vitro_chan *)arg, &value);

    return r < 0 ? r : (int)value;
}

static int meet(void *arg)
{
    struct vitro_chan rendezvous = VITRO_RENDEZVOUS("rdv");
    struct vitro_call *calls = arg;

    calls[0].arg = calls[1].arg = &rendezvous;
    return vitro_join_all(calls, 2);
}

TEST(a_rendezvous_gives_sender_done_and_what_was_handed_over)
{
    SCHED(sched);
    struct vitro_call calls[] = {{give_seven, NULL, "sender", 0}, {take_one, NULL, "taker", 0}};

    CHECK_INT(RUN(sched, meet, calls), 0);
    CHECK_INT(calls[0].result, DONE);
    CHECK_INT(calls[1].result, 7);
}

struct permits {
    struct vitro_sem sem;
    int active, most;
};

static int work_with_permit(void *arg)
{
    struct permits *p = arg;

    vitro_acquire(&p->sem);
    if (++p->active > p->most)
        p->most = p->active;
    vitro_sleep(VITRO_MS(50));
    p->active--;
    vitro_release(&p->sem);
    return 0;
}

static int four_workers(void *arg)
{
    struct permits p = {.sem = VITRO_SEM("sem", 2)};
    struct vitro_call calls[4];

    (void)arg;
    for (int i = 0; i < 4; i++)
        calls[i] = (struct vitro_call){work_with_permit, &p, NULL, 0};
    int r = vitro_join_all(calls, 4);
    return r < 0 ? r : p.most;
}

TEST(four_workers_with_two_permits_are_never_more_than_two)
{
    SCHED(sched);
    CHECK_INT(RUN(sched, four_workers, NULL), 2);
    CHECK_INT(vitro_now(sched), VITRO_MS(100));
    struct vitro_verdict v = vitro_check(four_workers, NULL, .want = 2, .schedules = 200);
    vitro_assert_ok(v);
}

/* ---- diamonds */

static vitro_value doubled(void *arg, const vitro_value *v)
{
    (void)arg;
    return 2 * v[0];
}
static vitro_value plus_ten(void *arg, const vitro_value *v)
{
    (void)arg;
    return v[0] + 10;
}
static vitro_value both(void *arg, const vitro_value *v)
{
    (void)arg;
    return v[0] << 16 | v[1];
}

struct diamond {
    vitro_var *input;
    vitro_signal *in, *left, *right, *merged;
    struct list seen;
};

static void diamond_init(struct diamond *d)
{
    *d = (struct diamond){.input = vitro_var_new(1), .seen.enough = 3};
    d->in = vitro_watch(d->input);
    d->left = vitro_latest(doubled, NULL, &d->in, 1);
    d->right = vitro_latest(plus_ten, NULL, &d->in, 1);
    d->merged = vitro_latest(both, NULL, (vitro_signal *[]){d->left, d->right}, 2);
}

static void diamond_done(struct diamond *d)
{
    vitro_signal_unref(d->merged);
    vitro_signal_unref(d->left);
    vitro_signal_unref(d->right);
    vitro_signal_unref(d->in);
    vitro_var_free(d->input);
}

static int diamond_consume(void *arg)
{
    struct diamond *d = arg;

    return vitro_reduce(vitro_flow_of(d->merged), append, &d->seen);
}

static int diamond_produce(void *arg)
{
    struct diamond *d = arg;

    vitro_sleep(VITRO_MS(50));
    vitro_var_set(d->input, 2);
    vitro_sleep(VITRO_MS(50));
    vitro_var_set(d->input, 5);
    return vitro_sleep(VITRO_MS(1000));
}

static int diamond_race(void *arg)
{
    struct vitro_call calls[] = {{diamond_consume, arg, "consumer", 0},
                                 {diamond_produce, arg, "producer", 0}};

    return vitro_race(calls, 2, NULL);
}

TEST(a_diamond_shows_only_consistent_values)
{
    SCHED(sched);
    struct diamond d;
    static const int inputs[] = {1, 2, 5};

    diamond_init(&d);
    CHECK_INT(RUN(sched, diamond_race, &d), 1);
    CHECK_INT(d.seen.count, 3);
    for (int i = 0; i < 3; i++)
        CHECK_INT(d.seen.value[i], (2 * inputs[i]) << 16 | (inputs[i] + 10));
    diamond_done(&d);
}

static int consistent(void *arg, vitro_value value)
{
    vitro_value left = value >> 16, right = value & 0xffff;

    *(int *)arg += 1;
    return left / 2 == right - 10 ? 0 : -EILSEQ;
}

struct glitch {
    struct diamond diamond;
    int looks;
};

static int glitch_consume(void *arg)
{
    struct glitch *g = arg;

    return vitro_reduce(vitro_flow_of(g->diamond.merged), consistent, &g->looks);
}

static int glitch_produce(void *arg)
{
    struct glitch *g = arg;

    for (int i = 0; i < 5; i++) {
        vitro_sleep(VITRO_MS(10));
        vitro_var_set(g->diamond.input, i);
    }
    return vitro_sleep(VITRO_MS(100));
}

static int glitch_hunt(void *arg)
{
    struct glitch g = {0};
    struct vitro_call calls[] = {{glitch_consume, &g, "consumer", 0},
                                 {glitch_produce, &g, "producer", 0}};

    (void)arg;
    diamond_init(&g.diamond);
    int r = vitro_race(calls, 2, NULL);
    diamond_done(&g.diamond);
    if (calls[0].result == -EILSEQ)
        return -EILSEQ;
    return r < 0 ? r : g.looks;
}

TEST(fifty_schedules_of_a_diamond_show_no_glitch)
{
    struct vitro_verdict v = vitro_check(glitch_hunt, NULL, .schedules = 50, .seed = 42);
    CHECK_INT(v.kind, VITRO_OK);
    CHECK_INT(v.schedules, 50);
    vitro_verdict_done(&v);
}

/* ---- observe */

struct clicks {
    vitro_emitter *emitter;
    struct list seen;
    int unsubscribed;
};

static void clicks_subscribe(void *arg, vitro_emitter *emitter)
{
    ((struct clicks *)arg)->emitter = emitter;
}
static void clicks_unsubscribe(void *arg)
{
    ((struct clicks *)arg)->emitter = NULL;
    ((struct clicks *)arg)->unsubscribed++;
}
static int clicks_consume(void *arg)
{
    struct clicks *c = arg;

    return vitro_reduce(vitro_flow_observe(clicks_subscribe, clicks_unsubscribe, c), append,
                        &c->seen);
}
static int clicks_emit(void *arg)
{
    struct clicks *c = arg;
    static const char *const events[] = {"click", "scroll", "keypress"};

    for (int i = 0; i < 3; i++) {
        vitro_sleep(VITRO_MS(10));
        if (c->emitter)
            vitro_emit(c->emitter, vitro_val(events[i]));
    }
    return vitro_sleep(VITRO_MS(1000));
}
static int clicks_race(void *arg)
{
    struct vitro_call calls[] = {{clicks_consume, arg, "consumer", 0},
                                 {clicks_emit, arg, "producer", 0}};

    return vitro_race(calls, 2, NULL);
}

TEST(an_observed_emitter_gives_click_scroll_keypress)
{
    SCHED(sched);
    struct clicks c = {.seen.enough = 3};

    CHECK_INT(RUN(sched, clicks_race, &c), 1);
    CHECK_TEXT(vitro_ptr(c.seen.value[0]), "click");
    CHECK_TEXT(vitro_ptr(c.seen.value[1]), "scroll");
    CHECK_TEXT(vitro_ptr(c.seen.value[2]), "keypress");
    CHECK_INT(c.unsubscribed, 1);
    CHECK_INT(vitro_now(sched), VITRO_MS(30));
}

/* ---- trace */

TEST(the_trace_of_one_sleep_is_enqueue_advance_promote_run)
{
    SCHED(sched, .trace = VITRO_TRACE_FULL);
    struct vitro_trace_event e;
    size_t at = 0;
    static const enum vitro_event_kind wanted[] = {VITRO_EVENT_TIMER, VITRO_EVENT_ADVANCE,
                                                   VITRO_EVENT_PROMOTE, VITRO_EVENT_RUN};

    CHECK_INT(RUN(sched, sleep_then, ((int64_t[]){100, DONE})), DONE);
    for (size_t i = 0; i < vitro_trace_count(sched); i++) {
        CHECK_TRUE(vitro_trace_at(sched, i, &e));
        if (at < 4 && e.event == wanted[at]) {
            if (e.event != VITRO_EVENT_ADVANCE)
                CHECK_INT(e.id, 2);
            if (e.event != VITRO_EVENT_RUN)
                CHECK_INT(e.at_ns, VITRO_MS(100));
            CHECK_INT(e.now_ns, at < 2 ? 0 : VITRO_MS(100));
            if (e.event == VITRO_EVENT_RUN)
                CHECK_TEXT(e.kind, "sleep");
            at++;
        }
    }
    CHECK_INT(at, 4);
}

/* ---- yields and orders */

struct order {
    char text[32];
};
struct writer {
    struct order *order;
    const char *first, *second;
};

static int write_twice(void *arg)
{
    struct writer *w = arg;

    strcat(w->order->text, w->first);
    vitro_yield();
    strcat(w->order->text, w->second);
    return 0;
}

static int two_writers(void *arg)
{
    struct order order = {0};
    struct writer a = {&order, "a1 ", "a2 "}, b = {&order, "b1 ", "b2 "};
    struct vitro_call calls[] = {{write_twice, &a, "a", 0}, {write_twice, &b, "b", 0}};

    vitro_join_all(calls, 2);
    vitro_outcome("%s", order.text);
    if (arg)
        strcpy(arg, order.text);
    return 0;
}

TEST(yields_of_two_tasks_interleave_first_in_first_out)
{
    SCHED(sched);
    char text[32];

    CHECK_INT(RUN(sched, two_writers, text), 0);
    CHECK_TEXT(text, "a1 b1 a2 b2 ");
}

TEST(different_schedules_give_all_six_orders_of_two_yields)
{
    struct vitro_outcomes o = vitro_explore(two_writers, NULL, .schedules = 200, .seed = 42);
    static const char *const wanted[] = {"a1 a2 b1 b2 ", "a1 b1 a2 b2 ", "a1 b1 b2 a2 ",
                                         "b1 a1 a2 b2 ", "b1 a1 b2 a2 ", "b1 b2 a1 a2 "};

    CHECK_INT(o.count, 6);
    for (size_t w = 0; w < 6; w++) {
        bool found = false;
        for (size_t i = 0; i < o.count; i++)
            found |= strcmp(o.list[i].label, wanted[w]) == 0;
        CHECK_TRUE(found);
    }
    vitro_outcomes_done(&o);
    o = vitro_explore(two_writers, NULL, .strategy = VITRO_DPOR);
    CHECK_INT(o.count, 6);
    CHECK_TRUE(o.complete);
    vitro_outcomes_done(&o);
}

TEST(outside_a_scheduler_a_yield_is_nothing)
{
    CHECK_INT(vitro_yield(), 0);
}

/* ---- the shared number */

static int add_ten(void *arg)
{
    vitro_sleep(0);
    *(int *)arg += 10;
    return 0;
}
static int times_two(void *arg)
{
    vitro_sleep(0);
    *(int *)arg *= 2;
    return 0;
}
static int add_and_double(void *arg)
{
    int shared = 0;
    struct vitro_call calls[] = {{add_ten, &shared, "add", 0}, {times_two, &shared, "double", 0}};

    (void)arg;
    vitro_join_all(calls, 2);
    return shared;
}
static bool ten_or_twenty(void *arg, int result)
{
    (void)arg;
    return result == 10 || result == 20;
}

TEST(add_and_double_give_exactly_10_and_20)
{
    struct vitro_verdict v =
        vitro_check(add_and_double, NULL, .property = ten_or_twenty, .schedules = 100, .seed = 42);
    CHECK_INT(v.kind, VITRO_OK);
    vitro_verdict_done(&v);
    struct vitro_outcomes o = vitro_explore(add_and_double, NULL, .schedules = 50, .seed = 42);
    CHECK_INT(o.count, 2);
    CHECK_INT(o.list[0].result + o.list[1].result, 30);
    CHECK_INT(o.seed, 42);
    vitro_outcomes_done(&o);
    o = vitro_explore(add_and_double, NULL, .strategy = VITRO_DPOR);
    CHECK_INT(o.count, 2);
    CHECK_TRUE(o.complete);
    vitro_outcomes_done(&o);
}

TEST(a_failing_schedule_replays_from_the_bundle_and_from_its_text)
{
    struct vitro_verdict v = vitro_check(add_and_double, NULL, .want = 20, .seed = 42);
    CHECK_INT(v.kind, VITRO_PROPERTY);
    CHECK_INT(v.result, 10);
    for (int i = 0; i < 2; i++) {
        struct vitro_verdict again =
            vitro_replay(add_and_double, NULL, i ? v.schedule : v.shrunk, .check.want = 20);
        CHECK_INT(again.kind, VITRO_PROPERTY);
        CHECK_INT(again.result, 10);
        vitro_verdict_done(&again);
    }
    vitro_verdict_done(&v);
}

TEST(a_schedule_taken_from_a_run_can_be_edited_to_force_another_order)
{
    SCHED(sched, .seed = 42);
    (void)RUN(sched, two_writers, (char[32]){0});
    __attribute__((cleanup(mem_free_cleanup))) char *schedule = vitro_schedule(sched);
    CHECK_HAS(schedule, "vitro schedule 1\n");
    CHECK_HAS(schedule, "run main/");
    static const char edited[] = "vitro schedule 1; run main/b; run main/b; run main/a";
    char text[32];
    SCHED(replay, .schedule = edited, .tolerant = true);
    CHECK_INT(RUN(replay, two_writers, text), 0);
    CHECK_TEXT(text, "b1 b2 a1 a2 ");
}

TEST(manual_stepping_runs_the_task_one_names)
{
    SCHED(sched);
    char text[32] = "";
    vitro_task *job = vitro_start(sched, two_writers, text);
    struct vitro_pending next[4];

    CHECK_INT(vitro_step(sched), 1); /* main spawns both and waits */
    CHECK_INT(vitro_next_tasks(sched, next, 4), 2);
    CHECK_TEXT(next[0].name, "main/a");
    CHECK_TEXT(next[1].name, "main/b");
    CHECK_INT(vitro_step_task(sched, next[1].id), 1);
    CHECK_INT(vitro_next_tasks(sched, next, 4), 2);
    CHECK_TEXT(next[1].name, "main/b");
    CHECK_TEXT(next[1].kind, "yield");
    CHECK_INT(vitro_step_task(sched, next[1].id), 1);
    CHECK_TRUE(vitro_tick(sched) > 0);
    CHECK_TRUE(vitro_done(job));
    CHECK_TEXT(text, "b1 b2 a1 a2 ");
}

/* ---- what goes wrong */

TEST(without_auto_advance_a_sleep_is_a_deadlock)
{
    SCHED(sched);
    CHECK_INT(vitro_run(sched, sleep_then, ((int64_t[]){100, 0}), .manual_time = true), -EDEADLK);
    CHECK_INT(vitro_kind(sched), VITRO_DEADLOCK);
    CHECK_HAS(vitro_error(sched), "deadlock: no task can go on and time stands still");
}

static int sleep_forever(void *arg)
{
    (void)arg;
    while (vitro_sleep(0) == 0)
        continue;
    return 0;
}

TEST(a_loop_without_time_is_ended_by_the_step_budget)
{
    SCHED(sched);
    CHECK_INT(vitro_run(sched, sleep_forever, NULL, .max_steps = 100), -ELOOP);
    CHECK_HAS(vitro_error(sched), "step budget exceeded: 101 > 100");
    CHECK_HAS(vitro_error(sched), "livelock: the last steps repeat a cycle of 1:\n  'main' sleep");
}

TEST(a_long_sleep_is_ended_by_the_time_budget)
{
    SCHED(sched);
    CHECK_INT(vitro_run(sched, sleep_then, ((int64_t[]){999999, 0}), .max_time_ns = VITRO_MS(1000)),
              -ETIME);
    CHECK_HAS(vitro_error(sched), "time budget exceeded");
}

/* ---- signals inside and outside */

static vitro_value sum(void *arg, const vitro_value *v)
{
    (void)arg;
    return v[0] + v[1];
}

TEST(a_signal_added_to_itself_gives_2_4_6_and_never_3)
{
    SCHED(sched);
    struct counter c = {.var = vitro_var_new(1), .seen.enough = 3, .changes = 2};
    vitro_signal *x = vitro_watch(c.var);

    c.signal = vitro_latest(sum, NULL, (vitro_signal *[]){x, x}, 2);
    CHECK_INT(RUN(sched, race_consumer_and_producer, &c), 1);
    CHECK_TRUE(c.seen.value[0] == 2 && c.seen.value[1] == 4 && c.seen.value[2] == 6);
    vitro_signal_unref(c.signal);
    vitro_signal_unref(x);
    vitro_var_free(c.var);
}

static int wait_for_four(void *so_far, vitro_value value)
{
    (void)so_far;
    return value == 4;
}

static int wait_for_nothing(void *arg)
{
    return vitro_reduce(vitro_flow_of(arg), wait_for_four, NULL);
}

TEST(waiting_for_a_signal_nobody_changes_is_a_deadlock)
{
    SCHED(sched);
    vitro_var *var = vitro_var_new(1);
    vitro_signal *x = vitro_watch(var);

    CHECK_INT(RUN(sched, wait_for_nothing, x), -EDEADLK);
    CHECK_HAS(vitro_error(sched), "deadlock: no task can go on and no timer is armed");
    vitro_signal_unref(x);
    vitro_var_free(var);
}

/* ---- cancellation */

static int recover(void *arg)
{
    int64_t *seen_at = arg;

    if (vitro_sleep(VITRO_MS(500)) == -ECANCELED) {
        *seen_at = (int64_t)vitro_clock();
        return RECOVERED;
    }
    return 0;
}

struct losers {
    int64_t at;
    struct vitro_call calls[2];
};

static int race_with_recovery(void *arg)
{
    struct losers *l = arg;

    l->calls[0] = (struct vitro_call){recover, &l->at, "loser", 0};
    l->calls[1] = (struct vitro_call){sleep_then, (int64_t[]){100, WINNER}, "winner", 0};
    return vitro_race(l->calls, 2, NULL);
}

TEST(a_race_gives_the_winner_and_the_loser_recovers_at_the_winners_time)
{
    SCHED(sched, .trace = VITRO_TRACE_FULL);
    struct losers l = {0};

    CHECK_INT(RUN(sched, race_with_recovery, &l), WINNER);
    CHECK_INT(l.at, VITRO_MS(100));
    CHECK_INT(l.calls[0].result, RECOVERED);
    CHECK_INT(vitro_now(sched), VITRO_MS(100));
}

static void note(void *arg)
{
    strcat(((struct order *)arg)->text, "loser-cleanup ");
}

static int losing(void *arg)
{
    vitro_defer(note, arg);

    return vitro_sleep(VITRO_MS(200));
}

static int winning(void *arg)
{
    vitro_sleep(VITRO_MS(100));
    strcat(((struct order *)arg)->text, "winner-done ");
    return FAST;
}

static int ordered_race(void *arg)
{
    struct order *order = arg;
    struct vitro_call calls[] = {{losing, order, "loser", 0}, {winning, order, "winner", 0}};
    int r = vitro_race(calls, 2, NULL);

    strcat(order->text, "after");
    return r;
}

TEST(a_decided_race_runs_winner_then_cleanup_then_what_follows)
{
    SCHED(sched);
    struct order order = {0};

    CHECK_INT(RUN(sched, ordered_race, &order), FAST);
    CHECK_TEXT(order.text, "winner-done loser-cleanup after");
}

static void release(void *arg)
{
    *(bool *)arg = true;
}

static int hold_resource(void *arg)
{
    vitro_defer(release, arg);

    return vitro_sleep(VITRO_MS(1000));
}

static int timeout_with_resource(void *arg)
{
    return vitro_timeout(hold_resource, arg, VITRO_MS(100), TIMED_OUT);
}

TEST(a_timeout_releases_what_the_task_held)
{
    SCHED(sched);
    bool released = false;

    CHECK_INT(RUN(sched, timeout_with_resource, &released), TIMED_OUT);
    CHECK_TRUE(released);
    CHECK_INT(vitro_now(sched), VITRO_MS(100));
}

/* ---- work on lanes */

static int add_numbers(void *arg)
{
    (void)arg;
    return 1 + 2 + 3;
}

static int via_cpu(void *arg)
{
    (void)arg;
    return vitro_work(add_numbers, NULL, .lane = VITRO_CPU);
}

TEST(work_on_the_cpu_lane_gives_6)
{
    SCHED(sched);
    CHECK_INT(RUN(sched, via_cpu, NULL), 6);
}
