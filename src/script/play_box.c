/* SPDX-License-Identifier: MIT */
/* From the axes of a scenario to the box of its next program. The sandbox is what the box may
 * write to; everything else is seen and not touched. One program's clock goes on where the last
 * one's stopped. */
#include "script/play.h"
#include "base/fd.h"
#include "base/text.h"
#include "base/tool.h"
#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

/* The sandbox's root, and what the scenario added. */
static const char *const *with_root(struct play *play, const char *const *more)
{
    size_t count = 0;

    while (more && more[count])
        count++;
    const char **list = arena_alloc(&play->arena, (count + 2) * sizeof *list);
    list[0] = play->sandbox->root;
    if (count)
        memcpy(list + 1, more, count * sizeof *list);
    return list;
}

static bool is_held(const struct box_options *box)
{
    return box->clock.mode == BOX_CLOCK_PAUSED || box->clock.mode == BOX_CLOCK_MANUAL;
}

static int64_t start_of(const struct box_options *box)
{
    return box->clock.start_given ? box->clock.start_ns : INT64_C(1767225600000000000);
}

int play_box(struct play *play, struct box_options *ret, struct err *err)
{
    const char *names[64], *values[64];
    size_t count = 0;

    for (; count < play->axis_count && count < ARRAY_LENGTH(names); count++) {
        names[count] = play->axes[count].name;
        values[count] = play->axes[count].value;
    }
    int r = play->options->axes.read(names, values, count, ret, err);
    if (r < 0)
        return r;
    if (!play->plain && is_held(ret)) {
        bool first = play->now_ns == INT64_MIN;
        ret->clock.start_ns = play_stamp(play, first ? start_of(ret) : play->now_ns, first);
        ret->clock.start_given = true;
    }
    if (!ret->seed)
        ret->seed = play->options->seed;
    ret->envp = (const char *const *)play->sandbox->env;
    ret->directory = play->sandbox->here;
    ret->fs.writable = with_root(play, ret->fs.writable);
    if (!ret->fs.worktree)
        ret->fs.worktree = play->sandbox->work;
    if (!ret->timeout_ns)
        ret->timeout_ns = 60 * UINT64_C(1000000000);
    ret->fs.share_tmp = true; /* programs beside the scenario may stand there */
    return 0;
}

int play_record(struct play *play, const char **ret, struct err *err)
{
    CLEANUP(buf_done) struct buf path = {0};
    int r;

    *ret = NULL;
    if (!play->options->record || play->sabotaged)
        return 0;
    buf_addf(&path, "%s/", play->options->record);
    for (const char *p = play->which->name; *p; p++)
        buf_addc(&path, isalnum((unsigned char)*p) || strchr("._-", *p) ? *p : '-');
    buf_addf(&path, "-%u", ++play->recorded);
    CLEANUP(mem_free) char *cast = mem_format("%s.cast", path.data);
    (void)unlink(cast);
    if ((r = dir_make_all(play->options->record, err)) < 0 ||
        (r = dir_remove_all(path.data, err)) < 0)
        return r;
    *ret = arena_dup(&play->arena, path.data, path.length);
    return 0;
}

void play_clock_after(struct play *play, const struct box_options *box, uint64_t virtual_ns)
{
    if (is_held(box)) {
        play->now_ns = start_of(box) + (int64_t)virtual_ns;
        play->virtual_ns += virtual_ns;
    }
}

/* As a shell in the sandbox would find it: shims first. */
static const char *on_path(struct play *play, const char *program)
{
    const char *path = sandbox_env_get(play->sandbox, "PATH");

    CLEANUP(mem_free) char *file = tool_find(program, path ? path : "", NULL);

    if (file)
        return arena_dup(&play->arena, file, strlen(file));
    return program;
}

const char *play_program(struct play *play, const char *program)
{
    CLEANUP(mem_free) char *inside = mem_format("%s/%s", play->sandbox->here, program);
    const char *directory;

    if (!strchr(program, '/'))
        return on_path(play, program);
    if (*program == '/' || file_exists(inside) || play_variable(play, "DIR", &directory, NULL) < 0)
        return program;
    CLEANUP(mem_free) char *beside = mem_format("%s/%s", directory, program);
    return file_exists(beside) ? arena_dup(&play->arena, beside, strlen(beside)) : program;
}
