/* Loops that wait until a time and go on only when it is past, as Ruby's sleep does: the clock gets
 * there after few waits, not after as many as it takes to see a spin.
EXPECT
cond 1.0
nanosleep 2.0
ppoll 3.0
select 4.0
poll 4.0
*/
#include "guest.h"
static int64_t start;
static struct timespec at(int64_t ns)
{
    return (struct timespec){ns / 1000000000, ns % 1000000000};
}
static void say(const char *name, int waits)
{
    if (waits < 1000)
        printf("%s %.1f\n", name, since(start));
    else
        printf("%s took %d waits\n", name, waits);
}
static void by_cond(int64_t end)
{
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_condattr_t monotonic;
    pthread_cond_t cond;
    struct timespec until = at(end);
    int waits = 0;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&cond, &monotonic);
    pthread_mutex_lock(&mutex);
    for (; now_ns() <= end; waits++)
        pthread_cond_timedwait(&cond, &mutex, &until);
    say("cond", waits);
}
static void by_nanosleep(int64_t end)
{
    struct timespec until = at(end);
    int waits = 0;
    for (; now_ns() <= end; waits++)
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
    say("nanosleep", waits);
}
static void by_ppoll(int64_t end)
{
    int ends[2], waits = 0;
    if (pipe(ends) < 0)
        return;
    struct pollfd fd = {.fd = ends[0], .events = POLLIN};
    for (int64_t now; (now = now_ns()) <= end; waits++) {
        struct timespec left = at(end - now);
        ppoll(&fd, 1, &left, NULL);
    }
    say("ppoll", waits);
}
static void by_select(int64_t end)
{
    int ends[2], waits = 0;
    if (pipe(ends) < 0)
        return;
    for (int64_t now; (now = now_ns()) <= end; waits++) {
        struct timeval left = {(end - now) / 1000000000, (end - now) % 1000000000 / 1000};
        fd_set set;
        FD_ZERO(&set);
        FD_SET(ends[0], &set);
        select(ends[0] + 1, &set, NULL, NULL, &left);
    }
    say("select", waits);
}
/* As multiprocessing does in Python: it looks until the time is past, which has come already. */
static void by_poll(int64_t end)
{
    int ends[2], waits = 0;
    if (pipe(ends) < 0)
        return;
    struct pollfd fd = {.fd = ends[0], .events = POLLIN};
    for (; now_ns() <= end; waits++)
        poll(&fd, 1, 0);
    say("poll", waits);
}
int main(void)
{
    start = now_ns();
    by_cond(start + 1000000000);
    by_nanosleep(start + 2000000000);
    by_ppoll(start + 3000000000);
    by_select(start + 4000000000);
    by_poll(now_ns());
    return 0;
}
