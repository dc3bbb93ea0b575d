/* SPDX-License-Identifier: MIT */
/* Doing what an answer says: steps in their order, then the end. */
#include "sandbox/shim/shim_guest.h"
#include "base/fd.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* In a box this is virtual time. */
static void pause_for(json_int_t ns)
{
    struct timespec left = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};

    while (nanosleep(&left, &left) < 0 && errno == EINTR)
        ;
}

static void put(int fd, const json_t *bytes)
{
    CLEANUP(buf_done) struct buf text = {0};

    if (!shim_bytes_from_json(bytes, &text))
        shim_die("the plan holds bytes that are none");
    (void)fd_write_full(fd, buf_text(&text), text.length);
}

static void write_file(const json_t *step)
{
    const char *path = json_string_value(json_object_get(step, "path"));
    CLEANUP(buf_done) struct buf text = {0};

    if (!path || !shim_bytes_from_json(json_object_get(step, "bytes"), &text))
        shim_die("the plan holds a file without path or bytes");
    CLEANUP(mem_free) char *directory = mem_dup(path);
    char *slash = strrchr(directory, '/');
    if (slash && slash != directory) {
        *slash = 0;
        (void)dir_make_all(directory, NULL);
    }
    bool append = json_is_true(json_object_get(step, "append"));
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | (append ? O_APPEND : O_TRUNC), 0666);
    if (fd < 0 || fd_write_full(fd, buf_text(&text), text.length) < 0)
        shim_die("write '%s': %s", path, strerror(errno));
    (void)close(fd);
}

/* In the order of their bytes. */
static void print_environment(const struct shim_call *call)
{
    CLEANUP(buf_done) struct buf text = {0};
    const char *next = "";

    for (const char *last = next; next; last = next) {
        next = NULL;
        for (const char *const *env = call->call.env; *env; env++)
            if (strcmp(*env, last) > 0 && (!next || strcmp(*env, next) < 0))
                next = *env;
        if (next)
            buf_addf(&text, "%s\n", next);
    }
    (void)fd_write_full(1, buf_text(&text), text.length);
}

/* Whoever waits for the end of our output, and not for us, waits for this one. */
static void leave_child(json_int_t ns)
{
    if (fork() == 0) {
        (void)setsid();
        pause_for(ns);
        _exit(0);
    }
}

/* What we took from standard input is there again for the one who comes after us. */
static void give_input_back(const struct shim_call *call)
{
    int fd = call->input_taken ? memfd_create("stdin", 0) : -1;

    if (fd < 0)
        return;
    (void)fd_write_full(fd, buf_text(&call->input), call->input.length);
    (void)lseek(fd, 0, SEEK_SET);
    (void)dup2(fd, 0);
    if (fd != 0)
        (void)close(fd);
}

static int wait_for(pid_t pid)
{
    int status = 0;

    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return status;
}

static void __attribute__((noreturn)) end_as(int status)
{
    if (WIFSIGNALED(status)) {
        (void)signal(WTERMSIG(status), SIG_DFL);
        (void)raise(WTERMSIG(status));
    }
    _exit(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
}

/* A handler gets the call's arguments behind its own, and its standard input. */
static int run_handler(const struct shim_call *call, const json_t *words)
{
    size_t count = json_array_size(words), more = 0;

    while (call->call.argv[more])
        more++;
    char **argv = mem_alloc((count + more + 1) * sizeof *argv);
    for (size_t i = 0; i < count; i++)
        argv[i] = (char *)json_string_value(json_array_get(words, i));
    for (size_t i = 1; i < more; i++)
        argv[count + i - 1] = (char *)call->call.argv[i];
    pid_t pid = fork();
    if (pid == 0) {
        give_input_back(call);
        (void)execvp(argv[0], argv);
        shim_die("run handler '%s': %s", argv[0], strerror(errno));
    }
    free(argv);
    return pid < 0 ? SHIM_BROKEN << 8 : wait_for(pid);
}

static bool is_directory(const char *path, const struct stat *which)
{
    struct stat st;

    return stat(path, &st) == 0 && st.st_ino == which->st_ino && st.st_dev == which->st_dev;
}

/* The real program: the first on PATH that is not in the directory of shims. */
static char *find_real(const struct shim_call *call)
{
    const char *path = getenv("PATH");
    struct stat bin;

    if (stat(call->bin, &bin) < 0)
        shim_die("the sandbox of '%s' is gone", call->bin);
    for (const char *p = path ? path : "/usr/bin:/bin"; *p;) {
        size_t length = strcspn(p, ":");
        CLEANUP(mem_free) char *directory = length ? mem_dupn(p, length) : mem_dup(".");
        CLEANUP(mem_free) char *file = mem_format("%s/%s", directory, call->name);
        struct stat st;

        if (!is_directory(directory, &bin) && stat(file, &st) == 0 && S_ISREG(st.st_mode) &&
            access(file, X_OK) == 0)
            return take_ptr(&file);
        p += length + (p[length] == ':');
    }
    shim_die("there is no '%s' on PATH but the shim", call->name);
}

/* With `record` we stand between the program and whoever reads its output. */
static void __attribute__((noreturn))
pass_on(const struct shim_call *call, json_int_t seq, bool record)
{
    CLEANUP(mem_free) char *real = find_real(call);
    int pipes[2][2] = {{-1, -1}, {-1, -1}};

    for (int i = 0; record && i < 2; i++)
        if (pipe2(pipes[i], O_CLOEXEC) < 0)
            shim_die("make a pipe: %s", strerror(errno));
    pid_t pid = fork();
    if (pid == 0) {
        give_input_back(call);
        for (int i = 0; record && i < 2; i++)
            (void)dup2(pipes[i][1], i + 1);
        (void)execv(real, (char *const *)call->call.argv);
        shim_die("run '%s': %s", real, strerror(errno));
    }
    json_t *heard = NULL;
    if (record) {
        (void)close(pipes[0][1]);
        (void)close(pipes[1][1]);
        heard = shim_listen((const int[]){pipes[0][0], pipes[1][0]});
    }
    int status = pid < 0 ? SHIM_BROKEN << 8 : wait_for(pid);
    shim_note_end(call, seq, status, heard);
    end_as(status);
}

/* tmux's own options end at the first word that is none; those about the socket are left out. */
static size_t skip_tmux_options(const char *const *argv, size_t count, const char **ret, size_t *at)
{
    size_t i = 1;

    for (; i < count && argv[i][0] == '-' && argv[i][1] && strcmp(argv[i], "--") != 0; i++) {
        bool is_socket = argv[i][1] == 'L' || argv[i][1] == 'S';
        bool has_value = strchr("LSfcT", argv[i][1]) && !argv[i][2] && i + 1 < count;

        if (!is_socket)
            ret[(*at)++] = argv[i];
        if (has_value && !is_socket)
            ret[(*at)++] = argv[i + 1];
        i += has_value;
    }
    return i;
}

/* tmux with our socket, whatever socket the call asks for. */
static void __attribute__((noreturn)) pass_to_tmux(const struct shim_call *call, const char *socket)
{
    CLEANUP(mem_free) char *real = find_real(call);
    size_t count = 0, at = 3;

    while (call->call.argv[count])
        count++;
    const char **argv = mem_alloc((count + 4) * sizeof *argv);
    argv[0] = "tmux";
    argv[1] = "-S";
    argv[2] = socket;
    for (size_t i = skip_tmux_options(call->call.argv, count, argv, &at); i < count; i++)
        argv[at++] = call->call.argv[i];
    give_input_back(call);
    (void)execv(real, (char *const *)argv);
    shim_die("run '%s': %s", real, strerror(errno));
}

static void step(const struct shim_call *call, const json_t *what, int *status)
{
    const json_t *value;

    if ((value = json_object_get(what, "stdout")))
        put(1, value);
    else if ((value = json_object_get(what, "stderr")))
        put(2, value);
    else if ((value = json_object_get(what, "delay_ns")))
        pause_for(json_integer_value(value));
    else if ((value = json_object_get(what, "write")))
        write_file(value);
    else if ((value = json_object_get(what, "run")))
        *status = run_handler(call, value);
    else if (json_object_get(what, "env"))
        print_environment(call);
    else if ((value = json_object_get(what, "linger_ns")))
        leave_child(json_integer_value(value));
    else
        shim_die("the plan of '%s' holds a step that is not known", call->name);
}

void shim_act(const struct shim_call *call, const json_t *answer, json_int_t seq)
{
    const json_t *steps = json_object_get(answer, "steps"), *value;
    int status = 0;

    if ((value = json_object_get(answer, "tmux")))
        pass_to_tmux(call, json_string_value(value));
    for (size_t i = 0; i < json_array_size(steps); i++)
        step(call, json_array_get(steps, i), &status);
    if (json_is_true(json_object_get(answer, "pass")))
        pass_on(call, seq, json_is_true(json_object_get(answer, "record")));
    while (json_is_true(json_object_get(answer, "hang")))
        (void)pause();
    if ((value = json_object_get(answer, "signal")))
        end_as((int)json_integer_value(value) & 127);
    if ((value = json_object_get(answer, "exit")))
        status = ((int)json_integer_value(value) & 255) << 8;
    end_as(status);
}
