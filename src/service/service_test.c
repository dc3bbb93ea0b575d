/* SPDX-License-Identifier: MIT */
/* Servers in the test's process: ready, told, held, reloaded, shut down. */
#include "vitro/service.h"
#include "base/when.h"
#include "lib/check.h"
#include <arpa/inet.h>
#include <errno.h>
#include <semaphore.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

static struct vitro_clock_error error;
#define SECOND INT64_C(1000000000)
#define HOUR   (3600 * SECOND)
#define DAY    (24 * HOUR)

static vitro_service *started(struct vitro_service_options options)
{
    vitro_service *service = vitro_service_start(&options, &error);

    if (!service)
        check_fail(__FILE__, __LINE__, "%s", error.text);
    return service;
}

/* The kinds of a topic's events, "a b c ". */
static void check_events(vitro_eventlog *log, const char *topic, const char *wanted)
{
    CLEANUP(buf_done) struct buf text = {0};
    struct vitro_event_list list;

    CHECK_TRUE(vitro_eventlog_read(log, topic, 0, 0, &list, NULL) >= 0);
    for (size_t i = 0; i < list.count; i++)
        buf_addf(&text, "%s ", list.events[i].kind);
    vitro_event_list_done(&list);
    CHECK_TEXT(buf_text(&text), wanted);
}

static const char *last_text(vitro_eventlog *log, const char *topic)
{
    static char text[256];
    struct vitro_event_list list;

    CHECK_TRUE(vitro_eventlog_read(log, topic, 0, 0, &list, NULL) > 0);
    (void)snprintf(text, sizeof text, "%s", (const char *)list.events[list.count - 1].data);
    vitro_event_list_done(&list);
    return text;
}

/* ---- requests */

static int echo(vitro_service *self, void *arg)
{
    int fd;

    (void)arg;
    vitro_service_ready(self);
    while ((fd = vitro_service_accept(self)) >= 0) {
        char line[64];
        ssize_t length = read(fd, line, sizeof line);
        if (length > 0)
            (void)fd_write_full(fd, line, (size_t)length);
        (void)fd_close(fd);
    }
    return fd;
}

static int connected(int port)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    CHECK_INT(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    return fd;
}

TEST(a_server_is_ready_when_start_returns_and_answers_at_a_port_of_its_own)
{
    vitro_service *one = started((struct vitro_service_options){.run = echo});
    vitro_service *two = started((struct vitro_service_options){.run = echo, .state_dir = "/s"});
    char url[64], answer[3] = "";

    CHECK_TRUE(vitro_service_port(one) != vitro_service_port(two));
    (void)snprintf(url, sizeof url, "http://127.0.0.1:%d", vitro_service_port(one));
    CHECK_TEXT(vitro_service_url(one), url);
    CHECK_TEXT(vitro_service_state_dir(two), "/s");
    CHECK_TRUE(!vitro_service_state_dir(one));
    int fd = connected(vitro_service_port(one));
    CHECK_INT(fd_write_full(fd, "hi", 2), 0);
    CHECK_INT(fd_read_full(fd, answer, 2), 0);
    CHECK_TEXT(answer, "hi");
    (void)fd_close(fd);
    check_events(vitro_service_log(one), "service", "ready ");
    CHECK_OK(vitro_service_shutdown(one, 0, &error), error);
    CHECK_OK(vitro_service_shutdown(one, 0, &error), error);
    check_events(vitro_service_log(one), "service", "ready stopping stopped ");
    vitro_service_free(one);
    vitro_service_free(two); /* shuts it down */
    vitro_service_free(NULL);
}

TEST(a_port_in_use_and_an_address_that_is_none_are_named)
{
    vitro_service *one = started((struct vitro_service_options){.run = echo});
    char words[128];

    CHECK_TRUE(!vitro_service_start(
        &(struct vitro_service_options){
            .name = "second", .run = echo, .port = (uint16_t)vitro_service_port(one)},
        &error));
    CHECK_INT(error.code, -EADDRINUSE);
    (void)snprintf(words, sizeof words,
                   "start 'second': listen at 127.0.0.1, port %d: Address already in use\nhint: "
                   "port 0",
                   vitro_service_port(one));
    CHECK_HAS(error.text, words);
    vitro_service_free(one);
    CHECK_TRUE(!vitro_service_start(
        &(struct vitro_service_options){.run = echo, .address = "localhost"}, &error));
    CHECK_HAS(error.text, "'localhost' is no address\nhint: addresses are like 127.0.0.1");
    CHECK_TRUE(!vitro_service_start(NULL, &error));
    CHECK_TRUE(!vitro_service_start(&(struct vitro_service_options){0}, &error));
    CHECK_HAS(error.text, "nothing to run");
}

TEST(a_server_at_an_address_of_six_has_brackets_in_its_url)
{
    vitro_service *service =
        vitro_service_start(&(struct vitro_service_options){.run = echo, .address = "::1"}, &error);

    if (!service)
        SKIP("there is no ::1 here");
    CHECK_HAS(vitro_service_url(service), "http://[::1]:");
    vitro_service_free(service);
}

static int fails(vitro_service *self, void *arg)
{
    if (arg)
        vitro_service_ready(self);
    return -EIO;
}

static int gives_up(vitro_service *self, void *arg)
{
    (void)self, (void)arg;
    return 0;
}

static int dawdles(vitro_service *self, void *arg)
{
    (void)arg;
    return vitro_clock_sleep(vitro_service_clock(self), INT64_MAX);
}

TEST(servers_that_fail_or_are_never_ready_say_so)
{
    struct vitro_service_options options = {.name = "mailer", .run = fails, .no_listener = 1};
    struct vitro_clock *clock = vitro_clock_paused(NULL);

    CHECK_TRUE(!vitro_service_start(&options, &error));
    CHECK_TEXT(error.text,
               "start 'mailer': it ended with -5 (Input/output error) before it was ready");
    options.run = gives_up;
    CHECK_TRUE(!vitro_service_start(&options, &error));
    CHECK_TEXT(error.text, "start 'mailer': it ended without being ready");
    options.run = dawdles;
    options.ceiling_ns = 1000000;
    options.clock = clock;
    CHECK_TRUE(!vitro_service_start(&options, &error));
    CHECK_HAS(error.text, "start 'mailer': not ready within 0.001 s of real time\nhint: ");
    options.run = fails;
    options.arg = &options;
    options.ceiling_ns = 0;
    vitro_service *service = started(options);
    for (int i = 0; i < 2; i++) {
        CHECK_INT(vitro_service_shutdown(service, 0, &error), -EIO);
        CHECK_TEXT(error.text, "'mailer' ended with -5 (Input/output error)");
    }
    vitro_service_free(service);
    vitro_clock_free(clock);
}

/* ---- time */

struct diary {
    vitro_service *service;
    struct buf text;
    const char *cron, *other; /* other: a second job at the same times */
    int fail, extra;
    sem_t *entered, *leave; /* of the first run */
};

static int write_a(void *arg, int64_t due_ns)
{
    struct diary *diary = arg;

    buf_adds(&diary->text, "a ");
    when_add(&diary->text, due_ns);
    buf_addc(&diary->text, '\n');
    if (diary->entered) {
        (void)sem_post(diary->entered);
        vitro_worker_idle_begin();
        (void)sem_wait(diary->leave);
        vitro_worker_idle_end();
        diary->entered = NULL;
    }
    return diary->fail;
}

static int write_b(void *arg, int64_t due_ns)
{
    struct diary *diary = arg;

    (void)due_ns;
    buf_adds(&diary->text, "b\n");
    return 0;
}

static int keeps_diary(vitro_service *self, void *arg)
{
    struct diary *diary = arg;
    int r = vitro_service_cron(self, "a", diary->cron, NULL, NULL, write_a, arg, NULL);

    if (r == 0 && diary->other)
        r = vitro_service_cron(self, "b", diary->other, NULL, NULL, write_b, arg, NULL);
    diary->service = self;
    if (r == 0)
        vitro_service_ready(self);
    return r;
}

TEST(crons_follow_the_clock_that_was_handed_in)
{
    struct vitro_clock *clock = vitro_clock_paused(NULL);
    struct diary diary = {.cron = "0 3 * * *", .other = "0 3 1-2 * *"};
    vitro_service *service = started((struct vitro_service_options){
        .clock = clock, .run = keeps_diary, .arg = &diary, .no_listener = 1});

    CHECK_INT(vitro_clock_advance(clock, 3 * HOUR - 1, &error), 0);
    CHECK_TEXT(buf_text(&diary.text), "");
    CHECK_TRUE(vitro_clock_advance(clock, 2 * DAY + 1, &error) > 0);
    CHECK_TEXT(buf_text(&diary.text),
               "a 2026-01-01T03:00:00Z\nb\na 2026-01-02T03:00:00Z\nb\na 2026-01-03T03:00:00Z\n");
    check_events(vitro_service_log(service), "cron", "a b a b a ");
    CHECK_TEXT(last_text(vitro_service_log(service), "cron"), "2026-01-03T03:00:00Z");
    CHECK_OK(vitro_service_shutdown(service, 0, &error), error);
    CHECK_INT(vitro_clock_sleepers(clock), 0); /* nothing is left on the clock */
    CHECK_INT(vitro_clock_advance(clock, 9 * DAY, &error), 0);
    check_events(vitro_service_log(service), "cron", "a b a b a ");
    vitro_service_free(service);
    buf_done(&diary.text);
    vitro_clock_free(clock);
}

TEST(a_job_that_fails_is_an_event_and_stays_and_a_text_that_is_wrong_fails_the_start)
{
    struct vitro_clock *clock = vitro_clock_paused(NULL);
    struct diary diary = {.cron = "@daily", .fail = -EIO};
    struct vitro_service_options options = {
        .name = "diary", .clock = clock, .run = keeps_diary, .arg = &diary, .no_listener = 1};
    vitro_service *service = started(options);

    CHECK_TRUE(vitro_clock_advance(clock, 2 * DAY, &error) > 0);
    check_events(vitro_service_log(service), "service", "ready failed failed ");
    CHECK_TEXT(last_text(vitro_service_log(service), "service"),
               "crons, job 'a': -5 (Input/output error)");
    CHECK_INT(vitro_service_cron(service, "x", "0 25 * * *", NULL, NULL, write_a, NULL, &error),
              -EINVAL);
    CHECK_HAS(error.text, "'diary', job 'x': cron '0 25 * * *', column 3, hour: 25 is not");
    CHECK_INT(vitro_service_cron(service, "", "@daily", NULL, NULL, write_a, NULL, &error),
              -EINVAL);
    CHECK_INT(vitro_service_cron(service, "x", "@daily", NULL, NULL, NULL, NULL, &error), -EINVAL);
    CHECK_HAS(error.text, "a cron without a job");
    vitro_service_free(service);
    diary.cron = "nonsense";
    CHECK_TRUE(!vitro_service_start(&options, &error));
    CHECK_INT(error.code, -EINVAL);
    buf_done(&diary.text);
    vitro_clock_free(clock);
}

TEST(jobs_come_and_go_while_the_service_runs)
{
    struct vitro_clock *clock = vitro_clock_paused(NULL);
    struct diary diary = {.cron = "@yearly"};
    vitro_service *service = started((struct vitro_service_options){
        .clock = clock, .run = keeps_diary, .arg = &diary, .no_listener = 1});

    CHECK_INT(vitro_clock_advance(clock, DAY, &error), 0);
    CHECK_OK(vitro_service_cron(service, "a", "@hourly", NULL, NULL, write_b, &diary, &error),
             error);
    CHECK_OK(vitro_service_cron(service, "c", "30 * * * *", NULL, NULL, write_b, &diary, &error),
             error);
    CHECK_TRUE(vitro_clock_advance(clock, 2 * HOUR, &error) > 0);
    check_events(vitro_service_log(service), "cron", "c a c a ");
    CHECK_INT(vitro_service_cron_remove(service, "a"), 0);
    CHECK_INT(vitro_service_cron_remove(service, "a"), -ENOENT);
    CHECK_TRUE(vitro_clock_advance(clock, 2 * HOUR, &error) > 0);
    check_events(vitro_service_log(service), "cron", "c a c a c c ");
    CHECK_INT(vitro_service_cron_remove(service, "c"), 0);
    CHECK_INT(vitro_clock_advance(clock, 99 * DAY, &error), 0);
    vitro_service_free(service);
    buf_done(&diary.text);
    vitro_clock_free(clock);
}

static int naps(vitro_service *self, void *arg)
{
    int *woken = arg;

    vitro_service_ready(self);
    while (vitro_clock_sleep(NULL, HOUR) == 0) /* the clock in force is the service's */
        ++*woken;
    return 0;
}

static int polls(vitro_service *self, void *arg)
{
    int *woken = arg, r;

    vitro_service_ready(self);
    while ((r = vitro_service_poll(self, NULL, 0, HOUR)) == 0)
        ++*woken;
    return r;
}

static void check_hours(int (*run)(vitro_service *self, void *arg))
{
    struct vitro_clock *clock = vitro_clock_paused(NULL);
    int woken = 0;
    vitro_service *service = started((struct vitro_service_options){
        .clock = clock, .run = run, .arg = &woken, .no_listener = 1});

    for (int i = 1; i <= 50; i++) {
        CHECK_INT(vitro_clock_advance(clock, HOUR, &error), 1);
        CHECK_INT(woken, i);
    }
    CHECK_INT(vitro_clock_advance(clock, 50 * HOUR, &error), 50);
    CHECK_INT(woken, 100);
    CHECK_OK(vitro_service_shutdown(service, 0, &error), error);
    CHECK_INT(woken, 100);
    CHECK_INT(vitro_clock_sleepers(clock), 0);
    vitro_service_free(service);
    vitro_clock_free(clock);
}

TEST(sleeps_and_polls_of_the_server_are_waited_for_and_end_with_it)
{
    check_hours(naps);
    check_hours(polls);
}

TEST(sleeps_end_with_the_service_on_the_real_clock_and_on_one_that_records_too)
{
    vitro_clock_log *log = vitro_clock_log_new();
    struct vitro_clock *paused = vitro_clock_paused(NULL);
    struct vitro_clock *recorded = vitro_clock_recorded(paused, log);
    struct vitro_clock *clocks[] = {vitro_clock_real(), recorded};

    for (size_t i = 0; i < ARRAY_LENGTH(clocks); i++) {
        int woken = 0;
        vitro_service *service = started((struct vitro_service_options){
            .clock = clocks[i], .run = naps, .arg = &woken, .no_listener = 1});
        if (clocks[i] == recorded)
            CHECK_INT(vitro_clock_advance(recorded, 3 * HOUR, &error), 3);
        CHECK_OK(vitro_service_shutdown(service, 0, &error), error);
        CHECK_INT(woken, clocks[i] == recorded ? 3 : 0);
        vitro_service_free(service);
    }
    char *text = vitro_clock_log_text(log);
    CHECK_HAS(text, "\"kind\":\"sleep\",\"lane\":\"1\"");
    free(text);
    vitro_clock_free(recorded);
    vitro_clock_free(paused);
    vitro_clock_log_free(log);
}

static int polls_real(vitro_service *self, void *arg)
{
    int *timed_out = arg;

    *timed_out = vitro_service_poll(self, NULL, 0, 1) == 0;
    vitro_service_ready(self);
    return vitro_service_poll(self, NULL, 0, -1);
}

TEST(polls_on_the_real_clock_time_out_and_end_with_the_service)
{
    int timed_out = 0;
    vitro_service *service = started(
        (struct vitro_service_options){.run = polls_real, .arg = &timed_out, .no_listener = 1});

    CHECK_OK(vitro_service_shutdown(service, 0, &error), error);
    CHECK_INT(timed_out, 1);
    vitro_service_free(service);
}

/* ---- holding */

TEST(a_held_service_starts_nothing_and_goes_on_when_released)
{
    struct vitro_clock *clock = vitro_clock_paused(NULL);
    struct diary diary = {.cron = "@daily"};
    vitro_service *service = started((struct vitro_service_options){
        .clock = clock, .run = keeps_diary, .arg = &diary, .no_listener = 1});

    CHECK_OK(vitro_service_pause(service, 0, &error), error);
    CHECK_OK(vitro_service_pause(service, 0, &error), error);
    CHECK_TRUE(vitro_clock_advance(clock, 3 * DAY, &error) >= 0);
    CHECK_TEXT(buf_text(&diary.text), "");
    vitro_service_release(service);
    CHECK_INT(vitro_clock_advance(clock, 0, &error), 0);           /* waits for who was released */
    CHECK_TEXT(buf_text(&diary.text), "a 2026-01-04T00:00:00Z\n"); /* one run for three days */
    CHECK_TRUE(vitro_clock_advance(clock, DAY, &error) > 0);
    CHECK_TEXT(buf_text(&diary.text), "a 2026-01-04T00:00:00Z\na 2026-01-05T00:00:00Z\n");
    CHECK_OK(vitro_service_pause(service, 0, &error), error);
    vitro_service_free(service); /* held or not */
    buf_done(&diary.text);
    vitro_clock_free(clock);
}

static int pauses_itself(void *arg, int64_t due_ns)
{
    (void)due_ns;
    struct diary *diary = arg;

    diary->extra = vitro_service_pause(diary->service, 0, NULL);
    diary->fail = vitro_service_shutdown(diary->service, 0, NULL);
    return 0;
}

TEST(work_cannot_wait_for_itself)
{
    struct vitro_clock *clock = vitro_clock_paused(NULL);
    struct diary diary = {.cron = "@yearly"};
    vitro_service *service = started((struct vitro_service_options){
        .clock = clock, .run = keeps_diary, .arg = &diary, .no_listener = 1});

    CHECK_OK(vitro_service_cron(service, "x", "@daily", NULL, NULL, pauses_itself, &diary, &error),
             error);
    CHECK_TRUE(vitro_clock_advance(clock, DAY, &error) > 0);
    CHECK_INT(diary.extra, -EDEADLK);
    CHECK_INT(diary.fail, -EDEADLK);
    vitro_service_free(service);
    vitro_clock_free(clock);
}

TEST(what_does_not_end_is_named_with_what_it_does_and_may_end_later)
{
    struct vitro_clock *clock = vitro_clock_paused(NULL);
    sem_t entered, leave;
    struct diary diary = {.cron = "@daily", .entered = &entered, .leave = &leave};

    (void)sem_init(&entered, 0, 0);
    (void)sem_init(&leave, 0, 0);
    vitro_service *service = started((struct vitro_service_options){
        .name = "diary", .clock = clock, .run = keeps_diary, .arg = &diary, .no_listener = 1});
    CHECK_TRUE(vitro_clock_advance(clock, DAY, &error) > 0);
    (void)sem_wait(&entered);
    CHECK_INT(vitro_service_pause(service, 1000000, &error), -ETIMEDOUT);
    CHECK_TEXT(error.text, "pause 'diary': after 0.001 s of real time these are still at work: "
                           "crons, job 'a'");
    CHECK_INT(vitro_service_shutdown(service, 1000000, &error), -ETIMEDOUT);
    CHECK_TEXT(error.text, "shut down 'diary': after 0.001 s of real time these have not ended: "
                           "crons, job 'a'");
    (void)sem_post(&leave);
    CHECK_OK(vitro_service_shutdown(service, 0, &error), error);
    vitro_service_free(service);
    buf_done(&diary.text);
    vitro_clock_free(clock);
    (void)sem_destroy(&entered);
    (void)sem_destroy(&leave);
}

/* ---- reloading */

static int reload(vitro_service *self, void *arg)
{
    struct diary *diary = arg;

    if (diary->extra)
        return -EINVAL;
    return vitro_service_cron(self, "a", "@hourly", NULL, NULL, write_b, arg, NULL);
}

TEST(a_reload_happens_between_jobs_and_a_job_it_replaces_does_not_run_again)
{
    struct vitro_clock *clock = vitro_clock_paused(NULL);
    struct diary diary = {.cron = "@daily"};
    vitro_service *service = started((struct vitro_service_options){.name = "diary",
                                                                    .clock = clock,
                                                                    .run = keeps_diary,
                                                                    .reload = reload,
                                                                    .arg = &diary,
                                                                    .no_listener = 1});

    CHECK_OK(vitro_service_pause(service, 0, &error), error);
    CHECK_TRUE(vitro_clock_advance(clock, DAY, &error) > 0); /* due, and held */
    CHECK_OK(vitro_service_reload(service, &error), error);
    check_events(vitro_service_log(service), "cron", ""); /* held before: held still */
    vitro_service_release(service);
    CHECK_TRUE(vitro_clock_advance(clock, 2 * HOUR, &error) > 0);
    CHECK_TEXT(buf_text(&diary.text), "b\nb\n");
    diary.extra = 1;
    CHECK_INT(vitro_service_reload(service, &error), -EINVAL);
    CHECK_TEXT(error.text, "reload 'diary': Invalid argument");
    CHECK_TRUE(vitro_clock_advance(clock, HOUR, &error) > 0); /* released all the same */
    CHECK_TEXT(buf_text(&diary.text), "b\nb\nb\n");
    check_events(vitro_service_log(service), "service", "ready reloaded failed ");
    vitro_service_free(service);
    service = started((struct vitro_service_options){.run = echo});
    CHECK_INT(vitro_service_reload(service, &error), -ENOTSUP);
    vitro_service_free(service);
    buf_done(&diary.text);
    vitro_clock_free(clock);
}

/* ---- pumps */

struct mailer {
    const char *consumer;
    struct buf text;
    int late; /* a pump that comes too late gave this */
};

static int send_mail(void *arg, const struct vitro_log_event *event)
{
    struct mailer *mailer = arg;

    (void)vitro_clock_sleep(NULL, SECOND); /* a second each */
    buf_addf(&mailer->text, "%llu=%s ", (unsigned long long)event->id, event->kind);
    return strcmp(event->kind, "bad") == 0 ? -EIO : 0;
}

static int run_mailer(vitro_service *self, void *arg)
{
    struct mailer *mailer = arg;
    int r = vitro_service_pump(self, "orders", mailer->consumer, send_mail, arg, &error);

    if (r < 0)
        return r;
    vitro_service_ready(self);
    mailer->late = vitro_service_pump(self, "orders", NULL, send_mail, arg, &error);
    return 0;
}

static void order(vitro_eventlog *log, const char *kind)
{
    CHECK_TRUE(vitro_eventlog_append(log, "orders", kind, NULL, 0, NULL) > 0);
}

TEST(a_pump_handles_each_event_in_virtual_time_and_goes_on_after_a_restart)
{
    struct vitro_clock *clock = vitro_clock_paused(NULL);
    vitro_eventlog *log = vitro_eventlog_memory();
    struct mailer mailer = {.consumer = "mailer"};
    struct vitro_service_options options = {.name = "mailer",
                                            .clock = clock,
                                            .log = log,
                                            .run = run_mailer,
                                            .arg = &mailer,
                                            .no_listener = 1};

    order(log, "one");
    order(log, "bad");
    vitro_service *service = started(options);
    CHECK_INT(vitro_clock_advance(clock, 3 * SECOND / 2, &error), 1);
    CHECK_TEXT(buf_text(&mailer.text), "1=one ");
    CHECK_INT(vitro_clock_advance(clock, SECOND, &error), 1);
    CHECK_TEXT(buf_text(&mailer.text), "1=one 2=bad ");
    check_events(log, "service", "ready failed ");
    CHECK_TEXT(last_text(log, "service"), "pump 'orders', event 2, 'bad': -5 (Input/output error)");
    CHECK_OK(vitro_service_pause(service, 0, &error), error);
    order(log, "held");
    CHECK_INT(vitro_clock_advance(clock, 9 * SECOND, &error), 0);
    CHECK_OK(vitro_service_shutdown(service, 0, &error), error); /* not handled, not acked */
    CHECK_INT(mailer.late, -EBUSY);
    CHECK_HAS(error.text, "after vitro_service_ready\nhint: pumps come first");
    vitro_service_free(service);
    CHECK_INT(vitro_eventlog_cursor(log, "orders", "mailer"), 2);
    service = started(options);
    CHECK_INT(vitro_clock_advance(clock, 2 * SECOND, &error), 1);
    CHECK_TEXT(buf_text(&mailer.text), "1=one 2=bad 3=held ");
    vitro_service_free(service);
    buf_done(&mailer.text);
    vitro_eventlog_free(log);
    vitro_clock_free(clock);
}

TEST(pumps_that_cannot_be_are_refused)
{
    vitro_service *service = started((struct vitro_service_options){.run = echo});

    CHECK_INT(vitro_service_pump(service, "a b", NULL, send_mail, NULL, &error), -EINVAL);
    CHECK_HAS(error.text, "topic 'a b'");
    CHECK_INT(vitro_service_pump(service, "a", "", send_mail, NULL, &error), -EINVAL);
    CHECK_HAS(error.text, "no consumer");
    CHECK_INT(vitro_service_pump(service, "a", NULL, NULL, NULL, &error), -EINVAL);
    vitro_service_free(service);
}

/* ---- many */

static int life(void *arg)
{
    struct vitro_clock *clock = vitro_clock_paused(NULL);
    struct vitro_clock_error own = {0};
    int wrong = 0;

    (void)arg;
    for (int i = 0; i < 20; i++) {
        struct diary diary = {.cron = "@daily"};
        vitro_service *service = vitro_service_start(
            &(struct vitro_service_options){.clock = clock, .run = keeps_diary, .arg = &diary},
            &own);
        wrong += vitro_clock_advance(clock, 3 * DAY, &own) < 3;
        wrong += vitro_eventlog_latest(vitro_service_log(service), "cron") != 3;
        vitro_service_stop(service);
        wrong += vitro_service_shutdown(service, 0, &own) != 0;
        vitro_service_free(service);
        buf_done(&diary.text);
    }
    vitro_clock_free(clock);
    return wrong;
}

TEST(services_of_eight_threads_do_not_see_each_other)
{
    vitro_worker *workers[8];

    for (int i = 0; i < 8; i++)
        workers[i] = vitro_worker_start(NULL, life, NULL);
    for (int i = 0; i < 8; i++)
        CHECK_INT(vitro_worker_join(workers[i]), 0);
}
