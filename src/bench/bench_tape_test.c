/* SPDX-License-Identifier: MIT */
/* What a bench leaves on its tape, and that it leaves the same when the same happens. */
#include "base/fd.h"
#include "lib/check.h"
#include "vitro/bench.h"
#include "vitro/tape.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { THREADS = 4 };
static struct vitro_bench_error error;
static int port;
static char worktree[256];

static int listening(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t length = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK_INT(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    CHECK_INT(listen(fd, 64), 0);
    CHECK_INT(getsockname(fd, (struct sockaddr *)&address, &length), 0);
    port = ntohs(address.sin_port);
    return fd;
}

static int reach(const char *host)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)inet_pton(AF_INET, host, &to.sin_addr);
    int r = connect(fd, (struct sockaddr *)&to, sizeof to) < 0 ? errno : 0;
    (void)close(fd);
    return r;
}

static void put(const char *name, const char *text)
{
    char path[400];

    (void)snprintf(path, sizeof path, "%s/%s", worktree, name);
    FILE *file = fopen(path, "we");
    if (!file)
        return;
    (void)fputs(text, file);
    (void)fclose(file);
}

/* Everything that threads can do to get into each other's way, at the same virtual moments. */
static void *work(void *arg)
{
    char name[16], text[32];
    uint32_t number = 0;

    for (int i = 0; i < 5; i++) {
        (void)!getrandom(&number, sizeof number, 0);
        (void)snprintf(name, sizeof name, "out%d.%d", (int)(intptr_t)arg, i);
        (void)snprintf(text, sizeof text, "%u %d\n", number, rand());
        put(name, text);
        (void)reach(i % 2 ? "127.0.0.1" : "127.0.0.2");
        (void)getenv("LANG");
        (void)sleep(1);
    }
    return NULL;
}

static void run(const char *tape)
{
    static const char *const env[] = {"LANG=C", NULL};
    const char *rules[] = {"127.0.0.1", NULL};
    vitro_bench *bench = vitro_bench_activate((&(struct vitro_bench_options){.clock = "2026-01-01",
                                                                             .seed = 7,
                                                                             .fs = worktree,
                                                                             .net = "deny",
                                                                             .net_allow = rules,
                                                                             .env = env,
                                                                             .audit_real = 1,
                                                                             .allow_leaks = 1,
                                                                             .tape = tape}),
                                              &error);
    pthread_t threads[THREADS];
    struct vitro_bench_findings found;

    if (!bench)
        check_fail(__FILE__, __LINE__, "%s", error.text);
    for (intptr_t i = 0; i < THREADS; i++)
        CHECK_INT(pthread_create(&threads[i], NULL, work, (void *)i), 0);
    for (int i = 0; i < THREADS; i++)
        CHECK_INT(pthread_join(threads[i], NULL), 0);
    CHECK_OK(vitro_bench_finalize(bench, &found, &error), error);
    /* each round: a sleep, a connection or its denial, a variable, a file; and chance, twice */
    CHECK_INT(found.tape_records, THREADS * (5 * 4 + 2));
    vitro_bench_findings_done(&found);
}

static void make_worktree(void)
{
    (void)snprintf(worktree, sizeof worktree, "%s", tmp_path("tree"));
    CHECK_INT(mkdir(worktree, 0755), 0);
    (void)tmp_file("tree/page.txt", "one\n");
}

TEST(two_equal_runs_give_equal_tapes)
{
    struct vitro_tape_error why;
    CLEANUP(buf_done) struct buf one = {0};
    CLEANUP(buf_done) struct buf two = {0};
    char *report = NULL;
    int server = listening();

    make_worktree();
    run(tmp_path("one.tape"));
    run(tmp_path("two.tape"));
    int64_t differences =
        vitro_tape_compare(tmp_path("one.tape"), tmp_path("two.tape"), "byte", &report, &why);
    if (differences)
        check_fail(__FILE__, __LINE__, "%s", differences < 0 ? why.text : report);
    free(report);
    CHECK_INT(file_read(tmp_path("one.tape"), 1 << 20, &one, NULL), 0);
    CHECK_INT(file_read(tmp_path("two.tape"), 1 << 20, &two, NULL), 0);
    CHECK_TEXT(buf_text(&one), buf_text(&two));
    (void)close(server);
}

/* Every record of a tape, "kind worker data", a line each. */
static char *told(const char *tape)
{
    vitro_tape_reader *reader = vitro_tape_open(tape, NULL);
    struct vitro_tape_entry entry;
    struct buf text = {0};

    while (vitro_tape_next(reader, &entry, NULL) == 1)
        buf_addf(&text, "%s%s [%s] %s\n", entry.is_final ? "end " : "", entry.kind, entry.process,
                 entry.data);
    vitro_tape_reader_free(reader);
    return buf_take(&text);
}

TEST(files_connections_chance_and_variables_are_on_the_tape)
{
    static const char *const env[] = {"LANG=C", NULL};
    const char *rules[] = {"127.0.0.1", NULL};
    const char *tape = tmp_path("all.tape");
    char from[400], to[400], bytes[12];
    int server = listening();
    struct addrinfo *info;

    make_worktree();
    (void)tmp_file("tree/old.txt", "a file that only moves\n");
    (void)tmp_file("tree/gone.txt", "x\n");
    vitro_bench *bench = vitro_bench_activate((&(struct vitro_bench_options){.clock = "2026-01-01",
                                                                             .seed = 7,
                                                                             .fs = worktree,
                                                                             .net = "deny",
                                                                             .net_allow = rules,
                                                                             .env = env,
                                                                             .audit_real = 1,
                                                                             .tape = tape}),
                                              &error);
    struct vitro_bench_findings found;
    put("page.txt", "two\n");
    (void)snprintf(from, sizeof from, "%s/old.txt", worktree);
    (void)snprintf(to, sizeof to, "%s/new.txt", worktree);
    CHECK_INT(rename(from, to), 0);
    (void)snprintf(from, sizeof from, "%s/gone.txt", worktree);
    CHECK_INT(unlink(from), 0);
    (void)snprintf(from, sizeof from, "%s/sub", worktree);
    CHECK_INT(mkdir(from, 0755), 0);
    CHECK_INT(reach("127.0.0.1"), 0);
    CHECK_INT(reach("10.1.2.3"), EACCES);
    CHECK_INT(getaddrinfo("example.org", "80", NULL, &info), EAI_FAIL);
    CHECK_INT(getentropy(bytes, sizeof bytes), 0);
    CHECK_INT(getrandom(bytes, 4, 0), 4);
    (void)rand();
    CHECK_TEXT(getenv("LANG"), "C");
    CHECK_TRUE(getenv("NOBODY") == NULL);
    CHECK_OK(vitro_bench_finalize(bench, &found, &error), error);
    vitro_bench_findings_done(&found);

    CLEANUP(mem_free) char *all = told(tape);
    CLEANUP(mem_free)
    char *wanted = mem_format(
        "net_connect [] {\"address\":\"127.0.0.1\",\"host\":\"127.0.0.1\",\"port\":%d}\n"
        "net_denied [] {\"host\":\"10.1.2.3\",\"port\":%d,\"rule\":\"none\"}\n"
        "net_denied [] {\"host\":\"example.org\",\"rule\":\"none\"}\n"
        "env_read [] {\"name\":\"LANG\",\"value\":\"C\"}\n"
        "env_read [] {\"name\":\"NOBODY\",\"value\":null}\n"
        "end random [] {\"draws\":2,\"len_bytes\":16,\"source\":\"getrandom\"}\n"
        "end random [] {\"draws\":1,\"len_bytes\":4,\"source\":\"rand\"}\n"
        "end file_delete [] {\"path\":\"gone.txt\"}\n"
        "end file_rename [] {\"content_hash\":"
        "\"fa46d46fc224e1373de260cbecaaa8acc08c68d3c643355a8e837a67f6dd9b31\","
        "\"from\":\"old.txt\",\"to\":\"new.txt\"}\n"
        "end file_write [] {\"content_hash\":"
        "\"27dd8ed44a83ff94d557f9fd0412ed5a8cbca69ea04922d88c01184a07300a5a\","
        "\"len_bytes\":4,\"mode\":\"644\",\"path\":\"page.txt\"}\n"
        "end file_write [] {\"len_bytes\":0,\"mode\":\"755\",\"path\":\"sub\",\"type\":\"dir\"}\n",
        port, port);
    CHECK_TEXT(all, wanted);
    (void)close(server);
}

TEST(a_real_variable_is_named_and_its_value_stays_off_the_tape)
{
    const char *tape = tmp_path("env.tape");
    vitro_bench *bench = vitro_bench_activate(
        (&(struct vitro_bench_options){
            .clock = "2026-01-01", .audit_real = 1, .allow_leaks = 1, .tape = tape}),
        &error);

    CHECK_TRUE(getenv("PATH") != NULL);
    CHECK_OK(vitro_bench_finalize(bench, NULL, &error), error);
    CLEANUP(mem_free) char *all = told(tape);
    CHECK_HAS(all, "{\"name\":\"PATH\"}\n");
}
