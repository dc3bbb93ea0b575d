/* SPDX-License-Identifier: MIT */
/* spawn: from nothing to the first guest process at the door of its exec.
 *
 *     caller -> supervisor -> init (pid 1 of the box) -> the program (pid 2)
 *
 * The supervisor is a process of its own, so that the caller's namespaces, signals and CPU stay as
 * they are. An ordinary user's supervisor makes a user namespace first, with its own uid mapped to
 * itself, and has what it needs in there. It shares the box's IPC and network namespaces (meet.h).
 * init and everything below live in pid, mount and UTS namespaces as well. Each level dies with the
 * one above it.
 *
 * init builds the view on the box's CPU. Meanwhile the supervisor makes what they share, and looks
 * at the machine's loader, on another; then it comes over (order.h). */
#include "box/box_internal.h"
#include "box/bare.h"
#include "box/box_files.h"
#include "box/file_times.h"
#include "box/meet.h"
#include "box/numbers.h"
#include "box/order.h"
#include "box/program.h"
#include "box/settle.h"
#include "box/special.h"
#include "box/sub.h"
#include "base/fd.h"
#include "base/trace.h"
#include "base/when.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

extern const char box_vdso_image[], box_vdso_image_end[];

enum { EXEC_FAILED = 127 };

static int write_text(const char *path, const char *text)
{
    CLEANUP(fd_close) int fd = open(path, O_WRONLY | O_CLOEXEC);

    if (fd < 0)
        return -errno;
    return fd_write_full(fd, text, strlen(text));
}

static int enter_user_namespace(struct err *err)
{
    char map[64];
    uid_t uid = geteuid();
    gid_t gid = getegid();

    if (unshare(CLONE_NEWUSER) < 0)
        return err_set(err, -errno, "make a user namespace: %m");
    (void)write_text("/proc/self/setgroups", "deny");
    (void)snprintf(map, sizeof map, "%u %u 1", uid, uid);
    int r = write_text("/proc/self/uid_map", map);
    (void)snprintf(map, sizeof map, "%u %u 1", gid, gid);
    if (r == 0)
        r = write_text("/proc/self/gid_map", map);
    if (r < 0) {
        err_set(err, r, "map user %u into the box's user namespace: %s", uid, strerror(-r));
        return err_hint(err, "on Ubuntu: sysctl kernel.apparmor_restrict_unprivileged_userns=0; "
                             "'vitro doctor' tells more");
    }
    return 0;
}

static int make_clock_segment(struct box *box, struct err *err)
{
    size_t image = (size_t)(box_vdso_image_end - box_vdso_image);

    box->shm_id = shmget(IPC_PRIVATE, (1 + BOX_IMAGE_PAGES) * BOX_PAGE, IPC_CREAT | 0755);
    if (box->shm_id < 0)
        return err_set(err, -errno, "make the clock page: %m");
    char *memory = shmat(box->shm_id, NULL, 0);
    /* Gone with its last user: nothing stays behind, whatever happens to us. */
    (void)shmctl(box->shm_id, IPC_RMID, NULL);
    if (memory == (char *)-1)
        return err_set(err, -errno, "map the clock page: %m");
    if (image > BOX_IMAGE_PAGES * BOX_PAGE)
        return err_set(err, -E2BIG, "the vDSO image has outgrown its pages");
    memcpy(memory + BOX_PAGE, box_vdso_image, image);
    box->clock.page = (struct box_clock_page *)memory;
    return 0;
}

/* What goes wrong on the way to the program comes back through this socket as words; the end of
 * file means that exec worked. */
struct failure {
    int code;
    char text[1024];
};

static void fail_with(int socket, int code, const char *text)
{
    struct failure failure = {.code = -code};

    (void)snprintf(failure.text, sizeof failure.text, "%s", text);
    (void)send(socket, &failure, sizeof failure, MSG_NOSIGNAL);
    _exit(EXEC_FAILED);
}

static void fail_for(int socket, const char *program, const char *what)
{
    int code = -errno;
    char text[1024];

    bool is_private = errno == ENOENT &&
                      (strncmp(program, "/dev/shm/", 9) == 0 || strncmp(program, "/run/", 5) == 0);
    (void)snprintf(text, sizeof text, "start '%s': %s: %s%s", program, what, strerror(errno),
                   is_private ? "\nhint: a box has a /dev and a /run of its own; give --worktree "
                                "with the directory it is in"
                              : "");
    fail_with(socket, code, text);
}

/* The supervisor sees our pid in its own namespace through the credentials of this message. Until
 * it traces us, both calls pass the filter because of the socket's number (FILTER_DESCRIPTORS). */
static void say_hello_and_wait(int socket)
{
    char byte = 0;

    if (send(socket, &byte, 1, MSG_NOSIGNAL) != 1 || recv(socket, &byte, 1, 0) != 1)
        _exit(EXEC_FAILED);
}

static void own_terminal(bool foreground)
{
    (void)setpgid(0, 0);
    if (!foreground)
        return;
    int tty = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTTOU);
    (void)sigprocmask(SIG_BLOCK, &set, NULL); /* unblocked with all others below */
    if (tty >= 0)
        (void)tcsetpgrp(tty, getpid());
    fd_close(tty);
}

static void become_program(struct box *box, int socket, const struct program *program)
{
    const struct box_options *options = box->options;
    struct err err = {0};
    struct sock_fprog filter;
    for (int i = 0; i < 3; i++)
        if (options->stdio[i] > 0 && dup2(options->stdio[i], i) < 0)
            fail_for(socket, box->options->argv[0], "set up standard input and output");
    if (!options->terminal)
        own_terminal(options->foreground);
    else if (terminal_take(box) < 0)
        fail_for(socket, box->options->argv[0], "take the terminal");
    (void)signal(SIGPIPE, SIG_DFL);
    (void)sigprocmask(SIG_SETMASK, &box->caller_mask, NULL);
    filter_build(options, &filter);
    if (options->directory && chdir(options->directory) < 0)
        fail_for(socket, box->options->argv[0], options->directory);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        fail_for(socket, box->options->argv[0], "set no_new_privs");
    if (!options->identity_real)
        (void)personality(ADDR_NO_RANDOMIZE);
    if (vclock_held(&box->clock) && prctl(PR_SET_TSC, PR_TSC_SIGSEGV) < 0)
        fail_for(socket, box->options->argv[0], "trap rdtsc");
    if (options->fs.mode != FS_REAL && fs_caps_drop(&err) < 0)
        fail_with(socket, err.code, err.text);
    /* Nobody traces us yet: from here to the supervisor's word, calls that it has to see fail. */
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) < 0)
        fail_for(socket, box->options->argv[0], "install the system call filter");
    say_hello_and_wait(socket);
    errno = program_exec(program);
    bool searched = !strchr(options->argv[0], '/');
    fail_for(socket, options->argv[0],
             searched && errno == ENOENT ? "no such program in PATH" : options->argv[0]);
}

/* Reaps what is left to it, and ends the box when the caller is gone. The supervisor would do so
 * too, but it takes turns with guests that compute, and their turns are long. */
static void reap_for_ever(int caller)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    struct pollfd fds[2] = {
        {.fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK), .events = POLLIN},
        {.fd = caller, .events = POLLIN}};
    for (;;) {
        struct signalfd_siginfo info;
        (void)poll(fds, 2, -1);
        if (fds[1].revents)
            _exit(0); /* takes everybody along */
        while (read(fds[0].fd, &info, sizeof info) > 0)
            ;
        while (waitpid(-1, NULL, __WALL | WNOHANG) > 0)
            ;
    }
}

/* Nothing of the caller's stays open in init but the watch on it. */
static void close_all_but(int kept)
{
    if (kept > 0)
        (void)syscall(SYS_close_range, 0, kept - 1, 0);
    (void)syscall(SYS_close_range, kept + 1, ~0u, 0);
}

/* ps in the box shows init's command line, which would be the caller's with its paths. */
static void name_init(void)
{
    CLEANUP(buf_done) struct buf stat = {0};
    struct err err;
    unsigned long start = 0, end = 0;

    (void)prctl(PR_SET_NAME, "vitro-init");
    if (file_read("/proc/self/stat", 65536, &stat, &err) < 0)
        return;
    const char *at = strrchr(buf_text(&stat), ')');
    for (int field = 2; at && field < 48; field++)
        at = strchr(at + 1, ' ');
    if (!at || sscanf(at, "%lu %lu", &start, &end) != 2 || end - start < sizeof "vitro-init")
        return;
    memset((char *)start, 0, end - start);
    memcpy((char *)start, "vitro-init", sizeof "vitro-init" - 1);
}

/* Last of the view. The kernel takes its time: meanwhile the program gets ready, and waits for the
 * supervisor, which waits for this. */
static void leave_machine(const struct box *box, int socket, int store)
{
    struct err err = {0};

    if (!box->bare && box_files_entered(socket, store, &err) < 0)
        fail_with(socket, err.code, err.text);
}

static void become_init(struct box *box, int socket)
{
    sigset_t all;
    struct err err = {0};
    struct program program;
    int store = -1;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    order_guests(box);
    if (box->bare)
        (void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    else if (!box->options->identity_real)
        (void)sethostname("vitro", 5);
    program_find(box, &program);
    if (!box->bare && box_files_enter(box, socket, &store, &err) < 0)
        fail_with(socket, err.code, err.text);
    if (box->options->terminal && terminal_make(box, &err) < 0)
        fail_with(socket, err.code, err.text);
    if (box->options->directory) /* it may have a `..` at the root */
        leave_machine(box, socket, store);
    pid_t pid = fork();
    if (pid < 0)
        fail_for(socket, box->options->argv[0], "fork");
    if (pid == 0)
        become_program(box, socket, &program);
    if (!box->options->directory)
        leave_machine(box, socket, store);
    name_init(); /* behind the fork: the program's arguments are there */
    order_init(box);
    close_all_but(box->caller_fd);
    sigfillset(&all);
    (void)sigprocmask(SIG_BLOCK, &all, NULL);
    reap_for_ever(box->caller_fd);
}

/* Takes messages until init has handed over the store, and the program has said hello. */
static int receive_pid(struct box *box, pid_t *ret, struct failure *failure)
{
    bool entered = box->bare;

    for (*ret = 0; !*ret || !entered;) {
        union {
            char bytes[CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(sizeof(int))];
            struct cmsghdr align;
        } control;
        struct iovec iov = {failure, sizeof *failure};
        struct msghdr message = {.msg_iov = &iov,
                                 .msg_iovlen = 1,
                                 .msg_control = &control,
                                 .msg_controllen = sizeof control};
        ssize_t count = recvmsg(box->init_socket, &message, MSG_CMSG_CLOEXEC);
        /* Told once when init ended without having read all of ours; its last words come next. */
        if (count < 0 && (errno == ECONNRESET || errno == EINTR))
            continue;
        if (count <= 0)
            return -EPIPE;
        if (count == sizeof *failure)
            return -EREMOTEIO;
        if (*(const char *)failure == 's') {
            (void)box_files_receive(box, &message);
            entered = true;
            continue;
        }
        for (struct cmsghdr *c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c))
            if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_CREDENTIALS) {
                struct ucred credentials;
                memcpy(&credentials, CMSG_DATA(c), sizeof credentials);
                *ret = credentials.pid;
            }
        if (!*ret)
            return -EPROTO;
    }
    return 0;
}

static int fail_from(const struct failure *failure, int r, struct err *err)
{
    if (r == -EREMOTEIO)
        return err_set(err, -failure->code, "%s", failure->text);
    return err_set(err, r, "the box ended before its program started");
}

static void note_start(struct box *box, int64_t stamp)
{
    box->times = file_times_new(stamp, vclock_realtime(&box->clock));
    box->moved_real_ns = file_times_start(box->times) - 1;
    box->clock.page->shows_devices = !box->options->identity_real;
    box->clock.page->file_start_s = file_times_start(box->times) / (int64_t)NS_PER_SEC;
    box->clock.page->age_limit_s = file_times_age_limit(box->times) / (int64_t)NS_PER_SEC;
}

static int seize(struct box *box, int socket, struct err *err)
{
    struct failure failure;
    const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACESECCOMP | PTRACE_O_TRACEFORK |
                         PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC |
                         PTRACE_O_EXITKILL;

    int r = receive_pid(box, &box->guest_pid, &failure);
    if (r < 0)
        return fail_from(&failure, r, err);
    if (ptrace(PTRACE_SEIZE, box->guest_pid, NULL, options) < 0) {
        err_set(err, -errno, "trace the program: %m");
        return err_hint(err, "'vitro doctor' tells whether ptrace is permitted here");
    }
    struct task *task = task_add(box, box->guest_pid);
    task->process = box->first = process_add(box, NULL, box->guest_pid);
    task->process->task_count = 1;
    task->ordinal = task->process->threads_spawned = 1;
    task->state = TASK_RUNNING;
    task->started = true;
    if (box->options->terminal)
        terminal_seen(box);
    return send(socket, "", 1, MSG_NOSIGNAL) == 1 ? 0
                                                  : err_set(err, -errno, "start the program: %m");
}

static int start(struct box *box, struct err *err)
{
    int sockets[2], on = 1;
    int flags = SIGCHLD | (box->bare ? 0 : CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWUTS);
    /* What guests write is told by its stamps from files that were there, and what init makes for
     * them is no older than the box either. */
    int64_t stamp = fs_stamp_part(box->wall_started_ns);

    /* For the clock page, a System V segment. It has a mount inside: before those of the view. */
    if (!box->bare && unshare(CLONE_NEWIPC) < 0)
        return err_set(err, -errno, "make an IPC namespace: %m");
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0 ||
        setsockopt(sockets[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof on) < 0 ||
        (sockets[1] = fd_raise(sockets[1], FILTER_DESCRIPTORS)) < 0)
        return err_set(err, -errno, "make a socket: %m");
    box->init_pid = (pid_t)syscall(SYS_clone, flags, NULL, NULL, NULL, NULL);
    if (box->init_pid < 0)
        return err_set(err, -errno, "make the box's namespaces: %m");
    if (box->init_pid == 0) {
        fd_close(sockets[0]);
        become_init(box, sockets[1]);
    }
    fd_close(sockets[1]);
    box->init_socket = sockets[0];
    order_beside(box);
    int r = box->bare ? 0 : meet_make(box, sockets[0], err);
    if (r == 0)
        r = make_clock_segment(box, err);
    if (r < 0)
        return r;
    vclock_init(&box->clock, box->options);
    note_start(box, stamp);
    loader_expect(box);
    exec_expect();
    numbers_expect(box);
    counter_renounce(box);
    order_supervisor(box);
    return seize(box, sockets[0], err);
}

int spawn_box(struct box *box, struct err *err)
{
    (void)snprintf(box->own_dir, sizeof box->own_dir, "%s", SPECIAL_DIRECTORY);
    box->real_root = fs_is_real_root();
    int r = box->real_root ? 0 : enter_user_namespace(err);
    if (bare_is_why(r))
        r = bare_begin(box, err);
    if (r < 0)
        return r;
    vclock_init(&box->clock, box->options); /* for init, which has no page */
    order_choose(box);
    r = start(box, err);
    /* A /proc of its own may be refused where namespaces are not: a container with masked paths. */
    if (bare_is_why(r) && bare_may_be(box) && !box->bare && !box->guest_pid) {
        if (box->init_pid > 0) {
            (void)kill(box->init_pid, SIGKILL);
            (void)waitpid(box->init_pid, NULL, __WALL);
        }
        fd_close(take_fd(&box->init_socket));
        r = bare_begin(box, err);
        if (r == 0)
            r = start(box, err);
    }
    return r;
}

int spawn_failure(struct box *box, struct err *err)
{
    struct failure failure;
    pid_t unused;

    return fail_from(&failure, receive_pid(box, &unused, &failure), err);
}
