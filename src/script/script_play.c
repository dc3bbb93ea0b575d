/* SPDX-License-Identifier: MIT */
/* One case from the first line to the last: a sandbox, the files that come with it, its lines, and
 * what must hold at the end whether or not a line says so (shim plans, quota, nothing left
 * running). Then its sabotages: with each of them it must fail. */
#include "script/play.h"
#include "sandbox/shim.h"
#include "base/fd.h"
#include "base/text.h"
#include "base/wall.h"
#include "base/when.h"
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { STEPS_SHOWN = 8 };

static void set_variables(struct play *play)
{
    const struct script_case *which = play->which;
    char directory[PATH_MAX];
    CLEANUP(mem_free) char *path = mem_dup(which->path);
    char *slash = strrchr(path, '/');

    if (slash)
        *slash = 0;
    const char *dir = realpath(!slash ? "." : *path ? path : "/", directory) ? directory : ".";
    play_set(play, "DIR", dir, true);
    play_set(play, "WORK", play->sandbox->work, true);
    play_set(play, "HOME", play->sandbox->home, true);
    play_set(play, "SHIMS", play->sandbox->bin, true);
    play_set(play, "TMPDIR", play->sandbox->tmp, true);
    play_set(play, "TMUX_SOCKET", play->sandbox->socket, true);
    for (size_t i = 0; play->options->variables && play->options->variables[i]; i++) {
        const char *pair = play->options->variables[i];
        CLEANUP(mem_free) char *name = mem_dupn(pair, strcspn(pair, "="));
        play_set(play, name, pair + strlen(name) + 1, false);
    }
    if (!which->examples)
        return;
    const struct vt_line *head = &which->examples->lines[0];
    const struct vt_line *row = &which->examples->lines[which->example_row];
    for (size_t i = 0; i < head->count; i++)
        play_set(play, head->words[i].source,
                 row->words[i].part_count ? row->words[i].parts[0].text : "", false);
}

static int write_files(struct play *play, struct err *err)
{
    for (size_t i = 0; i < play->which->text->file_count; i++) {
        const struct vt_embedded *file = &play->which->text->files[i];
        int r = sandbox_write(play->sandbox, file->name, file->bytes, file->length, err);
        if (r < 0)
            return err_wrap(err, "%s:%u", play->which->path, file->line);
        CLEANUP(mem_free) char *path = NULL;
        if (file->length > 2 && memcmp(file->bytes, "#!", 2) == 0 &&
            sandbox_path(play->sandbox, file->name, &path, err) == 0)
            (void)chmod(path, 0755);
    }
    return 0;
}

static int check_end(struct play *play, struct err *err)
{
    CLEANUP(buf_done) struct buf text = {0};
    size_t count = 0;
    int r = shim_verify(play->sandbox, &text, &count, err);

    if (r == 0 && count)
        r = play_fail(play, "%s", buf_text(&text));
    if (r == 0)
        r = sandbox_check_quota(play->sandbox, NULL, err);
    for (size_t i = 0; r == 0 && !play->sabotaged && i < play->cassette_count; i++) {
        const char *pair = play->cassettes[i];
        CLEANUP(mem_free) char *name = mem_dupn(pair, strcspn(pair, "="));
        r = shim_record(play->sandbox, name, pair + strlen(name) + 1, err);
    }
    return r;
}

/* Paths of the sandbox as a person knows them. */
static char *masked(const struct sandbox *sandbox, const char *text)
{
    const struct {
        const char *path, *name;
    } places[] = {{sandbox->home, "~"}, {sandbox->work, "$WORK"}, {sandbox->root, "$SANDBOX"}};
    CLEANUP(buf_done) struct buf ret = {0};
    size_t lost = 0; /* columns of this line: the frame of a screen stays where it is */

    while (*text) {
        size_t i = 0;
        while (i < ARRAY_LENGTH(places) && !text_starts(text, places[i].path))
            i++;
        if (text_starts(text, "│\n"))
            buf_addf(&ret, "%*s", (int)lost, "");
        if (*text == '\n')
            lost = 0;
        if (i < ARRAY_LENGTH(places)) {
            buf_adds(&ret, places[i].name);
            text += strlen(places[i].path);
            lost += strlen(places[i].path) - strlen(places[i].name);
        } else {
            buf_addc(&ret, *text++);
        }
    }
    return ret.length ? buf_take(&ret) : mem_dup("");
}

static void add_indented(struct buf *ret, const char *text)
{
    for (const char *p = text; *p;) {
        size_t length = strcspn(p, "\n");
        buf_addf(ret, "%s%.*s\n", length ? "    " : "", (int)length, p);
        p += length + (p[length] == '\n');
    }
}

/* The lines of the section that held, and the one that did not. */
static void add_steps(struct buf *ret, const struct play *play)
{
    size_t at = play->step_count, from;

    while (at && play->steps[at - 1].line != play->failed_at)
        at--;
    from = at > STEPS_SHOWN ? at - STEPS_SHOWN : 0;
    for (size_t i = from; i < at; i++) {
        CLEANUP(buf_done) struct buf line = {0};
        words_show(play->steps[i].line, &line);
        buf_addf(ret, "    %s %*s%s\n", i + 1 < at ? "  " : "=>", 2 * (int)play->steps[i].depth, "",
                 buf_text(&line));
    }
}

/* Place, the line as it stands there, and everything that was found. */
static void tell_failure(struct play *play, struct script_result *ret)
{
    CLEANUP(mem_free) char *text = masked(play->sandbox, buf_text(&play->failure));
    CLEANUP(buf_done) struct buf all = {0};
    const struct vt_line *line = play->failed_at;

    ret->status = SCRIPT_FAILED;
    ret->line = line ? line->line : play->which->line;
    if (line) {
        buf_addf(&all, "%s:%u: ", line->path, line->line);
        words_show(line, &all);
        buf_addc(&all, '\n');
        if (play->step_count > 1)
            add_steps(&all, play);
    }
    add_indented(&all, text);
    if (play->now_ns != INT64_MIN) {
        buf_adds(&all, "    clock  ");
        when_add(&all, play->now_ns);
        buf_addc(&all, '\n');
    }
    CLEANUP(buf_done) struct buf beside = {0};
    play_tell_beside(play, &beside);
    CLEANUP(mem_free) char *beside_shown = masked(play->sandbox, buf_text(&beside));
    add_indented(&all, beside_shown);
    if (play->sandbox->plan) {
        CLEANUP(shim_log_done) struct shim_log log = {0};
        const char *name;
        json_t *command;
        if (shim_log_read(play->sandbox, &log, NULL) == 0)
            json_object_foreach(json_object_get(play->sandbox->plan, "commands"), name, command)
            {
                if (shim_call_count(&log, name) && !strstr(text, "call 1  ")) {
                    CLEANUP(buf_done) struct buf calls = {0};
                    shim_log_show(&log, name, &calls);
                    buf_addf(&all, "    calls of %s\n", name);
                    CLEANUP(mem_free) char *shown = masked(play->sandbox, buf_text(&calls));
                    add_indented(&all, shown);
                }
            }
    }
    ret->text = buf_take(&all);
    ret->section = mem_dup(play->section);
}

static int play_all(struct play *play, const struct vt_line *sabotage, struct err *err)
{
    int r = write_files(play, err);

    play->sabotaged = sabotage != NULL;
    if (r == 0 && sabotage) {
        play->sabotaging = true;
        r = play_lines(play, sabotage->lines, sabotage->line_count, AT_SABOTAGE);
        play->sabotaging = false;
        if (r < 0)
            return -EBADE; /* the sabotage itself */
    }
    if (r == 0)
        r = play_lines(play, play->which->prelude, play->which->prelude_count, AT_TOP);
    if (r == 0)
        r = play_lines(play, play->which->lines, play->which->line_count, AT_TOP);
    return r == 0 ? check_end(play, err) : r;
}

static void play_done(struct play *play)
{
    for (size_t i = 0; i < play->variable_count; i++) {
        free(play->variables[i].name);
        free(play->variables[i].value);
    }
    for (size_t i = 0; i < play->axis_count; i++) {
        free(play->axes[i].name);
        free(play->axes[i].value);
    }
    free(play->variables);
    free(play->axes);
    free(play->steps);
    for (size_t i = 0; i < play->cassette_count; i++)
        free(play->cassettes[i]);
    free(play->cassettes);
    free(play->term);
    buf_done(&play->output.out);
    buf_done(&play->output.error);
    buf_done(&play->failure);
    arena_done(&play->arena);
}

static void add_leaks(struct script_result *ret, const struct sandbox_leaks *leaks)
{
    CLEANUP(buf_done) struct buf text = {0};

    buf_addf(&text, "%zu process%s still running when the scenario ended:\n", leaks->count,
             leaks->count == 1 ? " was" : "es were");
    add_indented(&text, buf_text(&leaks->text));
    ret->status = SCRIPT_FAILED;
    free(ret->text);
    ret->text = buf_take(&text);
}

/* Where a scenario is, for the name of its sandbox, which screens may show: its path in its
 * repository, so that neither where 'vitro test' was called nor where the checkout is makes a
 * difference; as it was given where there is none. */
static char *place_of(const char *path)
{
    CLEANUP(mem_free) char *full = realpath(path, NULL);

    for (char *end = full ? strrchr(full, '/') : NULL; end;
         end = memrchr(full, '/', (size_t)(end - full))) {
        CLEANUP(mem_free) char *mark = mem_format("%.*s/.git", (int)(end - full), full);
        if (access(mark, F_OK) == 0)
            return mem_dup(end + 1);
    }
    return mem_dup(path);
}

/* One time, with or without a sabotage. -EBADE when the sabotage itself could not be done. */
static int play_once(const struct script_case *which, const struct script_options *options,
                     const struct vt_line *sabotage, struct script_result *ret)
{
    struct play play = {
        .options = options, .which = which, .now_ns = INT64_MIN, .real_start_ns = wall_now_ns()};
    struct sandbox_leaks leaks = {0};
    struct err err = {0};
    char name[48];
    CLEANUP(mem_free) char *place = place_of(which->path);
    CLEANUP(mem_free) char *full = mem_format("%s %s", place, which->name);

    sandbox_name_of(full, name);
    int r = sandbox_open(&(struct sandbox_options){.name = name, .base = options->sandbox_base},
                         &play.sandbox, &err);
    if (r < 0) {
        ret->status = SCRIPT_FAILED;
        ret->text = mem_format("make a sandbox: %s\n", err.text);
        return r;
    }
    play.sandbox->only_boxes = true; /* until a verb starts something outside of one */
    int takes_up = 0; /* in the process of a suite: whoever runs away from its parents is ours */
    (void)prctl(PR_GET_CHILD_SUBREAPER, &takes_up);
    play.sandbox->owns_children = takes_up != 0;
    set_variables(&play);
    r = play_all(&play, sabotage, &err);
    if (r < 0 && !play.failure.length && !play.skip)
        (void)play_fail_err(&play, &err);
    ret->virtual_ns = play.virtual_ns;
    ret->outside |= r < 0 || !play.sandbox->only_boxes || play.sandbox->tmux_asked;
    if (play.skip) {
        ret->status = SCRIPT_SKIPPED;
        ret->reason = take_ptr(&play.skip);
    } else if (r < 0) {
        tell_failure(&play, ret);
    }
    for (size_t i = 0; i < play.client_count; i++)
        vitro_term_close(play.clients[i]);
    for (size_t i = 0; i < play.left_count; i++)
        vitro_term_close(play.left[i]);
    free(play.left);
    free(play.marks);
    play_stop_all(&play);
    if (sandbox_close(take_ptr(&play.sandbox), &leaks, &err) < 0 && r == 0) {
        ret->status = SCRIPT_FAILED;
        ret->text = mem_format("%s\n", err.text);
    } else if (leaks.count && r == 0) {
        add_leaks(ret, &leaks);
    }
    sandbox_leaks_done(&leaks);
    play_done(&play);
    return r;
}

static int play_sabotage(const struct script_case *which, const struct script_options *options,
                         const struct vt_line *line, struct script_result *ret)
{
    struct script_result one = {0};
    int r = play_once(which, options, line, &one);
    const char *name = line->words[1].parts[0].text;

    if (r == -EBADE) {
        ret->text = mem_format("the sabotage \"%s\" could not be done\n%s", name, one.text);
    } else if (one.status == SCRIPT_PASSED) {
        ret->text = mem_format(
            "%s:%u: sabotage \"%s\"\n    the scenario passes with this change too: it does not "
            "check what the change breaks\n",
            line->path, line->line, name);
        r = -ECANCELED;
    } else {
        r = 0;
    }
    ret->outside |= one.outside;
    if (r < 0) {
        ret->status = SCRIPT_FAILED;
        ret->line = line->line;
    }
    script_result_done(&one);
    return r;
}

static int play_sabotages(const struct script_case *which, const struct script_options *options,
                          const struct vt_line *lines, size_t count, struct script_result *ret)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < count; i++)
        if (lines[i].count && text_equal(vt_keyword(&lines[i].words[0]), "sabotage"))
            r = play_sabotage(which, options, &lines[i], ret);
    return r;
}

static void play_retried(const struct script_case *which, const struct script_options *options,
                         struct script_result *ret)
{
    unsigned tries = 1 + (which->retries >= 0 ? (unsigned)which->retries : options->retries);

    for (unsigned try = 1; try <= tries; try++) {
        CLEANUP(mem_free) char *first_text = take_ptr(&ret->text);
        bool failed_before = ret->status == SCRIPT_FAILED;
        script_result_done(ret);
        *ret = (struct script_result){.tries = try, .outside = ret->outside};
        (void)play_once(which, options, NULL, ret);
        if (ret->status != SCRIPT_FAILED) {
            ret->flaky = failed_before;
            if (failed_before)
                ret->text = take_ptr(&first_text);
            return;
        }
    }
}

void script_play(const struct script_case *which, const struct script_options *options,
                 struct script_result *ret)
{
    *ret = (struct script_result){0};
    if (which->skip || which->missing) {
        ret->status = SCRIPT_SKIPPED;
        ret->reason =
            which->skip ? mem_dup(which->skip) : mem_format("%s is not installed", which->missing);
        return;
    }
    for (unsigned i = 0; i < (options->repeat ? options->repeat : 1); i++) {
        script_result_done(ret);
        *ret = (struct script_result){.outside = ret->outside};
        play_retried(which, options, ret);
        if (ret->status == SCRIPT_FAILED)
            break;
    }
    if (ret->status == SCRIPT_PASSED && !options->no_sabotage &&
        play_sabotages(which, options, which->prelude, which->prelude_count, ret) == 0)
        (void)play_sabotages(which, options, which->lines, which->line_count, ret);
    if (!which->quarantine)
        return;
    if (ret->status == SCRIPT_FAILED && options->today_ns < which->quarantine_until_ns) {
        ret->status = SCRIPT_SKIPPED;
        ret->reason = mem_format("in quarantine: %s", which->quarantine);
    } else if (options->today_ns >= which->quarantine_until_ns) {
        CLEANUP(mem_free) char *text = take_ptr(&ret->text);
        ret->text = mem_format("%s    the quarantine is over (\"%s\"): repair the scenario and "
                               "remove the line\n",
                               text ? text : "", which->quarantine);
        ret->status = SCRIPT_FAILED;
    }
}

void script_result_done(struct script_result *result)
{
    free(result->reason);
    free(result->text);
    free(result->section);
    result->reason = result->text = result->section = NULL;
}
