/* SPDX-License-Identifier: MIT */
/* From paths to cases: files are read, includes put in their place, everything is checked, and
 * scenarios are cut into cases, one for each row of their examples. */
#include "script/script.h"
#include "script/play.h"
#include "script/script_about.h"
#include "base/fd.h"
#include "base/text.h"
#include <ctype.h>
#include <errno.h>
#include <fts.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { INCLUDE_DEPTH_MAX = 16 };

struct loader {
    const struct script_options *options;
    struct script_set *set;
    struct err *err;
};

static int read_text(struct loader *loader, const char *path, struct vt_text **ret)
{
    CLEANUP(buf_done) struct buf bytes = {0};
    struct script_set *set = loader->set;
    int r = file_read(path, VT_BYTES_MAX + 1, &bytes, loader->err);

    if (r == -EFBIG)
        return err_set(loader->err, -EINVAL, "%s: more than %d bytes", path, VT_BYTES_MAX);
    if (r < 0 || (r = vt_read(path, buf_text(&bytes), bytes.length, ret, loader->err)) < 0)
        return r;
    set->texts = mem_grow(set->texts, (set->text_count + 1) * sizeof(struct vt_text *));
    set->texts[set->text_count++] = *ret;
    return 0;
}

/* ---- include --------------------------------------------------------------------------------- */

struct line_list {
    struct vt_line *items; /* owned */
    size_t count;
};

static void list_add(struct line_list *list, const struct vt_line *line)
{
    list->items = mem_grow(list->items, (list->count + 1) * sizeof *list->items);
    list->items[list->count++] = *line;
}

static int add_included(struct loader *loader, const struct vt_line *line, struct line_list *list,
                        unsigned depth);

/* Lines of a text with includes in their place. An included file ends at its first scenario. */
static int add_lines(struct loader *loader, const struct vt_text *text, struct line_list *list,
                     unsigned depth)
{
    for (size_t i = 0; i < text->line_count; i++) {
        const struct vt_line *line = &text->lines[i];
        int r = 0;

        if (depth && strcmp(about_verb(line), "scenario") == 0)
            return 0;
        if (strcmp(about_verb(line), "include") == 0)
            r = add_included(loader, line, list, depth + 1);
        else
            list_add(list, line);
        if (r < 0)
            return r;
    }
    return 0;
}

static int add_included(struct loader *loader, const struct vt_line *line, struct line_list *list,
                        unsigned depth)
{
    const char *name = about_word(line, 1);
    const char *slash = strrchr(line->path, '/');
    struct vt_text *text;

    if (!name || line->count != 2)
        return about_wrong(line, 1, loader->err, "expected the name of a file");
    if (depth > INCLUDE_DEPTH_MAX)
        return about_wrong(line, 1, loader->err,
                           "more than %d includes in each other; does '%s' include itself?",
                           INCLUDE_DEPTH_MAX, name);
    CLEANUP(mem_free) char *path =
        *name == '/' || !slash ? mem_dup(name)
                               : mem_format("%.*s/%s", (int)(slash - line->path), line->path, name);
    int r = read_text(loader, path, &text);
    if (r < 0)
        return r == -EINVAL ? r : err_wrap(loader->err, "%s:%u", line->path, line->line);
    return add_lines(loader, text, list, depth);
}

/* ---- cases ----------------------------------------------------------------------------------- */

static char *case_name(const struct script_case *which, const char *title)
{
    const char *slash = strrchr(which->path, '/');
    const char *file = slash ? slash + 1 : which->path;
    int stem = (int)strlen(file) - (text_ends(file, ".vt") ? 3 : 0);
    CLEANUP(buf_done) struct buf name = {0};

    buf_addf(&name, "%.*s", stem, file);
    if (title)
        buf_addf(&name, ": %s", title);
    if (which->examples) {
        const struct vt_line *head = &which->examples->lines[0];
        const struct vt_line *row = &which->examples->lines[which->example_row];
        buf_adds(&name, " [");
        for (size_t i = 0; i < head->count; i++)
            buf_addf(&name, "%s%s=%s", i ? ", " : "", head->words[i].source, row->words[i].source);
        buf_addc(&name, ']');
    }
    return buf_take(&name);
}

static void add_case(struct script_set *set, const struct script_case *which, const char *title,
                     size_t row)
{
    size_t tags = 0;

    set->cases = mem_grow(set->cases, (set->case_count + 1) * sizeof *set->cases);
    struct script_case *copy = &set->cases[set->case_count++];
    *copy = *which;
    copy->example_row = row;
    if (row && strcmp(which->examples->lines[row].path, which->path) == 0)
        copy->line = which->examples->lines[row].line;
    copy->path = mem_dup(which->path);
    copy->name = case_name(copy, title);
    while (which->tags && which->tags[tags])
        tags++;
    copy->tags = mem_alloc((tags + 1) * sizeof *copy->tags);
    for (size_t i = 0; i < tags; i++)
        copy->tags[i] = mem_dup(which->tags[i]);
}

static void free_tags(char **tags)
{
    for (size_t i = 0; tags && tags[i]; i++)
        free(tags[i]);
    free(tags);
}

/* Whether a line of the file is a row of examples; then that one alone is played. */
static bool names_row(const struct script_case *which, unsigned at_line)
{
    for (size_t i = 1; which->examples && i < which->examples->line_count; i++)
        if (which->examples->lines[i].line == at_line &&
            strcmp(which->examples->lines[i].path, which->path) == 0)
            return true;
    return false;
}

/* One scenario: its lines and those before the first scenario of the file. */
static int make_cases(struct loader *loader, const struct script_case *base, const char *title,
                      unsigned at_line)
{
    struct script_case which = *base;
    int r = 0;

    which.retries = -1;
    for (size_t i = 0; r == 0 && i < which.prelude_count; i++)
        r = about_read(&which.prelude[i], &which, loader->err);
    for (size_t i = 0; r == 0 && i < which.line_count; i++)
        r = about_read(&which.lines[i], &which, loader->err);
    if (r == 0 && which.examples)
        r = about_check_examples(which.examples, loader->err);
    bool one = names_row(&which, at_line);
    for (size_t i = 1; r == 0 && which.examples && i < which.examples->line_count; i++)
        if (!one || which.examples->lines[i].line == at_line)
            add_case(loader->set, &which, title, i);
    if (r == 0 && !which.examples)
        add_case(loader->set, &which, title, 0);
    free_tags(which.tags);
    return r;
}

static int check_sabotages(struct loader *loader, const struct vt_line *lines, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(about_verb(&lines[i]), "sabotage") == 0) {
            int r = play_check(lines[i].lines, lines[i].line_count, AT_SABOTAGE, loader->options,
                               loader->err);
            if (r < 0)
                return r;
        }
    return 0;
}

static size_t next_scenario(const struct line_list *list, size_t from)
{
    while (from < list->count && strcmp(about_verb(&list->items[from]), "scenario") != 0)
        from++;
    return from;
}

static bool says_something(const struct line_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].count || list->items[i].row) /* else a comment */
            return true;
    return false;
}

static int cut(struct loader *loader, const struct vt_text *text, const struct line_list *list,
               unsigned at_line)
{
    size_t first = next_scenario(list, 0);
    struct script_case which = {.path = (char *)text->path, .text = text, .line = 1};

    if (first == list->count) {
        which.lines = list->items;
        which.line_count = list->count;
        return says_something(list)
                   ? make_cases(loader, &which, NULL, at_line)
                   : err_set(loader->err, -EINVAL, "%s: there is nothing in it", text->path);
    }
    which.prelude = list->items;
    which.prelude_count = first;
    for (size_t at = first, next; at < list->count; at = next) {
        const struct vt_line *head = &list->items[at];
        const char *title = about_word(head, 1);
        next = next_scenario(list, at + 1);
        if (!title || head->count != 2)
            return about_wrong(head, 1, loader->err, "expected a name for the scenario, in quotes");
        which.line = head->line;
        which.lines = list->items + at + 1;
        which.line_count = next - at - 1;
        bool wanted = !at_line || (at_line >= head->line &&
                                   (next == list->count || at_line < list->items[next].line));
        int r = wanted ? make_cases(loader, &which, title, at_line) : 0;
        if (r < 0)
            return r;
    }
    return 0;
}

static int load_file(struct loader *loader, const char *path, unsigned at_line)
{
    struct line_list list = {0};
    struct vt_text *text;
    int r = read_text(loader, path, &text);

    if (r < 0)
        return r;
    r = add_lines(loader, text, &list, 0);
    if (r == 0)
        r = play_check(list.items, list.count, AT_TOP, loader->options, loader->err);
    if (r == 0)
        r = check_sabotages(loader, list.items, list.count);
    if (r == 0) { /* the arena keeps what the cases point at */
        struct vt_line *kept = arena_alloc(&text->arena, (list.count + 1) * sizeof *kept);
        if (list.count)
            memcpy(kept, list.items, list.count * sizeof *kept);
        r = cut(loader, text, &(struct line_list){.items = kept, .count = list.count}, at_line);
    }
    free(list.items);
    return r;
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

static int load_directory(struct loader *loader, const char *path)
{
    char *const roots[] = {(char *)path, NULL};
    FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, by_name);
    FTSENT *entry;
    int r = 0;

    if (!walk)
        return err_set(loader->err, -errno, "read '%s': %m", path);
    while (r == 0 && (entry = fts_read(walk)))
        if (entry->fts_info == FTS_F && text_ends(entry->fts_name, ".vt"))
            r = load_file(loader, entry->fts_path, 0);
    (void)fts_close(walk);
    return r;
}

static int load_path(struct loader *loader, const char *path)
{
    const char *colon = strrchr(path, ':');
    uint64_t line = 0;
    struct stat st;

    if (stat(path, &st) == 0)
        return S_ISDIR(st.st_mode) ? load_directory(loader, path) : load_file(loader, path, 0);
    if (!colon || !text_to_u64(colon + 1, &line) || !line || line > VT_LINES_MAX)
        return err_set(loader->err, -errno, "open '%s': %m", path);
    CLEANUP(mem_free) char *file = mem_dupn(path, (size_t)(colon - path));
    size_t before = loader->set->case_count;
    int r = load_file(loader, file, (unsigned)line);
    if (r == 0 && loader->set->case_count == before)
        return err_set(loader->err, -EINVAL, "%s: no scenario at line %llu", file,
                       (unsigned long long)line);
    return r;
}

/* ---- filters --------------------------------------------------------------------------------- */

static bool has_tag(const struct script_case *which, const char *tag)
{
    for (size_t i = 0; which->tags[i]; i++)
        if (strcmp(which->tags[i], tag) == 0)
            return true;
    return false;
}

static bool wanted(const struct script_case *which, const struct script_options *options)
{
    bool some = false, asked = false;

    if (options->filter && !strstr(which->name, options->filter))
        return false;
    for (size_t i = 0; options->tags && options->tags[i]; i++) {
        const char *tag = options->tags[i];
        if (*tag == '-' && has_tag(which, tag + 1))
            return false;
        asked |= *tag != '-';
        some |= *tag != '-' && has_tag(which, tag);
    }
    return some || !asked;
}

static void case_done(struct script_case *which)
{
    free(which->name);
    free(which->path);
    free_tags(which->tags);
}

int script_load(const char *const *paths, const struct script_options *options,
                struct script_set *ret, struct err *err)
{
    struct loader loader = {.options = options, .set = ret, .err = err};
    size_t kept = 0;

    *ret = (struct script_set){0};
    for (; *paths; paths++) {
        int r = load_path(&loader, *paths);
        if (r < 0) {
            script_set_done(ret);
            return r;
        }
    }
    for (size_t i = 0; i < ret->case_count; i++)
        if (wanted(&ret->cases[i], options))
            ret->cases[kept++] = ret->cases[i];
        else
            case_done(&ret->cases[i]);
    ret->case_count = kept;
    int r = 0;
    for (size_t i = 0; r == 0 && !options->only_list && i < kept; i++)
        if (!i || ret->cases[i].lines != ret->cases[i - 1].lines) /* once for all rows */
            r = variables_check(&ret->cases[i], options->variables, err);
    if (r < 0)
        script_set_done(ret);
    return r;
}

void script_set_done(struct script_set *set)
{
    for (size_t i = 0; i < set->case_count; i++)
        case_done(&set->cases[i]);
    for (size_t i = 0; i < set->text_count; i++)
        vt_free(set->texts[i]);
    free(set->cases);
    free(set->texts);
    *set = (struct script_set){0};
}
