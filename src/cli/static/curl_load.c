/* SPDX-License-Identifier: MIT */
/* curl_load: of the command that is linked statically, in place of base/curl.c. Such a program
 * cannot load libraries, so it starts itself anew as its dynamic twin, which has the same code:
 * whoever needs libcurl asks for it before anything else is done (docs/decisions/0036). */
#include "base/curl.h"
#include "base/fd.h"
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

static const char *const places[] = {"vitro-dynamic", "../libexec/vitro/vitro-dynamic"};

static void become(const char *path, struct buf *command_line)
{
    char *line = command_line->data, *end = line + command_line->length;
    size_t count = 0;

    for (const char *at = line; at < end; at += strlen(at) + 1)
        count++;
    CLEANUP(mem_free) char **argv = mem_alloc((count + 1) * sizeof *argv);
    count = 0;
    for (char *at = line; at < end; at += strlen(at) + 1)
        argv[count++] = at;
    (void)execv(path, argv);
}

const struct curl_library *curl_load(struct err *err)
{
    CLEANUP(buf_done) struct buf command_line = {0};
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);

    if (file_read("/proc/self/cmdline", 64 << 20, &command_line, err) < 0)
        return NULL;
    self[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(self, '/');
    if (slash)
        slash[1] = '\0';
    for (size_t i = 0; i < ARRAY_LENGTH(places); i++) {
        CLEANUP(mem_free) char *path = mem_format("%s%s", slash ? self : "", places[i]);
        become(path, &command_line);
    }
    err_set(err, -ELIBACC, "load libcurl: 'vitro-dynamic' is not beside '%s'",
            slash ? self : "vitro");
    (void)err_hint(err,
                   "'make install' puts it into libexec/vitro; this command is linked statically");
    return NULL;
}
