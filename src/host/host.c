/* SPDX-License-Identifier: MIT */
/* include/vitro/host.h: what is asked of a sub-handle goes to whoever made it. A host of somebody's
 * own may lack sub-handles: asking those is an error in words. */
#include "host/host_internal.h"
#include "proc/recording.h"
#include <assert.h>
#include <errno.h>
#include <string.h>

static_assert(sizeof(struct vitro_host_error) == sizeof(struct err), "one layout");

static int lacks(const char *what, struct vitro_host_error *error)
{
    return err_set(host_err(error), -EINVAL, "this host has no %s sub-handle", what);
}

static int needs(const char *method, const char *what, struct vitro_host_error *error)
{
    return err_set(host_err(error), -EINVAL, "%s: no %s was given", method, what);
}

void vitro_host_free(struct vitro_host *host)
{
    if (host && host->ops && host->ops->free)
        host->ops->free(host);
}

int vitro_host_ask(struct vitro_host *host, const char *capability, const char *method,
                   const char *args, char **ret, struct vitro_host_error *error)
{
    *ret = NULL;
    if (!capability || !method)
        return needs("ask a host", "capability and method", error);
    if (!host || !host->ops || !host->ops->ask)
        return err_set(host_err(error), -ENOSYS, "%s.%s: this host knows no capabilities",
                       capability, method);
    return host->ops->ask(host, capability, method, args ? args : "{}", ret, error);
}

void vitro_strings_free(char **strings)
{
    strings_free(strings);
}

/* ---- stdio */

int vitro_stdio_write(struct vitro_stdio *stdio, int stream, const void *bytes, size_t length,
                      struct vitro_host_error *error)
{
    if (!stdio)
        return lacks("stdio", error);
    if (stream != 1 && stream != 2)
        return err_set(host_err(error), -EINVAL, "print to stream %d: 1 or 2", stream);
    return stdio->ops->write(stdio, stream, bytes, length, error);
}

static int print(struct vitro_stdio *stdio, int stream, const char *format, va_list args)
{
    CLEANUP(buf_done) struct buf text = {0};

    buf_addv(&text, format, args);
    return vitro_stdio_write(stdio, stream, buf_text(&text), text.length, NULL);
}

int vitro_stdio_print(struct vitro_stdio *stdio, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    int r = print(stdio, 1, format, args);
    va_end(args);
    return r;
}

int vitro_stdio_print_error(struct vitro_stdio *stdio, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    int r = print(stdio, 2, format, args);
    va_end(args);
    return r;
}

int vitro_stdio_read_line(struct vitro_stdio *stdio, char **ret, struct vitro_host_error *error)
{
    *ret = NULL;
    return stdio ? stdio->ops->read_line(stdio, ret, error) : lacks("stdio", error);
}

/* ---- env */

static int check_name(const char *name, struct vitro_host_error *error)
{
    if (!name || !*name || strchr(name, '='))
        return err_set(host_err(error), -EINVAL, "'%s' is no name of a variable", name ? name : "");
    return 0;
}

int vitro_env_get(struct vitro_env *env, const char *name, const char **ret,
                  struct vitro_host_error *error)
{
    *ret = NULL;
    int r = env ? check_name(name, error) : lacks("env", error);
    return r < 0 ? r : env->ops->get(env, name, ret, error);
}

int vitro_env_set(struct vitro_env *env, const char *name, const char *value,
                  struct vitro_host_error *error)
{
    int r = env ? check_name(name, error) : lacks("env", error);
    return r < 0 ? r : env->ops->set(env, name, value, error);
}

int vitro_env_list(struct vitro_env *env, char ***ret, struct vitro_host_error *error)
{
    *ret = NULL;
    return env ? env->ops->list(env, ret, error) : lacks("env", error);
}

/* ---- fs */

static int check_path(struct vitro_fs *fs, const char *path, struct vitro_host_error *error)
{
    if (!fs)
        return lacks("fs", error);
    return path && *path ? 0 : needs("fs", "path", error);
}

int vitro_fs_read(struct vitro_fs *fs, const char *path, char **ret, size_t *ret_length,
                  struct vitro_host_error *error)
{
    size_t length;
    int r = check_path(fs, path, error);

    *ret = NULL;
    return r < 0 ? r : fs->ops->read(fs, path, ret, ret_length ? ret_length : &length, error);
}

int vitro_fs_write(struct vitro_fs *fs, const char *path, const void *bytes, size_t length,
                   struct vitro_host_error *error)
{
    int r = check_path(fs, path, error);
    return r < 0 ? r : fs->ops->write(fs, path, bytes, length, 0, error);
}

int vitro_fs_append(struct vitro_fs *fs, const char *path, const void *bytes, size_t length,
                    struct vitro_host_error *error)
{
    int r = check_path(fs, path, error);
    return r < 0 ? r : fs->ops->write(fs, path, bytes, length, 1, error);
}

int vitro_fs_stat(struct vitro_fs *fs, const char *path, struct vitro_fs_stat *ret,
                  struct vitro_host_error *error)
{
    int r = check_path(fs, path, error);
    return r < 0 ? r : fs->ops->stat(fs, path, ret, error);
}

int vitro_fs_remove(struct vitro_fs *fs, const char *path, struct vitro_host_error *error)
{
    int r = check_path(fs, path, error);
    return r < 0 ? r : fs->ops->remove(fs, path, error);
}

int vitro_fs_rename(struct vitro_fs *fs, const char *from, const char *to,
                    struct vitro_host_error *error)
{
    int r = check_path(fs, from, error);
    if (r == 0)
        r = check_path(fs, to, error);
    return r < 0 ? r : fs->ops->rename(fs, from, to, error);
}

int vitro_fs_make_dir(struct vitro_fs *fs, const char *path, struct vitro_host_error *error)
{
    int r = check_path(fs, path, error);
    return r < 0 ? r : fs->ops->make_dir(fs, path, error);
}

int vitro_fs_list(struct vitro_fs *fs, const char *path, char ***ret,
                  struct vitro_host_error *error)
{
    int r = check_path(fs, path, error);

    *ret = NULL;
    return r < 0 ? r : fs->ops->list(fs, path, ret, error);
}

/* ---- random */

int vitro_random_u64(struct vitro_random *random, uint64_t *ret, struct vitro_host_error *error)
{
    return random ? random->ops->u64(random, ret, error) : lacks("random", error);
}

int vitro_random_bytes(struct vitro_random *random, void *ret, size_t length,
                       struct vitro_host_error *error)
{
    return random ? random->ops->bytes(random, ret, length, error) : lacks("random", error);
}

int vitro_random_uuid(struct vitro_random *random, char ret[37], struct vitro_host_error *error)
{
    return random ? random->ops->uuid(random, ret, error) : lacks("random", error);
}

/* ---- net */

int vitro_net_request(struct vitro_net *net, const struct vitro_net_request *request,
                      struct vitro_net_response *ret, struct vitro_host_error *error)
{
    *ret = (struct vitro_net_response){0};
    if (!net)
        return lacks("net", error);
    if (!request || !request->url || !*request->url)
        return needs("net", "url", error);
    return net->ops->request(net, request, ret, error);
}

int vitro_net_get(struct vitro_net *net, const char *url, struct vitro_net_response *ret,
                  struct vitro_host_error *error)
{
    return vitro_net_request(net, &(struct vitro_net_request){.url = url}, ret, error);
}

void vitro_net_response_done(struct vitro_net_response *response)
{
    if (!response)
        return;
    strings_free(response->headers);
    free(response->body);
    free(response->final_url);
    *response = (struct vitro_net_response){0};
}

/* ---- terminal */

int vitro_terminal_size(struct vitro_terminal *terminal, unsigned *ret_columns, unsigned *ret_rows,
                        struct vitro_host_error *error)
{
    return terminal ? terminal->ops->size(terminal, ret_columns, ret_rows, error)
                    : lacks("terminal", error);
}

int vitro_terminal_is_tty(struct vitro_terminal *terminal, int stream,
                          struct vitro_host_error *error)
{
    return terminal ? terminal->ops->is_tty(terminal, stream, error) : lacks("terminal", error);
}
