/* SPDX-License-Identifier: MIT */
/* Event loops that know nothing of us, with their own pools of threads, unchanged, under a bench.
 */
#include "lib/check.h"
#include "vitro/bench.h"
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>

#define START 1767225600 /* 2026-01-01T00:00:00Z */

static struct vitro_bench_error error;
static struct buf story;

static vitro_bench *paused(void)
{
    vitro_bench *bench = vitro_bench_activate(
        (&(struct vitro_bench_options){.clock = "2026-01-01T00:00:00Z"}), &error);

    if (!bench)
        check_fail(__FILE__, __LINE__, "%s", error.text);
    buf_done(&story);
    return bench;
}

static void tell(const char *what)
{
    buf_addf(&story, "%s %ld\n", what, (long)time(NULL) - START);
}

/* ---- timers */

static void on_day(uv_timer_t *timer)
{
    tell("day");
    if (time(NULL) - START >= 3 * 86400)
        uv_close((uv_handle_t *)timer, NULL);
}

static void on_once(uv_timer_t *timer)
{
    tell("once");
    uv_close((uv_handle_t *)timer, NULL);
}

TEST(timers_of_libuv_fire_in_virtual_time_and_in_order)
{
    VITRO_BENCH bench = paused();
    uv_loop_t loop;
    uv_timer_t day, once;

    CHECK_INT(uv_loop_init(&loop), 0);
    (void)uv_timer_init(&loop, &day);
    (void)uv_timer_init(&loop, &once);
    CHECK_INT(uv_timer_start(&day, on_day, 86400000, 86400000), 0);
    CHECK_INT(uv_timer_start(&once, on_once, 90000000, 0), 0);
    CHECK_INT(uv_run(&loop, UV_RUN_DEFAULT), 0);
    CHECK_INT(uv_loop_close(&loop), 0);
    CHECK_TEXT(buf_text(&story), "day 86400\nonce 90000\nday 172800\nday 259200\n");
}

/* ---- the pool of threads */

static atomic_int slept;

static void nap(uv_work_t *work)
{
    uv_sleep((unsigned)(uintptr_t)work->data);
    slept++;
}

static void on_napped(uv_work_t *work, int status)
{
    char what[32];

    (void)snprintf(what, sizeof what, "%u:%d", (unsigned)(uintptr_t)work->data, status);
    tell(what);
}

TEST(work_of_libuvs_own_threads_takes_virtual_time)
{
    static const unsigned naps[] = {3600000, 60000, 7200000, 1000};
    VITRO_BENCH bench = paused();
    uv_loop_t loop;
    uv_work_t work[4];

    CHECK_INT(uv_loop_init(&loop), 0);
    for (size_t i = 0; i < 4; i++) {
        work[i].data = (void *)(uintptr_t)naps[i];
        CHECK_INT(uv_queue_work(&loop, &work[i], nap, on_napped), 0);
    }
    CHECK_INT(uv_run(&loop, UV_RUN_DEFAULT), 0);
    CHECK_INT(uv_loop_close(&loop), 0);
    CHECK_INT(slept, 4);
    CHECK_TEXT(buf_text(&story), "1000:0 1\n60000:0 60\n3600000:0 3600\n7200000:0 7200\n");
}

/* ---- programs */

static uv_process_t process;

static void on_exit_of(uv_process_t *ended, int64_t status, int signal)
{
    char what[32];

    (void)snprintf(what, sizeof what, "exit %d.%d", (int)status, signal);
    tell(what);
    uv_close((uv_handle_t *)ended, NULL);
}

TEST(programs_that_libuv_starts_are_played_and_take_their_time)
{
    const char *tape = tmp_file("slow.json", "[{\"program\":\"backup\",\"args\":[\"all\"],"
                                             "\"exit_code\":3,\"duration_ms\":3600000}]");
    VITRO_BENCH bench = vitro_bench_activate(
        (&(struct vitro_bench_options){.clock = "2026-01-01", .proc_replay = tape}), &error);
    char *argv[] = {"backup", "all", NULL};
    uv_process_options_t options = {.file = "backup", .args = argv, .exit_cb = on_exit_of};
    uv_loop_t loop;

    buf_done(&story);
    CHECK_INT(uv_loop_init(&loop), 0);
    CHECK_INT(uv_spawn(&loop, &process, &options), 0);
    CHECK_INT(uv_run(&loop, UV_RUN_DEFAULT), 0);
    CHECK_INT(uv_loop_close(&loop), 0);
    CHECK_TEXT(buf_text(&story), "exit 3.0 3600\n");
}

/* ---- locks, with a thread that wakes the loop */

static uv_mutex_t mutex;
static uv_cond_t cond;
static uv_async_t async;
static bool ready;

static void later(void *arg)
{
    (void)arg;
    uv_sleep(5000);
    uv_mutex_lock(&mutex);
    ready = true;
    uv_cond_signal(&cond);
    uv_mutex_unlock(&mutex);
    uv_sleep(5000);
    (void)uv_async_send(&async);
}

static void on_async(uv_async_t *handle)
{
    tell("async");
    uv_close((uv_handle_t *)handle, NULL);
}

TEST(conditions_and_wake_ups_of_libuv_keep_to_the_clock)
{
    VITRO_BENCH bench = paused();
    uv_loop_t loop;
    uv_thread_t thread;

    ready = false;
    CHECK_INT(uv_mutex_init(&mutex), 0);
    CHECK_INT(uv_cond_init(&cond), 0);
    CHECK_INT(uv_loop_init(&loop), 0);
    CHECK_INT(uv_async_init(&loop, &async, on_async), 0);
    uv_mutex_lock(&mutex);
    CHECK_INT(uv_cond_timedwait(&cond, &mutex, UINT64_C(86400000000000)), UV_ETIMEDOUT);
    CHECK_INT(time(NULL), START + 86400);
    CHECK_INT(uv_thread_create(&thread, later, NULL), 0);
    while (!ready)
        CHECK_INT(uv_cond_timedwait(&cond, &mutex, UINT64_C(86400000000000)), 0);
    uv_mutex_unlock(&mutex);
    CHECK_INT(time(NULL), START + 86400 + 5);
    CHECK_INT(uv_run(&loop, UV_RUN_DEFAULT), 0);
    CHECK_INT(uv_thread_join(&thread), 0);
    CHECK_INT(uv_loop_close(&loop), 0);
    CHECK_TEXT(buf_text(&story), "async 86410\n");
    uv_cond_destroy(&cond);
    uv_mutex_destroy(&mutex);
}

/* ---- connections */

static uv_timer_t idle;
static uv_tcp_t server, accepted, client;
static uv_connect_t connecting;
static uv_write_t writing;
static char space[64];

static void give(uv_handle_t *handle, size_t size, uv_buf_t *ret)
{
    (void)handle;
    (void)size;
    *ret = uv_buf_init(space, sizeof space);
}

static void on_answer(uv_stream_t *stream, ssize_t count, const uv_buf_t *bytes)
{
    (void)bytes;
    tell(count > 0 ? "answer" : "end");
    if (count > 0)
        return;
    uv_close((uv_handle_t *)stream, NULL);
    uv_close((uv_handle_t *)&server, NULL);
}

static void on_sent(uv_write_t *write, int status)
{
    (void)write;
    (void)status;
    uv_close((uv_handle_t *)&accepted, NULL);
}

static void on_slow(uv_timer_t *timer)
{
    uv_buf_t bytes = uv_buf_init("hello", 5);

    (void)uv_write(&writing, (uv_stream_t *)&accepted, &bytes, 1, on_sent);
    uv_close((uv_handle_t *)timer, NULL);
}

static void on_connection(uv_stream_t *stream, int status)
{
    tell(status == 0 ? "connection" : "failure");
    (void)uv_tcp_init(stream->loop, &accepted);
    (void)uv_accept(stream, (uv_stream_t *)&accepted);
    (void)uv_timer_init(stream->loop, &idle);
    (void)uv_timer_start(&idle, on_slow, 600000, 0);
}

static void on_connected(uv_connect_t *connect, int status)
{
    (void)status;
    (void)uv_read_start(connect->handle, give, on_answer);
}

TEST(a_server_and_its_client_in_one_loop_of_libuv)
{
    VITRO_BENCH bench = paused();
    uv_loop_t loop;
    struct sockaddr_in address;
    int length = sizeof address;

    CHECK_INT(uv_loop_init(&loop), 0);
    CHECK_INT(uv_ip4_addr("127.0.0.1", 0, &address), 0);
    (void)uv_tcp_init(&loop, &server);
    (void)uv_tcp_init(&loop, &client);
    CHECK_INT(uv_tcp_bind(&server, (struct sockaddr *)&address, 0), 0);
    CHECK_INT(uv_listen((uv_stream_t *)&server, 4, on_connection), 0);
    CHECK_INT(uv_tcp_getsockname(&server, (struct sockaddr *)&address, &length), 0);
    CHECK_INT(uv_tcp_connect(&connecting, &client, (struct sockaddr *)&address, on_connected), 0);
    CHECK_INT(uv_run(&loop, UV_RUN_DEFAULT), 0);
    CHECK_INT(uv_loop_close(&loop), 0);
    CHECK_TEXT(buf_text(&story), "connection 0\nanswer 600\nend 600\n");
}

/* ---- GLib: loaded as it is installed, without its headers */

typedef struct {
    void *p;
    unsigned i[2];
} g_cond; /* GCond */
typedef union {
    void *p;
    unsigned i[2];
} g_mutex; /* GMutex */

static struct {
    void *(*loop_new)(void *context, int running);
    void (*loop_run)(void *loop);
    void (*loop_quit)(void *loop);
    void (*loop_unref)(void *loop);
    unsigned (*timeout_add)(unsigned ms, int (*call)(void *), void *arg);
    int64_t (*monotonic)(void);
    int64_t (*real)(void);
    void (*usleep)(unsigned long us);
    int (*cond_wait_until)(g_cond *cond, g_mutex *mutex, int64_t end_us);
    void (*cond_wait)(g_cond *cond, g_mutex *mutex);
    void (*cond_signal)(g_cond *cond);
    void (*mutex_lock)(g_mutex *mutex);
    void (*mutex_unlock)(g_mutex *mutex);
    void *(*thread_new)(const char *name, void *(*run)(void *), void *arg);
    void *(*thread_join)(void *thread);
    void *(*queue_new)(void);
    void (*queue_push)(void *queue, void *what);
    void *(*queue_timeout_pop)(void *queue, uint64_t us);
    void (*queue_unref)(void *queue);
} g;

static void glib_load(void)
{
    static const struct {
        const char *name;
        void *place;
    } names[] = {{"g_main_loop_new", &g.loop_new},
                 {"g_main_loop_run", &g.loop_run},
                 {"g_main_loop_quit", &g.loop_quit},
                 {"g_main_loop_unref", &g.loop_unref},
                 {"g_timeout_add", &g.timeout_add},
                 {"g_get_monotonic_time", &g.monotonic},
                 {"g_get_real_time", &g.real},
                 {"g_usleep", &g.usleep},
                 {"g_cond_wait_until", &g.cond_wait_until},
                 {"g_cond_wait", &g.cond_wait},
                 {"g_cond_signal", &g.cond_signal},
                 {"g_mutex_lock", &g.mutex_lock},
                 {"g_mutex_unlock", &g.mutex_unlock},
                 {"g_thread_new", &g.thread_new},
                 {"g_thread_join", &g.thread_join},
                 {"g_async_queue_new", &g.queue_new},
                 {"g_async_queue_push", &g.queue_push},
                 {"g_async_queue_timeout_pop", &g.queue_timeout_pop},
                 {"g_async_queue_unref", &g.queue_unref}};
    void *library = dlopen("libglib-2.0.so.0", RTLD_NOW);

    if (!library)
        SKIP("GLib is not installed (tools/deps test)");
    for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
        void *found = dlsym(library, names[i].name);
        CHECK_TRUE(found != NULL);
        memcpy(names[i].place, &found, sizeof found);
    }
}

static int on_minute(void *loop)
{
    static int times;

    tell("minute");
    if (++times < 3)
        return 1;
    times = 0;
    g.loop_quit(loop);
    return 0;
}

TEST(glibs_timeouts_and_sleeps_take_virtual_time)
{
    glib_load();
    VITRO_BENCH bench = paused();
    void *loop = g.loop_new(NULL, 0);

    CHECK_INT(g.real(), START * INT64_C(1000000));
    (void)g.timeout_add(60000, on_minute, loop);
    g.loop_run(loop);
    CHECK_TEXT(buf_text(&story), "minute 60\nminute 120\nminute 180\n");
    g.usleep(3600000000UL);
    CHECK_INT(time(NULL), START + 180 + 3600);
    g.loop_unref(loop);
}

static g_mutex g_lock;
static g_cond g_filled;
static int g_count;

static void *fill_later(void *queue)
{
    g.usleep(5000000);
    g.mutex_lock(&g_lock);
    g_count++;
    g.cond_signal(&g_filled);
    g.mutex_unlock(&g_lock);
    g.usleep(5000000);
    g.queue_push(queue, &g_count);
    return NULL;
}

TEST(glibs_conditions_which_are_futexes_keep_to_the_clock)
{
    glib_load();
    VITRO_BENCH bench = paused();
    void *queue = g.queue_new();

    g.mutex_lock(&g_lock);
    CHECK_INT(g.cond_wait_until(&g_filled, &g_lock, g.monotonic() + INT64_C(3600000000)), 0);
    CHECK_INT(time(NULL), START + 3600);
    void *thread = g.thread_new("later", fill_later, queue);
    while (!g_count)
        CHECK_TRUE(g.cond_wait_until(&g_filled, &g_lock, g.monotonic() + INT64_C(86400000000)));
    g.mutex_unlock(&g_lock);
    CHECK_INT(time(NULL), START + 3600 + 5);
    CHECK_TRUE(g.queue_timeout_pop(queue, 86400000000) == &g_count);
    CHECK_INT(time(NULL), START + 3600 + 10);
    (void)g.thread_join(thread);
    g.queue_unref(queue);
}
