/* SPDX-License-Identifier: MIT */
/* exec with its arguments in a row. */
#include "interpose/shim/shim.h"
#include <stdarg.h>

/* Two walks over the arguments: how many, and which. The last is NULL. */
#define COLLECT(first, argv, list)                                                                 \
    va_list list;                                                                                  \
    size_t count_ = 1;                                                                             \
    va_start(list, first);                                                                         \
    while (va_arg(list, const char *))                                                             \
        count_++;                                                                                  \
    va_end(list);                                                                                  \
    char **argv = __builtin_alloca((count_ + 1) * sizeof *argv);                                   \
    argv[0] = (char *)first;                                                                       \
    va_start(list, first);                                                                         \
    for (size_t i_ = 1; i_ <= count_; i_++)                                                        \
        argv[i_] = va_arg(list, char *);

EXPORT int execl(const char *path, const char *first, ...)
{
    COLLECT(first, argv, list)
    va_end(list);
    if (SHIM_ASKS)
        return shim.calls->execv(__builtin_return_address(0), path, argv);
    return shim.real.execv(path, argv);
}

EXPORT int execlp(const char *file, const char *first, ...)
{
    COLLECT(first, argv, list)
    va_end(list);
    if (SHIM_ASKS)
        return shim.calls->execvp(__builtin_return_address(0), file, argv);
    return shim.real.execvp(file, argv);
}

EXPORT int execle(const char *path, const char *first, ...)
{
    COLLECT(first, argv, list)
    char *const *envp = va_arg(list, char *const *);
    va_end(list);
    if (SHIM_ASKS)
        return shim.calls->execve(__builtin_return_address(0), path, argv, envp);
    return shim.real.execve(path, argv, envp);
}
