/* SPDX-License-Identifier: MIT */
/* What the program is given on standard input, kept in the bundle so that a replay gives it again.
 *
 * A file is kept whole, as it was at the start: programs seek in it. Of a pipe or a socket is kept
 * what guests read, in the order in which they read it, whoever of them does: the program, a
 * subprocess that inherits it, and the stub of one that is played. A terminal is not kept. */
#include "box/sub.h"
#include "base/fd.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static enum box_input kind_of(const struct stat *st)
{
    if (S_ISREG(st->st_mode))
        return BOX_INPUT_FILE;
    if (S_ISFIFO(st->st_mode) || S_ISSOCK(st->st_mode))
        return BOX_INPUT_STREAM;
    return S_ISCHR(st->st_mode) && st->st_rdev == makedev(1, 3) ? BOX_INPUT_NOTHING
                                                                : BOX_INPUT_UNKNOWN;
}

static int keep_file(struct subs *subs, int fd, struct err *err)
{
    char piece[65536];
    int r = 0;

    for (off_t at = 0; r == 0;) {
        ssize_t count = pread(fd, piece, sizeof piece, at);
        if (count == 0)
            return 0;
        r = count < 0 ? -errno : spool_add(&subs->input, subs->directory, piece, (size_t)count);
        at += count;
    }
    return err_set(err, r, "keep what is on standard input: %s", strerror(-r));
}

int sub_input_open(struct box *box, struct err *err)
{
    struct box_findings *findings = box->findings;
    int fd = box->options->stdio[0] ? box->options->stdio[0] : STDIN_FILENO;
    struct stat st;

    if (!box->options->record || box->options->terminal || fstat(fd, &st) < 0)
        return 0;
    findings->input = kind_of(&st);
    if (findings->input == BOX_INPUT_STREAM && !proc_options_record(&box->options->proc))
        findings->input = BOX_INPUT_UNKNOWN; /* reads are not seen */
    if (findings->input != BOX_INPUT_FILE)
        return 0;
    findings->input_at = (uint64_t)lseek(fd, 0, SEEK_CUR);
    return keep_file(box->subs, fd, err);
}

bool sub_input_is(const struct box *box, const struct stat *st)
{
    return box->subs && box->findings->input == BOX_INPUT_STREAM &&
           st->st_dev == box->outside.st_dev && st->st_ino == box->outside.st_ino;
}

int sub_input_close(struct box *box, struct err *err)
{
    enum box_input kind = box->findings->input;
    struct tape_writer *writer = box_tape_writer(box);

    if (!writer || (kind != BOX_INPUT_FILE && kind != BOX_INPUT_STREAM))
        return 0;
    CLEANUP(mem_free) char *path = mem_format("%s/stdin", box->options->record);
    CLEANUP(fd_close) int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    int r = fd < 0 ? -errno : spool_save(&box->subs->input, tape_writer_secrets(writer), fd);
    if (r < 0)
        return err_set(err, r, "write '%s': %s", path, strerror(-r));
    return box_tape_add_file(box, "stdin", "stdin", err);
}
