/* SPDX-License-Identifier: MIT */
/* Build once: a lock file for a key; who has it looks at the stamp that the last build left, and
 * builds if that is another. The lock is the kernel's, so a builder that dies frees it and leaves
 * no stamp: the next one builds. */
#include "sandbox/sandbox_internal.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/scratch.h"
#include "base/tool.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OUTPUT_SHOWN = 700 };

static int build(const struct sandbox_build *build, struct err *err)
{
    CLEANUP(buf_done) struct buf text = {0};
    int status = 0;
    int r = tool_run(build->argv, build->directory, &text, &status);

    if (r < 0)
        return err_set(err, r, "build with '%s': %s", build->argv[0], strerror(-r));
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    const char *shown =
        buf_text(&text) + (text.length > OUTPUT_SHOWN ? text.length - OUTPUT_SHOWN : 0);
    return err_set(err, -ENOEXEC, "build with '%s' failed (%s %d)\n%s", build->argv[0],
                   WIFEXITED(status) ? "exit" : "signal",
                   WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status), shown);
}

/* The base may be taken away by the last one that used it, before our lock stands in it. */
static int open_guard(const char *base, const char *path, int *ret_fd, struct err *err)
{
    int r;

    do {
        CLEANUP(scratch_release) int held = -1;
        if ((r = scratch_hold(base, &held, err)) < 0)
            return r;
        held = scratch_release(held); /* a build may take long */
        r = scratch_lock(path, true, ret_fd, err);
    } while (r == -ENOENT);
    return r;
}

int sandbox_build_once(const struct sandbox_build *asked, bool *ret_ran, struct err *err)
{
    CLEANUP(mem_free) char *base = asked->base ? mem_dup(asked->base) : scratch_base();
    CLEANUP(buf_done) struct buf left = {0};
    CLEANUP(fd_close) int fd = -1;
    struct hash hash = hash_of(asked->key, strlen(asked->key));
    struct hash_text name = hash_to_text(&hash);

    CLEANUP(mem_free) char *path = mem_format("%s/build-%.16s", base, name.text);
    int r = open_guard(base, path, &fd, err);
    if (r < 0)
        return r;
    const char *stamp = asked->stamp ? asked->stamp : "";
    *ret_ran = false;
    if (fd_read_all(fd, &left, 4096) == 0 && left.length == strlen(stamp) + 1 &&
        memcmp(left.data, stamp, strlen(stamp)) == 0 && left.data[left.length - 1] == '\n')
        return 0;
    if (ftruncate(fd, 0) < 0)
        return err_set(err, -errno, "empty '%s': %m", path);
    *ret_ran = true;
    if ((r = build(asked, err)) < 0)
        return r;
    CLEANUP(mem_free) char *line = mem_format("%s\n", stamp);
    r = pwrite(fd, line, strlen(line), 0) == (ssize_t)strlen(line) ? 0 : -EIO;
    return r < 0 ? err_set(err, r, "write '%s'", path) : 0;
}
