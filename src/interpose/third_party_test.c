/* SPDX-License-Identifier: MIT */
/* Libraries that know nothing of us, unchanged, under a bench. */
#include "lib/check.h"
#include "vitro/bench.h"
#include <arpa/inet.h>
#include <curl/curl.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static struct vitro_bench_error error;

static vitro_bench *paused(void)
{
    return vitro_bench_activate((&(struct vitro_bench_options){.clock = "2026-01-01T00:00:00Z"}),
                                &error);
}

/* ---- SQLite */

static char *ask(sqlite3 *db, const char *sql)
{
    static char answer[100];
    sqlite3_stmt *statement;

    answer[0] = '\0';
    CHECK_INT(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
    if (sqlite3_step(statement) == SQLITE_ROW)
        (void)snprintf(answer, sizeof answer, "%s",
                       (const char *)sqlite3_column_text(statement, 0));
    sqlite3_finalize(statement);
    return answer;
}

TEST(sqlite_takes_now_from_the_bench)
{
    VITRO_BENCH bench = paused();
    sqlite3 *db;

    CHECK_INT(sqlite3_open(":memory:", &db), SQLITE_OK);
    CHECK_TEXT(ask(db, "select datetime('now')"), "2026-01-01 00:00:00");
    (void)sleep(86400 + 3600);
    CHECK_TEXT(ask(db, "select datetime('now')"), "2026-01-02 01:00:00");
    CHECK_INT(sqlite3_sleep(60000), 60000);
    CHECK_TEXT(ask(db, "select datetime('now')"), "2026-01-02 01:01:00");
    sqlite3_close(db);
}

/* A database that somebody else has locked: SQLite's busy handler sleeps again and again. */
TEST(sqlite_gives_up_on_a_locked_database_after_its_own_timeout)
{
    VITRO_BENCH bench = paused();
    const char *path = tmp_path("locked.db");
    sqlite3 *one, *two;

    CHECK_INT(sqlite3_open(path, &one), SQLITE_OK);
    CHECK_INT(sqlite3_open(path, &two), SQLITE_OK);
    CHECK_INT(sqlite3_exec(one, "create table t(x); begin exclusive", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_busy_timeout(two, 600000);
    CHECK_INT(sqlite3_exec(two, "insert into t values(1)", NULL, NULL, NULL), SQLITE_BUSY);
    CHECK_TRUE(time(NULL) >= 1767225600 + 590 && time(NULL) <= 1767225600 + 610);
    sqlite3_close(two);
    sqlite3_close(one);
}

/* ---- libcurl, against a server in a thread of the same process */

static int listening(char url[64])
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t length = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK_INT(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    CHECK_INT(listen(fd, 8), 0);
    CHECK_INT(getsockname(fd, (struct sockaddr *)&address, &length), 0);
    (void)snprintf(url, 64, "http://127.0.0.1:%d/", ntohs(address.sin_port));
    return fd;
}

static size_t swallow(char *bytes, size_t size, size_t count, void *arg)
{
    (void)bytes;
    (void)arg;
    return size * count;
}

static CURL *client(const char *url, long timeout_s)
{
    CURL *curl = curl_easy_init();

    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT, timeout_s);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, swallow);
    curl_easy_setopt(curl, CURLOPT_PROXY, "");
    return curl;
}

TEST(libcurl_times_out_in_virtual_time)
{
    VITRO_BENCH bench = paused();
    char url[64];
    int server = listening(url); /* accepts connections, and says nothing */
    CURL *curl = client(url, 3600);

    CHECK_INT(curl_easy_perform(curl), CURLE_OPERATION_TIMEDOUT);
    CHECK_INT(time(NULL), 1767225600 + 3600);
    curl_easy_cleanup(curl);
    (void)close(server);
}

static void *serve(void *arg)
{
    static const char *const answers[] = {
        "HTTP/1.1 503 Busy\r\nRetry-After: 7200\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
        "HTTP/1.1 503 Busy\r\nRetry-After: 600\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"};
    char request[4096];

    for (int i = 0; i < 3; i++) {
        int fd = accept(*(int *)arg, NULL, NULL);
        (void)!read(fd, request, sizeof request);
        (void)sleep(2); /* it takes its time */
        (void)!write(fd, answers[i], strlen(answers[i]));
        (void)close(fd);
    }
    return NULL;
}

TEST(libcurl_waits_as_long_as_it_was_told_to_before_it_tries_again)
{
    VITRO_BENCH bench = paused();
    char url[64];
    int server = listening(url), tries = 0;
    long status = 0;
    pthread_t thread;
    CURLM *multi = curl_multi_init();

    CHECK_INT(pthread_create(&thread, NULL, serve, &server), 0);
    while (status != 200 && tries++ < 5) {
        CURL *curl = client(url, 60);
        curl_off_t delay = 0;
        CHECK_INT(curl_easy_perform(curl), CURLE_OK);
        curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
        curl_easy_getinfo(curl, CURLINFO_RETRY_AFTER, &delay);
        if (status == 503)
            CHECK_INT(curl_multi_poll(multi, NULL, 0, (int)delay * 1000, NULL), CURLM_OK);
        curl_easy_cleanup(curl);
    }
    CHECK_INT(tries, 3);
    CHECK_INT(time(NULL), 1767225600 + 7200 + 600 + 3 * 2);
    CHECK_INT(pthread_join(thread, NULL), 0);
    curl_multi_cleanup(multi);
    (void)close(server);
}

/* ---- a leak in a shared library */

int64_t planted_cost(void); /* of libplanted.so */
int64_t planted_stamp(void);

TEST(a_leak_in_a_shared_library_is_named_with_its_caller)
{
    vitro_bench *bench = paused();
    struct vitro_bench_findings found;

    CHECK_INT(planted_stamp(), INT64_C(1767225600000000000));
    CHECK_TRUE(planted_cost() > 0);
    CHECK_TRUE(planted_cost() > 0);
    CHECK_INT(vitro_bench_finalize(bench, &found, &error), -EUCLEAN);
    CHECK_TEXT(error.text, "bench: leak clock/cpu 2 from planted_cost (libplanted.so)\n");
    CHECK_INT(found.leak_count, 1);
    CHECK_TEXT(found.leaks[0].callers, "planted_cost (libplanted.so)");
    vitro_bench_findings_done(&found);
}
