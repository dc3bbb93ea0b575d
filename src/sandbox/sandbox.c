/* SPDX-License-Identifier: MIT */
/* The life of a sandbox: find a name that nobody living has, make the root, take it down. */
#include "sandbox/sandbox_internal.h"
#include "sandbox/shim.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/scratch.h"
#include "base/text.h"
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void sandbox_name_of(const char *text, char ret[static 48])
{
    struct hash hash = hash_of(text, strlen(text));
    struct hash_text hex = hash_to_text(&hash);
    const char *slash = strrchr(text, '/');
    size_t n = 0;

    for (const char *p = slash ? slash + 1 : text; *p && n < 30; p++)
        if (isalnum((unsigned char)*p))
            ret[n++] = *p;
        else if (n && ret[n - 1] != '-')
            ret[n++] = '-';
    if (n && ret[n - 1] != '-')
        ret[n++] = '-';
    memcpy(ret + n, hex.text, 8);
    ret[n + 8] = 0;
}

int sandbox_reap(const char *root, bool children, struct err *err)
{
    CLEANUP(mem_free) char *socket = mem_format("%s/tmux.sock", root);

    (void)sandbox_kill_server(socket);
    if (!sandbox_kill_all(root, children))
        return err_set(err, -EBUSY, "processes of the sandbox '%s' will not end", root);
    return dir_remove_all(root, err);
}

static int reap_left(const char *root, struct err *err)
{
    return sandbox_reap(root, false, err);
}

int sandbox_sweep(const char *base, bool dry_run, struct buf *ret, struct err *err)
{
    CLEANUP(mem_free) char *known = base ? mem_dup(base) : scratch_base();
    CLEANUP(scratch_release) int held = -1;

    if (!file_exists(known))
        return 0;
    int r = scratch_hold(known, &held, err);
    return r < 0 ? r : scratch_sweep(known, false, dry_run ? NULL : reap_left, ret, err);
}

static int make_directories(struct sandbox *sandbox, struct err *err)
{
    static const char *const below[] = {"",
                                        "/home",
                                        "/home/.config",
                                        "/home/.cache",
                                        "/home/.local",
                                        "/home/.local/share",
                                        "/home/.local/state",
                                        "/work",
                                        "/tmp",
                                        "/bin",
                                        "/shim"};

    for (size_t i = 0; i < ARRAY_LENGTH(below); i++) {
        CLEANUP(mem_free) char *path = mem_format("%s%s", sandbox->root, below[i]);

        if (mkdir(path, 0700) < 0)
            return err_set(err, -errno, "make '%s': %m", path);
    }
    return 0;
}

/* A name and its lock; whatever a dead owner left under it is cleared away. */
static int take_name(struct sandbox *sandbox, const char *wanted, struct err *err)
{
    for (unsigned try = 1; try <= 1000; try++) {
        CLEANUP(mem_free) char *name =
            try == 1 ? mem_dup(wanted) : mem_format("%s-%u", wanted, try);
        CLEANUP(mem_free) char *lock = mem_format("%s/%s.lock", sandbox->base, name);
        int r = scratch_lock(lock, false, &sandbox->lock_fd, err);

        if (r < 0)
            return r;
        if (r > 0)
            continue;
        CLEANUP(mem_free) char *root = mem_format("%s/%s", sandbox->base, name);
        r = sandbox_guard_root(root, err);
        if (r == 0 && access(root, F_OK) == 0)
            r = sandbox_reap(root, false, err);
        if (r == 0) { /* from here on it is ours to remove */
            sandbox->name = take_ptr(&name);
            sandbox->root = take_ptr(&root);
        }
        return r;
    }
    return err_set(err, -EBUSY, "a thousand sandboxes named '%s' are open", wanted);
}

static int fill(struct sandbox *sandbox, const struct sandbox_options *options, struct err *err)
{
    const char *name = options->name ? options->name : "sandbox";
    char resolved[PATH_MAX];

    if (!*name || strchr(name, '/') || *name == '.')
        return err_set(err, -EINVAL, "'%s' is not a plain file name", name);
    CLEANUP(mem_free) char *base = options->base ? mem_dup(options->base) : scratch_base();
    CLEANUP(scratch_release) int held = -1;
    int r = scratch_hold(base, &held, err);
    if (r < 0)
        return r;
    sandbox->base = mem_dup(realpath(base, resolved) ? resolved : base);
    (void)scratch_sweep(sandbox->base, false, reap_left, NULL, NULL); /* others may be stubborn */
    if ((r = take_name(sandbox, name, err)) < 0)
        return r;
    sandbox->home = mem_format("%s/home", sandbox->root);
    sandbox->work = mem_format("%s/work", sandbox->root);
    sandbox->here = mem_dup(sandbox->work);
    sandbox->tmp = mem_format("%s/tmp", sandbox->root);
    sandbox->bin = mem_format("%s/bin", sandbox->root);
    sandbox->shim = mem_format("%s/shim", sandbox->root);
    sandbox->socket = mem_format("%s/tmux.sock", sandbox->root);
    sandbox->quota_bytes = options->quota_bytes ? options->quota_bytes : 256u << 20;
    r = make_directories(sandbox, err);
    if (r == 0)
        sandbox_env_init(sandbox, options->term);
    return r;
}

int sandbox_open(const struct sandbox_options *options, struct sandbox **ret, struct err *err)
{
    struct sandbox *sandbox = mem_alloc(sizeof *sandbox);

    sandbox->lock_fd = -1;
    int r = fill(sandbox, options, err);
    if (r < 0) {
        sandbox_free(sandbox);
        return r;
    }
    *ret = sandbox;
    return 0;
}

static void give_up_memory(struct sandbox *sandbox)
{
    char **const owned[] = {&sandbox->base,   &sandbox->name, &sandbox->root, &sandbox->home,
                            &sandbox->work,   &sandbox->tmp,  &sandbox->bin,  &sandbox->shim,
                            &sandbox->socket, &sandbox->here};

    sandbox_env_done(sandbox);
    shim_plan_free(sandbox);
    for (size_t i = 0; i < ARRAY_LENGTH(owned); i++)
        free(*owned[i]);
    fd_close(sandbox->lock_fd);
    free(sandbox);
}

int sandbox_close(struct sandbox *sandbox, struct sandbox_leaks *ret, struct err *err)
{
    int r = 0;

    if (!sandbox)
        return 0;
    if (sandbox->root && sandbox->lock_fd >= 0) {
        if (sandbox->tmux_asked)
            (void)sandbox_kill_server(sandbox->socket);
        bool quiet = sandbox->only_boxes && !sandbox->tmux_asked;
        if (ret && !quiet) {
            struct sandbox_process *found;

            ret->count = sandbox_find_lasting(sandbox->root, sandbox->owns_children, &found);
            for (size_t i = 0; i < ret->count; i++)
                buf_addf(&ret->text, "%s\n", found[i].command);
            sandbox_found_free(found, ret->count);
        }
        r = quiet ? dir_remove_all(sandbox->root, err)
                  : sandbox_reap(sandbox->root, sandbox->owns_children, err);
        if (r == 0) {
            CLEANUP(mem_free) char *lock = mem_format("%s.lock", sandbox->root);
            (void)unlink(lock);
        }
    }
    give_up_memory(sandbox);
    return r;
}

struct sandbox *sandbox_free(struct sandbox *sandbox)
{
    (void)sandbox_close(sandbox, NULL, NULL);
    return NULL;
}

void sandbox_leaks_done(struct sandbox_leaks *leaks)
{
    buf_done(&leaks->text);
}
