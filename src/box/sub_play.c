/* SPDX-License-Identifier: MIT */
/* Playing a recording: it becomes operations for the stub, as many at a time as fit its block. The
 * stub asks for more when they are done, and before anything that depends on what it read.
 *
 * Files change before the output that was written behind them, at their own virtual times. Which
 * recording it is may depend on standard input: then the stub reads as much as the shortest
 * candidate did, and so on until one fits. */
#include "box/sub_play.h"
#include "base/fd.h"
#include "base/when.h"
#include "proc/cassette_file.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

struct build sub_build;

void sub_play_choose(struct sub *sub, const size_t *ids, size_t count)
{
    sub->play = mem_alloc(sizeof *sub->play);
    sub->play->ids = mem_alloc(count * sizeof *ids);
    memcpy(sub->play->ids, ids, count * sizeof *ids);
    sub->play->count = count;
}

void sub_play_free(struct sub_play *play)
{
    if (!play)
        return;
    for (int i = 0; i < 3; i++)
        store_stream_free(play->streams[i].stream);
    store_stream_free(play->content.stream);
    spool_done(&play->input);
    free(play->ids);
    free(play);
}

/* ---- building blocks ----------------------------------------------------------------------- */

static bool has_room(size_t ops, size_t bytes)
{
    return sub_build.ops + ops < STUB_OPS && sub_build.used + bytes <= STUB_ROOM;
}

struct stub_op *sub_add_op(enum stub_what what)
{
    struct stub_op *op = &sub_build.block.ops[sub_build.ops++];

    *op = (struct stub_op){.what = what};
    return op;
}

uint64_t sub_room_address(size_t at)
{
    return STUB_BLOCK + offsetof(struct stub_block, room) + at;
}

static uint64_t add_bytes(const void *bytes, size_t length)
{
    uint64_t address = sub_room_address(sub_build.used);

    memcpy(sub_build.block.room + sub_build.used, bytes, length);
    sub_build.used += (length + 7) & ~(size_t)7;
    return address;
}

static void add_call(enum stub_what what, long number, uint64_t a, uint64_t b, uint64_t c)
{
    struct stub_op *op = sub_add_op(what);

    op->length = (uint64_t)number;
    op->arguments[0] = a;
    op->arguments[1] = b;
    op->arguments[2] = c;
}

void sub_add_read(struct sub_play *play, enum reading reading, uint64_t length)
{
    struct stub_op *op = sub_add_op(STUB_READ);

    play->reading = reading;
    play->asked = length < STUB_ROOM / 2 ? length : STUB_ROOM / 2;
    op->fd = 0;
    op->address = sub_room_address(STUB_ROOM / 2);
    op->length = play->asked;
    (void)sub_add_op(STUB_MORE);
}

/* How many bytes of the source are now in the room, at most `length`. */
static size_t pull(struct source *source, uint64_t length, uint64_t *ret_address)
{
    size_t space = STUB_ROOM - sub_build.used;
    uint64_t wanted = length < source->left ? length : source->left;
    size_t count = wanted < space ? (size_t)wanted : space;

    *ret_address = sub_room_address(sub_build.used);
    if (source->text) {
        memcpy(sub_build.block.room + sub_build.used, source->text, count);
        source->text += count;
    } else if (count) {
        ssize_t got =
            source->stream
                ? store_stream_read(source->stream, sub_build.block.room + sub_build.used, count)
                : 0;
        count = got > 0 ? (size_t)got : 0;
    }
    source->left -= count;
    sub_build.used += (count + 7) & ~(size_t)7;
    sub_build.used = sub_build.used < STUB_ROOM ? sub_build.used : STUB_ROOM;
    return count;
}

int sub_open_source(struct source *source, struct store *store, const char *text,
                    const struct hash *hash, uint64_t length, struct err *err)
{
    source->stream = store_stream_free(source->stream);
    source->text = text;
    source->left = length;
    if (text || !length)
        return 0;
    if (!store)
        return err_set(err, -ENOENT, "content %s has no store", hash_to_text(hash).text);
    return store_stream_open(store, hash, &source->stream, err);
}

/* ---- sleeping and files -------------------------------------------------------------------- */

static void sleep_until(struct sub *sub, int64_t at_ns)
{
    struct sub_play *play = sub->play;

    if (at_ns <= play->at_ns)
        return;
    play->at_ns = at_ns;
    int64_t due = sub->started_ns + at_ns;
    struct timespec time = {due / (int64_t)NS_PER_SEC, due % (int64_t)NS_PER_SEC};
    struct stub_op *op = sub_add_op(STUB_SLEEP);
    op->address = add_bytes(&time, sizeof time);
}

static int open_inside(const struct box *box, const char *path, uint64_t flags)
{
    return fd_open_in(box->root_fd, path, flags, RESOLVE_IN_ROOT);
}

static void remove_entries(int dir)
{
    DIR *listing = fdopendir(dir);

    for (struct dirent *entry; listing && (entry = readdir(listing));) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (unlinkat(dirfd(listing), entry->d_name, 0) == 0 || errno != EISDIR)
            continue;
        int below =
            openat(dirfd(listing), entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (below >= 0)
            remove_entries(below);
        (void)unlinkat(dirfd(listing), entry->d_name, AT_REMOVEDIR);
    }
    if (listing)
        (void)closedir(listing);
    else
        fd_close(dir);
}

/* Makes way for what comes; true if something of another kind may still be there for the stub to
 * unlink. */
static bool clear_way(const struct box *box, const char *path, const struct recording_file *file)
{
    struct stat st;
    CLEANUP(fd_close) int fd = open_inside(box, path, O_PATH | O_NOFOLLOW);

    if (fd < 0 || fstat(fd, &st) < 0)
        return false;
    if (S_ISDIR(st.st_mode)) {
        int dir =
            file->type == RECORDING_DIRECTORY ? -1 : open_inside(box, path, O_RDONLY | O_DIRECTORY);
        if (dir >= 0) {
            remove_entries(dir);
            add_call(STUB_CALLS, SYS_rmdir, add_bytes(path, strlen(path) + 1), 0, 0);
        }
        return false;
    }
    return file->type != RECORDING_FILE || !S_ISREG(st.st_mode) || !(st.st_mode & 0200);
}

static bool is_below(const char *path, const char *directory)
{
    CLEANUP(mem_free) char *real = realpath(directory, NULL);
    size_t length = real ? strlen(real) : 0;

    return length && strncmp(path, real, length) == 0 && (path[length] == '/' || !path[length]);
}

/* A cassette from elsewhere changes files of the worktree; others only where nothing reaches the
 * disk. */
static bool may_change(const struct box *box, const char *path)
{
    const struct fs_options *fs = &box->options->fs;

    if (path[0] != '/')
        return true;
    for (const char *const *writable = fs->writable; writable && *writable; writable++)
        if (is_below(path, *writable))
            return false;
    return fs->mode != FS_REAL;
}

static void begin_file(struct box *box, struct sub *sub, const struct recording_file *file)
{
    struct sub_play *play = sub->play;
    struct err err = {0};
    char path[FULL_PATH_MAX];

    (void)snprintf(path, sizeof path, "%s%s%s", file->path[0] == '/' ? "" : box->subs->worktree,
                   file->path[0] == '/' ? "" : "/", file->path);
    if (!may_change(box, file->path)) {
        sub_trouble(box, "the recording of %s changes '%s', outside of the worktree",
                    sub->recording.program, file->path);
        play->file++;
        return;
    }
    bool unlinks = clear_way(box, path, file);
    uint64_t address = add_bytes(path, strlen(path) + 1);
    if (unlinks)
        add_call(STUB_CALLS, SYS_unlink, address, 0, 0);
    struct stub_op *op;
    switch (file->type) {
    case RECORDING_NONE:
        break;
    case RECORDING_DIRECTORY:
        add_call(STUB_CALLS, SYS_mkdir, address, 0700, 0);
        add_call(STUB_CHECK, SYS_chmod, address, file->mode, 0);
        break;
    case RECORDING_LINK:
        add_call(STUB_CHECK, SYS_symlink, add_bytes(file->target, strlen(file->target) + 1),
                 address, 0);
        break;
    case RECORDING_FIFO:
    case RECORDING_SOCKET:
        add_call(STUB_CHECK, SYS_mknod, address, recording_file_kind(file) | 0600, 0);
        add_call(STUB_CHECK, SYS_chmod, address, file->mode, 0);
        break;
    case RECORDING_FILE:
        if (sub_open_source(&play->content, play->store, NULL, &file->hash, file->length, &err) <
            0) {
            sub_trouble(box, "play %s: '%s': %s", sub->recording.program, file->path, err.text);
            break;
        }
        op = sub_add_op(STUB_OPEN);
        op->address = address;
        op->length = O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC;
        op->fd = 0600;
        play->in_file = true;
        return;
    }
    play->file++;
}

static void go_on_with_file(struct sub *sub, const struct recording_file *file)
{
    struct sub_play *play = sub->play;
    uint64_t address;

    if (play->content.left) {
        size_t count = pull(&play->content, play->content.left, &address);
        if (!count) {
            play->content.left = 0;
            return;
        }
        struct stub_op *op = sub_add_op(STUB_WRITE);
        op->fd = STUB_FILE_FD;
        op->address = address;
        op->length = count;
        return;
    }
    add_call(STUB_CHECK, SYS_fchmod, (uint64_t)STUB_FILE_FD, file->mode, 0);
    add_call(STUB_CALLS, SYS_close, (uint64_t)STUB_FILE_FD, 0, 0);
    play->content.stream = store_stream_free(play->content.stream);
    play->in_file = false;
    play->file++;
}

/* True if a file is due before the event. */
static bool file_comes_first(const struct sub *sub, const struct recording_event *event)
{
    const struct sub_play *play = sub->play;

    if (play->file == sub->recording.file_count)
        return false;
    int64_t at = sub->recording.files[play->file].at_ns;
    if (!event || play->event + 1 == sub->recording.event_count)
        return true;
    if (event->what == RECORDING_IN || event->what == RECORDING_EOF ||
        event->what == RECORDING_SIGNAL)
        return at < event->at_ns;
    return at <= event->at_ns;
}

/* ---- signals, and the end ------------------------------------------------------------------ */

/* What the recorded program did not die of must not end the stub: it is blocked from now on, and
 * taken where the recording has it. */
static void block_signals(struct task *task, const struct recording *recording)
{
    uint64_t more = recording_signals(recording), mask = 0;

    if (more && ptrace(PTRACE_GETSIGMASK, task->tid, sizeof mask, &mask) == 0) {
        mask |= more;
        (void)ptrace(PTRACE_SETSIGMASK, task->tid, sizeof mask, &mask);
    }
}

static void take_signal(uint64_t signal)
{
    uint64_t mask = UINT64_C(1) << (signal - 1);

    sub_add_op(STUB_TAKE)->address = add_bytes(&mask, sizeof mask);
}

static void unblock_signals(const struct recording *recording)
{
    uint64_t mask = recording_signals(recording);

    if (!mask)
        return;
    add_call(STUB_CALLS, SYS_rt_sigprocmask, SIG_UNBLOCK, add_bytes(&mask, sizeof mask), 0);
    sub_build.block.ops[sub_build.ops - 1].arguments[3] = sizeof mask;
}

static void add_end(const struct sub *sub)
{
    const struct recording *recording = &sub->recording;
    bool more = sub->play->event + 1 < recording->event_count;

    if (recording->awaits_signal)
        unblock_signals(recording);
    if (more)
        sub_add_op(STUB_FORK)->length = 1;
    struct stub_op *op = sub_add_op(!recording->signal         ? STUB_EXIT
                                    : recording->awaits_signal ? STUB_WAIT
                                                               : STUB_DIE);
    op->fd = recording->signal ? recording->signal : recording->exit_code;
}

/* ---- the list ------------------------------------------------------------------------------ */

/* One step of the recording. False when the stub has to come back first, or is at its end. */
static bool add_step(struct box *box, struct sub *sub)
{
    struct sub_play *play = sub->play;
    const struct recording *recording = &sub->recording;
    uint64_t address;

    if (!has_room(8, 2 * FULL_PATH_MAX)) {
        (void)sub_add_op(STUB_MORE);
        return false;
    }
    if (play->in_file) {
        go_on_with_file(sub, &recording->files[play->file]);
        return true;
    }
    const struct recording_event *event =
        play->event < recording->event_count ? &recording->events[play->event] : NULL;
    if (file_comes_first(sub, event)) {
        const struct recording_file *file = &recording->files[play->file];
        sleep_until(sub, file->at_ns);
        begin_file(box, sub, file);
        return true;
    }
    if (!event) { /* a child that went on behind the end */
        (void)sub_add_op(STUB_EXIT);
        return false;
    }
    sleep_until(sub, event->at_ns);
    switch (event->what) {
    case RECORDING_IN:
    case RECORDING_EOF:
        sub_add_read(play, READING_EVENT,
                     event->what == RECORDING_IN ? event->length - play->event_done : 1);
        return false;
    case RECORDING_OUT:
    case RECORDING_ERR: {
        int fd = event->what == RECORDING_OUT ? 1 : 2;
        size_t count = pull(&play->streams[fd], event->length - play->event_done, &address);
        struct stub_op *op = sub_add_op(STUB_WRITE);
        op->fd = fd;
        op->address = address;
        op->length = count;
        play->event_done += count;
        if (count && play->event_done < event->length)
            return true;
        break;
    }
    case RECORDING_SIGNAL:
        take_signal(event->length);
        break;
    case RECORDING_EXIT:
        add_end(sub);
        if (play->event + 1 == recording->event_count)
            return false;
        break;
    case RECORDING_WAKE:
    case RECORDING_WHAT_COUNT:
        break;
    }
    play->event++;
    play->event_done = 0;
    return true;
}

static int by_time(const void *a, const void *b)
{
    const struct recording_file *x = a, *y = b;

    if (x->at_ns != y->at_ns)
        return x->at_ns < y->at_ns ? -1 : 1;
    return strcmp(x->path, y->path);
}

static int fill(struct box *box, struct task *task, struct sub *sub)
{
    sub_build.ops = sub_build.used = 0;
    if (!sub->play->decided) {
        sub_choose(box, task, sub);
        if (sub->play->decided)
            block_signals(task, &sub->recording);
        if (sub->play->decided && sub->recording.file_count)
            qsort(sub->recording.files, sub->recording.file_count, sizeof *sub->recording.files,
                  by_time);
    }
    if (sub->play->decided)
        while (add_step(box, sub))
            ;
    size_t head = offsetof(struct stub_block, ops) + sub_build.ops * sizeof(struct stub_op);
    sub_build.block.got = 0;
    sub_build.block.error = 0;
    sub_build.block.file_fd = sub->play->file_fd;
    int r = guest_write(task, STUB_BLOCK, &sub_build.block, head);
    if (r == 0 && sub_build.used)
        r = guest_write(task, sub_room_address(0), sub_build.block.room, sub_build.used);
    return r;
}

int sub_play_begin(struct box *box, struct task *task, struct sub *sub)
{
    if (!sub->play) { /* there is nothing to choose from: what is to be said is here */
        sub->play = mem_alloc(sizeof *sub->play);
        sub->play->decided = true;
        for (int i = 1; i < 3; i++) {
            sub->play->streams[i].text = sub->recording.streams[i].text;
            sub->play->streams[i].left = sub->recording.streams[i].length;
        }
    }
    return fill(box, task, sub);
}

void sub_play_more(struct box *box, struct task *task, struct sub *sub)
{
    struct stub_block head;

    if (guest_read(task, STUB_BLOCK, &head, offsetof(struct stub_block, ops)) < 0)
        return;
    sub->play->file_fd = head.file_fd;
    if (head.error)
        sub_trouble(box, "play %s (%s): a change of files could not be made: %s", sub->path,
                    sub->recording.program, strerror((int)-head.error));
    if (sub->play->reading != READING_NOTHING)
        sub_take_input(box, task, sub, head.got);
    (void)fill(box, task, sub);
}

void sub_play_copy(struct box *box, const struct recording *recording, struct store *from)
{
    struct err err = {0};

    if (cassette_copy_contents(recording, from, tape_writer_store(box_tape_writer(box)), &err) < 0)
        sub_trouble(box, "keep what %s did: %s", recording->program, err.text);
}

void sub_play_keep(struct box *box, struct sub *sub)
{
    sub_play_copy(box, &sub->recording, sub->play->store);
}
