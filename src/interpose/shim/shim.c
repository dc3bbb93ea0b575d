/* SPDX-License-Identifier: MIT */
/* The functions of calls.def, before libc's. While nothing is in force: one branch, and on to the
 * real one. Real functions are looked up when first called and, all of them, before main; not in a
 * signal handler, if it can be helped, since the loader's locks are taken. */
#include "interpose/shim/shim.h"
#include <dlfcn.h>
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>

extern struct interposer shim __attribute__((alias("vitro_interposer"), visibility("hidden")));

/* glibc keeps old versions of these names; the plain look-up may find them. */
static void *find(const char *name)
{
    static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.3.3", "GLIBC_2.3.2"};
    void *found = NULL;

    if (strncmp(name, "pthread_cond_", 13) == 0 || strncmp(name, "timer_", 6) == 0)
        for (size_t i = 0; !found && i < sizeof versions / sizeof *versions; i++)
            found = dlvsym(RTLD_NEXT, name, versions[i]);
    return found ? found : dlsym(RTLD_NEXT, name);
}

/* A function that this libc does not have. */
static long missing(void)
{
    errno = ENOSYS;
    return -1;
}

#define RESOLVE(name)                                                                              \
    do {                                                                                           \
        void *found_ = find(#name);                                                                \
        found_ = found_ ? found_ : (void *)missing;                                                \
        memcpy(&shim.real.name, &found_, sizeof found_);                                           \
    } while (0)

#define CALL(result, name, parameters, arguments)                                                  \
    static result first_##name parameters                                                          \
    {                                                                                              \
        RESOLVE(name);                                                                             \
        return shim.real.name arguments;                                                           \
    }                                                                                              \
    EXPORT result name parameters                                                                  \
    {                                                                                              \
        if (SHIM_ASKS)                                                                             \
            return shim.calls->name(__builtin_return_address(0), UNWRAP arguments);                \
        return shim.real.name arguments;                                                           \
    }
#define CALL0(result, name)                                                                        \
    static result first_##name(void)                                                               \
    {                                                                                              \
        RESOLVE(name);                                                                             \
        return shim.real.name();                                                                   \
    }                                                                                              \
    EXPORT result name(void)                                                                       \
    {                                                                                              \
        if (SHIM_ASKS)                                                                             \
            return shim.calls->name(__builtin_return_address(0));                                  \
        return shim.real.name();                                                                   \
    }
#define LEAK(result, name, parameters, arguments, capability)                                      \
    CALL(result, name, parameters, arguments)
#define LEAK0(result, name, capability) CALL0(result, name)
#include "interpose/calls.def"
#undef CALL
#undef CALL0

static long first_syscall(long number, ...)
{
    va_list list;
    long a[6];

    RESOLVE(syscall);
    va_start(list, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(list, long);
    va_end(list);
    return shim.real.syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

EXPORT long syscall(long number, ...)
{
    va_list list;
    long a[6];

    va_start(list, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(list, long);
    va_end(list);
    if (SHIM_ASKS)
        return shim.calls->syscall(__builtin_return_address(0), number, a);
    return shim.real.syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

EXPORT ssize_t __getdelim(char **line, size_t *size, int end, FILE *file)
{
    return getdelim(line, size, end, file);
}

void shim_resolve_openat(void)
{
    RESOLVE(openat);
}

/* What the compiler's checks make of some of them. */
EXPORT int __poll_chk(struct pollfd *fds, nfds_t count, int ms, size_t size);
EXPORT int __poll_chk(struct pollfd *fds, nfds_t count, int ms, size_t size)
{
    if (size / sizeof *fds < count)
        abort();
    return poll(fds, count, ms);
}

EXPORT int __ppoll_chk(struct pollfd *fds, nfds_t count, const struct timespec *wait,
                       const sigset_t *mask, size_t size);
EXPORT int __ppoll_chk(struct pollfd *fds, nfds_t count, const struct timespec *wait,
                       const sigset_t *mask, size_t size)
{
    if (size / sizeof *fds < count)
        abort();
    return ppoll(fds, count, wait, mask);
}

EXPORT ssize_t __read_chk(int fd, void *bytes, size_t size, size_t room);
EXPORT ssize_t __read_chk(int fd, void *bytes, size_t size, size_t room)
{
    if (size > room)
        abort();
    return read(fd, bytes, size);
}

EXPORT ssize_t __recv_chk(int fd, void *bytes, size_t size, size_t room, int flags);
EXPORT ssize_t __recv_chk(int fd, void *bytes, size_t size, size_t room, int flags)
{
    if (size > room)
        abort();
    return recv(fd, bytes, size, flags);
}

EXPORT ssize_t __recvfrom_chk(int fd, void *bytes, size_t size, size_t room, int flags,
                              __SOCKADDR_ARG from, socklen_t *length);
EXPORT ssize_t __recvfrom_chk(int fd, void *bytes, size_t size, size_t room, int flags,
                              __SOCKADDR_ARG from, socklen_t *length)
{
    if (size > room)
        abort();
    return recvfrom(fd, bytes, size, flags, from, length);
}

EXPORT struct interposer vitro_interposer = {
    .size = sizeof(struct interposer),
#define CALL(result, name, parameters, arguments) .real.name = first_##name,
#define CALL0(result, name)                       .real.name = first_##name,
#include "interpose/calls.def"
    .real.syscall = first_syscall,
    .real.openat = shim_first_openat,
#undef CALL
#undef CALL0
};

__attribute__((constructor(101))) static void resolve_all(void)
{
#define CALL(result, name, parameters, arguments) RESOLVE(name);
#define CALL0(result, name)                       RESOLVE(name);
#include "interpose/calls.def"
    RESOLVE(syscall);
    RESOLVE(openat);
}
