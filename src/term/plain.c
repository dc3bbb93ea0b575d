/* SPDX-License-Identifier: MIT */
/* plain: a session without a box. Time is real, and settled is what can be seen from outside: every
 * process of the session sleeps, and did not run between two looks. */
#include "term/plain.h"
#include "term/guard.h"
#include "term/term.h"
#include "box/settle.h"
#include "base/fd.h"
#include "base/wall.h"
#include "base/when.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

enum { LOOK_MS = 3, PROCESSES_MAX = 4096 };

struct plain {
    struct guard guard;
    uint64_t started_ns;
    char slave_path[32];
};

static int open_terminal(vitro_term *t, struct err *err)
{
    struct winsize size = {.ws_row = t->log.rows, .ws_col = t->log.cols};
    struct termios modes;
    int unlocked = 0;

    t->master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
    if (t->master < 0 || ioctl(t->master, TIOCSPTLCK, &unlocked) < 0)
        return err_set(err, -errno, "open a terminal: %m");
    t->slave = ioctl(t->master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (t->slave < 0 || ioctl(t->slave, TIOCSWINSZ, &size) < 0)
        return err_set(err, -errno, "open the terminal's other end: %m");
    if (tcgetattr(t->slave, &modes) == 0) {
        modes.c_iflag |= IUTF8;
        (void)tcsetattr(t->slave, TCSANOW, &modes);
    }
    return 0;
}

int plain_start(vitro_term *t, const struct vitro_term_options *options, const char *const *envp,
                struct err *err)
{
    unsigned number = 0;

    int r = open_terminal(t, err);
    if (r < 0)
        return r;
    t->plain = mem_alloc(sizeof *t->plain);
    t->plain->guard.fd = -1;
    (void)ioctl(t->master, TIOCGPTN, &number);
    (void)snprintf(t->plain->slave_path, sizeof t->plain->slave_path, "/dev/pts/%u", number);
    t->plain->started_ns = wall_monotonic_ns();
    t->now_ns = wall_now_ns();
    t->flags = SETTLE_OUTSIDE;
    return guard_start(options->box.argv, envp, options->box.directory, t->slave, &t->plain->guard,
                       err);
}

void plain_stop(struct plain *plain)
{
    guard_stop(&plain->guard);
    free(plain);
}

/* ---- is it settled? ------------------------------------------------------------------------ */

struct look {
    uint64_t switches;
    unsigned tasks;
    bool asleep, reading;
};

static bool waits_for_terminal(const struct plain *plain, pid_t tid)
{
    char path[64], text[256] = "";
    CLEANUP(buf_done) struct buf call = {0};
    long number = -1, fd = 0;

    (void)snprintf(path, sizeof path, "/proc/%d/syscall", tid);
    if (file_read(path, 256, &call, NULL) < 0 ||
        sscanf(buf_text(&call), "%ld %lx", &number, (unsigned long *)&fd) < 1)
        return false;
    switch (number) {
    case SYS_read:
    case SYS_readv:
        break;
    case SYS_poll:
    case SYS_ppoll:
    case SYS_select:
    case SYS_pselect6:
    case SYS_epoll_wait:
    case SYS_epoll_pwait:
        fd = 0; /* a guess: whoever polls has its standard input among the rest */
        break;
    default:
        return false;
    }
    (void)snprintf(path, sizeof path, "/proc/%d/fd/%ld", tid, fd);
    if (readlink(path, text, sizeof text - 1) < 0)
        return false;
    return strcmp(text, plain->slave_path) == 0 || strcmp(text, "/dev/tty") == 0;
}

static void look_at_thread(const struct plain *plain, pid_t tid, struct look *look)
{
    CLEANUP(buf_done) struct buf status = {0};
    char path[64];

    (void)snprintf(path, sizeof path, "/proc/%d/status", tid);
    if (file_read(path, 65536, &status, NULL) < 0)
        return;
    const char *state = strstr(buf_text(&status), "State:\t");
    if (!state || state[7] == 'Z' || state[7] == 'X')
        return;
    look->tasks++;
    look->asleep = look->asleep && (state[7] == 'S' || state[7] == 'T' || state[7] == 't');
    for (const char *at = state; (at = strstr(at, "ctxt_switches:")); at += 14)
        look->switches += strtoull(at + 14, NULL, 10);
    look->reading = look->reading || waits_for_terminal(plain, tid);
}

static void look_at_process(const struct plain *plain, pid_t pid, struct look *look)
{
    char path[64];

    (void)snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *listing = opendir(path);
    for (struct dirent *entry; listing && (entry = readdir(listing));)
        if (entry->d_name[0] != '.')
            look_at_thread(plain, (pid_t)strtol(entry->d_name, NULL, 10), look);
    if (listing)
        (void)closedir(listing);
}

/* Everything below `pid`. */
static void look_below(const struct plain *plain, pid_t pid, struct look *look, unsigned depth)
{
    CLEANUP(buf_done) struct buf list = {0};
    char path[64];

    (void)snprintf(path, sizeof path, "/proc/%d/task/%d/children", pid, pid);
    if (depth > 64 || look->tasks > PROCESSES_MAX || file_read(path, 1 << 20, &list, NULL) < 0)
        return;
    for (char *at = list.data, *end; at && *at; at = end) {
        long child = strtol(at, &end, 10);
        if (end == at)
            break;
        look_at_process(plain, (pid_t)child, look);
        look_below(plain, (pid_t)child, look, depth + 1);
    }
}

static void note_time(vitro_term *t)
{
    t->elapsed_ns = wall_monotonic_ns() - t->plain->started_ns;
    t->now_ns = wall_now_ns();
}

static void note_frame(vitro_term *t)
{
    const struct log *log = &t->log;

    for (size_t i = log->count; i; i--) {
        if (log->events[i - 1].kind == LOG_SIZE)
            break;
        if (log->events[i - 1].kind == LOG_FRAME && log->events[i - 1].offset == log->stream.length)
            return;
    }
    if (log->stream.length)
        (void)log_add(&t->log, LOG_FRAME, t->elapsed_ns);
}

static int note_exit(vitro_term *t, int status)
{
    /* Its last words are on their way no longer: an empty master was flushed. */
    while (drive_drain(t) > 0)
        ;
    t->ended = true;
    t->exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    t->findings = (struct vitro_box_findings){.exit_code = t->exit_code,
                                              .wait_status = status,
                                              .text = "",
                                              .notes = "",
                                              .output = "",
                                              .error_output = "",
                                              .virtual_ns = t->elapsed_ns,
                                              .real_ns = t->elapsed_ns};
    t->flags &= ~(uint32_t)SETTLE_READING;
    note_frame(t);
    return 0;
}

int plain_wait(vitro_term *t, uint64_t give_up_ns, bool at_output, enum drive_end *ret)
{
    struct look last = {0};

    for (;;) {
        struct pollfd fds[2] = {{.fd = t->master, .events = POLLIN},
                                {.fd = t->plain->guard.fd, .events = POLLIN}};
        struct guard_report packet;
        (void)poll(fds, 2, LOOK_MS);
        ssize_t taken = drive_drain(t);
        note_time(t);
        if (taken < 0)
            return term_fail(t, VITRO_TERM_TROUBLE, -EFBIG, NULL,
                             "the program wrote more than output_max (%zu bytes)", t->output_max);
        if (fds[1].revents) {
            *ret = DRIVE_ENDED;
            if (recv(t->plain->guard.fd, &packet, sizeof packet, MSG_DONTWAIT) != sizeof packet)
                packet = (struct guard_report){GUARD_EXITED, SIGKILL};
            return note_exit(t, packet.value);
        }
        if (wall_monotonic_ns() >= give_up_ns) {
            *ret = DRIVE_CEILING;
            return 0;
        }
        if (taken > 0 && at_output) {
            *ret = DRIVE_OUTPUT;
            return 0;
        }
        struct look look = {.asleep = true};
        look_below(t->plain, t->plain->guard.pid, &look, 0);
        if (!taken && look.asleep && look.tasks && look.tasks == last.tasks &&
            look.switches == last.switches) {
            t->flags = SETTLE_OUTSIDE | (look.reading ? SETTLE_READING : 0);
            t->settled = true;
            note_frame(t);
            *ret = DRIVE_SETTLED;
            return 0;
        }
        last = look;
    }
}

int plain_pause(vitro_term *t, const struct term_wait *wait, enum drive_end *ret)
{
    uint64_t now = wall_monotonic_ns();
    uint64_t left_ms = wait->give_up_ns > now ? (wait->give_up_ns - now) / NS_PER_MS + 1 : 0;
    struct pollfd fds[2] = {
        {.fd = t->master, .events = POLLIN},
        {.fd = t->plain ? t->plain->guard.fd : vitro_box_fd(t->box), .events = POLLIN}};

    (void)poll(fds, 2, left_ms < 50 ? (int)left_ms : 50);
    return drive_wait(t, wait, true, ret);
}

bool term_left_some(const vitro_term *t)
{
    struct look look = {0};

    if (t->plain && t->ended)
        look_below(t->plain, t->plain->guard.pid, &look, 0);
    return look.tasks > 0;
}
