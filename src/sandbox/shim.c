/* SPDX-License-Identifier: MIT */
/* Installing shims and writing their plan. */
#include "sandbox/shim.h"
#include "base/fd.h"
#include "base/text.h"
#include "match/call.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

extern const char shim_image[], shim_image_end[];

static json_t *plan_of(struct sandbox *sandbox)
{
    if (!sandbox->plan)
        sandbox->plan = json_pack("{s:i, s:{}}", "version", 1, "commands");
    return json_object_get(sandbox->plan, "commands");
}

bool shim_is_installed(const struct sandbox *sandbox, const char *name)
{
    return sandbox->plan &&
           json_object_get(json_object_get(sandbox->plan, "commands"), name) != NULL;
}

void shim_plan_free(struct sandbox *sandbox)
{
    json_decref(sandbox->plan);
    sandbox->plan = NULL;
}

/* The image is written once a sandbox; its names are links. */
static int write_image(const char *path, struct err *err)
{
    CLEANUP(fd_close) int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);

    if (fd < 0 && errno == EEXIST)
        return 0;
    int r = fd < 0 ? -errno : fd_write_full(fd, shim_image, (size_t)(shim_image_end - shim_image));
    return r < 0 ? err_set(err, r, "write the shim '%s': %s", path, strerror(-r)) : 0;
}

int shim_install(struct sandbox *sandbox, const char *name, struct err *err)
{
    if (!*name || strchr(name, '/') || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return err_set(err, -EINVAL, "'%s' is not the name of a command", name);
    if (shim_is_installed(sandbox, name))
        return 0;
    CLEANUP(mem_free) char *image = mem_format("%s/shim", sandbox->shim);
    CLEANUP(mem_free) char *path = mem_format("%s/%s", sandbox->bin, name);
    int r = write_image(image, err);
    if (r < 0)
        return r;
    if (link(image, path) < 0)
        return err_set(err, -errno, "install the shim '%s': %m", name);
    json_object_set_new(plan_of(sandbox), name, json_pack("{s:[]}", "rules"));
    sandbox->plan_dirty = true;
    return 0;
}

static int command_of(struct sandbox *sandbox, const char *name, json_t **ret, struct err *err)
{
    int r = shim_install(sandbox, name, err);

    if (r == 0) {
        *ret = json_object_get(plan_of(sandbox), name);
        sandbox->plan_dirty = true;
    }
    return r;
}

static int check_answer(const json_t *answer, struct err *err)
{
    static const char *const steps[] = {"stdout", "stderr", "delay_ns", "write",
                                        "run",    "env",    "linger_ns"};
    static const char *const ends[] = {"steps", "exit", "signal", "hang", "pass", "tmux", "record"};
    const char *key;
    json_t *value, *step;
    size_t index;

    if (!json_is_object(answer))
        return err_set(err, -EINVAL, "an answer is an object");
    json_object_foreach((json_t *)answer, key, value)
    {
        bool known = false;
        for (size_t i = 0; i < ARRAY_LENGTH(ends); i++)
            known |= strcmp(key, ends[i]) == 0;
        if (!known)
            return err_set(err, -EINVAL, "an answer has no '%s'", key);
    }
    json_array_foreach(json_object_get(answer, "steps"), index, step)
    {
        const char *name = json_object_iter_key(json_object_iter(step));
        bool known = false;
        for (size_t i = 0; name && i < ARRAY_LENGTH(steps); i++)
            known |= strcmp(name, steps[i]) == 0;
        if (!known)
            return err_set(err, -EINVAL, "step %zu of an answer is not known", index + 1);
    }
    return 0;
}

static int check_rule(const json_t *rule, struct err *err)
{
    struct call_rule pattern;
    size_t index;
    json_t *answer;
    int r = call_rule_from_json(&pattern, json_object_get(rule, "match"), "match", err);

    if (r < 0)
        return r;
    call_rule_done(&pattern);
    json_array_foreach(json_object_get(rule, "answers"), index, answer)
    {
        if ((r = check_answer(answer, err)) < 0)
            return r;
    }
    return 0;
}

int shim_add_rule(struct sandbox *sandbox, const char *name, json_t *rule, struct err *err)
{
    json_t *command;
    int r = check_rule(rule, err);

    if (r == 0)
        r = command_of(sandbox, name, &command, err);
    if (r < 0) {
        json_decref(rule);
        return err_wrap(err, "shim '%s'", name);
    }
    json_array_append_new(json_object_get(command, "rules"), rule);
    return 0;
}

int shim_set_else(struct sandbox *sandbox, const char *name, json_t *answer, struct err *err)
{
    json_t *command;
    int r = check_answer(answer, err);

    if (r == 0)
        r = command_of(sandbox, name, &command, err);
    if (r < 0)
        json_decref(answer);
    else
        json_object_set_new(command, "else", answer);
    return r;
}

int shim_set_stdin(struct sandbox *sandbox, const char *name, bool take, struct err *err)
{
    json_t *command;
    int r = command_of(sandbox, name, &command, err);

    if (r == 0)
        json_object_set_new(command, "stdin", json_boolean(take));
    return r;
}

int shim_clear(struct sandbox *sandbox, const char *name, struct err *err)
{
    json_t *command;
    int r = command_of(sandbox, name, &command, err);

    if (r == 0) {
        json_array_clear(json_object_get(command, "rules"));
        json_object_del(command, "else");
    }
    return r;
}

int shim_flush(struct sandbox *sandbox, struct err *err)
{
    CLEANUP(mem_free) char *path = mem_format("%s/plan.json", sandbox->shim);
    CLEANUP(buf_done) struct buf text = {0};

    if (!sandbox->plan || !sandbox->plan_dirty)
        return 0;
    json_add_canonical(&text, sandbox->plan);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    int r = fd < 0 ? -errno : fd_write_full(fd, text.data, text.length);
    fd_close(fd);
    if (r < 0)
        return err_set(err, r, "write '%s': %s", path, strerror(-r));
    sandbox->plan_dirty = false;
    return 0;
}

json_t *shim_answer_success(const char *output)
{
    return output ? json_pack("{s:[{s:s}], s:i}", "steps", "stdout", output, "exit", 0)
                  : json_pack("{s:i}", "exit", 0);
}

json_t *shim_answer_failure(const char *error_text, int code)
{
    return json_pack("{s:[{s:s}], s:i}", "steps", "stderr", error_text, "exit", code);
}

json_t *shim_rule_any(const char *label, json_t *answer)
{
    return json_pack("{s:{}, s:s, s:s, s:[o]}", "match", "label", label, "kind", "stub", "answers",
                     answer);
}
