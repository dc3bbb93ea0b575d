/* SPDX-License-Identifier: MIT */
#include "base/trace.h"
#include "base/fd.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

unsigned trace_mask;
static int trace_fd = STDERR_FILENO;

static const char *const area_names[TRACE_AREA_COUNT] = {
    [TRACE_BASE] = "base",   [TRACE_TAPE] = "tape", [TRACE_BOX] = "box",   [TRACE_CLOCK] = "clock",
    [TRACE_SCHED] = "sched", [TRACE_FS] = "fs",     [TRACE_PROC] = "proc", [TRACE_NET] = "net",
    [TRACE_TERM] = "term",   [TRACE_CLI] = "cli",
};

void trace_init(void)
{
    const char *wanted = getenv("VITRO_TRACE"), *path = getenv("VITRO_TRACE_FILE");

    trace_mask = 0;
    if (!wanted || !*wanted)
        return;
    if (path && *path) {
        int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
        if (fd >= 0)
            trace_fd = fd;
    }
    for (const char *word = wanted; *word;) {
        size_t length = strcspn(word, ",");
        for (int i = 0; i < TRACE_AREA_COUNT; i++)
            if ((length == 3 && memcmp(word, "all", 3) == 0) ||
                (strlen(area_names[i]) == length && memcmp(word, area_names[i], length) == 0))
                trace_mask |= 1u << i;
        word += length + (word[length] == ',');
    }
}

void trace_write(enum trace_area area, const char *format, ...)
{
    int saved = errno;
    char line[1024];
    va_list args;

    int length = snprintf(line, sizeof line, "%s: ", area_names[area]);
    va_start(args, format);
    length += vsnprintf(line + length, sizeof line - (size_t)length, format, args);
    va_end(args);
    if (length > (int)sizeof line - 1)
        length = (int)sizeof line - 1;
    line[length++] = '\n';
    (void)fd_write_full(trace_fd, line, (size_t)length);
    errno = saved;
}
