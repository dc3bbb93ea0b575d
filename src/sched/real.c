/* SPDX-License-Identifier: MIT */
/* Tasks on real time: where the virtual scheduler jumps to the next deadline, this one waits for it
 * in epoll, together with fds and an eventfd through which worker threads say that they are done.
 */
#include "sched/sched.h"
#include "base/fd.h"
#include "base/wall.h"
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct job {
    struct job *next;
    vitro_fn fn;
    void *arg;
    int result;
    bool done; /* read by the scheduler's thread after it was taken off `finished` */
    struct vitro_object object; /* its task waits here */
};

struct real {
    int epoll, wakeup;
    uint32_t fd_waits, jobs;
    pthread_mutex_t lock;
    pthread_cond_t more;
    struct job *queue, *finished;
    bool stop;
    pthread_t *threads;
    unsigned thread_count, thread_max;
};

uint64_t real_now(void)
{
    return wall_monotonic_ns();
}

/* ---- worker threads */

static void *worker(void *arg)
{
    struct real *real = arg;

    (void)pthread_mutex_lock(&real->lock);
    while (!real->stop) {
        struct job *job = real->queue;
        if (!job) {
            (void)pthread_cond_wait(&real->more, &real->lock);
            continue;
        }
        real->queue = job->next;
        (void)pthread_mutex_unlock(&real->lock);
        job->result = job->fn(job->arg);
        (void)pthread_mutex_lock(&real->lock);
        job->next = real->finished;
        real->finished = job;
        (void)eventfd_write(real->wakeup, 1);
    }
    (void)pthread_mutex_unlock(&real->lock);
    return NULL;
}

static bool job_done(struct vitro_object *object, const struct wait *wait)
{
    (void)object;
    return ((struct job *)vitro_ptr(wait->value))->done;
}

int real_work(vitro_task *task, vitro_fn fn, void *arg, const char *where)
{
    vitro_sched *sched = task->sched;
    struct real *real = sched->real;
    struct job job = {.fn = fn, .arg = arg};

    (void)object_bind(sched, &job.object, OBJECT_LANE);
    (void)pthread_mutex_lock(&real->lock);
    struct job **end = &real->queue;
    while (*end)
        end = &(*end)->next;
    *end = &job;
    if (real->thread_count < real->thread_max &&
        pthread_create(&real->threads[real->thread_count], NULL, worker, real) == 0)
        real->thread_count++;
    (void)pthread_cond_signal(&real->more);
    (void)pthread_mutex_unlock(&real->lock);
    real->jobs++;
    /* The job lives on this stack: the wait does not end by cancellation. */
    task->wait = (struct wait){
        .task = task, .object = &job.object, .ready = job_done, .value = vitro_val(&job)};
    (void)task_wait_many(task,
                         (struct op){.where = where, .object = job.object.id, .kind = OP_WORK},
                         &task->wait, 1, VITRO_FOREVER);
    real->jobs--;
    return job.result;
}

static void take_finished(struct real *real)
{
    eventfd_t count;

    (void)eventfd_read(real->wakeup, &count);
    (void)pthread_mutex_lock(&real->lock);
    struct job *job = real->finished;
    real->finished = NULL;
    (void)pthread_mutex_unlock(&real->lock);
    while (job) {
        struct job *next = job->next;
        job->done = true;
        object_changed(&job->object);
        job = next;
    }
}

/* ---- fds */

struct fd_wait {
    struct vitro_object object;
    uint32_t ready;
};

static bool fd_ready(struct vitro_object *object, const struct wait *wait)
{
    (void)wait;
    return ((struct fd_wait *)object)->ready != 0;
}

int vitro_fd_wait_at(int fd, int events, uint64_t deadline_ns, const char *where)
{
    struct fd_wait mine = {0};
    TASK_OR_RETURN("fd wait", NULL);
    vitro_sched *sched = task->sched;
    struct real *real = sched->real;

    if (!real)
        return fail_text(sched, -EOPNOTSUPP, "fd wait at %s: there are no fds on virtual time",
                         where ? where : "?");
    (void)object_bind(sched, &mine.object, OBJECT_FD);
    /* A duplicate, so that two tasks may wait for one fd. */
    CLEANUP(fd_close) int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (own < 0)
        return -errno;
    struct epoll_event event = {.events = (uint32_t)events | EPOLLONESHOT, .data.ptr = &mine};
    if (epoll_ctl(real->epoll, EPOLL_CTL_ADD, own, &event) < 0)
        return errno == EPERM ? events : -errno; /* files are always ready */
    real->fd_waits++;
    task->wait = (struct wait){.task = task, .object = &mine.object, .ready = fd_ready};
    int r = task_wait_many(
        task,
        (struct op){.where = where, .object = mine.object.id, .kind = OP_FD, .flags = OP_CANCELS},
        &task->wait, 1, deadline_ns);
    real->fd_waits--;
    (void)epoll_ctl(real->epoll, EPOLL_CTL_DEL, own, NULL);
    return r < 0 ? r : (int)mine.ready;
}

/* ---- waiting */

int real_idle(vitro_sched *sched)
{
    struct real *real = sched->real;
    struct epoll_event events[64];
    uint64_t at = timers_next_ns(&sched->timers), now = real_now();

    sched->now_ns = now;
    if (at == UINT64_MAX && !real->fd_waits && !real->jobs)
        return 1;
    if (at <= now)
        return sched_fire_one(sched) ? 0 : 1;
    uint64_t wait_ms = at == UINT64_MAX ? 60000 : (at - now + 999999) / 1000000;
    int n = epoll_wait(real->epoll, events, 64, wait_ms > 60000 ? 60000 : (int)wait_ms);
    sched->now_ns = real_now();
    for (int i = 0; i < n; i++) {
        struct fd_wait *wait = events[i].data.ptr;
        if (!wait) {
            take_finished(real);
            continue;
        }
        wait->ready = events[i].events;
        object_changed(&wait->object);
    }
    return 0;
}

static void real_done(struct real *real)
{
    (void)pthread_mutex_lock(&real->lock);
    real->stop = true;
    (void)pthread_cond_broadcast(&real->more);
    (void)pthread_mutex_unlock(&real->lock);
    for (unsigned i = 0; i < real->thread_count; i++)
        (void)pthread_join(real->threads[i], NULL);
    free(real->threads);
    fd_close(real->epoll);
    fd_close(real->wakeup);
    (void)pthread_mutex_destroy(&real->lock);
    (void)pthread_cond_destroy(&real->more);
}

int vitro_runtime_with(vitro_fn fn, void *arg, const struct vitro_runtime_options *options)
{
    struct real real = {.epoll = epoll_create1(EPOLL_CLOEXEC),
                        .wakeup = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
                        .thread_max = options->workers ? options->workers : 4};

    real.threads = mem_alloc(real.thread_max * sizeof *real.threads);
    (void)pthread_mutex_init(&real.lock, NULL);
    (void)pthread_cond_init(&real.more, NULL);
    vitro_sched *sched = vitro_sched_new(.stack_size = options->stack_size,
                                         .max_steps = UINT64_MAX - 1, .max_wall_ns = UINT64_MAX);
    sched->real = &real;
    sched->now_ns = real_now();
    struct epoll_event event = {.events = EPOLLIN};
    int r = epoll_ctl(real.epoll, EPOLL_CTL_ADD, real.wakeup, &event) < 0 ? -errno : 0;
    if (r == 0)
        r = vitro_run(sched, fn, arg);
    if (sched->kind != VITRO_OK)
        (void)fail_text(NULL, r, "%s", vitro_error(sched));
    vitro_sched_free(sched);
    real_done(&real);
    return r;
}
