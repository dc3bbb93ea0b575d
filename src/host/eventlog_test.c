/* SPDX-License-Identifier: MIT */
/* Event logs in memory and in files: order, subscriptions, lag, damage. */
#include "vitro/eventlog.h"
#include "lib/check.h"
#include "vitro/clock.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static struct vitro_event_error error;

static int64_t say(vitro_eventlog *log, const char *kind)
{
    return vitro_eventlog_append(log, "jobs", kind, kind, strlen(kind), &error);
}

/* The kinds and ids of a topic after an id. */
static void check_read(vitro_eventlog *log, const char *topic, uint64_t after, const char *wanted)
{
    CLEANUP(buf_done) struct buf text = {0};
    struct vitro_event_list list;

    CHECK_OK((int)vitro_eventlog_read(log, topic, after, 0, &list, &error), error);
    for (size_t i = 0; i < list.count; i++) {
        CHECK_TEXT(list.events[i].topic, topic);
        CHECK_TEXT(list.events[i].data, list.events[i].kind);
        buf_addf(&text, "%llu=%s ", (unsigned long long)list.events[i].id, list.events[i].kind);
    }
    vitro_event_list_done(&list);
    CHECK_TEXT(buf_text(&text), wanted);
}

TEST(events_of_a_topic_are_counted_and_read_in_order)
{
    vitro_eventlog *log = vitro_eventlog_memory();
    struct vitro_event_list list;

    CHECK_INT(vitro_eventlog_latest(log, "jobs"), 0);
    check_read(log, "jobs", 0, "");
    CHECK_INT(say(log, "a"), 1);
    CHECK_INT(say(log, "b"), 2);
    CHECK_INT(say(log, "c"), 3);
    CHECK_INT(vitro_eventlog_append(log, "a.topic_of-its.0wn", "x", NULL, 0, &error), 1);
    CHECK_INT(vitro_eventlog_latest(log, "jobs"), 3);
    check_read(log, "jobs", 0, "1=a 2=b 3=c ");
    check_read(log, "jobs", 2, "3=c ");
    check_read(log, "jobs", UINT64_MAX, "");
    CHECK_INT(vitro_eventlog_read(log, "jobs", 0, 2, &list, &error), 2);
    vitro_event_list_done(&list);
    vitro_eventlog_free(log);
    vitro_eventlog_free(NULL);
}

TEST(names_and_sizes_that_cannot_be_are_refused_in_words)
{
    vitro_eventlog *log = vitro_eventlog_memory();
    char name[300];

    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    CHECK_INT(vitro_eventlog_append(log, "a b", "x", NULL, 0, &error), -EINVAL);
    CHECK_HAS(error.text, "topic 'a b'\nhint: letters, digits");
    CHECK_INT(vitro_eventlog_append(log, NULL, "x", NULL, 0, &error), -EINVAL);
    CHECK_HAS(error.text, "no topic");
    CHECK_INT(vitro_eventlog_append(log, "t", "", NULL, 0, &error), -EINVAL);
    CHECK_HAS(error.text, "no kind");
    CHECK_INT(vitro_eventlog_append(log, name, "x", NULL, 0, &error), -EINVAL);
    CHECK_HAS(error.text, "more than 255 bytes");
    CHECK_INT(vitro_eventlog_append(log, "t", "x", NULL, 1, &error), -EINVAL);
    CHECK_INT(vitro_eventlog_append(log, "t", "x", name, (16 << 20) + 1, &error), -EMSGSIZE);
    CHECK_INT(vitro_eventlog_latest(log, "/"), -EINVAL);
    CHECK_INT(vitro_eventlog_ack(log, "t", NULL, 1, &error), -EINVAL);
    CHECK_TRUE(!vitro_events_subscribe(log, "", 0, NULL, NULL));
    CHECK_TRUE(!vitro_eventlog_open(NULL, NULL, &error));
    vitro_eventlog_free(log);
}

TEST(a_consumers_cursor_moves_forward_only_and_not_past_the_end)
{
    vitro_eventlog *log = vitro_eventlog_memory();

    (void)say(log, "a");
    (void)say(log, "b");
    CHECK_INT(vitro_eventlog_cursor(log, "jobs", "mailer"), 0);
    CHECK_INT(vitro_eventlog_ack(log, "jobs", "mailer", 2, &error), 1);
    CHECK_INT(vitro_eventlog_ack(log, "jobs", "mailer", 1, &error), 0);
    CHECK_INT(vitro_eventlog_cursor(log, "jobs", "mailer"), 2);
    CHECK_INT(vitro_eventlog_cursor(log, "jobs", "other"), 0);
    CHECK_INT(vitro_eventlog_ack(log, "jobs", "mailer", 3, &error), -ERANGE);
    CHECK_TEXT(error.text, "ack of event 3 in topic 'jobs': the last is 2");
    CHECK_INT(vitro_eventlog_ack(log, "none", "mailer", 1, &error), -ERANGE);
    vitro_eventlog_free(log);
}

/* ---- subscriptions */

TEST(a_subscription_gives_history_then_what_comes)
{
    vitro_eventlog *log = vitro_eventlog_memory();
    struct vitro_log_event event;

    for (int i = 0; i < 3; i++)
        (void)say(log, "old");
    vitro_events *all = vitro_events_subscribe(log, "jobs", 1, NULL, &error);
    vitro_events *fresh = vitro_events_subscribe(log, "jobs", VITRO_EVENTS_NEW, NULL, &error);
    (void)say(log, "new");
    for (uint64_t id = 2; id <= 4; id++) {
        CHECK_INT(vitro_events_receive(all, "next", &event, &error), 1);
        CHECK_INT(event.id, id);
        CHECK_TEXT(event.kind, id == 4 ? "new" : "old");
        CHECK_TEXT(event.data, event.kind);
    }
    CHECK_INT(vitro_events_poll(all, &event, &error), -EAGAIN);
    CHECK_INT(vitro_events_poll(fresh, &event, &error), 1);
    CHECK_INT(event.id, 4);
    vitro_events_free(all);
    vitro_events_free(fresh);
    vitro_events_free(NULL);
    vitro_eventlog_free(log);
}

enum { MANY = 2000 };

static int append_many(void *arg)
{
    for (int i = 0; i < MANY; i++)
        if (vitro_eventlog_append(arg, "jobs", "x", NULL, 0, NULL) < 0)
            return -1;
    return 0;
}

static int receive_many(void *arg)
{
    vitro_events *events = vitro_events_subscribe(
        arg, "jobs", 0, &(struct vitro_events_options){.queue_max = 10 * MANY}, NULL);
    struct vitro_log_event event;
    int wrong = 0;

    for (uint64_t id = 1; id <= 4 * MANY; id++)
        wrong += vitro_events_receive(events, "one of many", &event, NULL) != 1 || event.id != id;
    vitro_events_free(events);
    return wrong;
}

TEST(subscribers_of_any_time_get_every_event_once_while_many_append)
{
    vitro_eventlog *log = vitro_eventlog_memory();
    vitro_worker *workers[8];

    for (int i = 0; i < 8; i++)
        workers[i] = vitro_worker_start(NULL, i % 2 ? append_many : receive_many, log);
    for (int i = 0; i < 8; i++)
        CHECK_INT(vitro_worker_join(workers[i]), 0);
    vitro_eventlog_free(log);
}

TEST(a_slow_subscriber_is_told_once_that_it_lagged_and_then_the_stream_ends)
{
    vitro_eventlog *log = vitro_eventlog_memory();
    struct vitro_log_event event;

    for (int i = 0; i < 500; i++)
        (void)say(log, "history"); /* does not count */
    vitro_events *events = vitro_events_subscribe(log, "jobs", 0, NULL, &error);
    for (int i = 0; i < 128; i++)
        (void)say(log, "live");
    CHECK_INT(vitro_events_poll(events, &event, &error), 1);
    (void)say(log, "one too many");
    CHECK_INT(vitro_events_receive(events, "lagged", &event, &error), -EOVERFLOW);
    CHECK_TEXT(error.text, "receive from topic 'jobs': lagged 129 events behind after event 1\n"
                           "hint: receive sooner, or subscribe with a larger queue_max");
    CHECK_INT(vitro_events_receive(events, "lagged", &event, &error), 0);
    CHECK_INT(vitro_events_poll(events, &event, &error), 0);
    CHECK_INT(vitro_events_barrier(events, "end", "x", &error), -EPIPE);
    vitro_events_free(events);
    vitro_eventlog_free(log);
}

TEST(nothing_that_comes_is_named_by_its_label_and_a_stopped_log_ends_waits)
{
    vitro_eventlog *log = vitro_eventlog_memory();
    struct vitro_log_event event;
    vitro_events *events = vitro_events_subscribe(
        log, "jobs", 0, &(struct vitro_events_options){.ceiling_ns = 1}, &error);

    CHECK_INT(vitro_events_receive(events, "the first job", &event, &error), -ETIMEDOUT);
    CHECK_HAS(error.text, "the first job: nothing came to topic 'jobs' after event 0 within");
    (void)say(log, "a");
    vitro_eventlog_stop(log);
    CHECK_INT(vitro_events_receive(events, "what was there", &event, &error), 1);
    CHECK_INT(vitro_events_receive(events, "more", &event, &error), -ECANCELED);
    CHECK_HAS(error.text, "the log was stopped");
    vitro_events_free(events);
    vitro_eventlog_free(log);
}

static int wait_for_stop(void *arg)
{
    struct vitro_log_event event;

    return vitro_events_receive(arg, "never", &event, NULL);
}

TEST(a_stop_wakes_who_waits)
{
    vitro_eventlog *log = vitro_eventlog_memory();
    vitro_events *events = vitro_events_subscribe(log, "jobs", 0, NULL, &error);
    vitro_worker *worker = vitro_worker_start(NULL, wait_for_stop, events);

    vitro_eventlog_stop(log);
    CHECK_INT(vitro_worker_join(worker), -ECANCELED);
    vitro_events_free(events);
    vitro_eventlog_free(log);
}

TEST(a_barrier_proves_that_nothing_else_arrived)
{
    vitro_eventlog *log = vitro_eventlog_memory();
    vitro_events *events = vitro_events_subscribe(log, "jobs", 0, NULL, &error);

    (void)say(log, "done");
    CHECK_OK(vitro_events_barrier(events, "quiet", "done", &error), error);
    (void)say(log, "surprise");
    (void)say(log, "done");
    CHECK_INT(vitro_events_barrier(events, "quiet", "done", &error), -EEXIST);
    CHECK_TEXT(error.text, "quiet: event 2 of topic 'jobs' is 'surprise', and nothing was to come "
                           "before 'done'");
    (void)say(log, "late");
    CHECK_INT(vitro_events_barrier(events, "quiet", "done", &error), -EEXIST);
    CHECK_TEXT(error.text, "quiet: event 4 of topic 'jobs', 'late', came after 'done'");
    vitro_events_free(events);
    vitro_eventlog_free(log);
}

/* ---- together with a paused clock */

struct service {
    struct vitro_clock *clock;
    vitro_eventlog *log;
    vitro_events *orders;
};

/* Every order is answered a second later. */
static int serve(void *arg)
{
    struct service *service = arg;
    struct vitro_log_event event;
    char text[32];
    int r;

    while ((r = vitro_events_receive(service->orders, "an order", &event, NULL)) > 0) {
        (void)vitro_clock_sleep(service->clock, 1000);
        (void)snprintf(text, sizeof text, "%llu",
                       (unsigned long long)vitro_clock_monotonic(service->clock));
        (void)vitro_eventlog_append(service->log, "answers", text, text, strlen(text), NULL);
    }
    return r;
}

TEST(an_advance_after_an_append_waits_for_the_worker_that_was_told)
{
    struct vitro_clock_error words;
    struct service service = {.clock = vitro_clock_paused(NULL), .log = vitro_eventlog_memory()};

    service.orders = vitro_events_subscribe(service.log, "jobs", 0, NULL, &error);
    vitro_worker *worker = vitro_worker_start(service.clock, serve, &service);
    for (int i = 0; i < 100; i++) {
        CHECK_INT(vitro_clock_advance(service.clock, 500, &words), 0);
        CHECK_INT(say(service.log, "order"), i + 1);
        CHECK_INT(vitro_clock_advance(service.clock, 1000, &words), 1);
        CHECK_INT(vitro_eventlog_latest(service.log, "answers"), i + 1);
    }
    check_read(service.log, "answers", 98, "99=148500 100=150000 ");
    vitro_eventlog_stop(service.log);
    CHECK_INT(vitro_worker_join(worker), -ECANCELED);
    vitro_events_free(service.orders);
    vitro_eventlog_free(service.log);
    vitro_clock_free(service.clock);
}

/* ---- compaction */

static void check_compaction(vitro_eventlog *log)
{
    struct vitro_log_event event;

    for (const char *kind = "a\0b\0c\0d\0"; *kind; kind += 2)
        (void)say(log, kind);
    vitro_events *behind = vitro_events_subscribe(log, "jobs", 0, NULL, &error);
    vitro_events *ahead = vitro_events_subscribe(log, "jobs", 2, NULL, &error);
    CHECK_INT(vitro_eventlog_ack(log, "jobs", "mailer", 2, &error), 1);
    CHECK_INT(vitro_eventlog_compact(log, "jobs", 3, &error), 2);
    CHECK_INT(vitro_eventlog_compact(log, "jobs", 3, &error), 0);
    CHECK_INT(vitro_eventlog_compact(log, "none", 3, &error), 0);
    check_read(log, "jobs", 0, "3=c 4=d ");
    CHECK_INT(vitro_events_poll(behind, &event, &error), -EOVERFLOW);
    CHECK_INT(vitro_events_poll(ahead, &event, &error), 1);
    CHECK_TEXT(event.kind, "c");
    CHECK_INT(say(log, "e"), 5);
    vitro_events_free(behind);
    vitro_events_free(ahead);
}

TEST(compaction_forgets_the_front_and_keeps_ids)
{
    vitro_eventlog *log = vitro_eventlog_memory();

    check_compaction(log);
    CHECK_INT(vitro_eventlog_compact(log, "jobs", UINT64_MAX, &error), 3);
    CHECK_INT(vitro_eventlog_latest(log, "jobs"), 5);
    CHECK_INT(say(log, "f"), 6);
    vitro_eventlog_free(log);
}

/* ---- files */

static vitro_eventlog *opened(const char *path)
{
    vitro_eventlog *log = vitro_eventlog_open(path, NULL, &error);

    if (!log)
        check_fail(__FILE__, __LINE__, "%s", error.text);
    return log;
}

TEST(a_log_in_a_file_is_there_again)
{
    const char *path = tmp_path("log");
    vitro_eventlog *log =
        vitro_eventlog_open(path, &(struct vitro_eventlog_options){.sync = 1}, &error);

    CHECK_TRUE(log != NULL);
    CHECK_TRUE(!vitro_eventlog_open(path, NULL, &error));
    CHECK_INT(error.code, -EBUSY);
    CHECK_HAS(error.text, "it is open elsewhere");
    check_compaction(log);
    CHECK_TRUE(!vitro_eventlog_open(path, NULL, &error)); /* the new file is locked, too */
    vitro_eventlog_free(log);
    log = opened(path);
    check_read(log, "jobs", 0, "3=c 4=d 5=e ");
    CHECK_INT(vitro_eventlog_cursor(log, "jobs", "mailer"), 2);
    CHECK_INT(vitro_eventlog_dropped(log), 0);
    CHECK_INT(vitro_eventlog_compact(log, "jobs", 100, &error), 3);
    vitro_eventlog_free(log);
    log = opened(path);
    CHECK_INT(say(log, "f"), 6);
    vitro_eventlog_free(log);
    CHECK_TRUE(!vitro_eventlog_open("/nonexistent/log", NULL, &error));
    CHECK_HAS(error.text, "open event log '/nonexistent/log': No such file");
}

/* A file of three events and an ack; returns its bytes. */
static void make_file(const char *path, struct buf *ret)
{
    vitro_eventlog *log = opened(path);

    (void)say(log, "a");
    (void)say(log, "bb");
    (void)vitro_eventlog_ack(log, "jobs", "me", 1, &error);
    (void)say(log, "ccc");
    vitro_eventlog_free(log);
    CHECK_INT(file_read(path, 1 << 20, ret, NULL), 0);
}

TEST(a_file_cut_at_any_byte_gives_what_was_whole_and_goes_on_from_there)
{
    CLEANUP(buf_done) struct buf whole = {0};
    static const char *const wanted[] = {"", "1=a ", "1=a 2=bb ", "1=a 2=bb 3=ccc "};
    const char *path = tmp_path("log"), *cut = tmp_path("cut");
    int64_t last = 0;

    make_file(path, &whole);
    for (size_t length = 0; length <= whole.length; length++) {
        int fd = open(cut, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        CHECK_INT(fd_write_full(fd, whole.data, length), 0);
        (void)fd_close(fd);
        vitro_eventlog *log = opened(cut);
        int64_t latest = vitro_eventlog_latest(log, "jobs");
        CHECK_TRUE(latest == last || latest == last + 1);
        last = latest;
        check_read(log, "jobs", 0, wanted[latest]);
        CHECK_INT(say(log, "next"), latest + 1);
        vitro_eventlog_free(log);
        log = opened(cut);
        CHECK_INT(vitro_eventlog_latest(log, "jobs"), latest + 1);
        CHECK_INT(vitro_eventlog_dropped(log), 0);
        vitro_eventlog_free(log);
    }
    CHECK_INT(last, 3);
}

TEST(a_file_damaged_at_any_byte_is_refused_and_left_as_it_is)
{
    CLEANUP(buf_done) struct buf whole = {0}, after = {0};
    const char *path = tmp_path("log"), *bad = tmp_path("bad");

    make_file(path, &whole);
    for (size_t i = 0; i < whole.length; i++) {
        whole.data[i] ^= 0x10;
        int fd = open(bad, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        CHECK_INT(fd_write_full(fd, whole.data, whole.length), 0);
        (void)fd_close(fd);
        CHECK_TRUE(!vitro_eventlog_open(bad, NULL, &error));
        CHECK_INT(error.code, -EBADMSG);
        CHECK_HAS(error.text, i < 15 ? "not an event log" : " at byte ");
        buf_clear(&after);
        CHECK_INT(file_read(bad, 1 << 20, &after, NULL), 0);
        CHECK_TRUE(after.length == whole.length &&
                   memcmp(after.data, whole.data, after.length) == 0);
        whole.data[i] ^= 0x10;
    }
}

TEST(a_stopped_subscription_ends_alone)
{
    vitro_eventlog *log = vitro_eventlog_memory();
    vitro_events *one = vitro_events_subscribe(log, "jobs", 0, NULL, &error);
    vitro_events *two = vitro_events_subscribe(log, "jobs", 0, NULL, &error);
    vitro_worker *worker = vitro_worker_start(NULL, wait_for_stop, one);
    struct vitro_log_event event;

    vitro_events_stop(one);
    CHECK_INT(vitro_worker_join(worker), -ECANCELED);
    CHECK_INT(vitro_events_poll(one, &event, &error), -ECANCELED);
    CHECK_HAS(error.text, "the subscription was stopped");
    (void)say(log, "a");
    CHECK_INT(vitro_events_receive(two, "the other", &event, &error), 1);
    vitro_events_free(one);
    vitro_events_free(two);
    vitro_eventlog_free(log);
}
