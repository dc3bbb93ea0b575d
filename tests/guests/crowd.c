/* Many threads that are blocked are overlooked while they stay blocked, and not when one of them
 * was woken: what it does then is over before the clock moves.
EXPECT
64 in the crowd
5 woken: 0 late
killed in the crowd: 9
*/
#include "guest.h"
enum { CROWD = 64, STEPS = 100, EVERY = 20 };
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t conds[CROWD];
static int called[CROWD], waiting, late, woken, disk;

static long long now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1500000000LL + t.tv_nsec;
}
/* The clock stands meanwhile, both while it computes and while it waits for the disk. */
static void work(void)
{
    static char bytes[8192];
    char *page = bytes + (4096 - (uintptr_t)bytes % 4096);
    volatile unsigned word = 1;

    for (int i = 0; i < 1000000; i++)
        word = word * 1664525 + 1013904223;
    for (int i = 0; i < 200 && pread(disk, page, 4096, 0) == 4096; i++)
        ;
}
static void *one(void *number)
{
    int i = (int)(intptr_t)number;

    pthread_mutex_lock(&mutex);
    waiting++;
    for (;;) {
        while (!called[i])
            pthread_cond_wait(&conds[i], &mutex);
        called[i] = 0;
        pthread_mutex_unlock(&mutex);
        long long before = now();
        work();
        late += now() != before;
        woken++;
        pthread_mutex_lock(&mutex);
    }
    return NULL;
}
static void fill(void)
{
    pthread_t thread;

    for (int i = 0; i < CROWD; i++) {
        pthread_cond_init(&conds[i], NULL);
        pthread_create(&thread, NULL, one, (void *)(intptr_t)i);
    }
    while (waiting < CROWD)
        usleep(1000);
}
int main(void)
{
    int status;

    disk = open("/proc/self/exe", O_RDONLY | O_DIRECT); /* -1 where files lie in memory */
    fill();
    printf("%d in the crowd\n", waiting);
    for (int i = 0; i < STEPS; i++) {
        usleep(1000);
        if (i % EVERY != EVERY - 1)
            continue;
        pthread_mutex_lock(&mutex);
        called[i * 7 % CROWD] = 1;
        pthread_cond_signal(&conds[i * 7 % CROWD]);
        pthread_mutex_unlock(&mutex);
    }
    usleep(1000);
    printf("%d woken: %d late\n", woken, late);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        waiting = 0;
        fill();
        for (;;)
            usleep(1000);
    }
    usleep(50500);
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    printf("killed in the crowd: %d\n", WTERMSIG(status));
    return 0;
}
