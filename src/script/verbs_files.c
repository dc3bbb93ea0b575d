/* SPDX-License-Identifier: MIT */
/* Verbs about variables, the environment and files. Files are those of the sandbox; what is read
 * with `copy` may come from beside the scenario. */
#include "script/play.h"
#include "base/fd.h"
#include "base/text.h"
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int read_name(struct words *w, const char *what, const char **ret)
{
    int r = words_text(w, what, ret);

    if (r < 0)
        return r;
    bool ok = isalpha((unsigned char)**ret) || **ret == '_';
    for (const char *p = *ret; ok && *p; p++)
        ok = isalnum((unsigned char)*p) || *p == '_';
    if (ok)
        return 0;
    w->at--;
    return words_wrong(w, "'%s' is not a name: letters, digits and _", *ret);
}

int verb_set(struct play *play, struct words *w)
{
    const char *name, *value;
    int r = read_name(w, "the name of a variable", &name);

    if (r < 0 || (r = words_text(w, "its value", &value)) < 0 || !play)
        return r;
    play_set(play, name, value, play->sabotaging);
    return 0;
}

int verb_env(struct play *play, struct words *w)
{
    const char *pair, *value;
    int r = words_text(w, "NAME=VALUE", &pair);

    if (r < 0)
        return r;
    const char *equals = strchr(pair, '=');
    if (equals) {
        value = equals + 1;
    } else if ((r = words_text(w, "a value", &value)) < 0) {
        return r;
    }
    if (!play)
        return 0;
    CLEANUP(mem_free) char *name = mem_dupn(pair, strcspn(pair, "="));
    return sandbox_env_set(play->sandbox, name, value, w->err);
}

int verb_unset(struct play *play, struct words *w)
{
    const char *name;
    int r = read_name(w, "the name of a variable", &name);

    return r < 0 || !play ? r : sandbox_env_set(play->sandbox, name, NULL, w->err);
}

static int read_path(struct play *play, struct words *w, char **ret)
{
    const char *path;
    int r = words_text(w, "a path", &path);

    *ret = NULL;
    return r < 0 || !play ? r : sandbox_path(play->sandbox, path, ret, w->err);
}

int verb_write(struct play *play, struct words *w)
{
    const char *path, *bytes;
    size_t length;
    int r = words_text(w, "a path", &path);

    if (r < 0 || (r = words_bytes(w, "a text", &bytes, &length)) < 0 || !play)
        return r;
    return sandbox_write(play->sandbox, path, bytes, length, w->err);
}

int verb_append(struct play *play, struct words *w)
{
    CLEANUP(mem_free) char *path = NULL;
    const char *bytes;
    size_t length;
    int r = read_path(play, w, &path);

    if (r < 0 || (r = words_bytes(w, "a text", &bytes, &length)) < 0 || !play)
        return r;
    CLEANUP(fd_close) int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    r = fd < 0 ? -errno : fd_write_full(fd, bytes, length);
    return r < 0 ? err_set(w->err, r, "append to '%s': %s", path, strerror(-r)) : 0;
}

int verb_mkdir(struct play *play, struct words *w)
{
    CLEANUP(mem_free) char *path = NULL;
    int r = read_path(play, w, &path);

    return r < 0 || !play ? r : dir_make_all(path, w->err);
}

int verb_remove(struct play *play, struct words *w)
{
    const char *path;
    int r = words_text(w, "a path", &path);

    return r < 0 || !play ? r : sandbox_remove(play->sandbox, path, w->err);
}

int verb_chmod(struct play *play, struct words *w)
{
    CLEANUP(mem_free) char *path = NULL;
    const char *mode;
    int r = words_text(w, "a mode, as 755", &mode);

    if (r < 0)
        return r;
    if (strspn(mode, "01234567") != strlen(mode) || !*mode || strlen(mode) > 4) {
        w->at--;
        return words_wrong(w, "'%s' is not a mode, as 755", mode);
    }
    if ((r = read_path(play, w, &path)) < 0 || !play)
        return r;
    return chmod(path, (mode_t)strtoul(mode, NULL, 8)) == 0
               ? 0
               : err_set(w->err, -errno, "chmod '%s': %m", path);
}

char *play_source(struct play *play, const char *path)
{
    CLEANUP(mem_free) char *inside = NULL;
    struct err ignored;

    if (sandbox_path(play->sandbox, path, &inside, &ignored) == 0 && file_exists(inside))
        return take_ptr(&inside);
    const char *directory;
    (void)play_variable(play, "DIR", &directory, &ignored);
    return *path == '/' ? mem_dup(path) : mem_format("%s/%s", directory, path);
}

int verb_copy(struct play *play, struct words *w)
{
    CLEANUP(buf_done) struct buf bytes = {0};
    const char *from, *to;
    struct stat st;
    int r = words_text(w, "a file", &from);

    if (r < 0)
        return r;
    if (!words_take(w, "to"))
        return WORDS_CHOICE(w, "to");
    if ((r = words_text(w, "a path in the sandbox", &to)) < 0 || !play)
        return r;
    CLEANUP(mem_free) char *source = play_source(play, from);
    CLEANUP(mem_free) char *target = NULL;
    if ((r = file_read(source, PLAY_FILE_MAX, &bytes, w->err)) < 0 ||
        (r = sandbox_write(play->sandbox, to, buf_text(&bytes), bytes.length, w->err)) < 0 ||
        (r = sandbox_path(play->sandbox, to, &target, w->err)) < 0)
        return r;
    if (stat(source, &st) == 0)
        (void)chmod(target, st.st_mode & 0777);
    return 0;
}

int verb_replace(struct play *play, struct words *w)
{
    CLEANUP(buf_done) struct buf bytes = {0};
    CLEANUP(buf_done) struct buf changed = {0};
    CLEANUP(mem_free) char *full = NULL;
    const char *path, *old, *new;
    size_t old_length, new_length, count = 0;
    int r = words_text(w, "a file", &path);

    if (r < 0 || (r = words_bytes(w, "the text to replace", &old, &old_length)) < 0)
        return r;
    if (!words_take(w, "with"))
        return WORDS_CHOICE(w, "with");
    if ((r = words_bytes(w, "the text to put there", &new, &new_length)) < 0 || !play)
        return r;
    if ((r = sandbox_path(play->sandbox, path, &full, w->err)) < 0 ||
        (r = file_read(full, PLAY_FILE_MAX, &bytes, w->err)) < 0)
        return r;
    const char *p = buf_text(&bytes), *end = p + bytes.length, *found;
    while (old_length && (found = memmem(p, (size_t)(end - p), old, old_length))) {
        buf_add(&changed, p, (size_t)(found - p));
        buf_add(&changed, new, new_length);
        p = found + old_length;
        count++;
    }
    buf_add(&changed, p, (size_t)(end - p));
    if (!count)
        return err_set(w->err, -ENOENT, "'%s' does not hold \"%s\"", path, old);
    struct stat st;
    int have = stat(full, &st);
    r = sandbox_write(play->sandbox, path, buf_text(&changed), changed.length, w->err);
    if (r == 0 && have == 0)
        (void)chmod(full, st.st_mode & 07777);
    return r;
}

static int file_mode(struct play *play, struct words *w, const char *name, const char *path)
{
    const char *mode;
    struct stat st;
    int r = words_text(w, "a mode, as 755", &mode);

    if (r < 0 || !play)
        return r;
    if (stat(path, &st) < 0)
        return play_fail(play, "file %s: %s", name, strerror(errno));
    unsigned wanted = (unsigned)strtoul(mode, NULL, 8), is = st.st_mode & 07777;
    return wanted == is ? 0 : play_fail(play, "file %s has mode %o, not %o", name, is, wanted);
}

/* What there is instead of a file that is missing. */
static void add_neighbours(struct buf *ret, const struct play *play, const char *path)
{
    CLEANUP(mem_free) char *directory = mem_dup(path);
    char *slash = strrchr(directory, '/');

    while (slash && strlen(directory) > strlen(play->sandbox->root)) {
        *slash = 0;
        if (file_exists(directory))
            break;
        slash = strrchr(directory, '/');
    }
    buf_addf(ret, "  the nearest directory there is: %s\n",
             directory + strlen(play->sandbox->root));
}

int verb_cd(struct play *play, struct words *w)
{
    const char *path;
    int r = words_text(w, "a directory", &path);

    return r < 0 || !play ? r : sandbox_cd(play->sandbox, path, w->err);
}

/* file DIRECTORY same as DIRECTORY */
static int tree_same(struct play *play, struct words *w, const char *name, const char *path)
{
    CLEANUP(buf_done) struct buf differences = {0};
    const char *other;
    int r;

    w->at++; /* same */
    if (!words_take(w, "as"))
        return WORDS_CHOICE(w, "as");
    if ((r = words_text(w, "a directory", &other)) < 0)
        return r;
    CLEANUP(mem_free) char *second = play_source(play, other);
    if (!file_exists(second))
        return err_set(w->err, -ENOENT, "there is no '%s'", other);
    play_tree_differences(path, second, &differences);
    return differences.length ? play_fail(play, "%s is not the same as %s\n%s", name, other,
                                          buf_text(&differences))
                              : 0;
}

static bool is_directory(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

int verb_file(struct play *play, struct words *w)
{
    CLEANUP(mem_free) char *path = NULL;
    CLEANUP(buf_done) struct buf bytes = {0};
    CLEANUP(buf_done) struct buf about = {0};
    const char *name;
    int r = words_text(w, "a path", &name);

    if (r < 0 || (play && (r = sandbox_path(play->sandbox, name, &path, w->err)) < 0))
        return r;
    if (words_take(w, "exists")) {
        if (!play || file_exists(path))
            return 0;
        add_neighbours(&about, play, path);
        return play_fail(play, "file %s does not exist\n%s", name, buf_text(&about));
    }
    if (words_take(w, "missing"))
        return !play || !file_exists(path) ? 0 : play_fail(play, "file %s exists", name);
    if (words_take(w, "mode"))
        return file_mode(play, w, name, path);
    if (play && !file_exists(path)) {
        add_neighbours(&about, play, path);
        return play_fail(play, "file %s does not exist\n%s", name, buf_text(&about));
    }
    if (play && is_directory(path) && words_next(w) &&
        text_equal(vt_keyword(words_next(w)), "same"))
        return tree_same(play, w, name, path);
    if (play && (r = file_read(path, PLAY_FILE_MAX, &bytes, w->err)) < 0)
        return r;
    CLEANUP(mem_free) char *subject = mem_format("file %s", name);
    r = play_compare(play, w, subject, buf_text(&bytes), bytes.length);
    return r == -EINVAL && !play ? err_hint(w->err, "or 'exists', 'missing', 'mode'") : r;
}
