/* SPDX-License-Identifier: MIT */
/* One call: who am I, what was I asked, what is the answer; noted under the lock, then given. */
#include "sandbox/shim/shim_guest.h"
#include "base/fd.h"
#include "base/text.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

void shim_die(const char *format, ...)
{
    CLEANUP(buf_done) struct buf text = {0};
    va_list args;

    buf_adds(&text, "vitro shim: ");
    va_start(args, format);
    buf_addv(&text, format, args);
    va_end(args);
    buf_addc(&text, '\n');
    (void)fd_write_full(2, text.data, text.length);
    _exit(SHIM_BROKEN);
}

/* bin/NAME of a sandbox, as the kernel knows us: argv[0] may say anything. */
static void find_place(struct shim_call *call)
{
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);

    if (length <= 0)
        shim_die("read /proc/self/exe: %s", strerror(errno));
    self[length] = 0;
    char *slash = strrchr(self, '/');
    if (!slash || slash == self)
        shim_die("'%s' is not in the bin/ of a sandbox", self);
    call->name = mem_dup(slash + 1);
    *slash = 0;
    call->bin = mem_dup(self);
    slash = strrchr(self, '/');
    call->meta = slash ? mem_format("%.*s/shim", (int)(slash - self), self) : mem_dup("shim");
}

static void load_plan(struct shim_call *call)
{
    CLEANUP(mem_free) char *path = mem_format("%s/plan.json", call->meta);
    CLEANUP(buf_done) struct buf text = {0};
    struct err err = {0};

    if (file_read(path, SHIM_PLAN_MAX, &text, &err) < 0 ||
        json_parse(buf_text(&text), text.length, path, &call->plan, &err) < 0)
        shim_die("'%s' has no plan: %s", call->name, err.text);
}

/* A pipe or a file that the call reads is part of it. A terminal is not: nobody would end it. */
static void take_input(struct shim_call *call, const json_t *command)
{
    struct stat st;

    if (json_is_false(json_object_get(command, "stdin")) || fstat(0, &st) < 0 ||
        S_ISCHR(st.st_mode) || S_ISDIR(st.st_mode))
        return;
    call->input_taken = fd_read_all(0, &call->input, SHIM_STDIN_MAX) == 0;
}

static json_t *strings(const char *const *list)
{
    json_t *array = json_array();

    for (; *list; list++)
        json_array_append_new(array, shim_bytes_to_json(*list, strlen(*list)));
    return array;
}

static json_t *environment(const char *const *env)
{
    json_t *object = json_object();

    for (; *env; env++) {
        const char *equals = strchr(*env, '=');
        if (!equals || !text_is_utf8(*env, (size_t)(equals - *env)))
            continue;
        CLEANUP(mem_free) char *name = mem_dupn(*env, (size_t)(equals - *env));
        json_object_set_new(object, name, shim_bytes_to_json(equals + 1, strlen(equals + 1)));
    }
    return object;
}

static void append(const struct shim_call *call, const json_t *entry)
{
    CLEANUP(mem_free) char *path = mem_format("%s/journal.jsonl", call->meta);
    CLEANUP(fd_close) int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    CLEANUP(buf_done) struct buf line = {0};

    json_add_canonical(&line, entry);
    buf_addc(&line, '\n');
    if (fd < 0 || fd_write_full(fd, line.data, line.length) < 0)
        shim_die("write '%s': %s", path, strerror(errno));
}

static int lock(const struct shim_call *call)
{
    CLEANUP(mem_free) char *path = mem_format("%s/lock", call->meta);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

    if (fd < 0)
        shim_die("the sandbox of '%s' is gone: open '%s': %s", call->name, path, strerror(errno));
    while (flock(fd, LOCK_EX) < 0)
        if (errno != EINTR)
            shim_die("lock '%s': %s", path, strerror(errno));
    return fd;
}

json_int_t shim_now_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec * (json_int_t)1000000000 + now.tv_nsec;
}

void shim_note_end(const struct shim_call *call, json_int_t seq, int wait_status, json_t *heard)
{
    bool died = WIFSIGNALED(wait_status);
    CLEANUP(json_free) json_t *entry = json_pack(
        "{s:I, s:s, s:i, s:I}", "end", seq, "name", call->name, died ? "signal" : "exit",
        died ? WTERMSIG(wait_status) : WEXITSTATUS(wait_status), "time_ns", shim_now_ns());
    CLEANUP(fd_close) int held = lock(call);

    if (heard)
        json_object_set_new(entry, "heard", heard);
    append(call, entry);
}

/* How often each rule was used so far is in ../shim/state.json. */
static json_t *load_state(const char *path)
{
    CLEANUP(buf_done) struct buf text = {0};
    json_t *state = NULL;

    if (file_exists(path) && (file_read(path, SHIM_PLAN_MAX, &text, NULL) < 0 ||
                              json_parse(buf_text(&text), text.length, path, &state, NULL) < 0))
        shim_die("'%s' cannot be read", path);
    return state ? state : json_object();
}

static void save_state(const char *path, const json_t *state)
{
    CLEANUP(buf_done) struct buf text = {0};
    CLEANUP(fd_close) int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    json_add_canonical(&text, state);
    if (fd < 0 || fd_write_full(fd, text.data, text.length) < 0)
        shim_die("write '%s': %s", path, strerror(errno));
}

static json_t *counts_of(json_t *state, const char *name, size_t rules)
{
    json_t *counts = json_object_get(state, name);

    if (!json_is_array(counts)) {
        counts = json_array();
        json_object_set_new(state, name, counts);
    }
    while (json_array_size(counts) < rules)
        json_array_append_new(counts, json_integer(0));
    return counts;
}

static json_int_t note(const struct shim_call *call, const struct shim_choice *choice,
                       json_t *state)
{
    json_int_t seq = json_integer_value(json_object_get(state, "")) + 1;
    CLEANUP(json_free) json_t *entry = json_pack(
        "{s:I, s:s, s:o, s:o, s:o, s:I, s:s, s:i, s:{s:i}}", "call", seq, "name", call->name,
        "argv", strings(call->call.argv), "cwd", shim_bytes_to_json(call->cwd, strlen(call->cwd)),
        "env", environment(call->call.env), "time_ns", shim_now_ns(), "outcome", choice->outcome,
        "rule", choice->rule, "host", "pid", (int)getpid());

    if (!entry)
        shim_die("note the call of '%s'", call->name);
    if (call->input_taken)
        json_object_set_new(entry, "stdin",
                            shim_bytes_to_json(buf_text(&call->input), call->input.length));
    if (choice->why.length)
        json_object_set_new(entry, "why", shim_bytes_to_json(choice->why.data, choice->why.length));
    append(call, entry);
    json_object_set_new(state, "", json_integer(seq));
    return seq;
}

static void __attribute__((noreturn))
refuse(const struct shim_call *call, const struct shim_choice *choice)
{
    CLEANUP(buf_done) struct buf text = {0};

    buf_addf(&text, "vitro shim: %s has no answer for this call (%s)\n%s%s", call->name,
             choice->outcome, buf_text(&choice->why), choice->why.length ? "\n" : "");
    (void)fd_write_full(2, text.data, text.length);
    _exit(SHIM_UNMATCHED);
}

int main(int argc, char **argv)
{
    struct shim_call call = {0};
    struct shim_choice choice;
    char cwd[PATH_MAX];

    (void)argc;
    find_place(&call);
    load_plan(&call);
    call.cwd = mem_dup(getcwd(cwd, sizeof cwd) ? cwd : "?");
    call.call = (struct call){.program = call.name,
                              .argv = (const char *const *)argv,
                              .cwd = call.cwd,
                              .env = (const char *const *)environ};
    const json_t *command = json_object_get(json_object_get(call.plan, "commands"), call.name);
    if (!command)
        shim_die("'%s' is not in the plan of its sandbox", call.name);
    take_input(&call, command);

    CLEANUP(mem_free) char *path = mem_format("%s/state.json", call.meta);
    int held = lock(&call);
    json_t *state = load_state(path);
    json_t *counts =
        counts_of(state, call.name, json_array_size(json_object_get(command, "rules")));
    shim_choose(&call, command, counts, &choice);
    json_int_t seq = note(&call, &choice, state);
    if (choice.rule >= 0) {
        json_t *count = json_array_get(counts, (size_t)choice.rule);
        json_integer_set(count, json_integer_value(count) + 1);
    }
    save_state(path, state);
    (void)close(held);
    if (strcmp(choice.outcome, "answered") != 0)
        refuse(&call, &choice);
    shim_act(&call, choice.answer, seq);
}
