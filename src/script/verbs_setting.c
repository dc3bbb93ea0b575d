/* SPDX-License-Identifier: MIT */
/* Verbs that say how the programs to come are run, and verbs about the scenario itself. */
#include "script/play.h"
#include "sandbox/shim.h"
#include "base/fd.h"
#include "base/text.h"
#include "base/when.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void set_axis(struct play *play, const char *name, const char *value)
{
    static const char *const repeat[] = {"writable",    "hide",      "allow",     "tape-only",
                                         "tape-except", "match-env", "match-rule"};
    struct play_axis *axis = NULL;
    bool repeats = false;

    for (size_t i = 0; i < ARRAY_LENGTH(repeat); i++)
        repeats |= strcmp(name, repeat[i]) == 0;
    for (size_t i = 0; !repeats && i < play->axis_count; i++)
        if (strcmp(play->axes[i].name, name) == 0)
            axis = &play->axes[i];
    if (!axis) {
        play->axes = mem_grow(play->axes, (play->axis_count + 1) * sizeof *play->axes);
        axis = &play->axes[play->axis_count++];
        *axis = (struct play_axis){.name = mem_dup(name)};
    }
    free(axis->value);
    axis->value = mem_dup(value);
}

/* Before anything runs: a value that is wrong whatever comes is named with its place. */
static int check_axis(struct words *w, const char *name, const char *value)
{
    const struct script_axes *axes = &w->options->axes;
    struct err err = {0};

    if (!axes->check) /* nobody who knows */
        return 0;
    if (value && !axes->has_value(name)) {
        w->at--;
        return words_wrong(w, "'%s' has no value", name);
    }
    if (!value && axes->has_value(name))
        return words_wrong(w, "'%s' needs a value", name);
    if (axes->check(name, value, &err) == 0)
        return 0;
    w->at -= value != NULL;
    return words_wrong(w, "%s", err.text);
}

int verb_axis(struct play *play, struct words *w)
{
    const char *name = vt_keyword(words_next(w)), *value = NULL;
    int r = 0;

    w->at++;
    const struct vt_token *token = words_next(w);
    if (token && (r = words_text(w, "a value", &value)) < 0)
        return r;
    if (!play)
        return token && words_is_open(w, token) ? 0 : check_axis(w, name, value);
    set_axis(play, name, value);
    if (strcmp(name, "clock") == 0)
        play->now_ns = INT64_MIN;
    return 0;
}

int verb_plain(struct play *play, struct words *w)
{
    (void)w;
    if (play)
        play->plain = true;
    return 0;
}

int verb_boxed(struct play *play, struct words *w)
{
    (void)w;
    if (play)
        play->plain = false;
    return 0;
}

int verb_size(struct play *play, struct words *w)
{
    const struct vt_token *token = words_next(w);
    unsigned cols, rows;
    const char *text;
    char more;
    int r = words_text(w, "a size, as 80x24", &text);

    if (r < 0 || words_is_open(w, token))
        return r;
    if (sscanf(text, "%ux%u%c", &cols, &rows, &more) != 2 || !cols || !rows || cols > 1000 ||
        rows > 1000) {
        w->at--;
        return words_wrong(w, "expected a size, as 80x24, found %s", text);
    }
    if (play) {
        play->cols = cols;
        play->rows = rows;
    }
    return 0;
}

int verb_term(struct play *play, struct words *w)
{
    const char *term;
    int r = words_text(w, "a kind of terminal, as xterm-256color", &term);

    if (r < 0 || !play)
        return r;
    free(play->term);
    play->term = mem_dup(term);
    return 0;
}

int verb_quota(struct play *play, struct words *w)
{
    const struct vt_token *token = words_next(w);
    const char *text;
    uint64_t bytes = 0;
    int r = words_text(w, "a size, as 64m", &text);

    if (r < 0 || words_is_open(w, token))
        return r;
    if (!text_to_size(text, &bytes)) {
        w->at--;
        return words_wrong(w, "expected a size, as 4096, 512k or 64m, found %s", text);
    }
    if (play)
        play->sandbox->quota_bytes = bytes;
    return 0;
}

int verb_build(struct play *play, struct words *w)
{
    const char *const *argv;
    const char *directory;
    CLEANUP(buf_done) struct buf key = {0};
    bool ran = false;
    int r = words_command(w, &argv);

    if (r < 0 || !play || (r = play_variable(play, "DIR", &directory, w->err)) < 0)
        return r;
    buf_addf(&key, "%s\n", directory);
    for (size_t i = 0; argv[i]; i++)
        buf_addf(&key, "%s\n", argv[i]);
    r = sandbox_build_once(&(struct sandbox_build){.base = play->options->sandbox_base,
                                                   .key = buf_text(&key),
                                                   .stamp = play->options->stamp,
                                                   .argv = argv,
                                                   .directory = directory},
                           &ran, w->err);
    play->sandbox->only_boxes &= !ran;
    return r;
}

int verb_repeat(struct play *play, struct words *w)
{
    uint64_t count;
    const struct vt_token *token = words_next(w);
    int r = words_number(w, "how often", 1000000, &count);

    if (r == 0 && !words_is_open(w, token) && !count) {
        w->at--;
        return words_wrong(w, "nothing would be played 0 times");
    }
    if (r == 0 && !w->line->line_count)
        return words_wrong(w, "expected lines below 'repeat', which are played");
    if (r < 0 || !play)
        return r;
    for (uint64_t i = 1; i <= count; i++) {
        CLEANUP(mem_free) char *number = mem_format("%llu", (unsigned long long)i);
        play_set(play, "i", number, false);
        r = play_lines(play, w->line->lines, w->line->line_count, AT_TOP);
        if (r < 0) {
            play_fail(play, "  in round %llu of %llu", (unsigned long long)i,
                      (unsigned long long)count);
            return r;
        }
    }
    return 0;
}

int verb_section(struct play *play, struct words *w)
{
    const char *title;
    int r = words_text(w, "a title", &title);

    if (r < 0 || !play)
        return r;
    play->section = w->line->words[1].part_count ? w->line->words[1].parts[0].text : "";
    play->step_count = 0;
    return 0;
}

/* What is not there was found before the scenario began: script_file.c skips it then. */
int verb_needs(struct play *play, struct words *w)
{
    const char *program;
    int r = 0;

    (void)play;
    do
        r = words_text(w, "a program, or 'box'", &program);
    while (r == 0 && words_next(w));
    return r;
}

/* skip "REASON" unless COMMAND...; without a command script_file.c has skipped it. */
int verb_skip(struct play *play, struct words *w)
{
    const char *reason, *const *argv;
    int r = words_text(w, "a reason", &reason);

    if (r < 0 || !words_next(w))
        return r;
    if (!words_take(w, "unless"))
        return WORDS_CHOICE(w, "unless");
    if ((r = words_command(w, &argv)) < 0 || !play)
        return r;
    ((const char **)argv)[0] = play_program(play, argv[0]);
    play->sandbox->only_boxes = false;
    CLEANUP(fd_close) int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    pid_t pid;
    r = shim_flush(play->sandbox, w->err);
    if (r == 0)
        r = play_spawn(play, argv, (const int[]){nothing, nothing, nothing}, &pid);
    if (r == 0 && play_await(play, pid) == 0)
        return 0;
    play->skip = mem_dup(reason);
    return -ECANCELED;
}
