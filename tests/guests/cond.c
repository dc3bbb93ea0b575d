/* Condition variables time out on both clocks.
EXPECT
realtime ETIMEDOUT 3.0
monotonic ETIMEDOUT 4.0
mutex ETIMEDOUT 5.0
*/
#include "guest.h"
static void try(const char *name, clockid_t id, int seconds)
{
    pthread_condattr_t attr;
    pthread_cond_t cond;
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    struct timespec at;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, id);
    pthread_cond_init(&cond, &attr);
    clock_gettime(id, &at);
    at.tv_sec += seconds;
    int64_t t = now_ns();
    pthread_mutex_lock(&mutex);
    int r;
    do
        r = pthread_cond_timedwait(&cond, &mutex, &at);
    while (r == 0);
    printf("%s %s %.1f\n", name, strerrorname_np(r), since(t));
}
static void *locker(void *mutex)
{
    struct timespec at;
    clock_gettime(CLOCK_REALTIME, &at);
    at.tv_sec += 5;
    int64_t t = now_ns();
    int r = pthread_mutex_timedlock(mutex, &at);
    printf("mutex %s %.1f\n", strerrorname_np(r), since(t));
    return NULL;
}
int main(void)
{
    try("realtime", CLOCK_REALTIME, 3);
    try("monotonic", CLOCK_MONOTONIC, 4);
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_t thread;
    pthread_mutex_lock(&mutex);
    pthread_create(&thread, NULL, locker, &mutex);
    pthread_join(thread, NULL);
    return 0;
}
