/* SPDX-License-Identifier: MIT */
/* The machine as a host: streams, variables, chance, programs and the terminal. Files and network
 * are in files of their own. The environment is copied when the host is made and never written
 * back. */
#include "host/host_real.h"
#include "base/fd.h"
#include "base/text.h"
#include "host/random.h"
#include "proc/recording.h"
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <unistd.h>

enum { LINE_MAX_BYTES = 64 << 20, PIECE = 65536 };

/* ---- stdio */

static int stdio_write(struct vitro_stdio *stdio, int stream, const void *bytes, size_t length,
                       struct vitro_host_error *error)
{
    (void)stdio;
    int r = fd_write_full(stream, bytes, length);
    return r < 0 ? err_set(host_err(error), r, "print: %s", strerror(-r)) : 0;
}

/* With the lock held. 1 with a line, 0 at the end. */
static int take_line(struct host_real *real, char **ret, struct err *err)
{
    size_t looked = 0;

    for (;;) {
        struct buf *input = &real->input;
        const char *newline = input->length > looked
                                  ? memchr(input->data + looked, '\n', input->length - looked)
                                  : NULL;
        if (newline || (real->input_ended && input->length)) {
            size_t length = newline ? (size_t)(newline - input->data) : input->length;
            *ret = mem_dupn(input->data, length);
            buf_drop(input, length + (newline != NULL));
            return 1;
        }
        if (real->input_ended)
            return 0;
        looked = input->length;
        if (looked > LINE_MAX_BYTES)
            return err_set(err, -EFBIG, "read a line: more than %d bytes", LINE_MAX_BYTES);
        char piece[PIECE];
        ssize_t count = read(STDIN_FILENO, piece, sizeof piece);
        if (count < 0 && errno != EINTR)
            return err_set(err, -errno, "read a line: %m");
        real->input_ended = count == 0;
        if (count > 0)
            buf_add(input, piece, (size_t)count);
    }
}

static int stdio_read_line(struct vitro_stdio *stdio, char **ret, struct vitro_host_error *error)
{
    struct host_real *real = REAL_OF(stdio, stdio);

    (void)pthread_mutex_lock(&real->lock);
    int r = take_line(real, ret, host_err(error));
    (void)pthread_mutex_unlock(&real->lock);
    return r;
}

/* ---- env */

static size_t variable_place(const struct host_real *real, const char *name, bool *ret_there)
{
    size_t length = strlen(name), i = 0;

    *ret_there = false;
    for (; real->variables[i]; i++)
        if (strncmp(real->variables[i], name, length) == 0 && real->variables[i][length] == '=') {
            *ret_there = true;
            break;
        }
    return i;
}

static int env_get(struct vitro_env *env, const char *name, const char **ret,
                   struct vitro_host_error *error)
{
    struct host_real *real = REAL_OF(env, env);
    bool there;

    (void)error;
    (void)pthread_mutex_lock(&real->lock);
    size_t place = variable_place(real, name, &there);
    *ret = there ? real->variables[place] + strlen(name) + 1 : NULL;
    (void)pthread_mutex_unlock(&real->lock);
    return there;
}

static void push(char ***list, char *text)
{
    size_t count = 0;

    while ((*list)[count])
        count++;
    *list = mem_grow(*list, (count + 2) * sizeof **list);
    (*list)[count] = text;
    (*list)[count + 1] = NULL;
}

static int env_set(struct vitro_env *env, const char *name, const char *value,
                   struct vitro_host_error *error)
{
    struct host_real *real = REAL_OF(env, env);
    bool there;

    (void)error;
    (void)pthread_mutex_lock(&real->lock);
    size_t place = variable_place(real, name, &there);
    if (there) { /* somebody may hold its value */
        push(&real->old, real->variables[place]);
        for (; real->variables[place]; place++)
            real->variables[place] = real->variables[place + 1];
    }
    if (value)
        push(&real->variables, mem_format("%s=%s", name, value));
    (void)pthread_mutex_unlock(&real->lock);
    return 0;
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

char **real_env_list(struct host_real *real)
{
    size_t count = 0;

    (void)pthread_mutex_lock(&real->lock);
    char **copy = strings_copy((const char *const *)real->variables);
    (void)pthread_mutex_unlock(&real->lock);
    while (copy[count])
        count++;
    qsort(copy, count, sizeof *copy, compare_texts);
    return copy;
}

static int env_list(struct vitro_env *env, char ***ret, struct vitro_host_error *error)
{
    (void)error;
    *ret = real_env_list(REAL_OF(env, env));
    return 0;
}

/* ---- random */

static int random_bytes(struct vitro_random *random, void *ret, size_t length,
                        struct vitro_host_error *error)
{
    (void)random;
    for (size_t have = 0; have < length;) {
        ssize_t count = getrandom((char *)ret + have, length - have, 0);
        if (count < 0 && errno != EINTR)
            return err_set(host_err(error), -errno, "random bytes: %m");
        have += count > 0 ? (size_t)count : 0;
    }
    return 0;
}

static int random_u64(struct vitro_random *random, uint64_t *ret, struct vitro_host_error *error)
{
    return random_bytes(random, ret, sizeof *ret, error);
}

static int random_uuid(struct vitro_random *random, char ret[37], struct vitro_host_error *error)
{
    unsigned char bytes[16] = {0};
    int r = random_bytes(random, bytes, sizeof bytes, error);

    if (r == 0)
        random_uuid_text(bytes, ret);
    return r;
}

/* ---- programs */

static int process_run(struct vitro_processes *processes, const struct vitro_process_call *call,
                       struct vitro_process_result *ret, struct vitro_host_error *error)
{
    struct host_real *real = REAL_OF(processes, processes);
    char **env = call->envp ? NULL : real_env_list(real);
    struct vitro_process_call with = *call;
    struct vitro_process_error problem = {0};

    if (env)
        with.envp = (const char *const *)env;
    int r = vitro_process_run(real->cassette, &with, ret, &problem);
    strings_free(env);
    return r < 0 ? err_set(host_err(error), r, "%s", problem.text) : 0;
}

/* A recorded program has ended when it starts: a double plays what it did. */
static int spawn_played(struct host_real *real, const struct vitro_process_call *call,
                        vitro_child **ret, struct vitro_host_error *error)
{
    struct vitro_process_result result;
    int r = process_run(&real->processes, call, &result, error);

    if (r < 0)
        return r;
    r = spawner_start(real->spawner,
                      &(struct vitro_mock_config){.output = result.output,
                                                  .output_length = result.output_length,
                                                  .error_output = result.error_output,
                                                  .error_length = result.error_length,
                                                  .exit_code = result.signal ? 0 : result.exit_code,
                                                  .signal = result.signal},
                      call, ret, host_err(error));
    vitro_process_result_done(&result);
    return r;
}

static int process_spawn(struct vitro_processes *processes, const struct vitro_process_call *call,
                         vitro_child **ret, struct vitro_host_error *error)
{
    struct host_real *real = REAL_OF(processes, processes);
    char **env = call->envp ? NULL : real_env_list(real);
    struct vitro_process_call with = *call;

    if (env)
        with.envp = (const char *const *)env;
    int r = real->cassette ? spawn_played(real, &with, ret, error)
                           : real_spawn(&with, ret, host_err(error));
    strings_free(env);
    return r;
}

/* ---- terminal */

static unsigned variable_number(struct host_real *real, const char *name, unsigned otherwise)
{
    const char *text;
    uint64_t number;

    return env_get(&real->env, name, &text, NULL) == 1 && text_to_u64(text, &number) &&
                   number > 0 && number < 65536
               ? (unsigned)number
               : otherwise;
}

static int terminal_size(struct vitro_terminal *terminal, unsigned *ret_columns, unsigned *ret_rows,
                         struct vitro_host_error *error)
{
    struct host_real *real = REAL_OF(terminal, terminal);
    struct winsize size = {0};

    (void)error;
    for (int fd = 0; fd < 3 && !size.ws_col; fd++)
        if (ioctl(fd, TIOCGWINSZ, &size) < 0)
            size.ws_col = 0;
    *ret_columns = size.ws_col ? size.ws_col : variable_number(real, "COLUMNS", 80);
    *ret_rows = size.ws_col && size.ws_row ? size.ws_row : variable_number(real, "LINES", 24);
    return 0;
}

static int terminal_is_tty(struct vitro_terminal *terminal, int stream,
                           struct vitro_host_error *error)
{
    (void)terminal;
    if (stream < 0 || stream > 2)
        return err_set(host_err(error), -EINVAL, "is stream %d a terminal: 0, 1 or 2", stream);
    return isatty(stream);
}

/* ---- the host */

static int real_ask(struct vitro_host *host, const char *capability, const char *method,
                    const char *args, char **ret, struct vitro_host_error *error)
{
    const struct vitro_host_capability *own = ((struct host_real *)host)->capabilities;

    for (; own && own->capability; own++)
        if (text_equal(own->capability, capability) && text_equal(own->method, method))
            return own->run(own->context, args, ret, error);
    return err_set(host_err(error), -ENOSYS, "%s.%s: this host has no such capability", capability,
                   method);
}

static void real_free(struct vitro_host *host)
{
    struct host_real *real = (struct host_real *)host;

    vitro_spawner_free(real->spawner);
    strings_free(real->variables);
    strings_free(real->old);
    buf_done(&real->input);
    (void)pthread_mutex_destroy(&real->lock);
    free(real);
}

static int check_capabilities(const struct vitro_host_capability *own, struct err *err)
{
    for (; own && own->capability; own++)
        if (!own->method || !own->run)
            return err_set(err, -EINVAL, "capability '%s' has no %s", own->capability,
                           own->method ? "function" : "method");
    return 0;
}

struct vitro_host *vitro_host_real(const struct vitro_host_real_options *options,
                                   struct vitro_host_error *error)
{
    static const struct vitro_stdio_ops stdio = {.write = stdio_write,
                                                 .read_line = stdio_read_line};
    static const struct vitro_env_ops env = {.get = env_get, .set = env_set, .list = env_list};
    static const struct vitro_random_ops random = {
        .u64 = random_u64, .bytes = random_bytes, .uuid = random_uuid};
    static const struct vitro_processes_ops processes = {.run = process_run,
                                                         .spawn = process_spawn};
    static const struct vitro_terminal_ops terminal = {.size = terminal_size,
                                                       .is_tty = terminal_is_tty};
    static const struct vitro_host_ops ops = {.ask = real_ask, .free = real_free};
    static const struct vitro_host_real_options none;

    options = options ? options : &none;
    if (check_capabilities(options->capabilities, host_err(error)) < 0)
        return NULL;
    struct host_real *real = mem_alloc(sizeof *real);
    real->stdio.ops = &stdio;
    real->env.ops = &env;
    real->random.ops = &random;
    real->processes.ops = &processes;
    real->terminal.ops = &terminal;
    real_fs_init(real);
    real_net_init(real);
    (void)pthread_mutex_init(&real->lock, NULL);
    real->variables = strings_copy((const char *const *)environ);
    real->old = strings_copy(NULL);
    real->overlay = options->overlay;
    real->cassette = options->cassette;
    real->capabilities = options->capabilities;
    real->host = (struct vitro_host){.stdio = &real->stdio,
                                     .clock = options->clock ? options->clock : vitro_clock_real(),
                                     .env = &real->env,
                                     .fs = &real->fs,
                                     .random = &real->random,
                                     .net = &real->net,
                                     .process = &real->processes,
                                     .terminal = &real->terminal,
                                     .ops = &ops};
    real->spawner = vitro_spawner_new(&(struct vitro_spawner_options){.clock = real->host.clock});
    return &real->host;
}
