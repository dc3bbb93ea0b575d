/* SPDX-License-Identifier: MIT */
/* Timers that libc and the kernel offer, on the clock in force: timerfds, POSIX timers, alarms.
 *
 * A timerfd is an eventfd: its counter is the number of expirations, reading it clears it, and poll
 * sees it. Signals are real ones, sent when the clock reaches their time, to the thread that armed
 * the timer. Timers that are still there when their clock goes are taken off it by
 * timers_forget. */
#include "base/buf.h"
#include "base/call_out.h"
#include "base/when.h"
#include "interpose/calls.h"
#include "interpose/timers.h"
#include <fcntl.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>

enum timer_kind { KIND_FD, KIND_EVENT, KIND_ALARM };

struct vtimer {
    struct vitro_clock_timer timer; /* first */
    struct vtimer *next;
    enum timer_kind kind;
    struct vitro_clock *clock; /* borrowed; NULL: it went */
    clockid_t id;
    int fd;
    struct sigevent event;
    struct lane *lane; /* of who armed it, and its thread */
    pid_t tid;
    bool is_armed, is_day;
    int64_t due_ns, interval_ns; /* due: monotonic, or of the day */
    int overrun;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct vtimer *first;
static uint32_t count; /* so that close() need not look */

static void list_add(struct vtimer *timer)
{
    (void)pthread_mutex_lock(&lock);
    timer->next = first;
    first = timer;
    (void)__atomic_add_fetch(&count, 1, __ATOMIC_SEQ_CST);
    (void)pthread_mutex_unlock(&lock);
}

static void list_remove(struct vtimer *timer)
{
    (void)pthread_mutex_lock(&lock);
    for (struct vtimer **place = &first; *place; place = &(*place)->next)
        if (*place == timer) {
            *place = timer->next;
            (void)__atomic_sub_fetch(&count, 1, __ATOMIC_SEQ_CST);
            break;
        }
    (void)pthread_mutex_unlock(&lock);
}

static struct vtimer *find_fd(int fd)
{
    struct vtimer *found = NULL;

    if (!__atomic_load_n(&count, __ATOMIC_SEQ_CST))
        return NULL;
    (void)pthread_mutex_lock(&lock);
    for (struct vtimer *timer = first; timer && !found; timer = timer->next)
        if (timer->kind == KIND_FD && timer->fd == fd)
            found = timer;
    (void)pthread_mutex_unlock(&lock);
    return found;
}

/* ---- firing, by whoever moves the clock */

static void send_signal(struct vtimer *timer, int number, union sigval value)
{
    siginfo_t info = {0};

    info.si_signo = number;
    info.si_code = SI_TIMER;
    info.si_value = value;
    wait_signalled(timer->lane, number);
    if (REAL.syscall(SYS_rt_tgsigqueueinfo, REAL.getpid(), timer->tid, number, &info) < 0)
        (void)REAL.syscall(SYS_rt_sigqueueinfo, REAL.getpid(), number, &info);
}

struct notice {
    void (*function)(union sigval value);
    union sigval value;
};

static CALL_OUT void *notify(void *arg)
{
    struct notice notice = *(struct notice *)arg;

    free(arg);
    notice.function(notice.value);
    return NULL;
}

static void start_notice(const struct sigevent *event)
{
    struct notice *notice = mem_alloc(sizeof *notice);
    pthread_attr_t attributes;
    pthread_t thread;

    *notice = (struct notice){event->sigev_notify_function, event->sigev_value};
    (void)pthread_attr_init(&attributes);
    (void)pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    /* A thread of the bench whose clock is moved, as if the program had started it. */
    struct lane *lane = lane_self();
    uint32_t inside = lane->inside;
    lane->inside = 0;
    if (call_pthread_create((const void *)notify, &thread, &attributes, notify, notice) != 0)
        free(notice);
    lane->inside = inside;
    (void)pthread_attr_destroy(&attributes);
}

static void arm(struct vtimer *timer)
{
    timer->is_armed = true;
    (void)(timer->is_day
               ? vitro_clock_arm_at(timer->clock, &timer->timer, timer->due_ns)
               : vitro_clock_arm(timer->clock, &timer->timer,
                                 timer->due_ns - (int64_t)vitro_clock_monotonic(timer->clock)));
}

static void fire(struct vitro_clock_timer *base)
{
    struct vtimer *timer = (struct vtimer *)base;
    static const uint64_t one = 1;

    timer->is_armed = false;
    if (timer->interval_ns) {
        timer->due_ns += timer->interval_ns;
        arm(timer);
    }
    if (timer->kind == KIND_FD)
        (void)!write(timer->fd, &one, sizeof one);
    else if (timer->event.sigev_notify == SIGEV_THREAD)
        start_notice(&timer->event);
    else if (timer->event.sigev_notify != SIGEV_NONE)
        send_signal(timer, timer->event.sigev_signo, timer->event.sigev_value);
}

/* ---- arming */

static bool sends_signals(const struct vtimer *timer)
{
    return timer->kind != KIND_FD && timer->event.sigev_notify != SIGEV_NONE &&
           timer->event.sigev_notify != SIGEV_THREAD;
}

static void disarm(struct vtimer *timer)
{
    if (timer->clock)
        (void)vitro_clock_disarm(timer->clock, &timer->timer);
    timer->is_armed = false;
}

static struct itimerspec left(const struct vtimer *timer)
{
    struct itimerspec ret = {.it_interval = timespec_of(timer->interval_ns)};

    if (timer->is_armed && timer->clock) {
        int64_t now = timer->is_day ? vitro_clock_now(timer->clock)
                                    : (int64_t)vitro_clock_monotonic(timer->clock);
        ret.it_value = timespec_of(timer->due_ns > now ? timer->due_ns - now : 1);
    }
    return ret;
}

static int set(struct lane *lane, struct vtimer *timer, bool absolute, const struct itimerspec *to,
               struct itimerspec *ret)
{
    uint64_t drained;

    if (!to || ns_of(&to->it_value) < 0 || ns_of(&to->it_interval) < 0) {
        errno = EINVAL;
        return -1;
    }
    inside_begin(lane);
    struct itimerspec before = left(timer);
    disarm(timer);
    if (timer->kind == KIND_FD)
        while (REAL.poll(&(struct pollfd){.fd = timer->fd, .events = POLLIN}, 1, 0) > 0 &&
               REAL.read(timer->fd, &drained, sizeof drained) > 0)
            ;
    timer->interval_ns = ns_of(&to->it_interval);
    timer->lane = lane;
    timer->tid = REAL.gettid();
    int64_t value = ns_of(&to->it_value);
    if (value && timer->clock) {
        timer->is_day = absolute && is_day(timer->id);
        timer->due_ns = timer->is_day ? value
                        : absolute    ? value - MONOTONIC_OFFSET_NS
                                      : value + (int64_t)vitro_clock_monotonic(timer->clock);
        if (!absolute && timer->due_ns < 0)
            timer->due_ns = INT64_MAX;
        arm(timer);
    }
    inside_end(lane);
    if (ret)
        *ret = before;
    return 0;
}

static struct vtimer *timer_new(struct vitro_clock *clock, enum timer_kind kind, clockid_t id)
{
    struct vtimer *timer = mem_alloc(sizeof *timer);

    timer->timer.fire = fire;
    timer->kind = kind;
    timer->clock = clock;
    timer->id = id;
    timer->fd = -1;
    return timer;
}

static void timer_end(struct vtimer *timer)
{
    disarm(timer);
    list_remove(timer);
    if (sends_signals(timer))
        signals_armed(-1);
    free(timer);
}

void timers_forget(const struct vitro_clock *clock)
{
    (void)pthread_mutex_lock(&lock);
    for (struct vtimer *timer = first; timer; timer = timer->next)
        if (timer->clock && clock_innermost(timer->clock) == clock) {
            disarm(timer);
            timer->clock = NULL;
        }
    (void)pthread_mutex_unlock(&lock);
}

static struct vitro_clock *arms_here(const void *caller, struct lane **ret_lane)
{
    *ret_lane = lane_here(caller);
    struct vitro_clock *clock = *ret_lane ? lane_clock(*ret_lane) : NULL;

    return clock && paused_of(clock) ? clock : NULL;
}

/* ---- timerfd */

int call_timerfd_create(const void *caller, int id, int flags)
{
    struct lane *lane;
    struct vitro_clock *clock = arms_here(caller, &lane);

    if (!clock || !(is_day(id) || is_monotonic(id)) || flags & ~(TFD_CLOEXEC | TFD_NONBLOCK))
        return REAL.timerfd_create(id, flags);
    int fd = eventfd(0, (flags & TFD_CLOEXEC ? EFD_CLOEXEC : 0) |
                            (flags & TFD_NONBLOCK ? EFD_NONBLOCK : 0));
    if (fd < 0)
        return fd;
    inside_begin(lane);
    struct vtimer *timer = timer_new(clock, KIND_FD, id);
    timer->fd = fd;
    list_add(timer);
    inside_end(lane);
    return fd;
}

int call_timerfd_settime(const void *caller, int fd, int flags, const struct itimerspec *to,
                         struct itimerspec *ret)
{
    struct lane *lane = lane_here(caller);
    struct vtimer *timer = lane ? find_fd(fd) : NULL;

    return timer ? set(lane, timer, flags & TFD_TIMER_ABSTIME, to, ret)
                 : REAL.timerfd_settime(fd, flags, to, ret);
}

int call_timerfd_gettime(const void *caller, int fd, struct itimerspec *ret)
{
    struct vtimer *timer = lane_here(caller) ? find_fd(fd) : NULL;

    if (!timer)
        return REAL.timerfd_gettime(fd, ret);
    *ret = left(timer);
    return 0;
}

int call_close(const void *caller, int fd)
{
    struct lane *lane = lane_here(caller);
    struct vtimer *timer = lane ? find_fd(fd) : NULL;

    if (timer) {
        inside_begin(lane);
        timer_end(timer);
        inside_end(lane);
    }
    if (lane)
        file_closed(lane, fd);
    return REAL.close(fd);
}

/* ---- POSIX timers: what we give out are addresses, which the kernel's small numbers are not */

static struct vtimer *find_event(timer_t handle)
{
    struct vtimer *found = NULL;

    if (!__atomic_load_n(&count, __ATOMIC_SEQ_CST))
        return NULL;
    (void)pthread_mutex_lock(&lock);
    for (struct vtimer *timer = first; timer && !found; timer = timer->next)
        if (timer->kind == KIND_EVENT && (timer_t)timer == handle)
            found = timer;
    (void)pthread_mutex_unlock(&lock);
    return found;
}

int call_timer_create(const void *caller, clockid_t id, struct sigevent *restrict event,
                      timer_t *restrict ret)
{
    struct lane *lane;
    struct vitro_clock *clock = arms_here(caller, &lane);

    if (!clock || !ret || !(is_day(id) || is_monotonic(id)))
        return REAL.timer_create(id, event, ret);
    inside_begin(lane);
    struct vtimer *timer = timer_new(clock, KIND_EVENT, id);
    timer->event = event ? *event
                         : (struct sigevent){.sigev_notify = SIGEV_SIGNAL,
                                             .sigev_signo = SIGALRM,
                                             .sigev_value.sival_ptr = timer};
    if (sends_signals(timer))
        signals_armed(+1);
    list_add(timer);
    inside_end(lane);
    *ret = (timer_t)timer;
    return 0;
}

int call_timer_settime(const void *caller, timer_t handle, int flags,
                       const struct itimerspec *restrict to, struct itimerspec *restrict ret)
{
    struct lane *lane = lane_here(caller);
    struct vtimer *timer = lane ? find_event(handle) : NULL;

    return timer ? set(lane, timer, flags & TIMER_ABSTIME, to, ret)
                 : REAL.timer_settime(handle, flags, to, ret);
}

int call_timer_gettime(const void *caller, timer_t handle, struct itimerspec *ret)
{
    struct vtimer *timer = lane_here(caller) ? find_event(handle) : NULL;

    if (!timer)
        return REAL.timer_gettime(handle, ret);
    *ret = left(timer);
    return 0;
}

int call_timer_getoverrun(const void *caller, timer_t handle)
{
    struct vtimer *timer = lane_here(caller) ? find_event(handle) : NULL;

    return timer ? timer->overrun : REAL.timer_getoverrun(handle);
}

int call_timer_delete(const void *caller, timer_t handle)
{
    struct lane *lane = lane_here(caller);
    struct vtimer *timer = lane ? find_event(handle) : NULL;

    if (!timer)
        return REAL.timer_delete(handle);
    inside_begin(lane);
    timer_end(timer);
    inside_end(lane);
    return 0;
}

/* ---- alarms: one for each clock, as it is one for each process */

static struct vtimer *alarm_of(struct vitro_clock *clock)
{
    struct vtimer *found = NULL;

    (void)pthread_mutex_lock(&lock);
    for (struct vtimer *timer = first; timer && !found; timer = timer->next)
        if (timer->kind == KIND_ALARM && timer->clock &&
            clock_innermost(timer->clock) == clock_innermost(clock))
            found = timer;
    (void)pthread_mutex_unlock(&lock);
    if (found)
        return found;
    found = timer_new(clock, KIND_ALARM, CLOCK_MONOTONIC);
    found->event = (struct sigevent){.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
    signals_armed(+1);
    list_add(found);
    return found;
}

int call_setitimer(const void *caller, __itimer_which_t which, const struct itimerval *restrict to,
                   struct itimerval *restrict ret)
{
    struct lane *lane;
    struct vitro_clock *clock = arms_here(caller, &lane);
    struct itimerspec spec = {0}, before;

    if (clock && which != ITIMER_REAL)
        leak_here("clock/cpu", caller);
    if (!clock || which != ITIMER_REAL)
        return REAL.setitimer(which, to, ret);
    if (to)
        spec = (struct itimerspec){
            .it_value = {to->it_value.tv_sec, to->it_value.tv_usec * 1000},
            .it_interval = {to->it_interval.tv_sec, to->it_interval.tv_usec * 1000}};
    inside_begin(lane);
    struct vtimer *timer = alarm_of(clock);
    inside_end(lane);
    if (set(lane, timer, false, &spec, &before) < 0)
        return -1;
    if (ret)
        *ret = (struct itimerval){
            .it_value = {before.it_value.tv_sec, before.it_value.tv_nsec / 1000},
            .it_interval = {before.it_interval.tv_sec, before.it_interval.tv_nsec / 1000}};
    return 0;
}

int call_getitimer(const void *caller, __itimer_which_t which, struct itimerval *ret)
{
    struct lane *lane;
    struct vitro_clock *clock = arms_here(caller, &lane);

    if (!clock || which != ITIMER_REAL || !ret)
        return REAL.getitimer(which, ret);
    inside_begin(lane);
    struct itimerspec now = left(alarm_of(clock));
    inside_end(lane);
    *ret =
        (struct itimerval){.it_value = {now.it_value.tv_sec, now.it_value.tv_nsec / 1000},
                           .it_interval = {now.it_interval.tv_sec, now.it_interval.tv_nsec / 1000}};
    return 0;
}

unsigned call_alarm(const void *caller, unsigned seconds)
{
    struct itimerval to = {.it_value.tv_sec = seconds}, before = {0};

    if (!lane_here(caller))
        return REAL.alarm(seconds);
    (void)call_setitimer(caller, ITIMER_REAL, &to, &before);
    return (unsigned)before.it_value.tv_sec + (before.it_value.tv_usec > 0);
}
