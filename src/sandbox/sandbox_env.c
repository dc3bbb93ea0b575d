/* SPDX-License-Identifier: MIT */
/* The environment of programs in a sandbox: built from nothing, so that whatever the person's
 * shell holds (TMUX, GIT_DIR, tokens, proxies) cannot reach them. */
#include "sandbox/sandbox_internal.h"
#include "base/cleanup.h"
#include "base/text.h"
#include <errno.h>
#include <string.h>
#include <unistd.h>

static const char *const passed_on[] = {"LANG", "LC_ALL", "SHELL", "GOCACHE", "GOMODCACHE"};

static size_t find(const struct sandbox *sandbox, const char *name, size_t length)
{
    size_t i = 0;

    while (i < sandbox->env_count &&
           !(strncmp(sandbox->env[i], name, length) == 0 && sandbox->env[i][length] == '='))
        i++;
    return i;
}

static void put(struct sandbox *sandbox, const char *name, const char *value)
{
    size_t i = find(sandbox, name, strlen(name));

    if (i == sandbox->env_count) {
        sandbox->env = mem_grow(sandbox->env, (i + 2) * sizeof *sandbox->env);
        sandbox->env[i] = sandbox->env[i + 1] = NULL;
        sandbox->env_count++;
    }
    free(sandbox->env[i]);
    sandbox->env[i] = mem_format("%s=%s", name, value);
}

static void put_below(struct sandbox *sandbox, const char *name, const char *directory,
                      const char *below)
{
    CLEANUP(mem_free) char *path = mem_format("%s%s", directory, below);

    put(sandbox, name, path);
}

void sandbox_env_init(struct sandbox *sandbox, const char *term)
{
    const char *path = getenv("PATH");
    CLEANUP(mem_free) char *shims =
        mem_format("%s:%s", sandbox->bin, path && *path ? path : "/usr/local/bin:/usr/bin:/bin");

    put(sandbox, "HOME", sandbox->home);
    put_below(sandbox, "XDG_CONFIG_HOME", sandbox->home, "/.config");
    put_below(sandbox, "XDG_STATE_HOME", sandbox->home, "/.local/state");
    put_below(sandbox, "XDG_DATA_HOME", sandbox->home, "/.local/share");
    put_below(sandbox, "XDG_CACHE_HOME", sandbox->home, "/.cache");
    put_below(sandbox, "XDG_RUNTIME_DIR", sandbox->tmp, "");
    put(sandbox, "PATH", shims);
    put(sandbox, "TMPDIR", sandbox->tmp);
    put(sandbox, "TERM", term ? term : "dumb");
    if (!term || strcmp(term, "dumb") == 0)
        put(sandbox, "NO_COLOR", "1");
    put(sandbox, "TMUX_TMPDIR", sandbox->tmp); /* the person's server is nobody's here */
    put(sandbox, "VITRO_SANDBOX", sandbox->root);
    for (size_t i = 0; i < ARRAY_LENGTH(passed_on); i++)
        if (getenv(passed_on[i]))
            put(sandbox, passed_on[i], getenv(passed_on[i]));
}

void sandbox_env_done(struct sandbox *sandbox)
{
    for (size_t i = 0; i < sandbox->env_count; i++)
        free(sandbox->env[i]);
    free(take_ptr(&sandbox->env));
    sandbox->env_count = 0;
}

int sandbox_env_set(struct sandbox *sandbox, const char *name, const char *value, struct err *err)
{
    if (!*name || strchr(name, '='))
        return err_set(err, -EINVAL, "'%s' is not the name of a variable", name);
    if (strcmp(name, "VITRO_SANDBOX") == 0)
        return err_set(err, -EPERM, "VITRO_SANDBOX is how a sandbox finds its processes again");
    if (value) {
        put(sandbox, name, value);
        return 0;
    }
    size_t i = find(sandbox, name, strlen(name));
    if (i < sandbox->env_count) {
        free(sandbox->env[i]);
        memmove(sandbox->env + i, sandbox->env + i + 1,
                (sandbox->env_count - i) * sizeof *sandbox->env);
        sandbox->env_count--;
    }
    return 0;
}

const char *sandbox_env_get(const struct sandbox *sandbox, const char *name)
{
    size_t i = find(sandbox, name, strlen(name));

    return i < sandbox->env_count ? sandbox->env[i] + strlen(name) + 1 : NULL;
}
