/* SPDX-License-Identifier: MIT */
/* run: a program in a terminal, and what a person sees and types. Over vitro/term.h; every wait has
 * its ceiling there, and its failure tells pattern, times, screen and who is blocked. */
#include "script/play.h"
#include "sandbox/shim.h"
#include "term/term.h"
#include "base/fd.h"
#include "base/text.h"
#include "base/when.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Real time in coarse steps, so that equal failures have equal texts. */
static void add_real(struct buf *ret, uint64_t real_ns)
{
    static const unsigned steps[] = {2, 10, 60, 600};
    size_t i = 0;

    while (i < ARRAY_LENGTH(steps) - 1 && real_ns >= steps[i] * NS_PER_SEC)
        i++;
    buf_addf(ret, ", less than %u s", steps[i]);
}

/* What the session says about its last failure is what the scenario says. */
int session_told(struct play *play, int r)
{
    const struct vitro_term_failure *failure = r < 0 ? vitro_term_failure(play->session) : NULL;
    CLEANUP(buf_done) struct buf text = {0};

    if (!failure)
        return 0;
    const char *virtual = strstr(failure->text, " virtual, "), *real;
    bool wait = failure->why != VITRO_TERM_USAGE && failure->why != VITRO_TERM_TROUBLE;
    if (virtual && (real = strstr(virtual, " of at most "))) {
        buf_add(&text, failure->text, (size_t)(virtual - failure->text) + strlen(" virtual"));
        add_real(&text, failure->real_ns);
        buf_adds(&text, real);
    } else {
        buf_adds(&text, failure->text);
    }
    return play_fail(play, "%s%s", wait ? "this did not happen: " : "", buf_text(&text));
}

/* The public options of a box, from those of the command line. */
static void to_public(const struct box_options *box, struct vitro_box_options *ret)
{
    static const char *const fs[] = {[FS_OVERLAY] = "overlay", [FS_REAL] = "real", [FS_RO] = "ro"};

    *ret = (struct vitro_box_options){
        .argv = box->argv,
        .envp = box->envp,
        .directory = box->directory,
        .record = box->record,
        .fs = fs[box->fs.mode],
        .worktree = box->fs.worktree,
        .writable = box->fs.writable,
        .hide = box->fs.hide,
        .size_limit = box->fs.size_limit,
        .share_tmp = box->fs.share_tmp,
        .seed = box->seed,
        .max_time_ns = box->max_time_ns,
        .timeout_ns = box->timeout_ns,
        .max_steps = box->max_steps,
        .cpus = box->cpus,
        .max_procs = box->max_procs,
        .random_real = box->random_real,
        .identity_real = box->identity_real,
        .net_real = box->net_real,
        .allow_leak = box->allow_leak,
        .allow_orphan = box->allow_orphan,
    };
}

/* The clock as it is written: the scenario's own words, or where the last program stopped. */
static const char *clock_text(struct play *play, const struct box_options *box)
{
    CLEANUP(buf_done) struct buf text = {0};

    switch (box->clock.mode) {
    case BOX_CLOCK_PAUSED:
    case BOX_CLOCK_MANUAL:
        if (box->clock.start_given)
            when_add(&text, box->clock.start_ns);
        if (box->clock.mode == BOX_CLOCK_MANUAL)
            buf_adds(&text, text.length ? ",manual" : "manual");
        break;
    case BOX_CLOCK_SHIFTED:
    case BOX_CLOCK_SCALED:
    case BOX_CLOCK_REAL:
        for (size_t i = 0; i < play->axis_count; i++)
            if (strcmp(play->axes[i].name, "clock") == 0)
                buf_adds(&text, play->axes[i].value);
    }
    return text.length ? arena_dup(&play->arena, text.data, text.length) : NULL;
}

static int open_session(struct play *play, const char *const *argv, struct box_options *box,
                        struct err *err)
{
    struct vitro_term_options options = {.rows = play->rows,
                                         .cols = play->cols,
                                         .term = play->term ? play->term : "xterm-256color",
                                         .plain = play->plain};
    int r = play_box(play, box, err);

    if (r < 0)
        return r;
    if (box->proc.mode != PROC_OFF && play->plain)
        return err_set(err, -ENOTSUP, "a cassette answers programs in a box, and this is plain");
    box->argv = argv;
    to_public(box, &options.box);
    options.box.clock = play->plain ? NULL : clock_text(play, box);
    const char *record;
    if ((r = play_record(play, &record, err)) < 0)
        return r;
    if (record) {
        CLEANUP(mem_free) char *cast = mem_format("%s.cast", record);
        options.cast = arena_dup(&play->arena, cast, strlen(cast));
        options.box.record = play->plain ? NULL : record;
    }
    play->session = term_open_with(&options, play->plain ? NULL : &box->proc, err);
    return play->session ? 0 : err->code;
}

/* A person's terminal has colours: NO_COLOR is for programs without one. */
static int adjust_environment(struct play *play, char **ret_old, struct err *err)
{
    *ret_old = mem_dup(sandbox_env_get(play->sandbox, "NO_COLOR"));
    return sandbox_env_set(play->sandbox, "NO_COLOR", NULL, err);
}

static bool names_exit(const struct vt_line *line)
{
    for (size_t i = 0; i < line->line_count; i++)
        if (line->lines[i].count && text_equal(vt_keyword(&line->lines[i].words[0]), "exits"))
            return true;
    return false;
}

static void close_session(struct play *play, struct box_options *box)
{
    struct vitro_term_state state;

    vitro_term_state(play->session, &state);
    if (!play->plain)
        play_clock_after(play, box, state.virtual_ns);
    if (term_left_some(play->session)) { /* a server is there for the lines that follow */
        play->left = mem_grow(play->left, (play->left_count + 1) * sizeof *play->left);
        play->left[play->left_count++] = play->session;
    } else {
        vitro_term_close(play->session);
    }
    play->session = NULL;
}

int verb_run(struct play *play, struct words *w)
{
    const char *const *argv;
    struct box_options box = {0};
    CLEANUP(mem_free) char *no_color = NULL;
    int r = words_command(w, &argv);

    if (r < 0 || !play)
        return r;
    ((const char **)argv)[0] = play_program(play, argv[0]);
    play->sandbox->only_boxes &= !play->plain;
    if ((r = shim_flush(play->sandbox, w->err)) < 0 ||
        (r = adjust_environment(play, &no_color, w->err)) < 0)
        return r;
    r = open_session(play, argv, &box, w->err);
    if (r == 0)
        r = play_lines(play, w->line->lines, w->line->line_count, AT_RUN);
    if (r == 0 && !names_exit(w->line))
        r = play_session_exits(play, 0);
    if (play->session)
        close_session(play, &box);
    if (no_color)
        (void)sandbox_env_set(play->sandbox, "NO_COLOR", no_color, NULL);
    box.argv = NULL;
    play->options->axes.done(&box);
    return r;
}

int play_session_exits(struct play *play, int code)
{
    return session_told(play, vitro_term_expect_exit(play->session, code, 0));
}

/* ---- the stream ------------------------------------------------------------------------------ */

/* within DURATION */
static int read_within(struct words *w, uint64_t *ret_ns)
{
    return words_take(w, "within") ? words_duration(w, "how much virtual time", ret_ns) : 0;
}

/* see TEXT [or TEXT...] [before TEXT | before read] [within DURATION] */
int verb_see(struct play *play, struct words *w)
{
    struct words_pattern patterns[32], before = {0};
    const char *any[33];
    size_t count = 0;
    struct vitro_term_expect expect = {0};
    int r;

    do {
        if (count == ARRAY_LENGTH(patterns))
            return words_wrong(w, "more than %zu texts", ARRAY_LENGTH(patterns));
        r = words_pattern(w, "a text or an expression", &patterns[count]);
    } while (r == 0 && ++count && words_take(w, "or"));
    if (r == 0 && words_take(w, "before")) {
        if (words_take(w, "read"))
            expect.before_read = 1;
        else
            r = words_pattern(w, "a text, or 'read'", &before);
    }
    if (r < 0 || (r = read_within(w, &expect.within_ns)) < 0)
        return r;
    if (words_next(w))
        return WORDS_CHOICE(w, "or", "before", "within");
    if (!play)
        return 0;
    expect.regex = before.text && before.regex;
    for (size_t i = 0; i < count; i++)
        expect.regex |= patterns[i].regex;
    for (size_t i = 0; i < count; i++)
        any[i] = expect.regex ? words_as_regex(w, &patterns[i]) : patterns[i].text;
    any[count] = NULL;
    if (count == 1)
        expect.text = any[0];
    else
        expect.any = any;
    if (before.text)
        expect.before = expect.regex ? words_as_regex(w, &before) : before.text;
    return session_told(play, vitro_term_expect(play->session, &expect, NULL));
}

/* not see TEXT [until TEXT] */
int verb_not(struct play *play, struct words *w)
{
    struct words_pattern pattern, until = {0};
    int r = WORDS_CHOICE(w, "see");

    if (r < 0 || (r = words_pattern(w, "a text or an expression", &pattern)) < 0)
        return r;
    if (words_take(w, "until"))
        r = words_pattern(w, "a text or an expression", &until);
    if (r < 0)
        return r;
    if (words_next(w))
        return WORDS_CHOICE(w, "until");
    if (!play)
        return 0;
    bool regex = pattern.regex || until.regex;
    if (until.text)
        return session_told(
            play,
            vitro_term_expect(play->session,
                              &(struct vitro_term_expect){
                                  .text = regex ? words_as_regex(w, &until) : until.text,
                                  .not_seen = regex ? words_as_regex(w, &pattern) : pattern.text,
                                  .regex = regex},
                              NULL));
    return session_told(play, vitro_term_expect_not(play->session, &(struct vitro_term_expect){
                                                                       .text = pattern.text,
                                                                       .regex = pattern.regex}));
}

int verb_waits(struct play *play, struct words *w)
{
    uint64_t within = 0;
    int r = read_within(w, &within);

    return r < 0 || !play ? r
                          : session_told(play, vitro_term_expect_read(play->session, within, 0));
}

/* ---- input ----------------------------------------------------------------------------------- */

/* A text that was written, not what a key stands for. */
static void add_typed(struct buf *ret, const char *text, size_t length, bool literal)
{
    for (size_t i = 0; i < length; i++)
        if (text[i] == '<' && literal)
            buf_adds(ret, "<lt>");
        else if (!text[i])
            buf_adds(ret, "<0x00>");
        else
            buf_addc(ret, text[i]);
}

/* One word of `type` or `press` as vitro_term_type takes it. */
static int add_keys(const struct words *w, const struct vt_token *token, bool texts_are_keys,
                    struct buf *ret)
{
    if (token->kind == VT_VECTOR)
        return words_wrong(w, "expected a text or a key; put quotes around it");
    if (token->kind != VT_WORD)
        return buf_adds(ret, token->source), 0;
    for (size_t i = 0; i < token->part_count; i++) {
        struct vt_token one = *token;
        const char *text;
        size_t length;

        one.parts = &token->parts[i];
        one.part_count = 1;
        int r = words_expand(w, &one, &text, &length);
        if (r < 0)
            return r;
        bool literal = one.parts[0].quoted || one.parts[0].variable;
        add_typed(ret, text, length, literal && !texts_are_keys);
    }
    return 0;
}

/* What is wrong with a key is found before anything plays, unless a variable has it. */
static int type_words(struct play *play, struct words *w, bool texts_are_keys)
{
    CLEANUP(buf_done) struct buf keys = {0};
    const struct vt_token *token;

    if (!words_next(w))
        return words_wrong(w, "expected a text or a key, as \"n\" <Enter>");
    for (; (token = words_next(w)); w->at++) {
        struct err wrong = {0};
        size_t before = keys.length;
        if (texts_are_keys && token->kind == VT_WORD && !token->quoted && token->source[0] != '$' &&
            strlen(token->source) > 1)
            return words_wrong(w, "expected a key, as <%s>; a text is typed with 'type'",
                               token->source);
        int r = add_keys(w, token, texts_are_keys, &keys);
        if (r < 0)
            return r;
        if (!play && !words_is_open(w, token) &&
            term_check_keys(buf_text(&keys) + before, &wrong) < 0)
            return words_wrong(w, "%s", wrong.text);
    }
    return play ? session_told(play, vitro_term_type(play->session, buf_text(&keys))) : 0;
}

/* Quoted text is typed as it is; what stands in <> is a key. */
int verb_type(struct play *play, struct words *w)
{
    return type_words(play, w, false);
}

/* Keys in quotes and in variables, too: "<Up><Up>". */
int verb_press(struct play *play, struct words *w)
{
    return type_words(play, w, true);
}

int verb_send(struct play *play, struct words *w)
{
    const char *bytes;
    size_t length;
    int r = words_bytes(w, "bytes", &bytes, &length);

    return r < 0 || !play ? r : session_told(play, vitro_term_send(play->session, bytes, length));
}

int verb_eof(struct play *play, struct words *w)
{
    (void)w;
    return play ? session_told(play, vitro_term_eof(play->session)) : 0;
}

int verb_resize(struct play *play, struct words *w)
{
    const struct vt_token *token = words_next(w);
    unsigned cols, rows;
    const char *text;
    char more;
    int r = words_text(w, "a size, as 100x30", &text);

    if (r < 0 || words_is_open(w, token))
        return r;
    if (sscanf(text, "%ux%u%c", &cols, &rows, &more) != 2 || !cols || !rows || cols > 1000 ||
        rows > 1000) {
        w->at--;
        return words_wrong(w, "expected a size, as 100x30, found %s", text);
    }
    return play ? session_told(play, vitro_term_resize(play->session, rows, cols)) : 0;
}

int verb_signal(struct play *play, struct words *w)
{
    const struct vt_token *token = words_next(w);
    const char *name;
    int r = words_text(w, "the name of a signal, as TERM", &name), number = 0;

    if (r < 0 || words_is_open(w, token))
        return r;
    for (int i = 1; i < 32; i++)
        if (text_equal(sigabbrev_np(i), name + (text_starts(name, "SIG") ? 3 : 0)))
            number = i;
    if (!number) {
        w->at--;
        return words_wrong(w, "'%s' is not a signal, as TERM or KILL", name);
    }
    return play ? session_told(play, vitro_term_signal(play->session, number)) : 0;
}

/* ---- time ------------------------------------------------------------------------------------ */

int verb_settled(struct play *play, struct words *w)
{
    uint64_t quiet = 0;
    int r = 0;

    if (words_take(w, "for"))
        r = words_duration(w, "how much virtual time", &quiet);
    else if (words_next(w))
        return WORDS_CHOICE(w, "for");
    return r < 0 || !play ? r : session_told(play, vitro_term_settle(play->session, quiet));
}

int verb_advance(struct play *play, struct words *w)
{
    uint64_t by;
    int r = words_duration(w, "how much virtual time", &by);

    return r < 0 || !play ? r : session_told(play, vitro_term_advance(play->session, by));
}
