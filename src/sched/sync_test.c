/* SPDX-License-Identifier: MIT */
/* Coordination, select, combinators and flows beyond the examples of seed_test.c. Most are run
 * under many schedules or proved: what must hold must hold in every order. */
#include "vitro/explore.h"
#include "vitro/flow.h"
#include "sched/sched.h"
#include "lib/check.h"

static void free_sched(vitro_sched **sched)
{
    *sched = vitro_sched_free(*sched);
}
#define SCHED(name, ...)                                                                           \
    __attribute__((cleanup(free_sched))) vitro_sched *name = vitro_sched_new(__VA_ARGS__)
#define ENSURE(condition)                                                                          \
    do {                                                                                           \
        if (!(condition))                                                                          \
            return -EILSEQ;                                                                        \
    } while (0)

static void always(vitro_fn fn)
{
    struct vitro_verdict v = vitro_check(fn, NULL, .exact = true, .schedules = 300);

    if (v.kind != VITRO_OK)
        check_fail(__FILE__, __LINE__, "%s", v.report);
    vitro_verdict_done(&v);
}

static void proved(vitro_fn fn)
{
    struct vitro_verdict v = vitro_prove(fn, NULL, .exact = true, .schedules = 300000);

    if (v.kind != VITRO_OK || !v.complete)
        check_fail(__FILE__, __LINE__, "%s", v.report);
    vitro_verdict_done(&v);
}

static int spawn_join(vitro_fn fn, void *arg, int n)
{
    struct vitro_call calls[8];

    for (int i = 0; i < n; i++)
        calls[i] = (struct vitro_call){fn, arg, NULL, 0};
    return vitro_join_all(calls, (size_t)n);
}

/* ---- rwlock */

struct rw {
    struct vitro_rwlock lock;
    int readers, writers, most_readers;
};
static int reader(void *arg)
{
    struct rw *s = arg;

    vitro_rdlock(&s->lock);
    s->readers++;
    if (s->readers > s->most_readers)
        s->most_readers = s->readers;
    ENSURE(s->writers == 0);
    vitro_yield();
    s->readers--;
    vitro_rdunlock(&s->lock);
    return 0;
}
static int writer(void *arg)
{
    struct rw *s = arg;

    vitro_wrlock(&s->lock);
    s->writers++;
    ENSURE(s->writers == 1 && s->readers == 0);
    vitro_yield();
    s->writers--;
    vitro_wrunlock(&s->lock);
    return 0;
}
static int readers_and_writers(void *arg)
{
    struct rw s = {.lock = VITRO_RWLOCK("rw")};
    struct vitro_call calls[] = {
        {reader, &s, NULL, 0}, {writer, &s, NULL, 0}, {reader, &s, NULL, 0}};

    (void)arg;
    int r = vitro_join_all(calls, 3);
    vitro_outcome("%d readers at once", s.most_readers);
    return r;
}

TEST(readers_share_and_a_writer_is_alone_in_every_schedule)
{
    proved(readers_and_writers);
    struct vitro_outcomes o = vitro_explore(readers_and_writers, NULL, .strategy = VITRO_DPOR);
    CHECK_INT(o.count, 2); /* sometimes two at once, sometimes one after the other */
    vitro_outcomes_done(&o);
}

/* ---- condition variables */

struct buffer {
    struct vitro_mutex mutex;
    struct vitro_cond changed;
    int count, taken;
};
static int put_one(void *arg)
{
    struct buffer *b = arg;

    vitro_lock(&b->mutex);
    b->count++;
    vitro_signal(&b->changed);
    vitro_unlock(&b->mutex);
    return 0;
}
static int take_one(void *arg)
{
    struct buffer *b = arg;

    vitro_lock(&b->mutex);
    while (b->count == 0)
        if (vitro_wait(&b->changed, &b->mutex) < 0)
            break;
    ENSURE(b->count > 0);
    b->count--;
    b->taken++;
    vitro_unlock(&b->mutex);
    return 0;
}
static int two_each(void *arg)
{
    struct buffer b = {.mutex = VITRO_MUTEX("m"), .changed = VITRO_COND("changed")};
    struct vitro_call calls[] = {{take_one, &b, NULL, 0},
                                 {put_one, &b, NULL, 0},
                                 {take_one, &b, NULL, 0},
                                 {put_one, &b, NULL, 0}};

    (void)arg;
    int r = vitro_join_all(calls, 4);
    ENSURE(r < 0 || b.taken == 2);
    return r;
}

TEST(a_buffer_with_a_loop_around_its_wait_is_right_in_every_schedule)
{
    always(two_each);
    struct vitro_verdict v =
        vitro_check(two_each, NULL, .exact = true, .spurious = true, .schedules = 500);
    CHECK_INT(v.kind, VITRO_OK);
    vitro_verdict_done(&v);
}

static int take_without_loop(void *arg)
{
    struct buffer *b = arg;

    vitro_lock(&b->mutex);
    if (b->count == 0)
        (void)vitro_wait(&b->changed, &b->mutex);
    int got = b->count;
    b->count--;
    vitro_unlock(&b->mutex);
    return got > 0 ? 0 : -EILSEQ;
}
static int one_without_loop(void *arg)
{
    struct buffer b = {0};
    struct vitro_call calls[] = {{take_without_loop, &b, NULL, 0}, {put_one, &b, NULL, 0}};

    (void)arg;
    return vitro_join_all(calls, 2);
}

TEST(a_wait_without_a_loop_fails_only_with_spurious_wakeups)
{
    always(one_without_loop);
    struct vitro_verdict v =
        vitro_check(one_without_loop, NULL, .exact = true, .spurious = true, .schedules = 500);
    CHECK_INT(v.kind, VITRO_PROPERTY);
    CHECK_HAS(v.shrunk, "spurious 1/2");
    vitro_verdict_done(&v);
}

static int wait_in_vain(void *arg)
{
    struct buffer b = {0};

    (void)arg;
    vitro_lock(&b.mutex);
    int r = vitro_wait_until(&b.changed, &b.mutex, VITRO_MS(30));
    ENSURE(r == -ETIMEDOUT && vitro_clock() == VITRO_MS(30));
    ENSURE(vitro_trylock(&b.mutex) == -EBUSY); /* held again */
    vitro_unlock(&b.mutex);
    ENSURE(vitro_trylock(&b.mutex) == 0);
    vitro_unlock(&b.mutex);
    return 0;
}
static int hold_a_while(void *arg)
{
    vitro_lock((struct vitro_mutex *)arg);
    vitro_sleep(VITRO_MS(50));
    vitro_unlock((struct vitro_mutex *)arg);
    return 0;
}
static int lock_in_vain(void *arg)
{
    struct vitro_mutex mutex = VITRO_MUTEX("m");
    vitro_task *holder = vitro_spawn(hold_a_while, &mutex);

    (void)arg;
    vitro_sleep(VITRO_MS(1));
    ENSURE(vitro_lock_until(&mutex, VITRO_MS(20)) == -ETIMEDOUT);
    ENSURE(vitro_lock_until(&mutex, VITRO_MS(80)) == 0 && vitro_clock() == VITRO_MS(50));
    vitro_unlock(&mutex);
    return vitro_join(holder);
}

TEST(waits_and_locks_with_a_deadline_end_at_it)
{
    always(wait_in_vain);
    always(lock_in_vain);
}

/* ---- event, barrier, once */

struct meeting {
    struct vitro_event event;
    struct vitro_barrier barrier;
    struct vitro_once once;
    int before, last, made;
};
static int arrive(void *arg)
{
    struct meeting *m = arg;

    m->before++;
    int r = vitro_arrive(&m->barrier);
    ENSURE(r >= 0 && m->before == 3);
    m->last += r;
    return 0;
}
static int make(void *arg)
{
    vitro_yield();
    ((struct meeting *)arg)->made++;
    return 0;
}
static int use(void *arg)
{
    struct meeting *m = arg;
    int r = vitro_once(&m->once, make, m);

    ENSURE(m->made == 1);
    return r;
}
static int fail_first(void *arg)
{
    return ((struct meeting *)arg)->made++ == 0 ? -EAGAIN : 0;
}
static int try_once(void *arg)
{
    struct meeting *m = arg;
    int r = vitro_once(&m->once, fail_first, m);

    m->last += r == -EAGAIN;
    return 0;
}
static int barrier_holds(void *arg)
{
    struct meeting m = {.barrier = VITRO_BARRIER("b", 3)};

    (void)arg;
    int r = spawn_join(arrive, &m, 3);
    ENSURE(r < 0 || m.last == 1);
    return r;
}
static int once_holds(void *arg)
{
    struct meeting m = {0};

    (void)arg;
    return spawn_join(use, &m, 3);
}
static int once_tries_again(void *arg)
{
    struct meeting m = {0};

    (void)arg;
    ENSURE(spawn_join(try_once, &m, 2) == 0 && m.made == 2 && m.last == 1);
    return 0;
}
static int pass_event(void *arg)
{
    return vitro_event_wait(&((struct meeting *)arg)->event);
}
static int event_lets_all_pass(void *arg)
{
    struct meeting m = {.event = VITRO_EVENT("go")};
    vitro_task *a = vitro_spawn(pass_event, &m), *b = vitro_spawn(pass_event, &m);

    (void)arg;
    vitro_event_set(&m.event);
    ENSURE(vitro_join(a) == 0 && vitro_join(b) == 0);
    vitro_event_reset(&m.event);
    ENSURE(vitro_event_wait_until(&m.event, VITRO_MS(5)) == -ETIMEDOUT);
    return 0;
}

TEST(barrier_once_and_event_hold_in_every_schedule)
{
    proved(barrier_holds);
    proved(once_holds);
    proved(once_tries_again);
    always(event_lets_all_pass);
}

/* ---- channels */

struct pipe {
    struct vitro_chan chan;
    int sent, received;
};
static int send_five(void *arg)
{
    struct pipe *p = arg;

    for (int i = 1; i <= 5; i++) {
        if (vitro_send(&p->chan, i) < 0)
            return -EILSEQ;
        p->sent++;
        ENSURE(p->sent - p->received <= (int)p->chan.capacity + 1);
    }
    vitro_close(&p->chan);
    return 0;
}
static int receive_all(void *arg)
{
    struct pipe *p = arg;
    vitro_value value;
    int r, next = 1;

    while ((r = vitro_receive(&p->chan, &value)) == 0) {
        p->received++;
        ENSURE(value == next++);
    }
    ENSURE(r == -EPIPE && next == 6);
    return 0;
}
static int bounded(void *arg)
{
    struct pipe p = {.chan = VITRO_CHAN("c", 2)};
    vitro_defer(vitro_chan_done, &p.chan);
    struct vitro_call calls[] = {{send_five, &p, "sender", 0}, {receive_all, &p, "receiver", 0}};

    (void)arg;
    int r = vitro_join_all(calls, 2);
    ENSURE(r < 0 || vitro_send(&p.chan, 9) == -EPIPE);
    return r;
}
static int handed_over(void *arg)
{
    struct pipe p = {.chan = VITRO_RENDEZVOUS("r")};
    struct vitro_call calls[] = {{send_five, &p, "sender", 0}, {receive_all, &p, "receiver", 0}};

    (void)arg;
    int r = vitro_join_all(calls, 2);
    vitro_chan_done(&p.chan);
    return r;
}
static int give_in_vain(void *arg)
{
    struct vitro_chan chan = VITRO_RENDEZVOUS("r");
    vitro_value value;

    (void)arg;
    ENSURE(vitro_send_until(&chan, 1, VITRO_MS(5)) == -ETIMEDOUT);
    ENSURE(vitro_receive_until(&chan, &value, VITRO_MS(9)) == -ETIMEDOUT); /* it was withdrawn */
    vitro_chan_done(&chan);
    return 0;
}

TEST(channels_keep_order_push_back_and_close_in_every_schedule)
{
    always(bounded);
    always(handed_over);
    always(give_in_vain);
}

/* ---- select and combinators */

static int sleep_then(void *arg)
{
    int64_t *what = arg;
    int r = vitro_sleep(VITRO_MS(what[0]));

    return r < 0 ? r : (int)what[1];
}
static int select_over_all(void *arg)
{
    struct vitro_chan a = VITRO_CHAN("a", 1), b = VITRO_CHAN("b", 1);
    struct vitro_mutex mutex = VITRO_MUTEX("m");
    struct vitro_sem sem = VITRO_SEM("s", 0);
    struct vitro_event event = VITRO_EVENT("e");
    struct vitro_single single = VITRO_SINGLE("v");
    struct vitro_case cases[] = {{.kind = VITRO_CASE_RECEIVE, .object = &a},
                                 {.kind = VITRO_CASE_ACQUIRE, .object = &sem},
                                 {.kind = VITRO_CASE_EVENT, .object = &event},
                                 {.kind = VITRO_CASE_DEREF, .object = &single},
                                 {.kind = VITRO_CASE_AFTER, .ns = VITRO_MS(7)}};

    (void)arg;
    ENSURE(vitro_select(cases, 5) == 4 && vitro_clock() == VITRO_MS(7));
    vitro_release(&sem);
    ENSURE(vitro_select(cases, 5) == 1);
    vitro_event_set(&event);
    ENSURE(vitro_select(cases, 5) == 2);
    vitro_event_reset(&event);
    vitro_assign(&single, 11);
    ENSURE(vitro_select(cases, 5) == 3 && cases[3].value == 11);
    ENSURE(vitro_assign(&single, 12) == -EALREADY);
    ENSURE(vitro_send(&a, 5) == 0);
    struct vitro_case more[] = {{.kind = VITRO_CASE_SEND, .object = &a, .value = 6},
                                {.kind = VITRO_CASE_RECEIVE, .object = &a}};
    ENSURE(vitro_select(more, 2) == 1 && more[1].value == 5);
    struct vitro_case lock = {.kind = VITRO_CASE_LOCK, .object = &mutex};
    ENSURE(vitro_select(&lock, 1) == 0 && vitro_trylock(&mutex) == -EBUSY);
    vitro_close(&b);
    struct vitro_case closed = {.kind = VITRO_CASE_RECEIVE, .object = &b};
    ENSURE(vitro_select(&closed, 1) == 0 && closed.result == -EPIPE);
    vitro_chan_done(&a);
    vitro_chan_done(&b);
    return 0;
}
static int select_chooses(void *arg)
{
    struct vitro_sem a = VITRO_SEM("a", 1), b = VITRO_SEM("b", 1);
    struct vitro_case cases[] = {{.kind = VITRO_CASE_ACQUIRE, .object = &a},
                                 {.kind = VITRO_CASE_ACQUIRE, .object = &b}};

    (void)arg;
    return vitro_select(cases, 2);
}
/* Two tasks, each ready to send one way and to receive the other: they meet exactly once. */
struct crossing {
    struct vitro_chan there, back;
};
static int cross(void *arg, bool forth, int64_t value)
{
    struct crossing *c = arg;
    struct vitro_case cases[] = {
        {.kind = VITRO_CASE_SEND, .object = forth ? &c->there : &c->back, .value = value},
        {.kind = VITRO_CASE_RECEIVE, .object = forth ? &c->back : &c->there}};
    int chosen = vitro_select(cases, 2);

    if (chosen < 0 || cases[chosen].result < 0)
        return -EILSEQ;
    return chosen == 0 ? 0 : (int)cases[1].value;
}
static int cross_forth(void *arg)
{
    return cross(arg, true, 3);
}
static int cross_back(void *arg)
{
    return cross(arg, false, 5);
}
static int crossing(void *arg)
{
    struct crossing c = {VITRO_RENDEZVOUS("there"), VITRO_RENDEZVOUS("back")};
    struct vitro_call calls[] = {{cross_forth, &c, NULL, 0}, {cross_back, &c, NULL, 0}};

    (void)arg;
    ENSURE(vitro_join_all(calls, 2) == 0);
    int forth = calls[0].result, back = calls[1].result;
    ENSURE((forth == 0 && back == 3) || (forth == 5 && back == 0));
    vitro_chan_done(&c.there);
    vitro_chan_done(&c.back);
    return forth ? 1 : 2;
}
/* One select holds out at two places: two receivers come, one of them gets it. */
static int hold_out_both(void *arg)
{
    struct crossing *c = arg;
    struct vitro_case cases[] = {{.kind = VITRO_CASE_SEND, .object = &c->there, .value = 1},
                                 {.kind = VITRO_CASE_SEND, .object = &c->back, .value = 2}};

    return vitro_select(cases, 2);
}
static int take_there(void *arg)
{
    vitro_value got = 0;
    int r = vitro_receive_until(&((struct crossing *)arg)->there, &got, VITRO_MS(1));

    return r == -ETIMEDOUT ? 0 : (int)got;
}
static int take_back(void *arg)
{
    vitro_value got = 0;
    int r = vitro_receive_until(&((struct crossing *)arg)->back, &got, VITRO_MS(1));

    return r == -ETIMEDOUT ? 0 : (int)got;
}
static int one_of_two_offers(void *arg)
{
    struct crossing c = {VITRO_RENDEZVOUS("there"), VITRO_RENDEZVOUS("back")};
    struct vitro_call calls[] = {
        {hold_out_both, &c, NULL, 0}, {take_there, &c, NULL, 0}, {take_back, &c, NULL, 0}};

    (void)arg;
    ENSURE(vitro_join_all(calls, 3) == 0);
    ENSURE(calls[0].result == 0 ? calls[1].result == 1 && calls[2].result == 0
                                : calls[1].result == 0 && calls[2].result == 2);
    vitro_chan_done(&c.there);
    vitro_chan_done(&c.back);
    return calls[0].result;
}
static int offers_end(void *arg)
{
    struct vitro_chan rendezvous = VITRO_RENDEZVOUS("r");
    struct vitro_case own[] = {{.kind = VITRO_CASE_SEND, .object = &rendezvous, .value = 1},
                               {.kind = VITRO_CASE_RECEIVE, .object = &rendezvous},
                               {.kind = VITRO_CASE_AFTER, .ns = VITRO_MS(1)}};
    vitro_value got = 0;

    (void)arg;
    ENSURE(vitro_select(own, 3) == 2); /* never with itself */
    /* And what time has ended is not held out any more. */
    ENSURE(vitro_receive_until(&rendezvous, &got, VITRO_MS(2)) == -ETIMEDOUT);
    vitro_close(&rendezvous);
    ENSURE(vitro_select(own, 1) == 0 && own[0].result == -EPIPE);
    vitro_chan_done(&rendezvous);
    return 0;
}

TEST(a_select_sends_at_a_rendezvous_exactly_once)
{
    always(offers_end);
    struct vitro_outcomes o = vitro_explore(crossing, NULL, .strategy = VITRO_DPOR);
    CHECK_TRUE(o.complete);
    CHECK_INT(o.count, 2);
    CHECK_TRUE(o.list[0].result > 0 && o.list[1].result > 0);
    vitro_outcomes_done(&o);
    o = vitro_explore(one_of_two_offers, NULL, .strategy = VITRO_DPOR);
    CHECK_TRUE(o.complete);
    CHECK_INT(o.count, 2);
    CHECK_TRUE(o.list[0].result >= 0 && o.list[1].result >= 0);
    vitro_outcomes_done(&o);
}

static int permit_or_not(void *arg)
{
    return vitro_acquire_until(arg, VITRO_MS(1)) == 0;
}
static int one_permit_for_two(void *arg)
{
    struct vitro_sem sem = VITRO_SEM("s", 1);
    struct vitro_call calls[] = {{permit_or_not, &sem, NULL, 0}, {permit_or_not, &sem, NULL, 0}};

    (void)arg;
    ENSURE(vitro_join_all(calls, 2) == 0);
    return calls[0].result * 10 + calls[1].result;
}

static int late_answer(void *arg)
{
    return vitro_post((struct vitro_chan *)arg, 1);
}
static int answer_or_timeout(void *arg)
{
    struct vitro_chan box = VITRO_MAILBOX("box");
    vitro_task *task = vitro_spawn(late_answer, &box);
    vitro_value got = 0;
    int r = vitro_receive_until(&box, &got, VITRO_MS(5));

    (void)arg;
    (void)vitro_join(task);
    vitro_chan_done(&box);
    return r == 0 ? 1 : 2;
}

TEST(a_proof_with_early_timers_covers_the_timeouts_too)
{
    struct vitro_verdict v = vitro_prove(answer_or_timeout, NULL, .want = 1, .early_timers = true);
    CHECK_INT(v.kind, VITRO_PROPERTY);
    CHECK_INT(v.result, 2);
    vitro_verdict_done(&v);
    v = vitro_prove(answer_or_timeout, NULL, .want = 1);
    CHECK_TRUE(v.kind == VITRO_OK && v.complete);
    vitro_verdict_done(&v);
}

static int any_and_amb(void *arg)
{
    int64_t slow[] = {20, 2}, fast[] = {10, 1};
    vitro_task *tasks[] = {vitro_spawn(sleep_then, slow), vitro_spawn(sleep_then, fast)};
    size_t index = 9;

    (void)arg;
    ENSURE(vitro_join_any(tasks, 2) == 1 && vitro_clock() == VITRO_MS(10));
    ENSURE(vitro_join(tasks[1]) == 1 && vitro_join(tasks[0]) == 2);
    struct vitro_call calls[] = {{sleep_then, (int64_t[]){1, -EAGAIN}, NULL, 0},
                                 {sleep_then, (int64_t[]){1, 8}, NULL, 0}};
    ENSURE(vitro_amb(calls, 2, &index) == 8 && index == 1);
    return 0;
}
static int failing_join(void *arg)
{
    struct vitro_call calls[] = {{sleep_then, (int64_t[]){10, -EAGAIN}, NULL, 0},
                                 {sleep_then, (int64_t[]){1000, 8}, NULL, 0}};

    (void)arg;
    ENSURE(vitro_join_all(calls, 2) == -EAGAIN && vitro_clock() == VITRO_MS(10));
    ENSURE(calls[1].result == -ECANCELED);
    struct vitro_call race[] = {{sleep_then, (int64_t[]){10, -EAGAIN}, NULL, 0},
                                {sleep_then, (int64_t[]){20, -EBADF}, NULL, 0}};
    ENSURE(vitro_race(race, 2, NULL) == -EAGAIN && vitro_clock() == VITRO_MS(30));
    return 0;
}

TEST(select_takes_what_can_be_done_and_decides_among_several)
{
    always(select_over_all);
    struct vitro_outcomes o = vitro_explore(select_chooses, NULL, .strategy = VITRO_DPOR);
    CHECK_INT(o.count, 2);
    CHECK_INT(o.schedules, 2);
    vitro_outcomes_done(&o);
}

TEST(join_any_amb_join_all_and_race_end_as_they_say)
{
    always(any_and_amb);
    always(failing_join);
}

/* ---- flows */

static vitro_value add(void *arg, vitro_value a, vitro_value b)
{
    (void)arg;
    return a + b;
}
static vitro_value ten_times(void *arg, vitro_value v)
{
    (void)arg;
    return v * 10;
}
static vitro_value slowly(void *arg, vitro_value v)
{
    vitro_sleep(VITRO_MS((intptr_t)arg));
    return v;
}
static vitro_flow *counting(intptr_t pause_ms)
{
    return vitro_flow_map(slowly, (void *)pause_ms,
                          vitro_flow_seed((vitro_value[]){1, 2, 3, 4}, 4));
}
static int relieved(void *arg)
{
    vitro_flow *flow = vitro_flow_relieve(add, NULL, counting(10));
    vitro_value value, sum = 0;
    int looks = 0, r;

    (void)arg;
    while ((r = vitro_flow_next(flow, &value)) == 1) {
        sum += value;
        looks++;
        vitro_sleep(VITRO_MS(25));
    }
    vitro_flow_free(flow);
    ENSURE(r == 0 && sum == 10 && looks < 4);
    return 0;
}
static int merged(void *arg)
{
    vitro_value got[16], sum = 0;
    vitro_flow *parts[] = {counting(10), vitro_flow_map(ten_times, NULL, counting(7))};
    int64_t n = vitro_collect(vitro_flow_merge(parts, 2), got, 16);

    (void)arg;
    for (int64_t i = 0; i < n; i++)
        sum += got[i];
    ENSURE(n == 8 && sum == 110);
    return 0;
}
static int one_after_the_other(void *arg)
{
    vitro_value got[16];
    vitro_flow *parts[] = {counting(1), counting(2)};

    (void)arg;
    ENSURE(vitro_collect(vitro_flow_amb(parts, 2), got, 16) == 8);
    ENSURE(got[3] == 4 && got[4] == 1 && vitro_clock() == VITRO_MS(12));
    return 0;
}
static void never_emit(void *arg, vitro_emitter *emitter)
{
    (void)arg, (void)emitter;
}
static int collected_late(void *arg)
{
    vitro_value got[16];
    vitro_flow *parts[] = {vitro_flow_seed((vitro_value[]){1, 2}, 2),
                           vitro_flow_observe(never_emit, NULL, NULL)};

    (void)arg;
    ENSURE(vitro_collect(vitro_flow_amb(parts, 2), got, 16, .timeout_ns = VITRO_MS(25)) ==
           -ETIMEDOUT);
    ENSURE(vitro_clock() == VITRO_MS(25));
    ENSURE(vitro_collect(counting(1), got, 2) == -E2BIG);
    ENSURE(vitro_collect(counting(1), got, 2, .stop_at_max = true) == 2);
    return 0;
}
static int set_slowly(void *arg)
{
    for (int i = 1; i <= 3; i++) {
        if (vitro_sleep(VITRO_MS(15)) < 0)
            return -ECANCELED;
        vitro_var_set(arg, i * 100);
    }
    return 0;
}
static int sampled(void *arg)
{
    vitro_var *var = vitro_var_new(0);
    vitro_signal *signal = vitro_watch(var);
    vitro_task *setter = vitro_spawn(set_slowly, var);
    vitro_value got[8];

    (void)arg;
    int64_t n = vitro_collect(vitro_flow_sample(add, NULL, signal, counting(10)), got,
                              8); /* at 10, 20, 30, 40 */
    int r = vitro_join(setter);
    vitro_signal_unref(signal);
    vitro_var_free(var);
    ENSURE(r == 0 && n == 4 && got[0] == 1 && got[1] == 102 && got[3] == 204);
    ENSURE(got[2] == 203 || got[2] == 103); /* both happen at 30 */
    return 0;
}
struct consumer {
    vitro_flow *flow;
    vitro_value got[8];
};
static int consume(void *arg)
{
    struct consumer *c = arg;

    return (int)vitro_collect(c->flow, c->got, 8);
}
static int streamed(void *arg)
{
    vitro_flow *taps[2];
    struct consumer a = {0}, b = {0};

    (void)arg;
    vitro_flow_stream(counting(1), taps, 2);
    a.flow = taps[0];
    b.flow = vitro_flow_map(slowly, (void *)(intptr_t)50, taps[1]);
    struct vitro_call calls[] = {{consume, &a, "quick", 0}, {consume, &b, "slow", 0}};
    int r = vitro_join_all(calls, 2);
    ENSURE(r == 0 && calls[0].result == 4 && calls[1].result == 4);
    ENSURE(a.got[3] == 4 && b.got[3] == 4);
    return 0;
}
static vitro_value parity(void *arg, const vitro_value *v)
{
    ++*(int *)arg;
    return v[0] % 2;
}
static vitro_value difference(void *arg, const vitro_value *v)
{
    ++*(int *)arg;
    return v[0] - v[1];
}
static vitro_value same(void *arg, const vitro_value *v)
{
    (void)arg;
    return v[0];
}
static int lopsided(void *arg)
{
    int computed = 0;
    vitro_var *var = vitro_var_new(1);
    vitro_signal *x = vitro_watch(var), *a = vitro_latest(same, NULL, &x, 1);
    vitro_signal *b = vitro_latest(same, NULL, &a, 1);
    vitro_signal *gap = vitro_latest(difference, &computed, (vitro_signal *[]){x, b}, 2);

    (void)arg;
    for (int i = 2; i < 6; i++) /* x directly and through two others: always equal, computed once */
        vitro_var_set(var, i);
    int r = computed == 5 && vitro_signal_get(gap) == 0 ? 0 : -EILSEQ;
    vitro_signal_unref(gap);
    vitro_signal_unref(b);
    vitro_signal_unref(a);
    vitro_signal_unref(x);
    vitro_var_free(var);
    return r;
}
static int deduplicated(void *arg)
{
    int computed = 0, behind = 0;
    vitro_var *var = vitro_var_new(1);
    vitro_signal *x = vitro_watch(var), *odd = vitro_latest(parity, &computed, &x, 1);
    vitro_signal *next = vitro_latest(parity, &behind, &odd, 1);
    vitro_flow *flow = vitro_flow_of(odd);
    vitro_value value;

    (void)arg;
    ENSURE(vitro_flow_next(flow, &value) == 1 && value == 1);
    vitro_var_set(var, 1); /* equal: nothing is computed */
    ENSURE(computed == 1);
    vitro_var_set(var, 3);
    ENSURE(computed == 2 && behind == 1 && vitro_signal_get(odd) == 1);
    vitro_var_set(var, 4);
    ENSURE(vitro_flow_next(flow, &value) == 1 && value == 0);
    vitro_flow_free(flow);
    vitro_signal_unref(next);
    vitro_signal_unref(odd);
    vitro_signal_unref(x);
    vitro_var_free(var);
    return 0;
}

TEST(flows_relieve_merge_follow_sample_and_share_as_they_say)
{
    always(relieved);
    always(merged);
    always(one_after_the_other);
    always(collected_late);
    always(sampled);
    always(streamed);
    always(deduplicated);
    always(lopsided);
}

TEST(a_run_that_fails_in_the_middle_of_flows_is_taken_down_cleanly)
{
    static const vitro_fn all[] = {relieved, merged, sampled, bounded, two_each};

    for (size_t i = 0; i < ARRAY_LENGTH(all); i++)
        for (uint64_t steps = 1; steps < 60; steps += 3) {
            SCHED(sched, .max_steps = steps, .seed = steps);
            (void)vitro_run(sched, all[i], NULL);
        }
}

static int one_each(void *arg)
{
    struct buffer b = {.mutex = VITRO_MUTEX("m"), .changed = VITRO_COND("changed")};
    vitro_task *taker = vitro_spawn(take_one, &b), *putter = vitro_spawn(put_one, &b);

    (void)arg;
    int r = vitro_join(taker);
    return vitro_join(putter) + r;
}
static int wait_twice(void *arg)
{
    struct buffer b = {0};
    vitro_task *a = vitro_spawn(take_one, &b), *c = vitro_spawn(put_one, &b);
    vitro_task *d = vitro_spawn(take_one, &b);

    (void)arg;
    (void)vitro_join(a);
    (void)vitro_join(c);
    return vitro_join(d); /* one of the takers waits for ever: a deadlock in every schedule */
}
static int take_two(void *arg)
{
    vitro_value value;

    (void)vitro_receive((struct vitro_chan *)arg, &value);
    return vitro_receive((struct vitro_chan *)arg, &value) < 0 ? 0 : (int)value;
}
static int send_one(void *arg)
{
    return vitro_send((struct vitro_chan *)arg, vitro_id(vitro_self()));
}
static int chan_of(uint32_t capacity)
{
    struct vitro_chan chan = VITRO_CHAN("c", capacity);
    vitro_task *a = vitro_spawn(send_one, &chan), *b = vitro_spawn(send_one, &chan);
    vitro_task *c = vitro_spawn(take_two, &chan);

    int r = vitro_join(c);
    (void)vitro_join(a);
    (void)vitro_join(b);
    vitro_chan_done(&chan);
    return r;
}
static int through_one(void *arg)
{
    (void)arg;
    return chan_of(1);
}
static int through_none(void *arg)
{
    (void)arg;
    return chan_of(0);
}
static int through_many(void *arg)
{
    (void)arg;
    return chan_of(VITRO_UNBOUNDED);
}
static int set_and_wait(void *arg)
{
    struct meeting m = {0};
    vitro_task *a = vitro_spawn(pass_event, &m), *b = vitro_spawn(pass_event, &m);

    (void)arg;
    vitro_event_set(&m.event);
    return vitro_join(a) + vitro_join(b);
}
static int cancel_me(void *arg)
{
    int r = vitro_acquire((struct vitro_sem *)arg);

    return r == -ECANCELED ? 1 : 2;
}
static int cancelled_or_not(void *arg)
{
    struct vitro_sem sem = VITRO_SEM("s", 0);
    vitro_task *t = vitro_spawn(cancel_me, &sem), *u = vitro_spawn(cancel_me, &sem);

    (void)arg;
    vitro_release(&sem);
    vitro_cancel(t);
    int r = vitro_join(t);
    vitro_cancel(u);
    return r * 10 + vitro_join(u);
}

TEST(the_reduced_search_sees_the_outcomes_of_the_plain_one_for_every_kind_of_object)
{
    static const vitro_fn all[] = {
        one_each,           wait_twice,       through_one,      through_none,     through_many,
        set_and_wait,       once_tries_again, select_chooses,   cancelled_or_not, one_without_loop,
        one_permit_for_two, crossing,         one_of_two_offers};

    for (size_t i = 0; i < ARRAY_LENGTH(all); i++) {
        struct vitro_outcomes plain =
            vitro_explore(all[i], NULL, .strategy = VITRO_DFS, .schedules = 300000);
        struct vitro_outcomes reduced =
            vitro_explore(all[i], NULL, .strategy = VITRO_DPOR, .schedules = 300000);
        CHECK_TRUE(plain.complete && reduced.complete && reduced.schedules <= plain.schedules);
        CHECK_TRUE(plain.distinct <= reduced.schedules); /* choices are not in the fingerprint */
        if (plain.count != reduced.count)
            check_fail(__FILE__, __LINE__, "program %zu: %zu and %zu outcomes", i, plain.count,
                       reduced.count);
        for (size_t k = 0; k < plain.count; k++) {
            bool found = false;
            for (size_t n = 0; n < reduced.count; n++)
                found |= strcmp(plain.list[k].label, reduced.list[n].label) == 0;
            if (!found)
                check_fail(__FILE__, __LINE__, "program %zu: '%s' is not seen", i,
                           plain.list[k].label);
        }
        print_message("# program %zu: %llu schedules, %llu classes, %llu runs, %zu outcomes\n", i,
                      (unsigned long long)plain.schedules, (unsigned long long)plain.distinct,
                      (unsigned long long)reduced.schedules, plain.count);
        vitro_outcomes_done(&plain);
        vitro_outcomes_done(&reduced);
    }
}
