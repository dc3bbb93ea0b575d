/* SPDX-License-Identifier: MIT */
#include "script/script_about.h"
#include "base/text.h"
#include "base/tool.h"
#include "base/when.h"
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <string.h>

int about_wrong(const struct vt_line *line, size_t word, struct err *err, const char *format, ...)
{
    unsigned column = word < line->count ? line->words[word].column : line->indent + 1;
    va_list args;

    va_start(args, format);
    err_setv(err, -EINVAL, format, args);
    va_end(args);
    return err_wrap(err, "%s:%u:%u", line->path, line->line, column);
}

const char *about_verb(const struct vt_line *line)
{
    const char *word = line->count && !line->row ? vt_keyword(&line->words[0]) : NULL;

    return word ? word : "";
}

const char *about_word(const struct vt_line *line, size_t index)
{
    const struct vt_token *token = index < line->count ? &line->words[index] : NULL;

    return token && token->kind == VT_WORD && token->part_count == 1 && !token->parts[0].variable
               ? token->parts[0].text
               : NULL;
}

static int read_tags(const struct vt_line *line, struct script_case *which, struct err *err)
{
    size_t count = 0;

    while (which->tags && which->tags[count])
        count++;
    if (line->count < 2)
        return about_wrong(line, 1, err, "expected words behind 'tags'");
    for (size_t i = 1; i < line->count; i++) {
        const char *tag = about_word(line, i);
        if (!tag || *tag == '-')
            return about_wrong(line, i, err, "%s is not a tag", line->words[i].source);
        which->tags = mem_grow(which->tags, (count + 2) * sizeof *which->tags);
        which->tags[count++] = mem_dup(tag);
        which->tags[count] = NULL;
    }
    return 0;
}

static int read_quarantine(const struct vt_line *line, struct script_case *which, struct err *err)
{
    const char *until = about_word(line, 1), *date = about_word(line, 2);
    const char *reason = about_word(line, 3);
    struct err bad = {0};

    if (line->count != 4 || !text_equal(until, "until") || !date || !reason)
        return about_wrong(line, 1, err, "expected: quarantine until 2026-12-31 \"REASON\"");
    if (when_parse(date, &which->quarantine_until_ns, &bad) < 0)
        return about_wrong(line, 2, err, "%s is not a date, as 2026-12-31", line->words[2].source);
    which->quarantine = reason;
    return 0;
}

static bool has_program(const char *name)
{
    CLEANUP(mem_free) char *file = tool_find(name, NULL, NULL);

    return file != NULL;
}

int about_read(const struct vt_line *line, struct script_case *which, struct err *err)
{
    const char *verb = about_verb(line);
    uint64_t number;

    if (strcmp(verb, "tags") == 0)
        return read_tags(line, which, err);
    if (strcmp(verb, "quarantine") == 0)
        return read_quarantine(line, which, err);
    if (strcmp(verb, "skip") == 0) {
        const char *reason = about_word(line, 1);
        if (line->count == 2) /* otherwise the play decides */
            which->skip = reason;
        return reason ? 0 : about_wrong(line, 1, err, "expected a reason");
    }
    if (strcmp(verb, "retries") == 0) {
        const char *text = about_word(line, 1);
        if (!text || line->count != 2 || !text_to_u64(text, &number) || number > 100)
            return about_wrong(line, 1, err, "expected a number up to 100");
        which->retries = (int)number;
    }
    for (size_t i = 1; strcmp(verb, "needs") == 0 && i < line->count && !which->missing; i++) {
        const char *program = about_word(line, i);
        if (program && !has_program(program))
            which->missing = program;
    }
    if (strcmp(verb, "sabotage") == 0 && (!about_word(line, 1) || line->count != 2))
        return about_wrong(line, 1, err, "expected a name for the sabotage");
    if (strcmp(verb, "sabotage") == 0 && !line->line_count)
        return about_wrong(line, 0, err, "a sabotage has lines below it that change something");
    if (strcmp(verb, "examples") == 0) {
        if (which->examples)
            return about_wrong(line, 0, err, "a scenario has one table of examples");
        if (line->count > 1)
            return about_wrong(line, 1, err, "expected the end of the line");
        which->examples = line;
    }
    return 0;
}

int about_check_examples(const struct vt_line *line, struct err *err)
{
    size_t columns = line->line_count ? line->lines[0].count : 0;

    if (line->line_count < 2)
        return about_wrong(line, 0, err, "examples need a row of names and at least one of values");
    for (size_t i = 0; i < line->line_count; i++) {
        const struct vt_line *row = &line->lines[i];
        if (!row->row)
            return about_wrong(row, 0, err, "expected a row, as | a | b |");
        if (row->count != columns)
            return about_wrong(row, 0, err, "a row of %zu cells, the first has %zu", row->count,
                               columns);
    }
    for (size_t i = 0; i < columns; i++) {
        const char *name = line->lines[0].words[i].source;
        bool ok = isalpha((unsigned char)*name) || *name == '_';
        for (const char *p = name; ok && *p; p++)
            ok = isalnum((unsigned char)*p) || *p == '_';
        if (!ok)
            return about_wrong(&line->lines[0], i, err, "'%s' is not a name: letters, digits and _",
                               name);
    }
    return 0;
}
