/* SPDX-License-Identifier: MIT */
/* shim: what commands answer. Rules become the JSON of docs/formats/shim.md; what was asked of them
 * is in verbs_called.c.
 *
 *     shim gh
 *       reply ["issue", "create", ...] stdout "https://example.test/1\n"
 *       expect ["pr", /^[0-9]+$/] times 2 exit 1 then exit 0
 *     shim gh called 3 times with "issue" */
#include "script/shim_words.h"
#include "sandbox/shim.h"
#include "base/text.h"
#include <errno.h>
#include <string.h>

static const char *shim_name(const struct play *play)
{
    const char *name = "";

    (void)play_variable(play, "SHIM", &name, NULL);
    return name;
}

/* reply|expect [MATCH] [times N] ANSWER [then ANSWER...] */
static int add_rule(struct play *play, struct words *w, const char *kind)
{
    CLEANUP(json_free) json_t *rule =
        json_pack("{s:{}, s:[], s:s}", "match", "answers", "kind", kind);
    CLEANUP(buf_done) struct buf label = {0};
    size_t from = w->at;
    uint64_t times = 0;
    int r = shim_match_words(w, json_object_get(rule, "match"));

    for (size_t i = from; i < w->at; i++)
        buf_addf(&label, "%s%s", i > from ? " " : "", w->line->words[i].source);
    json_object_set_new(rule, "label", json_string(label.length ? buf_text(&label) : "(any call)"));
    if (r == 0 && words_take(w, "times") &&
        (r = words_number(w, "how often", 1000000, &times)) == 0)
        json_object_set_new(rule, "times", json_integer((json_int_t)times));
    if (r == 0)
        r = shim_answers_words(play, w, json_object_get(rule, "answers"));
    return r < 0 || !play
               ? r
               : shim_add_rule(play->sandbox, shim_name(play), json_incref(rule), w->err);
}

int verb_reply(struct play *play, struct words *w)
{
    return add_rule(play, w, "stub");
}

int verb_expect(struct play *play, struct words *w)
{
    return add_rule(play, w, "plan");
}

int verb_else(struct play *play, struct words *w)
{
    CLEANUP(json_free) json_t *answer = json_object();
    int r = words_take(w, "fail") ? 1 : shim_answer_words(play, w, answer);

    return r || !play ? (r < 0 ? r : 0)
                      : shim_set_else(play->sandbox, shim_name(play), json_incref(answer), w->err);
}

int verb_spy(struct play *play, struct words *w)
{
    (void)w;
    return play ? shim_set_else(play->sandbox, shim_name(play), json_pack("{s:b}", "pass", 1),
                                w->err)
                : 0;
}

/* A cassette beside the scenario. */
static char *cassette_path(const struct play *play, const char *name)
{
    const char *directory = ".";

    (void)play_variable(play, "DIR", &directory, NULL);
    return *name == '/' ? mem_dup(name) : mem_format("%s/%s", directory, name);
}

/* record FILE: the real command, once; replay FILE: what it did then */
int verb_record(struct play *play, struct words *w)
{
    const char *name;
    int r = words_text(w, "a file", &name);

    if (r < 0 || !play)
        return r;
    const char *ci = getenv("CI");
    if (ci && *ci)
        return play_fail(play, "recording is refused while CI is set");
    CLEANUP(mem_free) char *path = cassette_path(play, name);
    CLEANUP(mem_free) char *pair = mem_format("%s=%s", shim_name(play), path);
    play->cassettes = mem_grow(play->cassettes, (play->cassette_count + 1) * sizeof(char *));
    play->cassettes[play->cassette_count++] = take_ptr(&pair);
    return shim_set_else(play->sandbox, shim_name(play),
                         json_pack("{s:b, s:b}", "pass", 1, "record", 1), w->err);
}

int verb_replay(struct play *play, struct words *w)
{
    const char *name;
    int r = words_text(w, "a file", &name);

    if (r < 0 || !play)
        return r;
    CLEANUP(mem_free) char *path = cassette_path(play, name);
    r = shim_replay(play->sandbox, shim_name(play), path, w->err);
    return r == -ENOENT
               ? err_hint(w->err, "write 'record %s' in its place, play the scenario once", name)
               : r;
}

int verb_success(struct play *play, struct words *w)
{
    const char *text = NULL;
    int r = words_next(w) ? words_text(w, "standard output", &text) : 0;

    return r < 0 || !play
               ? r
               : shim_set_else(play->sandbox, shim_name(play), shim_answer_success(text), w->err);
}

int verb_failure(struct play *play, struct words *w)
{
    const char *text = "failed\n";
    int r = words_next(w) ? words_text(w, "standard error", &text) : 0;

    return r < 0 || !play ? r
                          : shim_set_else(play->sandbox, shim_name(play),
                                          shim_answer_failure(text, 1), w->err);
}

/* no stdin: what is piped into the command is left alone */
int verb_no(struct play *play, struct words *w)
{
    int r = WORDS_CHOICE(w, "stdin");

    return r < 0 || !play ? r : shim_set_stdin(play->sandbox, shim_name(play), false, w->err);
}

int verb_shim(struct play *play, struct words *w)
{
    const char *name;
    int r = words_text(w, "the name of a command", &name);

    if (r < 0)
        return r;
    if (words_take(w, "called"))
        return shim_called(play, w, name, false);
    if (words_take(w, "never"))
        return words_take(w, "called") ? shim_called(play, w, name, true)
                                       : WORDS_CHOICE(w, "called");
    if (words_take(w, "call"))
        return shim_call_is(play, w, name);
    if (words_next(w))
        return WORDS_CHOICE(w, "called", "never", "call");
    if (!play)
        return 0;
    if (strcmp(name, "tmux") == 0 && !w->line->line_count)
        return sandbox_tmux_install(play->sandbox, w->err);
    if ((r = shim_install(play->sandbox, name, w->err)) < 0)
        return r;
    play_set(play, "SHIM", name, false);
    return play_lines(play, w->line->lines, w->line->line_count, AT_SHIM);
}
