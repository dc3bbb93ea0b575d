/* SPDX-License-Identifier: MIT */
/* The bench as a handle: axes, order, nesting, misuse, and many at once. */
#include "lib/check.h"
#include "vitro/bench.h"
#include "vitro/tape.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct vitro_bench_error error;

static int reach(int type, const char *host, int to_port)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)to_port)};
    int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);

    (void)inet_pton(AF_INET, host, &to.sin_addr);
    int r = connect(fd, (struct sockaddr *)&to, sizeof to) < 0 ? errno : 0;
    (void)close(fd);
    return r;
}

/* Nobody accepts: datagrams where many connect. */
static int listening(int *ret_port)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t length = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK_INT(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    CHECK_INT(listen(fd, 64), 0);
    CHECK_INT(getsockname(fd, (struct sockaddr *)&address, &length), 0);
    *ret_port = ntohs(address.sin_port);
    return fd;
}

/* ---- the four acceptance tests of the first seed, from eight threads at once. No cmocka in there:
 * its failures jump. Each is NULL, or what does not hold. */

enum { THREADS = 8, ROUNDS = 50 };
static int port;
static pthread_barrier_t together;

#define HOLDS(expression)                                                                          \
    do {                                                                                           \
        if (!(expression))                                                                         \
            return #expression;                                                                    \
    } while (0)

static const char *a_paused_clock_reads_what_it_was_set_to(void)
{
    vitro_bench *bench = vitro_bench_activate(
        &(struct vitro_bench_options){.clock = "1700000000000", .seed = 3}, NULL);
    struct timespec at;

    HOLDS(bench && vitro_is_mocked());
    HOLDS(clock_gettime(CLOCK_REALTIME, &at) == 0 && at.tv_sec == 1700000000 && at.tv_nsec == 0);
    HOLDS(vitro_clock_now(NULL) == INT64_C(1700000000000000000));
    HOLDS(vitro_clock_advance(NULL, INT64_C(60000000000), NULL) == 0);
    HOLDS(time(NULL) == 1700000060);
    HOLDS(sleep(1) == 0 && time(NULL) == 1700000061);
    vitro_bench_drop(bench);
    HOLDS(!vitro_is_mocked() && time(NULL) > 1767225600);
    return NULL;
}

static const char *the_network_is_denied_while_active_and_real_after(void)
{
    vitro_bench *bench = vitro_bench_activate((&(struct vitro_bench_options){.net = "deny"}), NULL);
    struct vitro_bench_findings found;
    char wanted[80];

    HOLDS(bench);
    HOLDS(reach(SOCK_DGRAM, "127.0.0.1", port) == EACCES);
    HOLDS(getenv("HARN_EGRESS_DEFAULT") == NULL);
    HOLDS(vitro_bench_finalize(bench, &found, NULL) == 0);
    (void)snprintf(wanted, sizeof wanted, "connect 127.0.0.1:%d: no allow rule matched\n", port);
    HOLDS(strcmp(found.denied, wanted) == 0 && found.denied_count == 1);
    vitro_bench_findings_done(&found);
    HOLDS(reach(SOCK_DGRAM, "127.0.0.1", port) == 0);
    return NULL;
}

static const char *contrived_leaks_are_counted_and_the_next_session_has_none(void)
{
    struct vitro_bench_options options = {.clock = "2026-01-01"};
    struct vitro_bench_findings found;
    vitro_bench *bench = vitro_bench_activate(&options, NULL);

    HOLDS(vitro_leak_now("contrived/wall") > INT64_C(1767225600000000000));
    (void)vitro_leak_now("contrived/wall");
    (void)vitro_leak_monotonic("contrived/instant");
    HOLDS(vitro_bench_finalize(bench, &found, NULL) == -EUCLEAN);
    HOLDS(found.leak_count == 2);
    HOLDS(strcmp(found.leaks[0].capability, "contrived/wall") == 0 && found.leaks[0].count == 2);
    HOLDS(strcmp(found.leaks[1].capability, "contrived/instant") == 0 && found.leaks[1].count == 1);
    vitro_bench_findings_done(&found);
    bench = vitro_bench_activate(&options, NULL);
    HOLDS(vitro_bench_finalize(bench, &found, NULL) == 0 && found.leak_count == 0);
    vitro_bench_findings_done(&found);
    return NULL;
}

static const char *leak_helpers_count_nothing_without_a_mock(void)
{
    struct vitro_bench_findings found;

    (void)vitro_leak_now("contrived/wall");
    vitro_bench *bench = vitro_bench_activate(NULL, NULL);
    (void)vitro_leak_now("contrived/wall");
    (void)clock();
    HOLDS(vitro_bench_finalize(bench, &found, NULL) == 0 && found.leak_count == 0);
    vitro_bench_findings_done(&found);
    return NULL;
}

static void *acceptance(void *arg)
{
    static const char *(*const tests[])(void) = {
        a_paused_clock_reads_what_it_was_set_to, the_network_is_denied_while_active_and_real_after,
        contrived_leaks_are_counted_and_the_next_session_has_none,
        leak_helpers_count_nothing_without_a_mock};
    const char *wrong = NULL;

    (void)pthread_barrier_wait(&together);
    for (int i = 0; !wrong && i < ROUNDS * 4; i++)
        wrong = tests[(i + (int)(intptr_t)arg) % 4]();
    return (void *)wrong;
}

TEST(the_four_acceptance_tests_pass_from_eight_threads_at_once)
{
    pthread_t threads[THREADS];
    int server = listening(&port);

    CHECK_INT(pthread_barrier_init(&together, NULL, THREADS), 0);
    for (intptr_t i = 0; i < THREADS; i++)
        CHECK_INT(pthread_create(&threads[i], NULL, acceptance, (void *)i), 0);
    for (int i = 0; i < THREADS; i++) {
        void *wrong;
        CHECK_INT(pthread_join(threads[i], &wrong), 0);
        if (wrong)
            check_fail(__FILE__, __LINE__, "does not hold: %s", (const char *)wrong);
    }
    (void)pthread_barrier_destroy(&together);
    (void)close(server);
}

/* ---- eight benches with threads of their own */

static void *add_ticks(void *arg)
{
    for (int i = 0; i < 24; i++) {
        (void)sleep(3600);
        (*(int *)arg)++;
    }
    return NULL;
}

static void *a_day(void *arg)
{
    long offset = (long)(intptr_t)arg;
    char when[32];
    int ticks = 0;
    pthread_t thread;

    (void)snprintf(when, sizeof when, "@%ld", 1767225600 + offset);
    vitro_bench *bench = vitro_bench_activate((&(struct vitro_bench_options){.clock = when}), NULL);
    (void)pthread_create(&thread, NULL, add_ticks, &ticks);
    (void)sleep(86400 + 1);
    long at = (long)time(NULL);
    (void)pthread_join(thread, NULL);
    vitro_bench_drop(bench);
    return (void *)(intptr_t)(ticks == 24 && at == 1767225600 + offset + 86401);
}

TEST(eight_benches_with_threads_of_their_own_do_not_see_each_other)
{
    pthread_t threads[THREADS];
    void *right;

    for (intptr_t i = 0; i < THREADS; i++)
        CHECK_INT(pthread_create(&threads[i], NULL, a_day, (void *)(i * 1000)), 0);
    for (int i = 0; i < THREADS; i++) {
        CHECK_INT(pthread_join(threads[i], &right), 0);
        CHECK_TRUE(right);
    }
}

/* ---- options */

TEST(a_bench_of_zeros_changes_nothing)
{
    vitro_bench *bench = vitro_bench_activate((&(struct vitro_bench_options){0}), &error);
    struct vitro_bench_findings found;
    char bytes[8];

    CHECK_TRUE(bench != NULL);
    CHECK_TRUE(!vitro_is_mocked());
    CHECK_TRUE(time(NULL) > 1767225600);
    CHECK_INT(getpid(), getpid());
    CHECK_INT(getentropy(bytes, sizeof bytes), 0);
    CHECK_TRUE(vitro_bench_overlay(bench) == NULL && vitro_bench_cassette(bench) == NULL);
    CHECK_TEXT(vitro_bench_proc_mode(bench), "real");
    CHECK_OK(vitro_bench_finalize(bench, &found, &error), error);
    CHECK_INT(found.leak_count, 0);
    CHECK_TEXT(found.diff, "");
    CHECK_TRUE(found.tape == NULL);
    vitro_bench_findings_done(&found);
}

TEST(an_audit_of_everything_counts_what_is_real)
{
    vitro_bench *bench = vitro_bench_activate(
        (&(struct vitro_bench_options){.clock = "2026-01-01", .audit_real = 1}), &error);
    struct vitro_bench_findings found;
    char bytes[8];

    (void)getpid();
    (void)getentropy(bytes, sizeof bytes);
    (void)getenv("HOME");
    (void)time(NULL);
    CHECK_INT(vitro_bench_finalize(bench, &found, &error), -EUCLEAN);
    CHECK_INT(found.leak_count, 3);
    CHECK_TEXT(found.leaks[0].capability, "identity/getpid");
    CHECK_TEXT(found.leaks[1].capability, "random/getentropy");
    CHECK_TEXT(found.leaks[2].capability, "env/getenv");
    vitro_bench_findings_done(&found);
}

TEST(options_that_cannot_be_are_refused_by_name)
{
    static const char *const bad_rule[] = {"example.org:http", NULL};
    static const char *const bad_env[] = {"NAME", NULL};
    static const struct {
        struct vitro_bench_options options;
        int code;
        const char *text;
    } cases[] = {
        {{.llm = "fixture.json"}, -ENOSYS, "bench llm: this axis is not built"},
        {{.clock = "yesterday"}, -EINVAL, "bench clock: "},
        {{.clock = "2026-01-01,fast"}, -EINVAL, "bench clock: 'fast' is not 'manual'"},
        {{.proc_replay = "no-such.tape"}, -ENOENT, "bench subprocess: "},
        {{.proc_replay = "a", .proc_record = "b"}, -EINVAL, "bench subprocess: one of"},
        {{.proc_wasi = "no-such-dir"}, -ENOENT, "bench subprocess: 'no-such-dir' is not"},
        {{.fs = "no-such-dir"}, -ENOENT, "bench fs: worktree 'no-such-dir': No such file"},
        {{.net = "allow"}, -EINVAL, "bench network: 'allow' is not 'deny'"},
        {{.net = "deny", .net_allow = bad_rule}, -EINVAL, "bench network: network rule 'example.o"},
        {{.net_allow = bad_rule}, -EINVAL, "bench network: net_allow without net"},
        {{.tape = ""}, -EINVAL, "bench tape: no path"},
        {{.env = bad_env}, -EINVAL, "bench env: 'NAME' is not NAME=VALUE"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct vitro_bench_options options = cases[i].options;
        if (!options.clock)
            options.clock = "2026-01-01"; /* is installed first, and has to go again */
        vitro_bench *bench = vitro_bench_activate(&options, &error);
        CHECK_TRUE(bench == NULL);
        CHECK_INT(error.code, cases[i].code);
        CHECK_HAS(error.text, cases[i].text);
        CHECK_TRUE(!vitro_is_mocked() && vitro_bench_current() == NULL);
    }
    CHECK_TRUE(vitro_bench_activate((&(struct vitro_bench_options){.llm = "x"}), NULL) == NULL);
}

/* ---- nesting and misuse */

TEST(benches_nest_and_the_outer_one_answers_for_axes_the_inner_one_has_not)
{
    vitro_bench *outer = vitro_bench_activate(
        (&(struct vitro_bench_options){.clock = "2026-01-01", .seed = 7, .net = "deny"}), &error);
    vitro_bench *inner =
        vitro_bench_activate((&(struct vitro_bench_options){.clock = "2030-01-01"}), &error);

    CHECK_TRUE(vitro_bench_current() == inner);
    CHECK_INT(time(NULL), 1893456000);
    (void)sleep(100);
    CHECK_INT(reach(SOCK_STREAM, "127.0.0.1", 9), EACCES);
    vitro_bench_drop(inner);
    CHECK_TRUE(vitro_bench_current() == outer);
    CHECK_INT(time(NULL), 1767225600);
    (void)sleep(5);
    CHECK_INT(time(NULL), 1767225605);
    vitro_bench_drop(outer);
}

TEST(ending_the_outer_bench_first_is_refused_with_both_places)
{
    vitro_bench *outer = vitro_bench_activate(NULL, &error);
    vitro_bench *inner = vitro_bench_activate(NULL, &error);
    struct vitro_bench_findings found;

    CHECK_INT(vitro_bench_finalize(outer, &found, &error), -EPERM);
    CHECK_HAS(error.text, "bench: pop at src/bench/bench_test.c:");
    CHECK_HAS(error.text, "is not on top, what was pushed at src/bench/bench_test.c:");
    vitro_bench_drop(inner);
    vitro_bench_drop(outer);
    CHECK_INT(vitro_bench_finalize(NULL, &found, &error), -EINVAL);
    vitro_bench_drop(NULL);
}

TEST(dropping_in_the_wrong_order_ends_the_program_with_both_places)
{
    int pipes[2], status;
    char text[2048] = "";

    CHECK_INT(pipe(pipes), 0);
    pid_t pid = fork();
    if (pid == 0) {
        (void)dup2(pipes[1], 2);
        vitro_bench *outer = vitro_bench_activate(NULL, NULL);
        vitro_bench *inner = vitro_bench_activate(NULL, NULL);
        vitro_bench_drop(outer);
        vitro_bench_drop(inner);
        _exit(0);
    }
    (void)close(pipes[1]);
    CHECK_INT(waitpid(pid, &status, 0), pid);
    CHECK_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    CHECK_TRUE(read(pipes[0], text, sizeof text - 1) > 0);
    CHECK_HAS(text, "what was pushed at src/bench/bench_test.c:");
    CHECK_HAS(text, "is not on top, what was pushed at src/bench/bench_test.c:");
    (void)close(pipes[0]);
}

/* ---- axes */

TEST(only_named_hosts_are_reached)
{
    static const char *rules[3];
    char rule[32];
    int server = listening(&port);

    (void)snprintf(rule, sizeof rule, "127.0.0.0/8:%d", port);
    rules[0] = "*.example.org, 10.0.0.1";
    rules[1] = rule;
    vitro_bench *bench = vitro_bench_activate(
        (&(struct vitro_bench_options){.net = "deny", .net_allow = rules}), &error);
    struct vitro_bench_findings found;
    struct addrinfo *info;
    int other;
    int elsewhere = listening(&other);

    CHECK_INT(reach(SOCK_STREAM, "127.0.0.1", port), 0);
    CHECK_INT(reach(SOCK_STREAM, "127.0.0.1", other), EACCES);
    CHECK_INT(getaddrinfo("example.org", "80", NULL, &info), EAI_FAIL);
    CHECK_OK(vitro_bench_finalize(bench, &found, &error), error);
    CHECK_INT(found.denied_count, 2);
    CHECK_HAS(found.denied, "getaddrinfo example.org: no allow rule matched\n");
    vitro_bench_findings_done(&found);
    (void)close(server);
    (void)close(elsewhere);
}

TEST(an_overlay_and_a_tape_are_written_by_finalize_alone)
{
    const char *file = tmp_file("page.txt", "one\n");
    CLEANUP(mem_free) char *worktree = mem_dupn(file, strlen(file) - strlen("/page.txt"));
    const char *tape = tmp_path("bench.tape");
    struct vitro_bench_options options = {
        .clock = "2026-01-01", .fs = worktree, .tape = tape, .seed = 1};

    for (int finalized = 0; finalized < 2; finalized++) {
        vitro_bench *bench = vitro_bench_activate(&options, &error);
        struct vitro_bench_findings found;
        CHECK_TRUE(bench != NULL);
        CHECK_INT(vitro_overlay_write(vitro_bench_overlay(bench), "page.txt", "two\n", 4), 0);
        (void)sleep(30);
        CHECK_OK(vitro_bench_note(bench, "note", "{\"text\":\"hello\"}", &error), error);
        if (!finalized) {
            vitro_bench_drop(bench);
            CHECK_TRUE(access(tape, F_OK) < 0);
            continue;
        }
        CHECK_OK(vitro_bench_finalize(bench, &found, &error), error);
        CHECK_HAS(found.diff, "-one\n+two\n");
        CHECK_TEXT(found.tape, tape);
        CHECK_INT(found.tape_records, 3);
        vitro_bench_findings_done(&found);
    }
    vitro_tape_reader *reader = vitro_tape_open(tape, NULL);
    struct vitro_tape_entry entry;
    CHECK_INT(vitro_tape_next(reader, &entry, NULL), 1);
    CHECK_TEXT(entry.kind, "clock_sleep");
    CHECK_TEXT(entry.data, "{\"duration_ns\":30000000000}");
    CHECK_INT(entry.monotonic_ns, INT64_C(30000000000));
    CHECK_INT(vitro_tape_next(reader, &entry, NULL), 1);
    CHECK_TEXT(entry.kind, "note");
    CHECK_INT(vitro_tape_next(reader, &entry, NULL), 1);
    CHECK_TEXT(entry.kind, "file_write");
    vitro_tape_reader_free(reader);
}

TEST(an_unmodified_program_runs_in_a_box_with_the_same_options)
{
    static const char *const argv[] = {"sh", "-c", "sleep 3600; date -u +%FT%TZ", NULL};
    vitro_box *box = vitro_bench_spawn(
        &(struct vitro_bench_options){.clock = "2026-01-01T00:00:00Z", .seed = 7, .net = "deny"},
        &(struct vitro_box_options){.argv = argv, .capture_output = 1}, &error);
    struct vitro_box_findings found;
    struct vitro_box_error why;

    if (!box)
        check_fail(__FILE__, __LINE__, "%s", error.text);
    CHECK_OK(vitro_box_wait(box, &found, &why), why);
    CHECK_TEXT(found.output, "2026-01-01T01:00:00Z\n");
    CHECK_INT(found.seed, 7);
    vitro_box_free(box);
    CHECK_TRUE(vitro_bench_spawn(NULL, NULL, &error) == NULL);
    CHECK_HAS(error.text, "bench spawn: no program");
}

TEST(modules_run_in_a_box_with_the_benchs_clock)
{
    static const char *const argv[] = {"clocks", NULL};
    const char *modules = tmp_path("modules");
    struct vitro_box_findings found;
    struct vitro_box_error why;

    if (access("/usr/lib/wasm32-wasi/libc.a", R_OK) < 0 || system("command -v wasm2c >log") != 0)
        SKIP("wasi-libc or wabt is not installed (tools/deps test)");
    CLEANUP(mem_free)
    char *command = mem_format("mkdir %s && clang --target=wasm32-wasi --sysroot=/usr -O1 -w -o "
                               "%s/clocks.wasm %s/tests/wasi/clocks.c 2>log",
                               modules, modules, getenv("TOP") ? getenv("TOP") : ".");
    if (system(command) != 0)
        SKIP("clang cannot make modules here");
    vitro_box *box = vitro_bench_spawn(
        &(struct vitro_bench_options){.clock = "2026-01-01T00:00:00Z", .proc_wasi = modules},
        &(struct vitro_box_options){.argv = argv, .capture_output = 1}, &error);
    if (!box)
        check_fail(__FILE__, __LINE__, "%s", error.text);
    CHECK_OK(vitro_box_wait(box, &found, &why), why);
    CHECK_HAS(found.output, "1767225600");
    vitro_box_free(box);
}
