/* SPDX-License-Identifier: MIT */
/* What a scenario says about bytes: those of a file, of an output, of a call. A failure shows what
 * was wanted and what there is, or the first line that differs. */
#include "script/play.h"
#include "base/fd.h"
#include "base/text.h"
#include "match/match.h"
#include <errno.h>
#include <string.h>

static void add_excerpt(struct buf *ret, const char *bytes, size_t length)
{
    size_t shown = 0, lines = 0;

    if (!length) {
        buf_adds(ret, "    (nothing)\n");
        return;
    }
    for (size_t at = 0; at < length && lines < 40 && shown < 4000; lines++) {
        const char *newline = memchr(bytes + at, '\n', length - at);
        size_t size = newline ? (size_t)(newline - bytes - at) : length - at;
        buf_adds(ret, "    ");
        text_add_escaped(ret, bytes + at, size > 400 ? 400 : size);
        buf_adds(ret, newline ? "\n" : "  (no newline)\n");
        at += size + 1;
        shown += size;
        if (at < length && (lines == 39 || shown >= 4000))
            buf_addf(ret, "    ... %zu bytes more\n", length - at);
    }
}

bool play_holds(const struct words_pattern *pattern, const char *bytes, size_t length)
{
    struct match_text match;

    if (!pattern->regex)
        return !pattern->length || memmem(bytes, length, pattern->text, pattern->length) != NULL;
    if (match_text_init(&match, MATCH_REGEX, pattern->text, NULL) < 0)
        return false;
    bool fits = match_text_fits(&match, bytes, length);
    match_text_done(&match);
    return fits;
}

static int compare_json(struct play *play, const char *subject, const char *wanted,
                        const char *bytes, size_t length, struct err *err)
{
    CLEANUP(json_free) json_t *pattern = NULL;
    CLEANUP(json_free) json_t *value = NULL;
    CLEANUP(buf_done) struct buf why = {0};
    struct err wrong = {0};
    int r = json_parse(wanted, strlen(wanted), "what is wanted", &pattern, err);

    if (r < 0 || !play)
        return r;
    if (json_parse(bytes, length, subject, &value, &wrong) < 0)
        return play_fail(play, "%s is no JSON: %s", subject, wrong.text);
    return match_json_subset(pattern, value, &why)
               ? 0
               : play_fail(play, "%s does not hold this JSON: %s", subject, buf_text(&why));
}

/* The line of the first byte that differs, in both. */
static int tell_difference(struct play *play, const char *subject, const char *other,
                           const struct buf *wanted, const char *bytes, size_t length)
{
    size_t at = 0, line = 1, start = 0;
    CLEANUP(buf_done) struct buf text = {0};

    for (; at < length && at < wanted->length && bytes[at] == wanted->data[at]; at++)
        if (bytes[at] == '\n') {
            line++;
            start = at + 1;
        }
    const struct {
        const char *name, *bytes;
        size_t length;
    } sides[] = {{subject, bytes, length}, {other, buf_text(wanted), wanted->length}};
    for (size_t i = 0; i < ARRAY_LENGTH(sides); i++) {
        size_t left = sides[i].length - start;
        const char *end = memchr(sides[i].bytes + start, '\n', left);
        size_t size = end ? (size_t)(end - sides[i].bytes) - start : left;
        buf_addf(&text, "  %s\n    ", sides[i].name);
        text_add_escaped(&text, sides[i].bytes + start, size > 400 ? 400 : size);
        buf_adds(&text, left == 0 ? "(ends here)\n" : end ? "\n" : "  (no newline)\n");
    }
    return play_fail(play, "%s is not the same as %s: line %zu differs\n%s", subject, other, line,
                     buf_text(&text));
}

/* same as FILE: of the sandbox, or beside the scenario */
static int compare_same(struct play *play, struct words *w, const char *subject, const char *bytes,
                        size_t length)
{
    CLEANUP(buf_done) struct buf wanted = {0};
    const char *name;
    int r;

    if (!words_take(w, "as"))
        return WORDS_CHOICE(w, "as");
    if ((r = words_text(w, "a file", &name)) < 0 || !play)
        return r;
    CLEANUP(mem_free) char *path = play_source(play, name);
    if ((r = file_read(path, PLAY_FILE_MAX, &wanted, w->err)) < 0)
        return r;
    if (wanted.length == length && memcmp(buf_text(&wanted), bytes, length) == 0)
        return 0;
    return tell_difference(play, subject, name, &wanted, bytes, length);
}

int play_compare(struct play *play, struct words *w, const char *subject, const char *bytes,
                 size_t length)
{
    enum { IS, CONTAINS, LACKS, MATCHES, EMPTY, JSON, SAME };
    int how = WORDS_CHOICE(w, "is", "contains", "lacks", "matches", "empty", "json", "same");
    struct words_pattern pattern = {.text = ""};
    const char *json;
    bool ok = false;
    int r = how;

    if (how == SAME)
        return compare_same(play, w, subject, bytes, length);
    if (how == JSON) {
        r = words_text(w, "JSON text", &json);
        if (r < 0 || (!play && strchr(json, '$')))
            return r;
        r = compare_json(play, subject, json, bytes, length, w->err);
        if (r == -EBADMSG) { /* what is wanted is none */
            struct err wrong = *w->err;
            w->at--;
            return words_wrong(w, "%s", wrong.text);
        }
        return r;
    }
    if (r >= 0 && how == IS)
        r = words_bytes(w, "a text", &pattern.text, &pattern.length);
    else if (r >= 0 && how != EMPTY)
        r = words_pattern(w, how == MATCHES ? "an expression" : "a text or an expression",
                          &pattern);
    if (r < 0 || !play)
        return r < 0 ? r : 0;
    switch (how) {
    case IS: /* the last newline may be left out */
        ok = length >= pattern.length && memcmp(bytes, pattern.text, pattern.length) == 0 &&
             (length == pattern.length ||
              (length == pattern.length + 1 && bytes[length - 1] == '\n'));
        break;
    case LACKS:
        ok = !play_holds(&pattern, bytes, length);
        break;
    case EMPTY:
        ok = length == 0;
        break;
    default:
        if (how == MATCHES)
            pattern.regex = true;
        ok = play_holds(&pattern, bytes, length);
    }
    if (ok)
        return 0;
    static const char *const words[] = {"is not", "does not contain", "contains", "does not match",
                                        "is not empty"};
    CLEANUP(buf_done) struct buf excerpt = {0};
    add_excerpt(&excerpt, bytes, length);
    CLEANUP(buf_done) struct buf wanted = {0};
    if (how != EMPTY) {
        buf_adds(&wanted, pattern.regex ? " /" : " \"");
        text_add_escaped(&wanted, pattern.text, pattern.length);
        buf_adds(&wanted, pattern.regex ? "/" : "\"");
    }
    return play_fail(play, "%s %s%s\n  it is:\n%s", subject, words[how], buf_text(&wanted),
                     buf_text(&excerpt));
}
