/* SPDX-License-Identifier: MIT */
/* Memory, errors, arguments, environment, clocks, chance, the end. */
#include "wasi_host.h"
#include "wasi_calls.h"
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

extern char **environ;
static int arg_count;
static char **arg_list;
uint64_t wasi_steps_left = UINT64_MAX;

/* ---- memory */

void *wasi_at(uint32_t address, uint64_t size)
{
    uint64_t limit = 0;
    uint8_t *memory = wasi_memory(&limit);

    return address + size <= limit ? memory + address : NULL;
}

bool wasi_put32(uint32_t address, uint32_t value)
{
    void *at = wasi_at(address, sizeof value);

    if (at)
        memcpy(at, &value, sizeof value);
    return at;
}

bool wasi_put64(uint32_t address, uint64_t value)
{
    void *at = wasi_at(address, sizeof value);

    if (at)
        memcpy(at, &value, sizeof value);
    return at;
}

/* ---- errors */

uint32_t wasi_errno_of(int error)
{
    static const struct {
        int host, wasi;
    } pairs[] = {
        {EACCES, WASI_ACCES},     {EAGAIN, WASI_AGAIN},       {EBADF, WASI_BADF},
        {EEXIST, WASI_EXIST},     {EFAULT, WASI_FAULT},       {EFBIG, WASI_FBIG},
        {EILSEQ, WASI_ILSEQ},     {EINTR, WASI_INTR},         {EINVAL, WASI_INVAL},
        {EIO, WASI_IO},           {EISDIR, WASI_ISDIR},       {ELOOP, WASI_LOOP},
        {EMFILE, WASI_MFILE},     {EMLINK, WASI_MLINK},       {ENAMETOOLONG, WASI_NAMETOOLONG},
        {ENFILE, WASI_NFILE},     {ENOENT, WASI_NOENT},       {ENOMEM, WASI_NOMEM},
        {ENOSPC, WASI_NOSPC},     {ENOSYS, WASI_NOSYS},       {ENOTCONN, WASI_NOTCONN},
        {ENOTDIR, WASI_NOTDIR},   {ENOTEMPTY, WASI_NOTEMPTY}, {ENOTSOCK, WASI_NOTSOCK},
        {ENOTSUP, WASI_NOTSUP},   {ENXIO, WASI_NXIO},         {EOVERFLOW, WASI_OVERFLOW},
        {EPERM, WASI_PERM},       {EPIPE, WASI_PIPE},         {ERANGE, WASI_RANGE},
        {EROFS, WASI_ROFS},       {ESPIPE, WASI_SPIPE},       {ETXTBSY, WASI_TXTBSY},
        {EXDEV, WASI_NOTCAPABLE}, /* what openat2 says of a path that leaves its directory */
    };

    if (!error)
        return WASI_OK;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (pairs[i].host == error)
            return (uint32_t)pairs[i].wasi;
    return WASI_IO;
}

uint32_t wasi_last(int result)
{
    return result < 0 ? wasi_errno_of(errno) : WASI_OK;
}

/* ---- beginning and end */

void wasi_begin(int argc, char **argv)
{
    const char *steps = getenv("VITRO_WASI_STEPS");
    struct stat st;

    arg_count = argc;
    arg_list = argv;
    if (steps)
        wasi_steps_left = strtoull(steps, NULL, 10);
    (void)signal(SIGPIPE, SIG_IGN); /* a module is told by EPIPE */
    for (int fd = 0; fd < 3; fd++) {
        uint32_t number;
        bool there = fstat(fd, &st) == 0;
        (void)wasi_fd_add(there ? fd : -1, there ? wasi_type_of(st.st_mode) : 0, NULL, &number);
    }
    const char *worktree = getenv("VITRO_WASI_ROOT");
    uint32_t number;
    int here = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (here >= 0)
        (void)wasi_fd_add(here, WASI_DIRECTORY, ".", &number);
    int root = worktree ? open(worktree, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (root >= 0)
        (void)wasi_fd_add(root, WASI_DIRECTORY, "/", &number);
}

static _Noreturn void end_with(const char *words)
{
    (void)fflush(stdout);
    (void)fprintf(stderr, "wasi trap: %s\n", words);
    _exit(134);
}

void wasi_trap(int code)
{
    static const char *const words[] = {"none",
                                        "out of bounds memory or table access",
                                        "integer overflow",
                                        "integer divide by zero",
                                        "invalid conversion to integer",
                                        "unreachable",
                                        "indirect call of the wrong kind",
                                        "uncaught exception",
                                        "call stack exhausted"};

    end_with(code >= 0 && code < (int)(sizeof words / sizeof *words) ? words[code] : "unknown");
}

void wasi_out_of_steps(void)
{
    end_with("step limit reached (--wasi-steps)");
}

uint64_t wasi_memory_pages_max(void)
{
    const char *text = getenv("VITRO_WASI_MEMORY");

    return text ? strtoull(text, NULL, 10) / 65536 : 65536;
}

void wasi_proc_exit(uint32_t code)
{
    _exit((int)(code & 0xff));
}

uint32_t wasi_proc_raise(uint32_t signal)
{
    (void)signal;
    return WASI_NOSYS;
}

uint32_t wasi_sched_yield(void)
{
    return wasi_last(sched_yield());
}

/* ---- arguments and environment */

/* Ours are not the module's. */
static bool is_ours(const char *variable)
{
    return strncmp(variable, "VITRO_", 6) == 0;
}

static uint32_t put_list(char **list, uint32_t pointers, uint32_t texts)
{
    for (; *list; list++) {
        if (list != arg_list && is_ours(*list))
            continue;
        size_t length = strlen(*list) + 1;
        void *at = wasi_at(texts, length);
        if (!at || !wasi_put32(pointers, texts))
            return WASI_FAULT;
        memcpy(at, *list, length);
        pointers += 4;
        texts += (uint32_t)length;
    }
    return WASI_OK;
}

static uint32_t put_sizes(char **list, uint32_t count_at, uint32_t size_at)
{
    uint32_t count = 0, size = 0;

    for (; *list; list++) {
        if (list != arg_list && is_ours(*list))
            continue;
        count++;
        size += (uint32_t)strlen(*list) + 1;
    }
    return wasi_put32(count_at, count) && wasi_put32(size_at, size) ? WASI_OK : WASI_FAULT;
}

uint32_t wasi_args_get(uint32_t pointers, uint32_t texts)
{
    return put_list(arg_list, pointers, texts);
}

uint32_t wasi_args_sizes_get(uint32_t count, uint32_t size)
{
    return put_sizes(arg_list, count, size);
}

uint32_t wasi_environ_get(uint32_t pointers, uint32_t texts)
{
    return put_list(environ, pointers, texts);
}

uint32_t wasi_environ_sizes_get(uint32_t count, uint32_t size)
{
    return put_sizes(environ, count, size);
}

/* ---- clocks and chance */

static int clock_of(uint32_t clock)
{
    static const int clocks[] = {CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_PROCESS_CPUTIME_ID,
                                 CLOCK_THREAD_CPUTIME_ID};

    return clock < 4 ? clocks[clock] : -1;
}

static uint32_t put_time(int clock, int (*get)(clockid_t, struct timespec *), uint32_t address)
{
    struct timespec time;

    if (clock < 0)
        return WASI_INVAL;
    if (get(clock, &time) < 0)
        return wasi_last(-1);
    uint64_t ns = (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
    return wasi_put64(address, ns) ? WASI_OK : WASI_FAULT;
}

uint32_t wasi_clock_res_get(uint32_t clock, uint32_t address)
{
    return put_time(clock_of(clock), clock_getres, address);
}

uint32_t wasi_clock_time_get(uint32_t clock, uint64_t precision, uint32_t address)
{
    (void)precision;
    return put_time(clock_of(clock), clock_gettime, address);
}

uint32_t wasi_random_get(uint32_t address, uint32_t size)
{
    uint8_t *at = wasi_at(address, size);

    if (!at)
        return WASI_FAULT;
    while (size) {
        ssize_t count = getrandom(at, size, 0);
        if (count < 0)
            return wasi_last(-1);
        at += count;
        size -= (uint32_t)count;
    }
    return WASI_OK;
}
