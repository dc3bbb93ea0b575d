/* SPDX-License-Identifier: MIT */
#include "box/program.h"
#include "base/buf.h"
#include "box/sub.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char **guest_environment(const struct box *box)
{
    const struct box_options *options = box->options;
    static const char *const fixed[] = {"TZ=UTC", "LANG=C.UTF-8", "LC_ALL=C.UTF-8"};
    static const char mark[] = "VITRO_BOX=1"; /* tells a vitro inside that it is inside */
    const char *const *from = options->envp ? options->envp : (const char *const *)environ;
    size_t count = 0, used = 0, added = 0;

    while (from[count])
        count++;
    while (options->add_env && options->add_env[added])
        added++;
    char **envp = mem_alloc((count + added + ARRAY_LENGTH(fixed) + 3) * sizeof *envp);
    for (size_t i = 0; i < count; i++) {
        bool replaced = strncmp(from[i], "VITRO_", 6) == 0;
        for (size_t j = 0; !options->identity_real && j < ARRAY_LENGTH(fixed); j++) {
            size_t length = strcspn(fixed[j], "=") + 1;
            replaced |= strncmp(from[i], fixed[j], length) == 0;
        }
        if (!replaced)
            envp[used++] = (char *)from[i];
        if (options->path_first && strncmp(from[i], "PATH=", 5) == 0)
            envp[used - 1] = mem_format("PATH=%s:%s", options->path_first, from[i] + 5);
        /* Recorded programs are found here if nowhere else; the same while they are recorded. */
        if (options->proc.mode != PROC_OFF && strncmp(from[i], "PATH=", 5) == 0)
            envp[used - 1] = mem_format("%s:%s/bin", envp[used - 1], box->own_dir);
    }
    for (size_t j = 0; !options->identity_real && j < ARRAY_LENGTH(fixed); j++)
        envp[used++] = (char *)fixed[j];
    for (size_t i = 0; i < added; i++)
        envp[used++] = (char *)options->add_env[i];
    envp[used] = (char *)mark;
    return envp;
}

static const char *path_of(char **envp)
{
    const char *path = NULL;

    for (; *envp; envp++)
        if (strncmp(*envp, "PATH=", 5) == 0)
            path = *envp + 5;
    return path ? path : "/usr/local/bin:/usr/bin:/bin";
}

/* What is not there outside is not there inside either, but where the box puts files of its own. */
static bool may_be_inside(const struct box *box, const char *candidate)
{
    return box->options->fs.file_count || candidate[0] != '/' ||
           strncmp(candidate, "/proc/", 6) == 0 ||
           strncmp(candidate, box->own_dir, strlen(box->own_dir)) == 0 ||
           access(candidate, F_OK) == 0;
}

void program_find(const struct box *box, struct program *ret)
{
    const struct box_options *options = box->options;
    const char *name = options->argv[0];
    size_t count = 0;

    *ret = (struct program){.argv = options->argv, .envp = guest_environment(box)};
    const char *path = path_of(ret->envp);
    ret->candidates = mem_alloc((strlen(path) + 3) * sizeof *ret->candidates);
    if (strchr(name, '/')) {
        ret->candidates[0] = mem_dup(name);
        return;
    }
    for (const char *at = path; *at;) {
        size_t length = strcspn(at, ":");
        char *candidate = mem_format("%.*s%s%s", (int)length, at, length ? "/" : "", name);
        if (may_be_inside(box, candidate))
            ret->candidates[count++] = candidate;
        else
            free(candidate);
        at += length + (at[length] == ':');
    }
}

int program_exec(const struct program *program)
{
    bool named = program->candidates[0] && strchr(program->argv[0], '/');
    int error = ENOENT;

    for (char **candidate = program->candidates; *candidate; candidate++) {
        if (!named && access(*candidate, F_OK) < 0)
            continue;
        (void)execve(*candidate, (char **)program->argv, program->envp);
        error = errno;
    }
    return error;
}
