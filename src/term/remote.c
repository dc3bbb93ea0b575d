/* SPDX-License-Identifier: MIT */
#include "term/remote.h"
#include "base/fd.h"
#include "base/wall.h"
#include "base/when.h"
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NAME_MAX_BYTES = 64, REQUEST_BYTES_MAX = 16 << 20 };
static const size_t REPLY_BYTES_MAX = (size_t)512 << 20;

bool remote_name_is_good(const char *name)
{
    size_t length = strlen(name);

    for (size_t i = 0; i < length; i++)
        if (!isalnum((unsigned char)name[i]) && !strchr("._-", name[i]))
            return false;
    return length && length <= NAME_MAX_BYTES && name[0] != '.' && name[0] != '-';
}

/* The directory of all sockets; ours alone, or it is refused. */
static int directory_of(char **ret, struct err *err)
{
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    CLEANUP(mem_free) char *path = runtime && *runtime
                                       ? mem_format("%s/vitro-term", runtime)
                                       : mem_format("/tmp/vitro-term-%u", geteuid());
    struct stat st;

    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return err_set(err, -errno, "make '%s' for the sockets of sessions: %m", path);
    if (lstat(path, &st) < 0 || !S_ISDIR(st.st_mode) || st.st_uid != geteuid() ||
        st.st_mode & 077) {
        err_set(err, -EPERM, "'%s' is not a directory that only this user can enter", path);
        return err_hint(err, "remove it, or point XDG_RUNTIME_DIR elsewhere");
    }
    *ret = take_ptr(&path);
    return 0;
}

static int address_of(const char *name, struct sockaddr_un *ret, struct err *err)
{
    CLEANUP(mem_free) char *directory = NULL;

    *ret = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (!remote_name_is_good(name)) {
        err_set(err, -EINVAL, "'%.80s' is not a name of a session", name);
        return err_hint(err, "letters, digits, '.', '_' and '-', at most %d", NAME_MAX_BYTES);
    }
    int r = directory_of(&directory, err);
    if (r < 0)
        return r;
    int length = snprintf(ret->sun_path, sizeof ret->sun_path, "%s/%s.sock", directory, name);
    return length < (int)sizeof ret->sun_path
               ? 0
               : err_set(err, -ENAMETOOLONG, "the socket's path '%s/%s.sock' is too long",
                         directory, name);
}

static int connect_to(const struct sockaddr_un *address)
{
    CLEANUP(fd_close) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || connect(fd, (const struct sockaddr *)address, sizeof *address) < 0)
        return -errno;
    return take_fd(&fd);
}

/* A line; false when the other side ends, or says too much. */
static bool read_line(int fd, struct buf *line, size_t limit)
{
    for (;;) {
        buf_reserve(line, 65536);
        ssize_t count = read(fd, line->data + line->length, 65536);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0 || line->length + (size_t)count > limit)
            return false;
        line->length += (size_t)count;
        line->data[line->length] = '\0';
        if (line->data[line->length - 1] == '\n')
            return true;
    }
}

static int write_line(int fd, const json_t *value)
{
    CLEANUP(buf_done) struct buf line = {0};

    json_add_canonical(&line, value);
    buf_addc(&line, '\n');
    return fd_write_full(fd, line.data, line.length);
}

/* ---- the process of a session --------------------------------------------------------------- */

static bool serve_one(vitro_term *t, int listen_fd, const char *path)
{
    CLEANUP(fd_close) int fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC);
    CLEANUP(buf_done) struct buf line = {0};
    CLEANUP(json_free) json_t *request = NULL, *reply = NULL;
    const struct timeval limit = {.tv_sec = 5};
    struct err err = {0};
    bool last = false;

    if (fd < 0)
        return false;
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    if (!read_line(fd, &line, REQUEST_BYTES_MAX))
        return false;
    if (json_parse(line.data, line.length, "request", &request, &err) < 0)
        reply = json_pack("{s:s}", "error", err.text);
    else
        last = remote_answer(t, request, &reply);
    if (last) { /* the answer tells that everything is gone, the name too: it may be used again */
        (void)unlink(path);
        int r = vitro_term_end(t, (struct vitro_box_error *)&err);
        json_t *gone =
            json_pack("{s:b,s:O}", "closed", 1, "state", json_object_get(reply, "state"));
        if (r < 0)
            (void)json_object_set_new(gone, "error", json_string(err.text));
        json_decref(reply);
        reply = gone;
    }
    (void)write_line(fd, reply);
    return last;
}

static volatile sig_atomic_t asked_to_end;

static void on_end(int signal)
{
    (void)signal;
    asked_to_end = 1;
}

static void serve(vitro_term *t, int listen_fd, uint64_t idle_ns, const char *path)
{
    uint64_t last_ns = wall_monotonic_ns();
    bool closed = false;

    while (!closed && !asked_to_end && wall_monotonic_ns() - last_ns < idle_ns) {
        struct pollfd fd = {.fd = listen_fd, .events = POLLIN};
        /* A name that somebody removed cannot be reached any more. */
        if (access(path, F_OK) < 0)
            break;
        if (poll(&fd, 1, 1000) <= 0)
            continue;
        closed = serve_one(t, listen_fd, path);
        last_ns = wall_monotonic_ns();
    }
    if (!closed) {
        (void)unlink(path);
        vitro_term_close(t);
    }
    _exit(0);
}

static void become_server(const struct sockaddr_un *address,
                          const struct vitro_term_options *options, uint64_t idle_ns, int listen_fd,
                          int report_fd)
{
    struct err err = {0};
    struct sigaction end = {.sa_handler = on_end};

    (void)setsid();
    (void)signal(SIGHUP, SIG_IGN);
    (void)signal(SIGINT, SIG_IGN);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)sigaction(SIGTERM, &end, NULL);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int i = 0; i < 3; i++)
        (void)dup2(null, i);
    for (int fd = 3; fd < 1024; fd++) /* the caller's pipes and locks are not kept */
        if (fd != listen_fd && fd != report_fd)
            (void)close(fd);
    vitro_term *t = vitro_term_open(options, (struct vitro_box_error *)&err);
    if (t && vitro_term_settle(t, 0) < 0 && vitro_term_failure(t)->why != VITRO_TERM_CEILING)
        (void)err_set(&err, vitro_term_failure(t)->code, "%.900s", vitro_term_failure(t)->summary);
    (void)fd_write_full(report_fd, &err, sizeof err);
    fd_close(report_fd);
    if (!t || err.code) {
        (void)unlink(address->sun_path);
        vitro_term_close(t);
        _exit(1);
    }
    serve(t, listen_fd, idle_ns, address->sun_path);
}

static int listen_at(const struct sockaddr_un *address, const char *name, struct err *err)
{
    int old = connect_to(address);

    if (old >= 0) {
        fd_close(old);
        err_set(err, -EEXIST, "there is a session '%s' already", name);
        return err_hint(err, "vitro term close %s", name);
    }
    if (old == -ECONNREFUSED) /* its process was killed */
        (void)unlink(address->sun_path);
    CLEANUP(fd_close) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (const struct sockaddr *)address, sizeof *address) < 0 ||
        listen(fd, 16) < 0)
        return err_set(err, -errno, "listen at '%s': %m", address->sun_path);
    return take_fd(&fd);
}

int remote_open(const char *name, const struct vitro_term_options *options, uint64_t idle_ns,
                struct err *err)
{
    struct sockaddr_un address;
    int pipes[2];

    int r = address_of(name, &address, err);
    if (r < 0)
        return r;
    CLEANUP(fd_close) int listen_fd = listen_at(&address, name, err);
    if (listen_fd < 0)
        return listen_fd;
    if (pipe2(pipes, O_CLOEXEC) < 0)
        return err_set(err, -errno, "make a pipe: %m");
    pid_t pid = fork();
    if (pid == 0) {
        fd_close(pipes[0]);
        if (fork() == 0) /* nobody's child: it is reaped whoever goes first */
            become_server(&address, options, idle_ns, listen_fd, pipes[1]);
        _exit(0);
    }
    fd_close(pipes[1]);
    while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    r = pid < 0 ? -errno : fd_read_full(pipes[0], err, sizeof *err);
    fd_close(pipes[0]);
    if (r < 0) {
        (void)unlink(address.sun_path);
        return err_set(err, r, "the process of session '%s' ended before it began", name);
    }
    return err->code;
}

/* ---- asking --------------------------------------------------------------------------------- */

int remote_ask(const char *name, const json_t *request, json_t **ret, struct err *err)
{
    struct sockaddr_un address;
    CLEANUP(buf_done) struct buf line = {0};
    int r = address_of(name, &address, err);

    if (r < 0)
        return r;
    CLEANUP(fd_close) int fd = connect_to(&address);
    if (fd < 0) {
        err_set(err, -ENOENT, "there is no session '%s'", name);
        return err_hint(err, "vitro term open %s -- PROGRAM starts one; vitro term list shows all",
                        name);
    }
    if (write_line(fd, request) < 0 || !read_line(fd, &line, REPLY_BYTES_MAX))
        return err_set(err, -EPIPE, "session '%s' ended before it answered", name);
    return json_parse(line.data, line.length, "answer of the session", ret, err);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int remote_list(json_t **ret, struct err *err)
{
    CLEANUP(mem_free) char *directory = NULL;
    char *names[1024];
    size_t count = 0;

    int r = directory_of(&directory, err);
    if (r < 0)
        return r;
    DIR *listing = opendir(directory);
    if (!listing)
        return err_set(err, -errno, "list '%s': %m", directory);
    for (struct dirent *entry; (entry = readdir(listing)) && count < ARRAY_LENGTH(names);) {
        size_t length = strlen(entry->d_name);
        if (length > 5 && strcmp(entry->d_name + length - 5, ".sock") == 0)
            names[count++] = mem_dupn(entry->d_name, length - 5);
    }
    (void)closedir(listing);
    qsort(names, count, sizeof *names, by_text);
    *ret = json_array();
    for (size_t i = 0; i < count; i++) {
        struct sockaddr_un address;
        int fd = address_of(names[i], &address, err) < 0 ? -EINVAL : connect_to(&address);
        if (fd >= 0)
            (void)json_array_append_new(*ret, json_string(names[i]));
        else if (fd == -ECONNREFUSED)
            (void)unlink(address.sun_path);
        fd_close(fd < 0 ? -1 : fd);
        free(names[i]);
    }
    return 0;
}
