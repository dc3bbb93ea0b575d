/* SPDX-License-Identifier: MIT */
/* Variables that nothing makes: `set`, `capture`, a column of `examples`, --set, or the player. Who
 * makes one may stand anywhere in the scenario; whether it is there in time is seen when it plays.
 */
#include "script/script_about.h"
#include "base/text.h"
#include <errno.h>
#include <string.h>

enum { NAMES_MAX = 256 };

struct names {
    const char *items[NAMES_MAX];
    size_t count;
    bool full; /* then nobody knows */
};

static void add_name(struct names *names, const char *name)
{
    if (names->count == NAMES_MAX)
        names->full = true;
    else if (name)
        names->items[names->count++] = name;
}

static void collect(const struct vt_line *lines, size_t count, struct names *ret)
{
    for (size_t i = 0; i < count; i++) {
        const struct vt_line *line = &lines[i];
        const char *verb = about_verb(line);
        if (strcmp(verb, "set") == 0 || strcmp(verb, "capture") == 0)
            add_name(ret, about_word(line, 1));
        for (size_t n = 0;
             strcmp(verb, "examples") == 0 && line->line_count && n < line->lines[0].count; n++)
            add_name(ret, line->lines[0].words[n].source);
        collect(line->lines, line->line_count, ret);
    }
}

static bool is_known(const struct names *names, const char *name)
{
    for (size_t i = 0; i < names->count; i++)
        if (strcmp(names->items[i], name) == 0)
            return true;
    return false;
}

static int check_token(const struct vt_line *line, const struct vt_token *token,
                       const struct names *names, struct err *err)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < token->item_count; i++)
        r = check_token(line, &token->items[i], names, err);
    for (size_t i = 0; r == 0 && token->kind == VT_WORD && i < token->part_count; i++) {
        const struct vt_part *part = &token->parts[i];
        if (!part->variable || is_known(names, part->text))
            continue;
        const char *closest = text_closest(part->text, names->items, names->count);
        err_set(err, -EINVAL, "there is no variable '%s'", part->text);
        (void)(closest
                   ? err_hint(err, "did you mean '$%s'? a dollar itself is written \\$", closest)
                   : err_hint(
                         err,
                         "write 'set %s VALUE' before, give --set %s=VALUE, or \\$ for a dollar",
                         part->text, part->text));
        r = err_wrap(err, "%s:%u:%u", line->path, token->line, token->column);
    }
    return r;
}

static int check_lines(const struct vt_line *lines, size_t count, const struct names *names,
                       struct err *err)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < count; i++) {
        for (size_t n = 0; r == 0 && !lines[i].row && n < lines[i].count; n++)
            r = check_token(&lines[i], &lines[i].words[n], names, err);
        if (r == 0)
            r = check_lines(lines[i].lines, lines[i].line_count, names, err);
    }
    return r;
}

int variables_check(const struct script_case *which, const char *const *given, struct err *err)
{
    static const char *const always[] = {"DIR",   "WORK",   "HOME",        "i",
                                         "SHIMS", "TMPDIR", "TMUX_SOCKET", NULL};
    struct names names = {0};
    struct arena arena = {0};

    for (size_t i = 0; always[i]; i++)
        add_name(&names, always[i]);
    for (size_t i = 0; given && given[i]; i++)
        add_name(&names, arena_dup(&arena, given[i], strcspn(given[i], "=")));
    collect(which->prelude, which->prelude_count, &names);
    collect(which->lines, which->line_count, &names);
    int r = names.full ? 0 : check_lines(which->prelude, which->prelude_count, &names, err);
    if (r == 0 && !names.full)
        r = check_lines(which->lines, which->line_count, &names, err);
    arena_done(&arena);
    return r;
}
