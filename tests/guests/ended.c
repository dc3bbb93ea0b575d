/* SPDX-License-Identifier: MIT */
/* ended: threads that sleep and are ended with their process take no time with them, however it
ends. EXPECT ended by its first thread: status 3, 1 s ended by another thread: status 3, 1 s ended
by a fault: signal 11, 1 s killed: signal 9, 1 s
*/
#include "guest.h"
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 6, BYTES = 96 << 20 };

enum way { BY_FIRST, BY_OTHER, BY_FAULT, BY_KILL };

static void *sleep_long(void *argument)
{
    (void)argument;
    sleep(1000);
    return NULL;
}

static void *end_all(void *argument)
{
    sleep(1);
    if (argument)
        raise(SIGSEGV);
    _exit(3);
}

/* Much memory, so that there is something to do at the end. */
static void child(enum way way)
{
    pthread_t thread;
    char *bytes = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    memset(bytes, 1, BYTES);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&thread, NULL, sleep_long, NULL);
    if (way == BY_OTHER || way == BY_FAULT)
        pthread_create(&thread, NULL, end_all, way == BY_FAULT ? bytes : NULL);
    sleep(way == BY_FIRST ? 1 : 1000);
    _exit(3);
}

static void end(enum way way, const char *name)
{
    struct timespec before, after;
    int status = 0;

    fflush(stdout);
    clock_gettime(CLOCK_MONOTONIC, &before);
    pid_t pid = fork();
    if (pid == 0)
        child(way);
    if (way == BY_KILL) {
        sleep(1);
        kill(pid, SIGKILL);
    }
    waitpid(pid, &status, 0);
    clock_gettime(CLOCK_MONOTONIC, &after);
    printf("%s: %s %d, %ld s\n", name, WIFSIGNALED(status) ? "signal" : "status",
           WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status),
           (long)(after.tv_sec - before.tv_sec));
}

int main(void)
{
    end(BY_FIRST, "ended by its first thread");
    end(BY_OTHER, "ended by another thread");
    end(BY_FAULT, "ended by a fault");
    end(BY_KILL, "killed");
    return 0;
}
