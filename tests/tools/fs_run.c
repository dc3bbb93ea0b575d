/* SPDX-License-Identifier: MIT */
/* fs-run: a bare box for the tests of src/fs: namespaces and the view, nothing else.
 *
 *     fs-run [--worktree DIR] [--fs overlay|real|ro] [--writable DIR] [--hide PATH]
 *            [--size-limit BYTES] [--upper DIR] [--bundle DIR] [--lay PATH=TEXT] [--share-tmp]
 *            [--usage] -- PROGRAM [ARG...]
 *
 * As real root without a user namespace, otherwise in one that maps the caller to itself. Ends
 * with the program's status (128+N for a signal), 125 for trouble of its own. */
#include "base/fd.h"
#include "base/wall.h"
#include "fs/fs.h"
#include "fs/fs_blobs.h"
#include "fs/fs_bundle.h"
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TROUBLE = 125, LIST_MAX = 16 };

struct run {
    struct fs_options fs;
    const char *writable[LIST_MAX], *hide[LIST_MAX];
    struct fs_file files[LIST_MAX];
    size_t writable_count, hide_count;
    const char *bundle;
    bool usage;
    char **argv;
};

static int die(const char *text)
{
    (void)fprintf(stderr, "fs-run: %s\n", text);
    return TROUBLE;
}

/* Kills itself at the moment whose number is in FS_RUN_KILL. */
static void moment(void)
{
    static int count;
    const char *when = getenv("FS_RUN_KILL");

    if (when && atoi(when) == ++count)
        (void)raise(SIGKILL);
}

static int send_store(int socket, int store)
{
    char byte = 's', control[CMSG_SPACE(sizeof store)] = {0};
    struct iovec bytes = {&byte, 1};
    struct msghdr message = {.msg_iov = &bytes, .msg_iovlen = 1};

    if (store >= 0) {
        message.msg_control = control;
        message.msg_controllen = sizeof control;
        struct cmsghdr *head = CMSG_FIRSTHDR(&message);
        *head = (struct cmsghdr){CMSG_LEN(sizeof store), SOL_SOCKET, SCM_RIGHTS};
        memcpy(CMSG_DATA(head), &store, sizeof store);
    }
    return sendmsg(socket, &message, MSG_NOSIGNAL) == 1 ? 0 : -errno;
}

static int receive_store(int socket, int *ret_store)
{
    char byte, control[CMSG_SPACE(sizeof *ret_store)];
    struct iovec bytes = {&byte, 1};
    struct msghdr message = {.msg_iov = &bytes,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof control};

    if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != 1)
        return -EPIPE;
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    if (head)
        memcpy(ret_store, CMSG_DATA(head), sizeof *ret_store);
    return 0;
}

static int status_of(int status)
{
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int run_guest(const struct run *run)
{
    struct err err = {0};

    if (fs_caps_drop(&err) < 0)
        return die(err.text);
    (void)execvp(run->argv[0], run->argv);
    (void)fprintf(stderr, "fs-run: %s: %s\n", run->argv[0], strerror(errno));
    return errno == ENOENT ? 127 : 126;
}

/* Pid 1 of the box: builds the view, starts the guest, reaps until it is gone. */
static int run_init(const struct run *run, int socket)
{
    struct err err = {0};
    char go;
    int store = -1, status;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (read(socket, &go, 1) != 1)
        return TROUBLE;
    if (fs_view_enter(&run->fs, &store, &err) < 0 || fs_view_let_go(&err) < 0)
        return die(err.text);
    if (send_store(socket, store) < 0)
        return TROUBLE;
    (void)fs_stamp_part(run->fs.started_ns);
    pid_t guest = fork();
    if (guest == 0) {
        (void)close_range(3, ~0u, 0);
        _exit(run_guest(run));
    }
    for (pid_t pid; (pid = wait(&status)) > 0;)
        if (pid == guest)
            return status_of(status);
    return TROUBLE;
}

static int write_map(pid_t pid, const char *name, const char *text)
{
    CLEANUP(mem_free) char *path = mem_format("/proc/%d/%s", (int)pid, name);
    CLEANUP(fd_close) int fd = open(path, O_WRONLY | O_CLOEXEC);

    return fd < 0 ? -errno : fd_write_full(fd, text, strlen(text));
}

static int map_ids(pid_t pid)
{
    CLEANUP(mem_free) char *uid = mem_format("%u %u 1", geteuid(), geteuid());
    CLEANUP(mem_free) char *gid = mem_format("%u %u 1", getegid(), getegid());
    int r = write_map(pid, "setgroups", "deny");

    if (r == 0)
        r = write_map(pid, "uid_map", uid);
    return r < 0 ? r : write_map(pid, "gid_map", gid);
}

static int finish(const struct run *run, int store)
{
    CLEANUP(fs_changes_free) struct fs_changes *changes = NULL;
    CLEANUP(fs_blobs_free) struct fs_blobs *blobs = NULL;
    struct fs_usage usage;
    struct err err = {0};

    if (run->usage && store >= 0) {
        if (fs_store_usage(store, &usage, &err) < 0)
            return die(err.text);
        (void)fprintf(stderr, "store: %s\n", usage.full ? "full" : "has room");
    }
    if (!run->bundle || store < 0)
        return 0;
    blobs = fs_bundle_begin(run->bundle);
    moment();
    if (fs_gather(store, blobs, &changes, &err) < 0)
        return die(err.text);
    moment();
    if (fs_bundle_write(run->bundle, changes, blobs, &err) < 0)
        return die(err.text);
    return 0;
}

static int supervise(const struct run *run)
{
    unsigned long flags = CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS |
                          SIGCHLD | (run->fs.userns ? CLONE_NEWUSER : 0);
    int pair[2], status;
    CLEANUP(fd_close) int store = -1;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return die("socketpair");
    pid_t pid = (pid_t)syscall(SYS_clone, flags, 0, 0, 0, 0);
    if (pid < 0)
        return die(strerror(errno));
    if (pid == 0) {
        fd_close(pair[0]);
        _exit(run_init(run, pair[1]));
    }
    fd_close(pair[1]);
    moment();
    if (run->fs.userns && map_ids(pid) < 0)
        (void)fprintf(stderr, "fs-run: cannot map ids: %s\n", strerror(errno));
    else
        (void)!write(pair[0], "g", 1);
    moment();
    int r = receive_store(pair[0], &store);
    fd_close(pair[0]);
    moment();
    if (waitpid(pid, &status, 0) < 0)
        return die("waitpid");
    moment();
    if (r == 0) {
        r = finish(run, store);
        if (r)
            return r;
    }
    return status_of(status);
}

static void parse(struct run *run, int argc, char **argv)
{
    static const struct option options[] = {
        {"worktree", 1, 0, 'w'},
        {"fs", 1, 0, 'f'},
        {"writable", 1, 0, 'W'},
        {"hide", 1, 0, 'h'},
        {"size-limit", 1, 0, 's'},
        {"upper", 1, 0, 'u'},
        {"bundle", 1, 0, 'b'},
        {"share-tmp", 0, 0, 't'},
        {"usage", 0, 0, 'U'},
        {"lay", 1, 0, 'l'},
        {0},
    };

    for (int c; (c = getopt_long(argc, argv, "+", options, NULL)) != -1;) {
        if (c == 'w')
            run->fs.worktree = optarg;
        else if (c == 'f')
            run->fs.mode = *optarg == 'o' ? FS_OVERLAY : optarg[1] == 'o' ? FS_RO : FS_REAL;
        else if (c == 'W' && run->writable_count < LIST_MAX - 1)
            run->writable[run->writable_count++] = optarg;
        else if (c == 'h' && run->hide_count < LIST_MAX - 1)
            run->hide[run->hide_count++] = optarg;
        else if (c == 's')
            run->fs.size_limit = strtoull(optarg, NULL, 10);
        else if (c == 'u')
            run->fs.upper_dir = optarg;
        else if (c == 'b')
            run->bundle = optarg;
        else if (c == 't')
            run->fs.share_tmp = true;
        else if (c == 'U')
            run->usage = true;
        else if (c == 'l' && run->fs.file_count < LIST_MAX && strchr(optarg, '=')) {
            char *text = strchr(optarg, '=');
            *text++ = '\0';
            run->files[run->fs.file_count++] = (struct fs_file){optarg, text, strlen(text)};
        } else
            exit(die("usage: fs-run [options] -- PROGRAM [ARG...]"));
    }
    run->argv = argv + optind;
}

int main(int argc, char **argv)
{
    struct run run = {.fs = {.userns = !fs_is_real_root(), .started_ns = wall_now_ns()}};

    parse(&run, argc, argv);
    run.fs.writable = run.writable;
    run.fs.hide = run.hide;
    run.fs.files = run.files;
    if (!run.argv[0])
        return die("no program");
    return supervise(&run);
}
