/* SPDX-License-Identifier: MIT */
/* Playing many cases, in processes that die with us, take up what programs leave behind, and send a
 * line for every result. A case whose programs all ran in boxes left nothing: its process plays the
 * next one, which saves a fork. After any other case the process goes, and what may be left in it.
 * Results are told in the order of the cases, whoever ends first. */
#include "script/script.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/rng.h"
#include "base/wall.h"
#include "base/when.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RESULT_MAX = 64 << 20, CASE_SECONDS_MAX = 1800 };

struct worker {
    pid_t pid;    /* 0: free */
    int fd;       /* owned; asks for cases and hears results */
    bool playing; /* the case `index` */
    size_t index;
    struct buf text;
    uint64_t deadline_ns;
};

struct suite {
    const struct script_set *set;
    const struct script_options *options;
    script_report *report;
    script_progress *progress;
    void *context;
    struct script_totals *totals;
    struct worker *workers;
    size_t worker_count, running;
    size_t *order; /* of the cases */
    struct script_result *results;
    bool *done;
    size_t started, told, done_count;
    bool stop;
};

/* ---- a result as a line -----------------------------------------------------------------------
 */

static void result_add(struct buf *ret, const struct script_result *result)
{
    CLEANUP(json_free) json_t *value =
        json_pack("{s:i, s:b, s:i, s:I, s:s*, s:s*, s:i, s:b}", "status", (int)result->status,
                  "flaky", result->flaky, "tries", (int)result->tries, "virtual_ns",
                  (json_int_t)result->virtual_ns, "reason", result->reason, "section",
                  result->section, "line", (int)result->line, "outside", result->outside);

    if (result->text) { /* whatever a guest wrote */
        CLEANUP(buf_done) struct buf hex = {0};
        json_t *text = json_string(result->text);
        if (!text) {
            for (const char *p = result->text; *p; p++)
                buf_addc(&hex, (unsigned char)*p < 128 ? *p : '?');
            text = json_string(buf_text(&hex));
        }
        json_object_set_new(value, "text", text);
    }
    json_add_canonical(ret, value);
    buf_addc(ret, '\n');
}

static char *member(const json_t *value, const char *name)
{
    return mem_dup(json_string_value(json_object_get(value, name)));
}

static bool result_read(const struct buf *line, struct script_result *ret)
{
    CLEANUP(json_free) json_t *value = NULL;

    if (!line->length || line->data[line->length - 1] != '\n' ||
        json_parse(line->data, line->length - 1, "result", &value, NULL) < 0)
        return false;
    *ret = (struct script_result){
        .status = (enum script_status)json_integer_value(json_object_get(value, "status")),
        .flaky = json_is_true(json_object_get(value, "flaky")),
        .tries = (unsigned)json_integer_value(json_object_get(value, "tries")),
        .virtual_ns = (uint64_t)json_integer_value(json_object_get(value, "virtual_ns")),
        .line = (unsigned)json_integer_value(json_object_get(value, "line")),
        .outside = json_is_true(json_object_get(value, "outside")),
        .reason = member(value, "reason"),
        .text = member(value, "text"),
        .section = member(value, "section"),
    };
    return true;
}

/* ---- the process that plays --------------------------------------------------------------------
 */

/* Children that are still ours when the case is over ran away from their parents. */
static void reap_rest(void)
{
    while (waitpid(-1, NULL, WNOHANG) > 0)
        ;
}

static void __attribute__((noreturn)) play_cases(const struct suite *suite, int fd)
{
    struct script_result result = {0};
    size_t index;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    while (!result.outside && fd_read_full(fd, &index, sizeof index) == 0) {
        CLEANUP(buf_done) struct buf line = {0};
        script_play(&suite->set->cases[index], suite->options, &result);
        reap_rest();
        result_add(&line, &result);
        script_result_done(&result);
        if (fd_write_full(fd, line.data, line.length) < 0)
            break;
    }
    _exit(0);
}

static int start(struct suite *suite, struct worker *worker, struct err *err)
{
    int fds[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
        return err_set(err, -errno, "make a socket: %m");
    worker->pid = fork();
    if (worker->pid < 0) {
        fd_close(fds[0]);
        fd_close(fds[1]);
        worker->pid = 0;
        return err_set(err, -errno, "start a process: %m");
    }
    if (worker->pid == 0) {
        fd_close(fds[0]);
        play_cases(suite, fds[1]);
    }
    fd_close(fds[1]);
    worker->fd = fds[0];
    return 0;
}

/* Its process is gone, or goes when it sees that nobody asks any more. */
static int let_go(struct worker *worker)
{
    int status = 0;

    (void)shutdown(worker->fd, SHUT_RDWR); /* workers that came later hold copies */
    worker->fd = fd_close(worker->fd);
    while (waitpid(worker->pid, &status, 0) < 0 && errno == EINTR)
        ;
    worker->pid = 0;
    return status;
}

static int ask(struct suite *suite, struct worker *worker, struct err *err)
{
    int r = worker->pid ? 0 : start(suite, worker, err);

    if (r < 0)
        return r;
    worker->index = suite->order[suite->started++];
    worker->playing = true;
    worker->deadline_ns = wall_monotonic_ns() + CASE_SECONDS_MAX * NS_PER_SEC;
    buf_clear(&worker->text);
    suite->running++;
    /* One that has died is seen when its result is awaited. */
    (void)send(worker->fd, &worker->index, sizeof worker->index, MSG_NOSIGNAL);
    return 0;
}

/* The line is complete, or the process is gone without one. */
static void finish(struct suite *suite, struct worker *worker)
{
    struct script_result *result = &suite->results[worker->index];

    if (!result_read(&worker->text, result)) {
        int status = let_go(worker);
        *result = (struct script_result){
            .status = SCRIPT_FAILED,
            .text = WIFSIGNALED(status)
                        ? mem_format("the player of this scenario died of signal %d\n",
                                     WTERMSIG(status))
                        : mem_dup("the player of this scenario left no result\n")};
    } else if (result->outside) {
        (void)let_go(worker);
    }
    worker->playing = false;
    suite->running--;
    suite->done[worker->index] = true;
    suite->done_count++;
    if (result->status == SCRIPT_FAILED && suite->options->fail_fast)
        suite->stop = true;
}

static void tell(struct suite *suite)
{
    while (suite->told < suite->started && suite->done[suite->order[suite->told]]) {
        size_t index = suite->order[suite->told++];
        struct script_result *result = &suite->results[index];

        suite->totals->passed += result->status == SCRIPT_PASSED;
        suite->totals->failed += result->status == SCRIPT_FAILED;
        suite->totals->skipped += result->status == SCRIPT_SKIPPED;
        suite->totals->flaky += result->flaky;
        suite->totals->virtual_ns += result->virtual_ns;
        suite->report(suite->context, &suite->set->cases[index], result, suite->told);
        script_result_done(result);
    }
}

/* Whatever comes from any worker. */
static int take(struct suite *suite, struct err *err)
{
    struct pollfd wait[64];
    size_t which[64], count = 0;
    uint64_t now = wall_monotonic_ns();

    for (size_t i = 0; i < suite->worker_count; i++) {
        struct worker *worker = &suite->workers[i];
        if (!worker->playing)
            continue;
        if (now > worker->deadline_ns)
            (void)kill(worker->pid, SIGKILL);
        which[count] = i;
        wait[count++] = (struct pollfd){.fd = worker->fd, .events = POLLIN};
    }
    if (poll(wait, count, 1000) < 0 && errno != EINTR)
        return err_set(err, -errno, "wait for scenarios: %m");
    for (size_t i = 0; i < count; i++) {
        struct worker *worker = &suite->workers[which[i]];
        char bytes[65536];
        if (!wait[i].revents)
            continue;
        ssize_t length = read(worker->fd, bytes, sizeof bytes);
        if (length > 0 && worker->text.length < RESULT_MAX)
            buf_add(&worker->text, bytes, (size_t)length);
        if ((length > 0 && bytes[length - 1] == '\n') || length == 0 ||
            (length < 0 && errno != EINTR))
            finish(suite, worker);
    }
    return 0;
}

static int play_suite(struct suite *suite, struct err *err)
{
    size_t total = suite->set->case_count;

    while ((suite->started < total && !suite->stop) || suite->running) {
        for (size_t i = 0; i < suite->worker_count && suite->started < total && !suite->stop; i++) {
            if (suite->workers[i].playing)
                continue;
            if (suite->progress)
                suite->progress(suite->context, &suite->set->cases[suite->order[suite->started]],
                                suite->done_count, total);
            int r = ask(suite, &suite->workers[i], err);
            if (r < 0)
                return r;
        }
        int r = take(suite, err);
        if (r < 0)
            return r;
        tell(suite);
    }
    return 0;
}

static void shuffle(size_t *order, size_t count, uint64_t seed)
{
    struct rng rng;

    rng_stream(&rng, seed, "scenarios", NULL);
    for (size_t i = count; i > 1; i--) {
        size_t other = (size_t)rng_below(&rng, i), kept = order[i - 1];
        order[i - 1] = order[other];
        order[other] = kept;
    }
}

int script_suite(const struct script_set *set, const struct script_options *options,
                 script_report *report, script_progress *progress, void *context,
                 struct script_totals *ret, struct err *err)
{
    size_t jobs = options->jobs ? options->jobs : (size_t)get_nprocs();
    struct suite suite = {.set = set,
                          .options = options,
                          .report = report,
                          .progress = progress,
                          .context = context,
                          .totals = ret,
                          .worker_count = jobs > 64 ? 64 : jobs};

    *ret = (struct script_totals){.seed = options->shuffle};
    suite.workers = mem_alloc((suite.worker_count + 1) * sizeof *suite.workers);
    suite.order = mem_alloc((set->case_count + 1) * sizeof *suite.order);
    suite.results = mem_alloc((set->case_count + 1) * sizeof *suite.results);
    suite.done = mem_alloc(set->case_count + 1);
    for (size_t i = 0; i < set->case_count; i++)
        suite.order[i] = i;
    if (options->shuffle)
        shuffle(suite.order, set->case_count, options->shuffle);
    int r = play_suite(&suite, err);
    for (size_t i = 0; i < suite.worker_count; i++) {
        if (suite.workers[i].playing) /* only after trouble */
            (void)kill(suite.workers[i].pid, SIGKILL);
        if (suite.workers[i].pid)
            (void)let_go(&suite.workers[i]);
        buf_done(&suite.workers[i].text);
    }
    for (size_t i = 0; i < set->case_count; i++)
        script_result_done(&suite.results[i]);
    free(suite.workers);
    free(suite.order);
    free(suite.results);
    free(suite.done);
    return r;
}
