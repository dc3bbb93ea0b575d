/* SPDX-License-Identifier: MIT */
#include "interpose/programs.h"
#include "base/fd.h"
#include "interpose/calls.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FDS = 5, INPUT_MAX = 64 << 20 }; /* the call, three streams, where to answer */

struct answer {
    int32_t code; /* -errno: it could not be run */
    int32_t exit_code, signal;
};

struct served {
    struct served *prev, *next;
    struct vitro_world *world; /* a reference */
    struct lane lane;
    struct vitro_frame frame;
    char *name;    /* owned */
    sigset_t mask; /* of who forked: a program that is run has it, too */
    int socket;
};

void programs_init(struct programs *programs, vitro_cassette *cassette)
{
    *programs = (struct programs){.cassette = cassette, .socket = -1};
    (void)pthread_mutex_init(&programs->lock, NULL);
}

void programs_close(struct programs *programs)
{
    (void)pthread_mutex_lock(&programs->lock);
    programs->cassette = NULL;
    for (struct served *served = programs->first; served; served = served->next)
        (void)shutdown(served->socket, SHUT_RDWR);
    (void)pthread_mutex_unlock(&programs->lock);
}

/* ---- in the bench: serving */

static int receive(int socket, int fds[FDS])
{
    char byte, control[CMSG_SPACE(sizeof(int) * FDS)] __attribute__((aligned(8)));
    struct iovec part = {&byte, 1};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof control};
    ssize_t n;

    do
        n = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    struct cmsghdr *header = n == 1 ? CMSG_FIRSTHDR(&message) : NULL;
    if (!header || header->cmsg_len != CMSG_LEN(sizeof(int) * FDS))
        return -EPIPE;
    memcpy(fds, CMSG_DATA(header), sizeof(int) * FDS);
    return 0;
}

static int read_fd(int fd, size_t max, struct buf *ret)
{
    char bytes[16384];
    ssize_t n;

    while ((n = read(fd, bytes, sizeof bytes)) > 0 || (n < 0 && errno == EINTR)) {
        if (n > 0)
            buf_add(ret, bytes, (size_t)n);
        if (ret->length > max)
            return -EFBIG;
    }
    return n < 0 ? -errno : 0;
}

/* Its standard input, if it was given one: the test's own is not read on its behalf. */
static int read_input(int fd, struct buf *ret)
{
    struct stat theirs, ours;

    if (fstat(fd, &theirs) < 0 || S_ISCHR(theirs.st_mode) || S_ISDIR(theirs.st_mode))
        return 0;
    if (fstat(0, &ours) == 0 && ours.st_ino == theirs.st_ino && ours.st_dev == theirs.st_dev)
        return 0;
    return read_fd(fd, INPUT_MAX, ret);
}

static void write_fd(int fd, const char *bytes, size_t length)
{
    for (size_t done = 0; done < length;) {
        ssize_t n = write(fd, bytes + done, length - done);
        if (n < 0 && errno != EINTR)
            return; /* nobody reads it any more */
        done += n > 0 ? (size_t)n : 0;
    }
}

/* The call as it was sent: count of arguments, texts, count of variables, texts, directory. */
struct sent {
    struct buf bytes;
    const char **argv, **envp, *directory;
};

static const char **sent_list(const char **at, const char *end)
{
    uint32_t count;

    if ((size_t)(end - *at) < sizeof count)
        return NULL;
    memcpy(&count, *at, sizeof count);
    *at += sizeof count;
    if (count > (size_t)(end - *at))
        return NULL;
    const char **list = mem_alloc((count + 1) * sizeof *list);
    for (uint32_t i = 0; i < count && *at < end; i++) {
        list[i] = *at;
        *at += strnlen(*at, (size_t)(end - *at)) + 1;
    }
    return list;
}

static int sent_read(int fd, struct sent *ret)
{
    int r = lseek(fd, 0, SEEK_SET) < 0 ? -errno : read_fd(fd, INPUT_MAX, &ret->bytes);

    if (r < 0)
        return r;
    const char *at = buf_text(&ret->bytes), *end = at + ret->bytes.length;
    ret->argv = sent_list(&at, end);
    ret->envp = ret->argv ? sent_list(&at, end) : NULL;
    ret->directory = at;
    return ret->envp && at < end ? 0 : -EBADMSG;
}

static void sent_done(struct sent *sent)
{
    buf_done(&sent->bytes);
    free(sent->argv);
    free(sent->envp);
}

static struct answer run(struct served *served, const struct sent *sent, const struct buf *input,
                         const int fds[FDS])
{
    struct programs *programs = served->world->programs;
    struct vitro_process_result result = {0};
    struct vitro_process_call call = {.argv = sent->argv,
                                      .envp = sent->envp,
                                      .directory = sent->directory,
                                      .input = buf_text(input),
                                      .input_length = input->length};

    sigset_t all;

    (void)pthread_mutex_lock(&programs->lock);
    (void)pthread_sigmask(SIG_SETMASK, &served->mask, &all);
    int r = programs->cassette ? vitro_process_run(programs->cassette, &call, &result, NULL)
                               : -ECANCELED;
    (void)pthread_sigmask(SIG_SETMASK, &all, NULL);
    (void)pthread_mutex_unlock(&programs->lock);
    if (r < 0)
        return (struct answer){.code = r == -ENODATA ? -ENOENT : r};
    if (result.played && result.duration_ns && served->frame.clock) {
        struct deadline until = deadline_after((int64_t)result.duration_ns);
        (void)wait_fds(lane_self(), served->frame.clock, NULL, 0, &until, NULL);
    }
    write_fd(fds[2], result.output, result.output_length);
    write_fd(fds[3], result.error_output, result.error_length);
    struct answer answer = {.exit_code = result.exit_code, .signal = result.signal};
    vitro_process_result_done(&result);
    return answer;
}

static void serve(struct served *served, int fds[FDS])
{
    struct sent sent = {0};
    CLEANUP(buf_done) struct buf input = {0};
    struct answer answer;

    /* What it reads may come from another process of the bench: time may pass until then. */
    lane_running(&served->lane, -1);
    int r = read_input(fds[1], &input);
    lane_running(&served->lane, +1);
    if (r == 0)
        r = sent_read(fds[0], &sent);
    if (r < 0)
        answer = (struct answer){.code = r};
    else
        answer = run(served, &sent, &input, fds);
    for (int i = 0; i < 4; i++)
        fd_close(fds[i]);
    (void)send(fds[4], &answer, sizeof answer, MSG_NOSIGNAL);
    fd_close(fds[4]);
    sent_done(&sent);
}

static void *serve_main(void *arg)
{
    struct served *served = arg;
    struct programs *programs = served->world->programs;
    int fds[FDS];

    *lane_self() = served->lane;
    while (receive(served->socket, fds) == 0)
        serve(served, fds);
    lane_running(&served->lane, -1);
    *lane_self() = (struct lane){0};
    (void)pthread_mutex_lock(&programs->lock);
    *(served->prev ? &served->prev->next : &programs->first) = served->next;
    if (served->next)
        served->next->prev = served->prev;
    (void)pthread_mutex_unlock(&programs->lock);
    fd_close(served->socket);
    free(served->name);
    world_unref(served->world);
    free(served);
    return NULL;
}

static int serve_start(struct lane *lane, struct vitro_world *world, int socket)
{
    struct programs *programs = world->programs;
    struct served *served = mem_alloc(sizeof *served);
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t all;

    served->name = lane_inherit(lane, &served->frame, NULL, "fork", &served->lane);
    served->frame.below = NULL;
    if (!lane_clock(lane))
        served->lane.clock = NULL;
    served->socket = socket;
    served->world = world_ref(world);
    lane_running(&served->lane, +1);
    (void)pthread_mutex_lock(&programs->lock);
    served->next = programs->first;
    if (served->next)
        served->next->prev = served;
    programs->first = served;
    (void)pthread_mutex_unlock(&programs->lock);
    (void)pthread_attr_init(&attributes);
    (void)pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &served->mask);
    sigset_t old = served->mask;
    int r = pthread_create(&thread, &attributes, serve_main, served);
    (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
    (void)pthread_attr_destroy(&attributes);
    return -r;
}

pid_t programs_fork(struct lane *lane, struct vitro_world *world, pid_t (*real)(void))
{
    struct programs *programs = world->programs;
    int ends[2];

    if (programs->socket >= 0) /* a child's child asks through the same one */
        return real();
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return -1;
    int high = fcntl(ends[1], F_DUPFD_CLOEXEC, 500);
    if (high >= 0) {
        fd_close(ends[1]);
        ends[1] = high;
    }
    (void)pthread_mutex_lock(&programs->lock);
    pid_t pid = real();
    int code = errno;
    (void)pthread_mutex_unlock(&programs->lock);
    if (pid == 0) {
        programs->socket = ends[1];
        fd_close(ends[0]);
        return 0;
    }
    fd_close(ends[1]);
    if (pid < 0 || serve_start(lane, world, ends[0]) < 0)
        fd_close(ends[0]);
    errno = code;
    return pid;
}

/* ---- in the child: asking */

static int list_send(int fd, char *const list[])
{
    uint32_t count = 0;

    while (list[count])
        count++;
    if (write(fd, &count, sizeof count) != sizeof count)
        return -EIO;
    for (uint32_t i = 0; i < count; i++) {
        size_t length = strlen(list[i]) + 1;
        if (write(fd, list[i], length) != (ssize_t)length)
            return -EIO;
    }
    return 0;
}

static int ask(int socket, const int fds[FDS])
{
    char byte = 0, control[CMSG_SPACE(sizeof(int) * FDS)] __attribute__((aligned(8)));
    struct iovec part = {&byte, 1};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof control};

    memset(control, 0, sizeof control);
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int) * FDS);
    memcpy(CMSG_DATA(header), fds, sizeof(int) * FDS);
    return sendmsg(socket, &message, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

static void end_as(const struct answer *answer)
{
    if (answer->signal) {
        sigset_t all;
        (void)signal(answer->signal, SIG_DFL);
        (void)sigfillset(&all);
        (void)sigprocmask(SIG_UNBLOCK, &all, NULL);
        (void)kill(getpid(), answer->signal);
    }
    _exit(answer->exit_code);
}

/* As exec would: or a program that reads to the end of a pipe would wait for its own process. */
static void close_on_exec(const struct programs *programs, const int keep[FDS + 1])
{
    DIR *dir = opendir("/proc/self/fd");
    struct dirent *entry;

    while (dir && (entry = readdir(dir))) {
        int fd = atoi(entry->d_name);
        bool kept = fd <= 2 || fd == programs->socket || fd == dirfd(dir);
        for (int i = 0; i <= FDS; i++)
            kept |= fd == keep[i];
        if (!kept && fcntl(fd, F_GETFD) == FD_CLOEXEC)
            (void)close(fd);
    }
    if (dir)
        (void)closedir(dir);
}

int programs_exec(struct programs *programs, const char *file, char *const argv[],
                  char *const envp[])
{
    char here[4096];
    int ends[2], fds[FDS + 1], null = open("/dev/null", O_RDWR | O_CLOEXEC);
    size_t count = 0;
    struct answer answer;

    while (argv[count])
        count++;
    CLEANUP(mem_free) char **words = mem_alloc((count + 2) * sizeof *words);
    memcpy(words, argv, count * sizeof *words);
    words[0] = (char *)file;
    int text = memfd_create("vitro-call", MFD_CLOEXEC);
    if (!getcwd(here, sizeof here) || list_send(text, words) < 0 || list_send(text, envp) < 0 ||
        write(text, here, strlen(here) + 1) < 0)
        return -EIO;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return -errno;
    fds[0] = text;
    for (int i = 0; i < 3; i++)
        fds[i + 1] = fcntl(i, F_GETFD) < 0 ? null : i;
    fds[4] = ends[1];
    fds[5] = ends[0];
    close_on_exec(programs, fds); /* before time can pass for the program */
    int r = ask(programs->socket, fds);
    if (r == 0) {
        fd_close(ends[1]);
        ssize_t n = recv(ends[0], &answer, sizeof answer, 0);
        r = n == (ssize_t)sizeof answer ? answer.code : -EPIPE;
        if (r == 0)
            end_as(&answer);
    }
    fd_close(ends[0]);
    return r;
}
