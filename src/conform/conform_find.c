/* SPDX-License-Identifier: MIT */
/* Which files are fixtures. A program is an executable file; NAME is its file name without the last
 * extension, and what belongs to it is called NAME.expected and so on. */
#include "conform/conform.h"
#include "base/fd.h"
#include "base/text.h"
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DEPTH_MAX = 32 };

const struct conform_sidecar_row conform_sidecars[CONFORM_SIDECARS] = {
    [CONFORM_PROCESS_TAPE] = {".process-tape.json", false, true, "what programs it starts do"},
    [CONFORM_FS_OVERLAY] = {".fs-overlay", true, true, "the files it finds where it starts"},
    [CONFORM_TAPE] = {".testbench-tape", false, true, "a golden tape"},
    [CONFORM_ANNOTATIONS] = {".annotations.jsonl", false, true, "notes on the golden tape"},
    [CONFORM_HARNESS] = {".harness.json", false, true, "its world, and what it must ask of it"},
    [CONFORM_LLM_MOCK] = {".llm-mock.jsonl", false, false, "answers of language models"},
    [CONFORM_EXPECTED] = {".expected", false, true, "what it prints"},
    [CONFORM_ERROR] = {".error", false, true, "what it says as it fails"},
    [CONFORM_LINT] = {".lint", false, false, "what the linter says of it"},
};

char *conform_path(const struct conform_fixture *fixture, enum conform_sidecar which)
{
    return mem_format("%s/%s%s", fixture->directory, fixture->stem, conform_sidecars[which].suffix);
}

static void fixture_done(struct conform_fixture *fixture)
{
    free(fixture->name);
    free(fixture->directory);
    free(fixture->stem);
    free(fixture->program);
    free(fixture->other);
    free(fixture->misspelt);
}

void conform_set_done(struct conform_set *set)
{
    for (size_t i = 0; i < set->count; i++)
        fixture_done(&set->fixtures[i]);
    free(set->fixtures);
    *set = (struct conform_set){0};
}

/* ---- one directory */

struct looking {
    struct conform_set *set;
    const char *shown; /* the directory, as it is told */
    char *directory;   /* absolute */
    size_t first;      /* fixtures of this directory start here */
};

static struct conform_fixture *fixture_of(struct looking *looking, const char *stem, size_t length)
{
    struct conform_set *set = looking->set;

    for (size_t i = looking->first; i < set->count; i++)
        if (strlen(set->fixtures[i].stem) == length &&
            memcmp(set->fixtures[i].stem, stem, length) == 0)
            return &set->fixtures[i];
    set->fixtures = mem_grow(set->fixtures, (set->count + 1) * sizeof *set->fixtures);
    struct conform_fixture *fixture = &set->fixtures[set->count++];
    *fixture = (struct conform_fixture){
        .directory = mem_dup(looking->directory),
        .stem = mem_dupn(stem, length),
        .name = mem_format("%s%s%.*s", looking->shown,
                           text_ends(looking->shown, "/") || !*looking->shown ? "" : "/",
                           (int)length, stem)};
    return fixture;
}

/* The row whose suffix a name has; CONFORM_SIDECARS for none. */
static size_t sidecar_of(const char *name, bool is_directory)
{
    for (size_t i = 0; i < CONFORM_SIDECARS; i++)
        if (text_ends(name, conform_sidecars[i].suffix) &&
            strlen(name) > strlen(conform_sidecars[i].suffix) &&
            conform_sidecars[i].is_directory == is_directory)
            return i;
    return CONFORM_SIDECARS;
}

static size_t stem_length(const char *name)
{
    const char *point = strrchr(name, '.');

    return point && point != name ? (size_t)(point - name) : strlen(name);
}

static void take_program(struct looking *looking, const char *name)
{
    struct conform_fixture *fixture = fixture_of(looking, name, stem_length(name));

    if (!fixture->program) {
        fixture->program = mem_dup(name);
        return;
    }
    free(fixture->other);
    fixture->other = mem_dup(name);
    fixture->is_twice = true;
}

/* The sidecar that was meant by a suffix that is none; NULL: it is something else. */
static const char *meant_by(const char *suffix)
{
    const char *known[CONFORM_SIDECARS];

    for (size_t i = 0; i < CONFORM_SIDECARS; i++)
        known[i] = conform_sidecars[i].suffix;
    return strlen(suffix) > 4 ? text_closest(suffix, known, CONFORM_SIDECARS) : NULL;
}

/* A file that would be the program of sidecars, if it could be run; or a sidecar, if it were
 * spelt like one. */
static void take_file(struct looking *looking, const char *name)
{
    for (size_t i = looking->first; i < looking->set->count; i++) {
        struct conform_fixture *fixture = &looking->set->fixtures[i];
        size_t length = strlen(fixture->stem);
        if (fixture->program && !fixture->misspelt && strncmp(fixture->stem, name, length) == 0 &&
            name[length] == '.' && strcmp(fixture->program, name) != 0 && meant_by(name + length))
            fixture->misspelt = mem_dup(name);
        if (!fixture->program && !fixture->other && strlen(fixture->stem) == stem_length(name) &&
            strncmp(fixture->stem, name, stem_length(name)) == 0)
            fixture->other = mem_dup(name);
    }
}

static int find_in(struct conform_set *set, const char *path, const char *only, unsigned depth,
                   struct err *err);

static int take_directory(struct looking *looking, const char *path, const char *name,
                          unsigned depth, struct err *err)
{
    size_t sidecar = sidecar_of(name, true);

    if (sidecar < CONFORM_SIDECARS) {
        size_t length = strlen(name) - strlen(conform_sidecars[sidecar].suffix);
        fixture_of(looking, name, length)->has |= 1u << sidecar;
        return 0;
    }
    if (*name == '.' || text_ends(name, ".cas")) /* contents of a tape */
        return 0;
    CLEANUP(mem_free) char *below =
        mem_format("%s%s%s", path, text_ends(path, "/") ? "" : "/", name);
    return find_in(looking->set, below, NULL, depth + 1, err);
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static void take_entry(struct looking *looking, const char *path, const char *name)
{
    struct stat st;
    size_t sidecar = sidecar_of(name, false);

    if (sidecar < CONFORM_SIDECARS)
        fixture_of(looking, name, strlen(name) - strlen(conform_sidecars[sidecar].suffix))->has |=
            1u << sidecar;
    else if (*name != '.' && stat(path, &st) == 0 && S_ISREG(st.st_mode) && (st.st_mode & 0111))
        take_program(looking, name);
}

/* `only`: a stem; NULL: all. */
static int find_in(struct conform_set *set, const char *path, const char *only, unsigned depth,
                   struct err *err)
{
    struct looking looking = {
        .set = set, .shown = strcmp(path, ".") == 0 ? "" : path, .first = set->count};
    struct dirent **entries = NULL;
    int r = 0;

    if (depth > DEPTH_MAX)
        return err_set(err, -ELOOP, "search '%s': more than %d directories deep", path, DEPTH_MAX);
    int count = scandir(path, &entries, NULL, by_bytes);
    if (count < 0)
        return err_set(err, -errno, "search '%s': %m", path);
    looking.directory = realpath(path, NULL);
    for (int round = 0; round < 3; round++) /* files, then files that are none, then below */
        for (int i = 0; r == 0 && i < count; i++) {
            const char *name = entries[i]->d_name;
            CLEANUP(mem_free) char *file = mem_format("%s/%s", path, name);
            struct stat st;
            if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || lstat(file, &st) < 0)
                continue;
            bool is_directory = S_ISDIR(st.st_mode);
            if (round == 0 && !is_directory)
                take_entry(&looking, file, name);
            else if (round == 1 && !is_directory && sidecar_of(name, false) == CONFORM_SIDECARS &&
                     !text_ends(name, ".actual"))
                take_file(&looking, name);
            else if (is_directory && (round == 0) == (sidecar_of(name, true) < CONFORM_SIDECARS) &&
                     (round == 0 || (round == 2 && !only)))
                r = take_directory(&looking, path, name, depth, err);
        }
    for (int i = 0; i < count; i++)
        free(entries[i]);
    free(entries);
    free(looking.directory);
    return r;
}

/* ---- all */

static int find_program(struct conform_set *set, const char *path, struct err *err)
{
    const char *slash = strrchr(path, '/');
    CLEANUP(mem_free) char *directory =
        slash ? mem_dupn(path, slash == path ? 1 : (size_t)(slash - path)) : mem_dup(".");
    const char *name = slash ? slash + 1 : path;
    size_t first = set->count, kept = first;
    int r = find_in(set, directory, name, 0, err);

    for (size_t i = first; i < set->count; i++) {
        struct conform_fixture *fixture = &set->fixtures[i];
        bool meant = text_equal(fixture->program, name) || text_equal(fixture->stem, name);
        if (meant)
            set->fixtures[kept++] = *fixture;
        else
            fixture_done(fixture);
    }
    set->count = kept;
    if (r == 0 && kept == first)
        return err_set(err, -ENOENT, "'%s' is neither a directory nor a program", path);
    return r;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct conform_fixture *)a)->name,
                  ((const struct conform_fixture *)b)->name);
}

int conform_find(const char *const *paths, const char *filter, struct conform_set *ret,
                 struct err *err)
{
    struct stat st;
    int r = 0;

    *ret = (struct conform_set){0};
    for (; r == 0 && *paths; paths++)
        r = stat(*paths, &st) == 0 && S_ISDIR(st.st_mode) ? find_in(ret, *paths, NULL, 0, err)
                                                          : find_program(ret, *paths, err);
    if (r < 0) {
        conform_set_done(ret);
        return r;
    }
    size_t kept = 0;
    for (size_t i = 0; i < ret->count; i++)
        if (!filter || strstr(ret->fixtures[i].name, filter))
            ret->fixtures[kept++] = ret->fixtures[i];
        else
            fixture_done(&ret->fixtures[i]);
    ret->count = kept;
    if (kept)
        qsort(ret->fixtures, kept, sizeof *ret->fixtures, by_name);
    return 0;
}
