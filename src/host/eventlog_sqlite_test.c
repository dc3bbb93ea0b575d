/* SPDX-License-Identifier: MIT */
/* Event logs in databases: there again, exclusive, cut, somebody else's. */
#include "base/tool.h"
#include "lib/check.h"
#include "vitro/clock.h"
#include "vitro/eventlog.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static struct vitro_event_error error;

static int64_t say(vitro_eventlog *log, const char *kind)
{
    return vitro_eventlog_append(log, "jobs", kind, kind, strlen(kind), &error);
}

static vitro_eventlog *opened(const char *path)
{
    vitro_eventlog *log = vitro_eventlog_open_sqlite(path, NULL, &error);

    if (!log && error.code == -ENOPKG)
        SKIP(error.text);
    if (!log)
        check_fail(__FILE__, __LINE__, "%s", error.text);
    return log;
}

static void check_read(vitro_eventlog *log, const char *wanted)
{
    CLEANUP(buf_done) struct buf text = {0};
    struct vitro_event_list list;

    CHECK_TRUE(vitro_eventlog_read(log, "jobs", 0, 0, &list, &error) >= 0);
    for (size_t i = 0; i < list.count; i++) {
        CHECK_TEXT(list.events[i].data, list.events[i].kind);
        buf_addf(&text, "%llu=%s ", (unsigned long long)list.events[i].id, list.events[i].kind);
    }
    vitro_event_list_done(&list);
    CHECK_TEXT(buf_text(&text), wanted);
}

/* What the sqlite3 program says. */
static void sql(const char *path, const char *text, struct buf *ret)
{
    const char *const argv[] = {"sqlite3", path, text, NULL};
    int status = 0;

    if (tool_run(argv, NULL, ret, &status) < 0)
        SKIP("sqlite3 is not installed (tools/deps test)");
    CHECK_INT(status, 0);
}

TEST(a_log_in_a_database_is_there_again)
{
    const char *path = tmp_path("log.db");
    vitro_eventlog *log = opened(path);
    struct vitro_log_event event;

    CHECK_INT(say(log, "a"), 1);
    CHECK_INT(say(log, "b"), 2);
    CHECK_INT(vitro_eventlog_append(log, "other", "x", "\0\xff", 2, &error), 1);
    CHECK_INT(vitro_eventlog_append(log, "other", "empty", NULL, 0, &error), 2);
    CHECK_INT(vitro_eventlog_ack(log, "jobs", "mailer", 1, &error), 1);
    CHECK_INT(vitro_eventlog_ack(log, "jobs", "mailer", 2, &error), 1);
    vitro_eventlog_free(log);
    log = opened(path);
    check_read(log, "1=a 2=b ");
    CHECK_INT(vitro_eventlog_cursor(log, "jobs", "mailer"), 2);
    CHECK_INT(vitro_eventlog_dropped(log), 0);
    vitro_events *events = vitro_events_subscribe(log, "other", 0, NULL, &error);
    CHECK_INT(vitro_events_receive(events, "bytes", &event, &error), 1);
    CHECK_TRUE(event.length == 2 && memcmp(event.data, "\0\xff", 3) == 0);
    CHECK_INT(vitro_events_receive(events, "none", &event, &error), 1);
    CHECK_INT(event.length, 0);
    CHECK_INT(say(log, "c"), 3);
    vitro_events_free(events);
    vitro_eventlog_free(log);
}

TEST(compaction_forgets_the_front_and_keeps_ids)
{
    const char *path = tmp_path("compacted.db");
    vitro_eventlog *log = opened(path);

    for (const char *kind = "a\0b\0c\0"; *kind; kind += 2)
        (void)say(log, kind);
    CHECK_INT(vitro_eventlog_compact(log, "jobs", 3, &error), 2);
    vitro_eventlog_free(log);
    log = opened(path);
    check_read(log, "3=c ");
    CHECK_INT(vitro_eventlog_compact(log, "jobs", 99, &error), 1);
    vitro_eventlog_free(log);
    log = opened(path);
    check_read(log, "");
    CHECK_INT(vitro_eventlog_latest(log, "jobs"), 3);
    CHECK_INT(say(log, "d"), 4);
    vitro_eventlog_free(log);
}

TEST(one_process_at_a_time_holds_it_and_one_log_in_a_process)
{
    const char *path = tmp_path("busy.db");
    vitro_eventlog *log = opened(path);

    CHECK_TRUE(!vitro_eventlog_open_sqlite(path, NULL, &error));
    CHECK_INT(error.code, -EBUSY);
    CHECK_HAS(error.text, "busy.db': it is open elsewhere");
    pid_t pid = fork();
    if (pid == 0)
        _exit(vitro_eventlog_open_sqlite(path, NULL, &error) || error.code != -EBUSY);
    int status;
    CHECK_INT(waitpid(pid, &status, 0), pid);
    CHECK_INT(status, 0);
    CHECK_INT(say(log, "a"), 1); /* and the lock is still held, and works */
    CHECK_TRUE(!vitro_eventlog_open_sqlite(path, NULL, &error));
    vitro_eventlog_free(log);
}

/* A process that ends by whatever means, with three events and an ack behind it. */
static void make_and_die(const char *path)
{
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        vitro_eventlog *log = opened(path);
        (void)say(log, "a");
        (void)say(log, "bb");
        (void)vitro_eventlog_ack(log, "jobs", "me", 1, &error);
        (void)say(log, "ccc");
        (void)kill(getpid(), SIGKILL);
    }
    CHECK_INT(waitpid(pid, &status, 0), pid);
    CHECK_TRUE(WIFSIGNALED(status));
}

static void copy(const char *from, const char *to, size_t length, struct buf *whole)
{
    buf_clear(whole);
    CHECK_INT(file_read(from, 1 << 22, whole, NULL), 0);
    int fd = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    CHECK_INT(fd_write_full(fd, whole->data, length < whole->length ? length : whole->length), 0);
    (void)fd_close(fd);
}

TEST(an_append_survives_the_end_of_the_process_by_whatever_means)
{
    const char *path = tmp_path("killed.db");

    vitro_eventlog_free(opened(tmp_path("probe.db"))); /* skips where there is no SQLite */
    make_and_die(path);
    vitro_eventlog *log = opened(path);
    check_read(log, "1=a 2=bb 3=ccc ");
    CHECK_INT(vitro_eventlog_cursor(log, "jobs", "me"), 1);
    vitro_eventlog_free(log);
}

TEST(a_journal_cut_anywhere_gives_what_was_whole_and_goes_on_from_there)
{
    CLEANUP(buf_done) struct buf base = {0}, journal = {0};
    static const char *const wanted[] = {"", "1=a ", "1=a 2=bb ", "1=a 2=bb 3=ccc "};
    char from[512], to[512];
    const char *path = tmp_path("whole.db"), *cut = tmp_path("cut.db");
    int64_t last = 0;

    vitro_eventlog_free(opened(tmp_path("probe.db")));
    make_and_die(path);
    (void)snprintf(from, sizeof from, "%s-wal", path);
    (void)snprintf(to, sizeof to, "%s-wal", cut);
    CHECK_INT(file_read(from, 1 << 22, &journal, NULL), 0);
    size_t size = journal.length;
    CHECK_TRUE(size > 4096);
    for (size_t length = 0; length <= size;
         length += length + 331 > size && length < size ? size - length : 331) {
        copy(path, cut, SIZE_MAX, &base);
        copy(from, to, length, &journal);
        vitro_eventlog *log = vitro_eventlog_open_sqlite(cut, NULL, &error);
        if (!log)
            check_fail(__FILE__, __LINE__, "cut at %zu: %s", length, error.text);
        int64_t latest = vitro_eventlog_latest(log, "jobs");
        CHECK_TRUE(latest >= last && latest <= 3);
        last = latest;
        check_read(log, wanted[latest]);
        CHECK_INT(say(log, "next"), latest + 1);
        vitro_eventlog_free(log);
        (void)unlink(cut);
        (void)unlink(to);
    }
    CHECK_INT(last, 3);
}

TEST(a_database_cut_anywhere_is_refused)
{
    CLEANUP(buf_done) struct buf whole = {0};
    const char *path = tmp_path("closed.db"), *cut = tmp_path("short.db");
    vitro_eventlog *log = opened(path);
    char big[3000];

    memset(big, 'x', sizeof big);
    for (int i = 0; i < 20; i++)
        CHECK_INT(vitro_eventlog_append(log, "jobs", "big", big, sizeof big, &error), i + 1);
    vitro_eventlog_free(log);
    CHECK_INT(file_read(path, 1 << 22, &whole, NULL), 0);
    size_t size = whole.length;
    CHECK_TRUE(size > 60000);
    for (size_t length = 1; length < size; length += length < 600 ? 1 : 509) {
        copy(path, cut, length, &whole);
        log = vitro_eventlog_open_sqlite(cut, NULL, &error);
        if (log)
            check_fail(__FILE__, __LINE__, "cut at %zu of %zu was taken", length, size);
        CHECK_INT(error.code, -EBADMSG);
        (void)unlink(cut);
    }
}

TEST(databases_of_others_and_files_that_are_none_are_refused_and_left_alone)
{
    CLEANUP(buf_done) struct buf said = {0}, before = {0}, after = {0};
    const char *path = tmp_path("other.db");

    vitro_eventlog_free(opened(tmp_path("probe.db")));
    sql(path, "CREATE TABLE mine (a); INSERT INTO mine VALUES (1)", &said);
    CHECK_INT(file_read(path, 1 << 20, &before, NULL), 0);
    CHECK_TRUE(!vitro_eventlog_open_sqlite(path, NULL, &error));
    CHECK_INT(error.code, -EBADMSG);
    CHECK_HAS(error.text, "other.db': not an event log of version 1");
    CHECK_INT(file_read(path, 1 << 20, &after, NULL), 0);
    CHECK_TRUE(before.length == after.length && memcmp(before.data, after.data, after.length) == 0);
    path = tmp_file("letter.txt", "Dear Sir or Madam, this is a letter, and a long one, too. It "
                                  "goes on and on, and it never says anything at all of interest.");
    CHECK_TRUE(!vitro_eventlog_open_sqlite(path, NULL, &error));
    CHECK_HAS(error.text, "letter.txt': not an event log");
    CHECK_TRUE(!vitro_eventlog_open_sqlite("/nonexistent/log.db", NULL, &error));
    CHECK_INT(error.code, -ENOENT);
    CHECK_HAS(error.text, "open event log '/nonexistent/log.db'");
    CHECK_TRUE(!vitro_eventlog_open_sqlite("", NULL, &error));
}

TEST(rows_that_make_no_sense_are_refused_by_their_place)
{
    static const struct {
        const char *sql, *words;
    } rows[] = {
        {"DELETE FROM events WHERE id = 2", "does not follow the one before, 3 of topic 'jobs'"},
        {"UPDATE events SET topic = 'a b'", "a row that makes no sense, 1 of topic 'a b'"},
        {"UPDATE events SET kind = '' WHERE id = 2", "a row that makes no sense, 2 of"},
        {"UPDATE acks SET id = 9", "an ack of what was not there, 9 of topic 'jobs'"},
        {"INSERT INTO starts VALUES ('jobs', -4)", "a start behind events"},
        {"PRAGMA user_version = 2", "not an event log of version 1"},
        {"DROP TABLE acks", "no such table: acks"},
    };

    vitro_eventlog_free(opened(tmp_path("probe.db")));
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        CLEANUP(buf_done) struct buf said = {0};
        char name[32];
        (void)snprintf(name, sizeof name, "row%zu.db", i);
        const char *path = tmp_path(name);
        vitro_eventlog *log = opened(path);
        for (const char *kind = "a\0b\0c\0"; *kind; kind += 2)
            (void)say(log, kind);
        (void)vitro_eventlog_ack(log, "jobs", "me", 1, &error);
        vitro_eventlog_free(log);
        sql(path, rows[i].sql, &said);
        CHECK_TRUE(!vitro_eventlog_open_sqlite(path, NULL, &error));
        CHECK_HAS(error.text, rows[i].words);
    }
}

TEST(others_can_ask_it_when_it_is_closed)
{
    CLEANUP(buf_done) struct buf said = {0};
    const char *path = tmp_path("asked.db");
    vitro_eventlog *log =
        vitro_eventlog_open_sqlite(path, &(struct vitro_eventlog_options){.sync = 1}, &error);

    if (!log)
        SKIP(error.text);
    (void)say(log, "a");
    (void)say(log, "b");
    vitro_eventlog_free(log);
    sql(path, "SELECT topic, id, kind, data FROM events", &said);
    CHECK_TEXT(buf_text(&said), "jobs|1|a|a\njobs|2|b|b\n");
}

TEST(a_write_that_fails_is_named_and_the_event_is_not_there)
{
    const char *path = tmp_path("full.db");
    int status;

    vitro_eventlog_free(opened(tmp_path("probe.db")));
    pid_t pid = fork(); /* limits are for a whole process */
    if (pid == 0) {
        vitro_eventlog *log = opened(path);
        CLEANUP(mem_free) char *big = mem_alloc(1 << 20);
        struct rlimit limit = {.rlim_cur = 1 << 18, .rlim_max = 1 << 18};
        (void)signal(SIGXFSZ, SIG_IGN);
        (void)say(log, "a");
        (void)setrlimit(RLIMIT_FSIZE, &limit);
        int64_t r = vitro_eventlog_append(log, "jobs", "big", big, 1 << 20, &error);
        bool named = strstr(error.text, "write event log") && strstr(error.text, "full.db");
        _exit(r < 0 && named && vitro_eventlog_latest(log, "jobs") == 1 ? 0 : 1);
    }
    CHECK_INT(waitpid(pid, &status, 0), pid);
    CHECK_INT(status, 0);
    vitro_eventlog *log = opened(path);
    check_read(log, "1=a ");
    CHECK_INT(say(log, "b"), 2);
    vitro_eventlog_free(log);
}

static int append_many(void *arg)
{
    for (int i = 0; i < 200; i++)
        if (vitro_eventlog_append(arg, "jobs", "x", "x", 1, NULL) < 0)
            return -1;
    return 0;
}

TEST(many_threads_append)
{
    const char *path = tmp_path("many.db");
    vitro_eventlog *log = opened(path);
    vitro_worker *workers[4];

    for (int i = 0; i < 4; i++)
        workers[i] = vitro_worker_start(NULL, append_many, log);
    for (int i = 0; i < 4; i++)
        CHECK_INT(vitro_worker_join(workers[i]), 0);
    vitro_eventlog_free(log);
    log = opened(path);
    CHECK_INT(vitro_eventlog_latest(log, "jobs"), 800);
    vitro_eventlog_free(log);
}
